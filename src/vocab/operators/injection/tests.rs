//! The C project's own cases, the gates, and the work on hostile values.

use super::scan::steps;
use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// A file of the C project's tests.
struct Case {
    name: String,
    input: Vec<u8>,
    expected: Vec<u8>,
}

/// The C project's test data, read in place; `None`, said loudly, where it is not there.
fn cases(kind: &str) -> Option<Vec<Case>> {
    let root = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let folder = root.join("vectors/libinjection/tests");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("SKIPPED: {} is not there", folder.display());
        return None;
    };
    let mut cases = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(&format!("test-{kind}-")) {
            let text = std::fs::read(&path).unwrap();
            let (input, expected) = sections(&text).unwrap_or_else(|| panic!("{name} has no sections"));
            cases.push(Case { name, input, expected });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Some(cases)
}

/// The input, its end trimmed as the C project's driver does, and what is expected.
fn sections(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let after = |text: &'_ [u8], mark: &str| Some(memchr::memmem::find(text, mark.as_bytes())? + mark.len());
    let input = text.get(after(text, "--INPUT--\n")?..)?;
    let end = memchr::memmem::find(input, b"--EXPECTED--")?;
    let expected = input.get(after(input, "--EXPECTED--")?..)?;
    Some((input[..end].trim_ascii_end().to_vec(), expected.trim_ascii().to_vec()))
}

/// Runs the cases of one kind through a function that prints what is expected.
fn replay(kind: &str, count: usize, print: impl Fn(&[u8]) -> Vec<u8>) {
    let Some(cases) = cases(kind) else { return };
    let mut wrong = Vec::new();
    for Case { name, input, expected } in &cases {
        let found = print(input).trim_ascii().to_vec();
        // Phrases come from the table, in upper case.
        if !found.eq_ignore_ascii_case(expected) {
            let show = String::from_utf8_lossy;
            wrong.push(format!("{name}: {:?}: {:?}, not {:?}", show(input), show(&found), show(expected)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert_eq!(cases.len(), count);
}

#[test]
fn values_are_cut_into_the_tokens_of_the_c_library() {
    replay("tokens", 249, sqli::tests::print_tokens);
}

#[test]
fn tokens_are_folded_as_by_the_c_library() {
    replay("folding", 118, sqli::tests::print_folded);
}

#[test]
fn fingerprints_are_those_of_the_c_library() {
    replay("sqli", 50, |input| sqli::detect(input).map(|found| found.as_bytes().to_vec()).unwrap_or_default());
}

#[test]
fn html_is_cut_into_the_tokens_of_the_c_library() {
    replay("html5", 63, xss::tests::print_tokens);
}

#[test]
fn captures_are_the_fingerprint_and_the_whole_value() {
    use super::super::testing::captured;
    assert_eq!(captured("detectSQLi", b"", b"1' or '1'='1"), Some(vec![b"s&sos".to_vec()]));
    let attack = b"<a href=\"javascript:alert(1)\">)";
    assert_eq!(captured("detectXSS", b"", attack), Some(vec![attack.to_vec()]));
    assert_eq!(captured("detectXSS", b"", b"plain"), None);
}

/// What the two detectors must survive and keep fast: pieces that begin something and do not end it. ``not`x` `` is where
/// the C library searches the end of the word again and again: 2 s for 96 kB.
const HOSTILE: [&str; 61] = [
    "'",
    "\"",
    "`",
    "\\",
    "\\'",
    "''",
    "'\\",
    "(",
    ")",
    "((",
    "{",
    "{`",
    "}",
    "[",
    "]",
    "@",
    "@@`",
    "$",
    "$$",
    "$a$",
    "$a",
    "/*",
    "/*/",
    "/**/",
    "*/",
    "/*!",
    "--",
    "-- \n",
    "#",
    "#\n",
    ";",
    "; if",
    "1",
    "1,",
    "1.",
    "1e",
    "0x",
    "b'0",
    "x'",
    "q'(",
    "u&'",
    "a.",
    "select.",
    "x not`x`",
    "not`x`",
    "like(",
    "in(",
    "<",
    "<a",
    "<a ",
    "<a b=",
    "<!",
    "<!--",
    "-\0",
    "<![CDATA[",
    "]]",
    "<%",
    "%",
    "&#",
    "href=&#0;",
    "/",
];

#[test]
fn work_grows_with_the_length_of_the_value_and_no_faster() {
    let mut shapes: Vec<String> = HOSTILE.map(str::to_owned).to_vec();
    for first in HOSTILE {
        shapes.extend(HOSTILE.iter().step_by(7).map(|second| format!("{first}{second}")));
    }
    for shape in &shapes {
        for start in ["", "x ", "1 ", "'", "<a href="] {
            let run = |len: usize| {
                let value = format!("{start}{}", shape.repeat(len / shape.len())).into_bytes();
                steps::of(|| {
                    sqli::detect(&value);
                    xss::detect(&value);
                })
            };
            // Five readings of SQL and five of HTML; none goes over a byte more than a few dozen times.
            let (small, large) = (run(400), run(3_200));
            assert!(
                large <= 10 * small.max(400),
                "{start:?} {shape:?}: {small} steps for 400 bytes, {large} for 3,200"
            );
            assert!(large <= 3_200 * 100, "{start:?} {shape:?}: {large} steps for 3,200 bytes");
        }
    }
    assert_eq!(shapes.len(), 610);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn word_characters_alone_are_never_sql(value in "(select|union|and|or|null|having|case|into|0x|0b|1e|[0-9a-z_]){1,6}") {
        prop_assert!(is_never_sql(value.as_bytes()));
        prop_assert_eq!(sqli::detect(value.as_bytes()), None);
    }

    #[test]
    fn markup_needs_a_tag_or_an_attribute(value in "(script|onerror|href|javascript:|[^<=]){1,8}") {
        prop_assert!(is_never_html(value.as_bytes()));
        prop_assert!(!xss::detect(value.as_bytes()));
    }

    #[test]
    fn no_value_is_too_odd(pieces in proptest::collection::vec((0..HOSTILE.len(), ".{0,3}", any::<u8>()), 0..30)) {
        let mut value = Vec::new();
        for (piece, text, byte) in pieces {
            value.extend(HOSTILE[piece].bytes().chain(text.bytes()).chain([byte]));
        }
        let fingerprint = sqli::detect(&value);
        prop_assert!(fingerprint.is_none_or(|found| (1..=5).contains(&found.as_bytes().len())));
        xss::detect(&value);
    }
}

/// The argument for the gate, from the other side: of the fingerprints that such a value can have, only one is listed.
#[test]
fn numbers_and_a_word_are_no_listed_fingerprint() {
    let words = "ETUBkfvt1no&A";
    let beginnings = ["", "1", "n", "11", "n1", "1n", "nn"];
    let mut listed = Vec::new();
    for fingerprint in beginnings.iter().flat_map(|start| words.chars().map(move |word| format!("{start}{word}"))) {
        if sqli::tests::is_listed(&fingerprint) {
            listed.push(fingerprint);
        }
    }
    assert_eq!(listed, ["1U"]);
}
