//! Unit tests of the XML reader.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::super::{BodyLimits, Input, Parsed, Processor, parse};

fn read(body: &[u8], limits: &BodyLimits, partial: bool) -> Parsed {
    let mut parsed = Parsed::default();
    let input = Input { body, content_type: b"text/xml", partial, already: 0 };
    parse(Processor::Xml, &input, limits, &mut parsed);
    parsed
}

fn simply(body: &[u8]) -> Parsed {
    read(body, &BodyLimits::default(), false)
}

fn text(parsed: &Parsed) -> String {
    parsed.xml_text.as_deref().expect("text").escape_ascii().to_string()
}

fn pairs(fields: &crate::engine::fields::Fields) -> Vec<String> {
    let pair = |(name, value): (&[u8], &[u8])| format!("{}={}", name.escape_ascii(), value.escape_ascii());
    fields.iter().map(pair).collect()
}

fn error(parsed: &Parsed) -> Option<&str> {
    let error = parsed.error.as_deref()?;
    Some(error.strip_prefix("XML parsing error: ").unwrap().split(" at byte ").next().unwrap())
}

#[test]
fn a_doctype_is_refused_where_it_is_told_to_be() {
    let limits = BodyLimits { refuse_doctype: true, ..BodyLimits::default() };
    let cases = [
        ("<!DOCTYPE r SYSTEM \"http://h/x.dtd\"><r/>", Some("DOCTYPE is refused")),
        ("<?xml version=\"1.0\"?>\n<!-- c --><!DOCTYPE r><r>x</r>", Some("DOCTYPE is refused")),
        ("<!doctype r [<!ENTITY x 'y'>]><r>&x;</r>", Some("DOCTYPE is refused")),
        ("<r><![CDATA[<!DOCTYPE r>]]></r>", None),
        ("<r a='&lt;!DOCTYPE r>'/>", None),
    ];
    for (body, expected) in cases {
        assert_eq!(error(&read(body.as_bytes(), &limits, false)), expected, "{body}");
    }
}

#[test]
fn texts() {
    let cases: [(&str, &str); 20] = [
        ("<a></a>", ""),
        ("<a/>", ""),
        ("<a>x</a>", "x"),
        ("<r>  <f>foo1</f>  <b>bar1</b></r>", "  foo1  bar1"),
        ("<?xml version=\"1.0\"?>\n<a>x</a>\n", "x"),
        ("\u{feff}<a>x</a>", "x"),
        ("<a>x<!-- c --><?p i?>y</a>", "xy"),
        ("<a><![CDATA[<script>]]></a>", "<script>"),
        ("<a>&lt;&gt;&amp;&apos;&quot;</a>", r#"<>&\'\""#),
        ("<a>&#60;&#x3c;&#xfc;</a>", r"<<\xc3\xbc"),
        ("<a>x\r\ny\rz</a>", r"x\ny\nz"),
        ("<ä>ü</ä>", r"\xc3\xbc"),
        ("<r>$(nc${IFS}192.0.2.9)</r>", "$(nc${IFS}192.0.2.9)"),
        ("<!DOCTYPE r [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><r>hello&x;</r>", "hello&x;"),
        ("<!DOCTYPE r SYSTEM \"http://h/x.dtd\"><r>&nbsp;</r>", "&nbsp;"),
        ("<!DOCTYPE r [<!ENTITY x '<script>'>]><r>a&x;&x;</r>", "<script>a&x;&x;"),
        ("<!DOCTYPE r [<!ENTITY x '&#60;&#115;cript>'>]><r>&x;</r>", "<script>&x;"),
        ("<!DOCTYPE r [<!ENTITY lt '&#38;#60;'>]><r>&lt;</r>", "&#60;<"),
        ("<!DOCTYPE r [<!-- ' --><?p ]?><!ELEMENT r ANY><!ENTITY x '>]'> ] ><r>&x;</r>", ">]&x;"),
        ("<!DOCTYPE r><r>x</r>", "x"),
    ];
    for (body, expected) in cases {
        let parsed = simply(body.as_bytes());
        assert_eq!((error(&parsed), &text(&parsed)[..]), (None, expected), "{body}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_kept() {
    let parsed = simply(b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a b=\"\xfc\">\xc0\xae&#xfc;</a>");
    assert_eq!((error(&parsed), &text(&parsed)[..]), (None, r"\xc0\xae\xc3\xbc"));
    assert_eq!(pairs(&parsed.xml_attributes), [r"b=\xfc"]);
}

#[test]
fn attributes() {
    let body = "<r xmlns=\"u\" xmlns:p='v' a=\"1\" p:b='2'><c d = \"x\ty\r\nz\" e=''/><c d=\"&lt;&#39;\"/></r>";
    let parsed = simply(body.as_bytes());
    assert_eq!((error(&parsed), &text(&parsed)[..]), (None, ""));
    assert_eq!(pairs(&parsed.xml_attributes), ["a=1", "p:b=2", "d=x y z", "e=", r"d=<\'"]);
}

#[test]
fn errors_keep_the_text_so_far() {
    let levels = "<!ENTITY a 'x'><!ENTITY b '&a;&a;&a;'>";
    let cases: [(&str, &str, &str); 38] = [
        (" ", "", "unexpected end of text"),
        ("x", "", "content outside the root element"),
        ("<a>x", "x", "unexpected end of text"),
        ("<a>x<b", "x", "unexpected end of text"),
        ("<a>x</a", "x", "unexpected end of text"),
        ("<a>x<!-- ", "x", "unexpected end of text"),
        ("<a>x<![CDATA[y", "xy", "unexpected end of text"),
        ("<a b='", "", "unexpected end of text"),
        ("<r>x<a></r>", "x", "mismatched end tag"),
        ("<r>x</r></r>", "x", "mismatched end tag"),
        ("<r>x</r><r/>", "x", "a second root element"),
        ("<r>x</r>y", "x", "content outside the root element"),
        ("<r>x</r><![CDATA[y]]>", "x", "content outside the root element"),
        ("<r>x</r>&lt;", "x", "content outside the root element"),
        ("<1>x</1>", "", "malformed name"),
        ("<>x</>", "", "malformed name"),
        ("<a b>x</a>", "", "malformed attribute"),
        ("<a b=c>x</a>", "", "malformed attribute"),
        ("<a 1='c'>x</a>", "", "malformed name"),
        ("<a b='<'>x</a>", "", "`<` in an attribute"),
        ("<a b='&'>x</a>", "", "malformed reference"),
        ("<a b='&c;'>x</a>", "", "unknown entity"),
        ("<a b='1' c='2' b='3'>x</a>", "", "an attribute twice"),
        ("<a>x&y;</a>", "x", "unknown entity"),
        ("<a>x&nbsp;</a>", "x", "unknown entity"),
        ("<a>x & y</a>", "x ", "malformed reference"),
        ("<a>x&#0;</a>", "x", "bad character reference"),
        ("<a>x&#xd800;</a>", "x", "bad character reference"),
        ("<a>x&#+60;</a>", "x", "bad character reference"),
        ("<a>x\0y</a>", "x", "control byte"),
        ("<a>x<!foo></a>", "x", "unknown markup"),
        ("<?xml version='1.0' encoding='UTF-7'?><a>+ADw-</a>", "", "unsupported encoding"),
        ("<?xml version='1.0' encoding='UTF-16'?><a>x</a>", "", "unsupported encoding"),
        ("<a/><!DOCTYPE a>", "", "misplaced DOCTYPE"),
        ("<!DOCTYPE a [<!ENTITY % x SYSTEM 'http://h/'> %x;]><a/>", "", "parameter entity"),
        ("<!DOCTYPE a [%x;]><a/>", "", "parameter entity"),
        ("<!DOCTYPE a [<!ENTITY x '&#38;y;'>]><a/>", "", "entity within an entity"),
        (&format!("<!DOCTYPE a [{levels}]><a>&b;</a>"), "", "entity within an entity"),
    ];
    for (body, expected_text, expected) in cases {
        let parsed = simply(body.as_bytes());
        assert_eq!((error(&parsed), &text(&parsed)[..]), (Some(expected), expected_text), "{body}");
    }
}

#[test]
fn utf16_is_an_error() {
    let body: Vec<u8> = "<a>x</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for body in [[b"\xff\xfe", &body[..]].concat(), body] {
        assert!(simply(&body).error.is_some());
    }
}

#[test]
fn many_references_to_a_long_entity_are_an_error() {
    let long = "x".repeat(10_000);
    let references = "&e;".repeat(10_000);
    let parsed = simply(format!("<!DOCTYPE a [<!ENTITY e '{long}'>]><a>{references}</a>").as_bytes());
    assert_eq!(error(&parsed), Some("entity expansion"));
    assert!(parsed.xml_text.unwrap().len() < 50_000);
}

#[test]
fn a_cut_is_no_error() {
    let whole = "<?xml version=\"1.0\"?><!DOCTYPE r [<!ENTITY x 'y'>]>\n<r a='1'>evil&amp;<b c=\"2\"/><!-- c -->\
                 <![CDATA[z]]>&#60;</r>";
    for end in 1..whole.len() {
        let cut = &whole.as_bytes()[..end];
        let parsed = read(cut, &BodyLimits::default(), true);
        assert_eq!(error(&parsed), None, "{}", &whole[..end]);
        assert!(simply(cut).error.is_some(), "{}", &whole[..end]);
    }
    assert_eq!(text(&read(b"<r><a>evil</a><b>x", &BodyLimits::default(), true)), "evilx");
    assert_eq!(text(&read(b"<r>evil<![CDATA[mo", &BodyLimits::default(), true)), "evilmo");
    assert!(read(b"<r><a></r>", &BodyLimits::default(), true).error.is_some(), "the cut did not cause this one");
}

#[test]
fn into_arguments() {
    let limits = BodyLimits { xml_into_arguments: true, ..BodyLimits::default() };
    let cases: [(&str, &[&str]); 6] = [
        ("<a></a>", &["xml.a="]),
        ("<a>x</a>", &["xml.a=x"]),
        ("<r> <a>1</a> <a>2</a><n:b c='d'>&lt;<![CDATA[3]]></n:b> </r>", &["xml.r.a=1", "xml.r.a=2", "xml.r.b=<3"]),
        ("<r>x<a>1</a>y</r>", &["xml.r=x", "xml.r.a=1", "xml.r=y"]),
        ("<r><a><b/></a></r>", &["xml.r.a.b="]),
        ("<r><a>1</a><b>2", &["xml.r.a=1"]),
    ];
    for (body, expected) in cases {
        assert_eq!(pairs(&read(body.as_bytes(), &limits, false).arguments), expected, "{body}");
        assert!(simply(body.as_bytes()).arguments.is_empty());
    }
    let few = BodyLimits { arguments: 2, ..limits };
    let parsed = read(b"<r><a/><a/><a/></r>", &few, false);
    assert_eq!((parsed.arguments.len(), parsed.arguments_over_limit), (2, true));
    let body = format!("<{0}>{1}</{0}>", "n".repeat(50_000), "<a/>".repeat(900));
    assert_eq!(error(&read(body.as_bytes(), &limits, false)), Some("names too long"));
}

#[test]
fn hostile_shapes_take_linear_time() {
    let mut attributes = String::from("<a");
    for number in 0..100_000 {
        write!(attributes, " a{number}=''").unwrap();
    }
    attributes.push_str("/>");
    for body in [
        attributes,
        "<a>".repeat(300_000),
        "<a ".repeat(300_000),
        "<![CDATA[".repeat(100_000),
        "<!--".repeat(250_000),
        format!("<a>{}</a>", "&lt;".repeat(250_000)),
        format!("<!DOCTYPE a [{}]><a/>", "<!ENTITY x 'y'>".repeat(60_000)),
        format!("<!DOCTYPE a [{}", "<!ENTITY x '".repeat(80_000)),
    ] {
        let start = std::time::Instant::now();
        simply(body.as_bytes());
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 3.0, "{seconds} s for {} bytes: {}", body.len(), &body[..20]);
    }
}

proptest! {
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..300), partial: bool) {
        prop_assert!(read(&body, &BodyLimits::default(), partial).xml_text.is_some() || body.is_empty());
    }

    #[test]
    fn pieces_of_xml(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "<a>", "</a>", "<b c='", "'", "\"", ">", "/>", "&lt;", "&#x3c;", "&x;", "<!DOCTYPE a [", "<!ENTITY x '",
            "]>", "<![CDATA[", "]]>", "<!--", "-->", "<?xml version='1.0'", "?>", " ", "x", "\u{fc}", "%",
        ]), 0..40),
        partial: bool,
        xml_into_arguments: bool,
    ) {
        let limits = BodyLimits { xml_into_arguments, ..BodyLimits::default() };
        let body = pieces.concat();
        let parsed = read(body.as_bytes(), &limits, partial);
        if partial && parsed.error.is_some() {
            prop_assert!(read(body.as_bytes(), &limits, false).error.is_some());
        }
    }

    #[test]
    fn text_comes_back(text in "[ -~\u{a0}-\u{ff}]{0,50}") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let parsed = simply(format!("<a>{escaped}</a>").as_bytes());
        prop_assert_eq!(parsed.error, None);
        prop_assert_eq!(parsed.xml_text.as_deref(), Some(text.as_bytes()));
    }
}
