//! Unit tests of the multipart reader.

use proptest::prelude::*;

use super::super::{BodyLimits, Input, MultipartFlags, Parsed, Processor, parse};

const TYPE: &str = "multipart/form-data; boundary=lab";

fn read(content_type: &str, body: &[u8], limits: &BodyLimits, partial: bool) -> Parsed {
    let mut parsed = Parsed::default();
    let input = Input { body, content_type: content_type.as_bytes(), partial, already: 0 };
    parse(Processor::Multipart, &input, limits, &mut parsed);
    parsed
}

fn simply(body: &str) -> Parsed {
    read(TYPE, body.as_bytes(), &BodyLimits::default(), false)
}

/// A body of parts, each a header block and its data.
fn body(parts: &[(&str, &str)]) -> String {
    let part = |(headers, data): &(&str, &str)| format!("--lab\r\n{headers}\r\n\r\n{data}\r\n");
    format!("{}--lab--\r\n", parts.iter().map(part).collect::<String>())
}

fn field(name: &str, data: &str) -> String {
    body(&[(&format!("Content-Disposition: form-data; name=\"{name}\""), data)])
}

fn pairs(fields: &crate::engine::fields::Fields) -> Vec<String> {
    let pair = |(name, value): (&[u8], &[u8])| format!("{}={}", name.escape_ascii(), value.escape_ascii());
    fields.iter().map(pair).collect()
}

/// The names of the flags that are set.
fn flags(flags: &MultipartFlags) -> Vec<&'static str> {
    let table = [
        (flags.boundary_quoted, "boundary_quoted"),
        (flags.boundary_whitespace, "boundary_whitespace"),
        (flags.data_before, "data_before"),
        (flags.data_after, "data_after"),
        (flags.header_folding, "header_folding"),
        (flags.invalid_header_folding, "invalid_header_folding"),
        (flags.lf_line, "lf_line"),
        (flags.crlf_lf_lines, "crlf_lf_lines"),
        (flags.missing_semicolon, "missing_semicolon"),
        (flags.invalid_quoting, "invalid_quoting"),
        (flags.invalid_part, "invalid_part"),
        (flags.file_limit_exceeded, "file_limit_exceeded"),
        (flags.unmatched_boundary == 1, "unmatched_boundary=1"),
        (flags.unmatched_boundary == 2, "unmatched_boundary=2"),
        (flags.strict_error, "strict_error"),
    ];
    table.into_iter().filter(|(set, _)| *set).map(|(_, name)| name).collect()
}

fn error(parsed: &Parsed) -> Option<&str> {
    parsed.error.as_deref().map(|error| error.strip_prefix("Multipart parsing error: Multipart: ").unwrap())
}

#[test]
fn fields_and_files() {
    let parsed = simply(&body(&[
        ("Content-Disposition: form-data; name=\"a\"", "1"),
        ("content-disposition: form-data; name=b", ""),
        ("Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain", "x\r\ny\r\n"),
        ("Content-Disposition: form-data; filename=\"b.txt\"; name=\"f\"", "\0\x01"),
        ("Content-Disposition: form-data; name=\"e\"; filename=\"\"", "kept"),
    ]));
    assert_eq!((parsed.error.as_deref(), flags(&parsed.multipart)), (None, vec![]));
    assert_eq!(pairs(&parsed.arguments), ["a=1", "b=", "e=kept"]);
    assert_eq!(pairs(&parsed.files), ["f=a.txt", "f=b.txt"]);
    assert_eq!(parsed.file_sizes, [6, 2]);
    assert_eq!(parsed.part_headers.len(), 6);
    assert_eq!(parsed.part_headers.get(3), Some((&b"f"[..], &b"Content-Type: text/plain"[..])));
}

#[test]
fn content_types() {
    let good: [(&str, &[&str]); 9] = [
        (TYPE, &[]),
        ("Multipart/Form-Data; boundary=lab", &[]),
        ("multipart/form-data ;  boundary=lab", &[]),
        ("multipart/form-data; boundary=lab; charset=UTF-8", &[]),
        ("multipart/form-data; boundary=lab;charset=\"utf-8\"", &[]),
        ("multipart/form-data; boundary=\"lab\"", &["boundary_quoted", "strict_error"]),
        ("multipart/form-data; boundary =lab", &["boundary_whitespace", "strict_error"]),
        ("multipart/form-data boundary=lab", &["missing_semicolon", "strict_error"]),
        ("multipart/form-databoundary=lab", &["missing_semicolon", "strict_error"]),
    ];
    for (content_type, expected) in good {
        let parsed = read(content_type, field("a", "1").as_bytes(), &BodyLimits::default(), false);
        assert_eq!((error(&parsed), flags(&parsed.multipart)), (None, expected.to_vec()), "{content_type}");
        assert_eq!(pairs(&parsed.arguments), ["a=1"], "{content_type}");
    }
    let long = format!("multipart/form-data; boundary={}", "b".repeat(1000));
    let bad = [
        ("", "Content-Type header not available."),
        (&long, "Invalid boundary in C-T (length)."),
        ("multipart/mixed; boundary=lab", "Invalid MIME type."),
        ("multipart/form-data", "Boundary not found in C-T."),
        ("multipart/form-data; boundary=lab; boundary=lab", "Multiple boundary parameters in C-T."),
        ("multipart/form-data; boundary=geckoformboundary1; charset=x", "Multiple boundary parameters in C-T."),
        ("multipart/form-data; charset=x; boundary=lab", "Invalid boundary in C-T (malformed)."),
        ("multipart/form-data;; boundary=lab", "Invalid boundary in C-T (malformed)."),
        ("multipart/form-data; boundary", "Invalid boundary in C-T (malformed)."),
        ("multipart/form-data; boundaryx=lab", "Invalid boundary in C-T (parameter name)."),
        ("multipart/form-data; Boundary=lab", "Invalid boundary in C-T (case sensitivity)."),
        ("multipart/form-data; boundary=\"b; x", "Invalid boundary in C-T (quote)."),
        ("multipart/form-data; boundary=lab\"", "Invalid boundary in C-T (quote)."),
        ("multipart/form-data; boundary=", "Invalid boundary in C-T (empty)."),
        ("multipart/form-data; boundary=\"\"", "Invalid boundary in C-T (empty)."),
        ("multipart/form-data; boundary=lab; x=y", "Invalid boundary in C-T (characters)."),
        ("multipart/form-data; boundary=la\"b", "Invalid boundary in C-T (characters)."),
        ("multipart/form-data; boundary=lab ", "Invalid boundary in C-T (characters)."),
        ("multipart/form-data; boundary=l\u{e4}b", "Invalid boundary in C-T (characters)."),
    ];
    for (content_type, expected) in bad {
        let parsed = read(content_type, field("a", "1").as_bytes(), &BodyLimits::default(), false);
        assert_eq!(error(&parsed), Some(expected), "{content_type}");
        assert!(parsed.multipart.strict_error, "{content_type}");
    }
}

#[test]
fn boundary_lines() {
    let cases: [(&str, Option<&str>, &[&str]); 19] = [
        ("HEAD1\r\n--lab--\r\n", None, &[]),
        ("HEAD1\r\n--lab--", None, &[]),
        ("HEAD1\r\n--lab--\n", None, &["lf_line", "crlf_lf_lines", "strict_error"]),
        ("HEAD1\n--lab--\r\n", None, &["lf_line", "crlf_lf_lines", "strict_error"]),
        ("x\r\nHEAD1\r\n--lab--\r\n", None, &["data_before", "strict_error"]),
        ("HEAD1\r\n--lab--\r\n\r\n", None, &["data_after", "strict_error"]),
        ("HEAD1\r\n--lab--\r\nx", None, &["data_after", "strict_error"]),
        ("HEAD1\r\n", Some("Final boundary missing."), &["strict_error"]),
        ("HEAD1\r\n--lab\r\n", Some("Final boundary missing."), &["strict_error"]),
        ("HEAD1\r\n--lab--x", Some("Final boundary missing."), &["strict_error"]),
        ("HEAD1\r\n--labx\r\n", Some("Invalid boundary."), &["strict_error"]),
        ("HEAD1\r\n--lab--x\r\n", Some("Invalid boundary."), &["strict_error"]),
        ("HEAD1\r\n--lab \r\n--lab--\r\n", Some("Invalid boundary."), &["strict_error"]),
        ("HEAD1\r\n-- lab--\r\n", Some("Invalid boundary (whitespace)."), &["strict_error"]),
        ("x\r\n", Some("No boundaries found in payload."), &["data_before", "strict_error"]),
        ("HEAD1\r\n--\r\n--lab--\r\n", None, &["unmatched_boundary=2"]),
        ("HEAD1\r\n-----BEGIN CERTIFICATE-----\r\n--lab--\r\n", None, &["unmatched_boundary=2"]),
        ("HEAD1 --lab\r\n--lab--\r\n", None, &["unmatched_boundary=2"]),
        ("HEAD1\r\n--other\r\n", Some("Final boundary missing."), &["unmatched_boundary=1", "strict_error"]),
    ];
    for (text, expected_error, expected_flags) in cases {
        let head = "--lab\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1";
        let parsed = simply(&text.replace("HEAD1", head));
        assert_eq!((error(&parsed), flags(&parsed.multipart)), (expected_error, expected_flags.to_vec()), "{text:?}");
    }
    let quoted = read("multipart/form-data; boundary=\"lab\"", b"--\"lab\"\r\n", &BodyLimits::default(), false);
    assert_eq!(error(&quoted), Some("Invalid boundary (quotes)."));
}

#[test]
fn bare_line_feeds_are_read_and_flagged() {
    let parsed = simply(&field("a", "1").replace("\r\n", "\n"));
    assert_eq!((error(&parsed), flags(&parsed.multipart)), (None, vec!["lf_line", "strict_error"]));
    assert_eq!(pairs(&parsed.arguments), ["a=1"]);
}

#[test]
fn a_boundary_in_the_place_of_data_is_an_invalid_part() {
    let head = "--lab\r\nContent-Disposition: form-data; name=\"a\"\r\n";
    for (text, invalid) in [
        (format!("{head}\r\n--lab--\r\n"), true),
        (format!("{head}--lab--\r\n"), true),
        ("--lab\r\n--lab--\r\n".to_owned(), true),
        (format!("{head}\r\n\r\n--lab--\r\n"), false),
    ] {
        let parsed = simply(&text);
        assert_eq!((error(&parsed), parsed.multipart.invalid_part), (None, invalid), "{text:?}");
        assert_eq!(parsed.multipart.strict_error, invalid, "{text:?}");
    }
}

#[test]
fn part_headers() {
    let good: [(&str, &[&str], &[&str]); 5] = [
        ("X: y", &["a=X: y"], &[]),
        ("x-Y:   z  ", &["a=x-Y:   z  "], &[]),
        ("X: y\r\n  z", &["a=X: y z"], &["header_folding", "strict_error"]),
        ("X: y\r\n\tz\r\n q", &["a=X: y z q"], &["header_folding", "strict_error"]),
        ("X: y\r\n\x0bz", &["a=X: y z"], &["header_folding", "invalid_header_folding", "strict_error"]),
    ];
    for (headers, expected, expected_flags) in good {
        let headers = format!("{headers}\r\nContent-Disposition: form-data; name=\"a\"");
        let parsed = simply(&body(&[(&headers, "1")]));
        assert_eq!((error(&parsed), flags(&parsed.multipart)), (None, expected_flags.to_vec()), "{headers:?}");
        assert_eq!(pairs(&parsed.part_headers)[..1], *expected, "{headers:?}");
    }
    let long = format!("X: {}", "y".repeat(5000));
    let folds = format!("X: {}", "y\r\n ".repeat(3000));
    let many: String = (0..40).map(|number| format!("X{number}: y\r\n")).collect();
    let bad = [
        ("X: \0", "Nul byte in part headers."),
        (" X: y", "Invalid part header (folding error)."),
        ("X", "Invalid part header (colon missing)."),
        (": y", "Invalid part header (header name missing)."),
        ("X : y", "Invalid part header (contains invalid character)."),
        ("X\u{e4}: y", "Invalid part header (contains invalid character)."),
        ("X: 1\r\nx: 2", "Duplicate part header."),
        ("Content-Disposition: form-data; name=\"a\"", "Duplicate part header."),
        (&long, "Part header line over 4096 bytes long."),
        (&folds, "Part header too long."),
        (&many, "More than 32 part headers."),
    ];
    for (headers, expected) in bad {
        let headers = format!("{}\r\nContent-Disposition: form-data; name=\"a\"", headers.trim_end());
        let parsed = simply(&body(&[(&headers, "1")]));
        assert_eq!(error(&parsed), Some(expected), "{headers:?}");
        assert!(parsed.multipart.strict_error);
        assert_eq!(parsed.part_headers.len(), usize::from(expected.contains("character")), "{headers:?}");
    }
    let parsed = simply(&body(&[("Content-Type: text/plain", "1")]));
    assert_eq!(error(&parsed), Some("Part missing Content-Disposition header."));
}

#[test]
fn dispositions() {
    let good: [(&str, &str, &str, &[&str]); 11] = [
        ("; name=\"a\"", "a", "", &[]),
        (" ; name = \"a\" ; filename=  \"f\"", "a", "f", &[]),
        ("; name=a;filename=\"f\"", "a", "f", &[]),
        ("; name=a; filename=\"a\\..\\shell.php\"", "a", "a\\..\\shell.php", &[]),
        ("; name=a; filename=\"q\\\"q\\\\\"", "a", "q\"q\\", &[]),
        ("; name=a; filename=\"C:\\x\\f.txt\"", "a", "C:\\x\\f.txt", &[]),
        ("; name=\"a'b\"", "a'b", "", &[]),
        ("; name='a'", "a", "", &["invalid_quoting", "strict_error"]),
        ("; name=a'b", "a'b", "", &["invalid_quoting", "strict_error"]),
        ("; name=a; filename=f;", "a", "f", &[]),
        ("; name=a; filename=f; filename*=UTF-8''shell.php", "a", "f", &["strict_error"]),
    ];
    for (text, name, file_name, expected) in good {
        let parsed = simply(&body(&[(&format!("Content-Disposition: form-data{text}"), "1")]));
        assert_eq!((error(&parsed), flags(&parsed.multipart)), (None, expected.to_vec()), "{text}");
        let found = if file_name.is_empty() { &parsed.arguments } else { &parsed.files };
        let value = if file_name.is_empty() { "1" } else { file_name };
        assert_eq!(found.get(0), Some((name.as_bytes(), value.as_bytes())), "{text}");
    }
    let bad = [
        ("attachment; name=a", -1),
        ("Form-Data; name=a", -1),
        ("form-data name=a", -2),
        ("form-data; name=a; ", -3),
        ("form-data; name", -4),
        ("form-data; name ", -5),
        ("form-data; name=", -6),
        ("form-data; name=\"", -7),
        ("form-data; name=\"a\\", -8),
        ("form-data; name=\"a", -10),
        ("form-data; name=a; x=y", -11),
        ("form-data; Name=a", -11),
        ("form-data; name*=UTF-8''a", -11),
        ("form-data; name=\"a\"b", -12),
        ("form-data; name=a b", -12),
        ("form-data; name b=a", -13),
        ("form-data; name=a; name=b", -14),
        ("form-data; name=\"\"; name=b", -14),
        ("form-data; name=a; filename=b; filename=c", -15),
        ("form-data; name=a; filename*=UTF-8''a", -21),
    ];
    for (value, code) in bad {
        let parsed = simply(&body(&[(&format!("Content-Disposition: {value}"), "1")]));
        let expected = format!("Invalid Content-Disposition header ({code}).");
        assert_eq!(error(&parsed), Some(&expected[..]), "{value}");
        assert!(parsed.multipart.strict_error, "{value}");
    }
    for (value, expected) in [
        ("form-data", "Content-Disposition header missing name field."),
        ("form-data; name=\"\"", "Content-Disposition header missing name field."),
        ("form-data; name=a; filename =\"f\"", "Invalid Content-Disposition header (filename)."),
    ] {
        let parsed = simply(&body(&[(&format!("Content-Disposition: {value}"), "1")]));
        assert_eq!(error(&parsed), Some(expected), "{value}");
    }
}

#[test]
fn what_was_read_before_an_error_stays() {
    let text = body(&[("Content-Disposition: form-data; name=\"a\"", "1"), ("X", "2")]);
    let parsed = simply(&text);
    assert_eq!((pairs(&parsed.arguments), error(&parsed).is_some()), (vec!["a=1".to_owned()], true));
}

#[test]
fn a_cut_is_no_error() {
    let whole = body(&[
        ("Content-Disposition: form-data; name=\"a\"", "evil"),
        ("Content-Disposition: form-data; name=\"f\"; filename=\"x\"", "data"),
    ]);
    for end in 1..whole.len() {
        let parsed = read(TYPE, &whole.as_bytes()[..end], &BodyLimits::default(), true);
        assert_eq!((error(&parsed), flags(&parsed.multipart)), (None, vec![]), "{:?}", &whole[..end]);
        let evil = parsed.arguments.get(0).map(|(_, value)| value.to_vec());
        assert!(evil.is_none_or(|value| b"evil\r".starts_with(&value[..])), "{:?}", &whole[..end]);
    }
    let parsed = read(TYPE, &whole.as_bytes()[..60], &BodyLimits::default(), true);
    assert_eq!(pairs(&parsed.arguments), ["a=evil"]);
}

#[test]
fn arguments_and_files_are_bounded() {
    let limits = BodyLimits { arguments: 1, ..BodyLimits::default() };
    let field = "Content-Disposition: form-data; name=\"a\"";
    let file = "Content-Disposition: form-data; name=\"f\"; filename=\"f\"";
    let parsed = read(TYPE, body(&[(field, "1"), (file, "2")]).as_bytes(), &limits, false);
    assert_eq!((parsed.arguments_over_limit, flags(&parsed.multipart)), (false, vec![]));
    let parsed = read(TYPE, body(&[(field, "1"), (field, "2"), (file, "3"), (file, "4")]).as_bytes(), &limits, false);
    assert_eq!((parsed.arguments.len(), parsed.files.len(), parsed.file_sizes.len()), (1, 1, 1));
    assert!(parsed.arguments_over_limit && parsed.multipart.file_limit_exceeded && parsed.multipart.strict_error);
}

proptest! {
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..300), content_type: String, partial: bool) {
        read(&content_type, &body, &BodyLimits::default(), partial);
    }

    #[test]
    fn pieces_of_multipart(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "--lab", "--", "\r\n", "\n", "Content-Disposition: form-data", "; name=\"a\"", "; filename=\"f\"", "X: y",
            " ", "x", "\"lab\"", "'", "\0",
        ]), 0..40),
        partial: bool,
    ) {
        let body = pieces.concat();
        let parsed = read(TYPE, body.as_bytes(), &BodyLimits::default(), partial);
        prop_assert_eq!(parsed.files.len(), parsed.file_sizes.len());
        if let Some(error) = error(&parsed) {
            prop_assert!(parsed.multipart.strict_error);
            prop_assert!(!(partial && error == "Final boundary missing."));
        }
        let mut others = parsed.multipart;
        others.strict_error = false;
        if super::any_strict(&others) {
            prop_assert!(parsed.multipart.strict_error);
        }
    }
}
