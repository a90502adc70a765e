//! Unit tests of the JSON reader.

use proptest::prelude::*;

use super::super::{BodyLimits, Input, Parsed, Processor, parse};

fn read(body: &[u8], limits: &BodyLimits, partial: bool) -> Parsed {
    let mut parsed = Parsed::default();
    let input = Input { body, content_type: b"application/json", partial, already: 0 };
    parse(Processor::Json, &input, limits, &mut parsed);
    parsed
}

fn shown(parsed: &Parsed) -> Vec<String> {
    let pair = |(name, value): (&[u8], &[u8])| format!("{}={}", name.escape_ascii(), value.escape_ascii());
    parsed.arguments.iter().map(pair).collect()
}

fn check(body: &[u8], expected: &[&str], error: Option<&str>) {
    let parsed = read(body, &BodyLimits::default(), false);
    let body = body.escape_ascii();
    assert_eq!(shown(&parsed), expected, "{body}");
    let text = error.map(|error| format!("JSON parsing error: {error}"));
    assert_eq!(parsed.error, text, "{body}");
}

#[test]
fn names() {
    let cases: [(&str, &[&str]); 14] = [
        (r#"{"a":"x","b":[1,{"c":null}],"d":{"e":true}}"#, &["json.a=x", "json.b.0=1", "json.b.1.c=", "json.d.e=true"]),
        (r#""' OR '1'='1""#, &[r"json=\' OR \'1\'=\'1"]),
        ("123", &["json=123"]),
        ("null", &["json="]),
        ("[1,[2,3]]", &["json.0=1", "json.1.0=2", "json.1.1=3"]),
        (r#"{"":1,"a":{"":2}}"#, &["json.=1", "json.a.=2"]),
        (r#"{"a":1,"a":2}"#, &["json.a=1", "json.a=2"]),
        (r#"{"a.b":1,"a":{"b":2}}"#, &["json.a.b=1", "json.a.b=2"]),
        (r#"{"a\u0022":1}"#, &[r#"json.a\"=1"#]),
        ("{}", &[]),
        ("[]", &[]),
        (r#"{"k":{},"l":[],"m":[[]]}"#, &["json.k=", "json.l=", "json.m.0="]),
        (" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : 3 } \n", &["json.a.0=1", "json.a.1=2", "json.b=3"]),
        (r#"[{"a":1},{"a":2}]"#, &["json.0.a=1", "json.1.a=2"]),
    ];
    for (body, expected) in cases {
        check(body.as_bytes(), expected, None);
    }
}

#[test]
fn scalars() {
    for number in ["0", "-0", "10", "-1.50", "1e5", "1E+5", "1.0e-10", "123456789012345678901234567890"] {
        check(number.as_bytes(), &[&format!("json={number}")], None);
    }
    check(b"[true,false,null]", &["json.0=true", "json.1=false", "json.2="], None);
    for (text, value) in [
        (r#""\"\\\/\b\f\n\r\t""#, r#"\"\\/\x08\x0c\n\r\t"#),
        (r#""\u003cscript\u003E""#, "<script>"),
        (r#""\u00fc""#, r"\xc3\xbc"),
        (r#""\ud83d\ude00""#, r"\xf0\x9f\x98\x80"),
        (r#""\ud83d\u003cb""#, r"\xef\xbf\xbd<b"),
        (r#""\ud83d\ud83d\ude00""#, r"\xef\xbf\xbd\xf0\x9f\x98\x80"),
        (r#""\ude00x""#, r"\xef\xbf\xbdx"),
        (r#""\ud83d""#, r"\xef\xbf\xbd"),
        (r#""\u0000x""#, r"\x00x"),
    ] {
        check(text.as_bytes(), &[&format!("json={value}")], None);
    }
    check(b"\"\xc0\xae\xff\x80\"", &[r"json=\xc0\xae\xff\x80"], None);
}

#[test]
fn errors_keep_what_was_read() {
    let cases: [(&str, &[&str], &str); 33] = [
        (" ", &[], "unexpected end of text at byte 1"),
        ("{", &[], "unexpected end of text at byte 1"),
        (r#"{"a":1"#, &["json.a=1"], "unexpected end of text at byte 6"),
        (r#"{"a":1,}"#, &["json.a=1"], "unexpected byte at byte 7"),
        (r#"{"a":1]"#, &["json.a=1"], "unexpected byte at byte 6"),
        ("[1}", &["json.0=1"], "unexpected byte at byte 2"),
        ("[1,]", &["json.0=1"], "unexpected byte at byte 3"),
        ("[,1]", &[], "unexpected byte at byte 1"),
        ("[1 2]", &["json.0=1"], "unexpected byte at byte 3"),
        (r#"{"a" 1}"#, &[], "unexpected byte at byte 5"),
        (r#"{"a"}"#, &[], "unexpected byte at byte 4"),
        ("{a:1}", &[], "unexpected byte at byte 1"),
        ("{1:1}", &[], "unexpected byte at byte 1"),
        ("}", &[], "unexpected byte at byte 0"),
        ("'a'", &[], "unexpected byte at byte 0"),
        ("\u{feff}1", &[], "unexpected byte at byte 0"),
        ("//c\n1", &[], "unexpected byte at byte 0"),
        ("1 2", &["json=1"], "content after the value at byte 2"),
        (r#"{"a":1}{"b":2}"#, &["json.a=1"], "content after the value at byte 7"),
        ("1\0", &["json=1"], "content after the value at byte 1"),
        (r#"{"a":"evil"#, &["json.a=evil"], "unexpected end of text at byte 10"),
        ("\"a\nb\"", &["json=a"], "control byte in a string at byte 2"),
        (r#""a\x""#, &["json=a"], "bad escape in a string at byte 2"),
        (r#""a\u12g4""#, &["json=a"], "bad escape in a string at byte 2"),
        ("01", &["json=0"], "content after the value at byte 1"),
        ("-", &["json=-"], "unexpected end of text at byte 1"),
        ("-a", &["json=-"], "malformed number at byte 1"),
        ("1.", &["json=1."], "unexpected end of text at byte 2"),
        ("[1.]", &["json.0=1."], "malformed number at byte 3"),
        ("[1e]", &["json.0=1e"], "malformed number at byte 3"),
        ("+1", &[], "unexpected byte at byte 0"),
        ("truE", &["json="], "unexpected byte at byte 0"),
        ("NaN", &[], "unexpected byte at byte 0"),
    ];
    for (body, expected, error) in cases {
        check(body.as_bytes(), expected, Some(error));
    }
}

#[test]
fn a_cut_is_no_error() {
    let whole = r#"{"a":"ev\u0041il","b":[-1.5e3,true,{"c":null}]}"#;
    for end in 1..whole.len() {
        let cut = &whole.as_bytes()[..end];
        assert_eq!(read(cut, &BodyLimits::default(), true).error, None, "{}", cut.escape_ascii());
        assert!(read(cut, &BodyLimits::default(), false).error.is_some(), "{}", cut.escape_ascii());
    }
    let parsed = read(br#"{"a":"evil","b":"xxx"#, &BodyLimits::default(), true);
    assert_eq!(shown(&parsed), ["json.a=evil", "json.b=xxx"]);
    assert!(read(br#"{"a":1]"#, &BodyLimits::default(), true).error.is_some(), "the cut did not cause this one");
}

#[test]
fn depth_is_bounded() {
    let limits = BodyLimits::default();
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth)).into_bytes();
    assert_eq!(read(&nested(512), &limits, false).error, None);
    for depth in [513, 600, 100_000] {
        let parsed = read(&nested(depth), &limits, false);
        assert_eq!(parsed.error.as_deref(), Some("JSON parsing error: nested too deep at byte 512"));
    }
    let objects = r#"{"a":"#.repeat(100_000);
    assert!(read(objects.as_bytes(), &limits, false).error.is_some());
    let boundless = BodyLimits { json_depth: usize::MAX, ..limits };
    assert!(read(&nested(100_000), &boundless, false).error.is_none_or(|error| error.contains("names too long")));
}

#[test]
fn arguments_are_bounded() {
    let limits = BodyLimits { arguments: 3, ..BodyLimits::default() };
    let mut parsed = read(b"[1,2,3]", &limits, false);
    assert_eq!((parsed.arguments.len(), parsed.arguments_over_limit), (3, false));
    parsed = read(b"[1,2,3,4,", &limits, false);
    assert_eq!((parsed.arguments.len(), parsed.arguments_over_limit, parsed.error), (3, true, None));
    let input = Input { body: b"[1,2]", content_type: b"", partial: false, already: 2 };
    let mut parsed = Parsed::default();
    parse(Processor::Json, &input, &limits, &mut parsed);
    assert_eq!((parsed.arguments.len(), parsed.arguments_over_limit), (1, true));
}

#[test]
fn long_keys_over_many_values_are_refused() {
    let body = format!(r#"{{"{}":[{}1]}}"#, "k".repeat(100_000), "1,".repeat(998));
    let parsed = read(body.as_bytes(), &BodyLimits::default(), false);
    assert!(parsed.error.is_some_and(|error| error.contains("names too long")));
    assert!(parsed.arguments.combined_size() < 20 * body.len());
}

proptest! {
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..300), partial: bool) {
        let parsed = read(&body, &BodyLimits::default(), partial);
        prop_assert!(parsed.arguments.len() <= body.len());
    }

    #[test]
    fn json_like_text(body in r#"[\[\]{},:"\\u0-9a-d.eE+\- tn]{0,60}"#, partial: bool) {
        let parsed = read(body.as_bytes(), &BodyLimits::default(), partial);
        if partial && parsed.error.is_some() {
            prop_assert!(read(body.as_bytes(), &BodyLimits::default(), false).error.is_some());
        }
    }

    #[test]
    fn strings_come_back(text in any::<String>()) {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let parsed = read(format!("\"{escaped}\"").as_bytes(), &BodyLimits::default(), false);
        prop_assert_eq!(parsed.error.as_deref(), None);
        prop_assert_eq!(parsed.arguments.get(0), Some((&b"json"[..], text.as_bytes())));
    }
}
