//! Tokens in the words of the C project's test data.

use super::detect;
use super::html::{Context, Kind, Tokens};

/// A line a token: type, length, text.
pub(in super::super) fn print_tokens(input: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    for token in Tokens::new(input, Context::Text) {
        let kind = match token.kind {
            Kind::Text => "DATA_TEXT",
            Kind::TagName => "TAG_NAME_OPEN",
            Kind::ClosingTag => "TAG_CLOSE",
            Kind::TagEnd => "TAG_NAME_CLOSE",
            Kind::SelfClosingEnd => "TAG_NAME_SELFCLOSE",
            Kind::AttributeName => "ATTR_NAME",
            Kind::AttributeValue => "ATTR_VALUE",
            Kind::Comment => "TAG_COMMENT",
            Kind::Doctype => "DOCTYPE",
        };
        lines.extend(format!("{kind},{},", token.text.len()).bytes());
        lines.extend(token.text);
        lines.push(b'\n');
    }
    lines
}

#[test]
fn a_url_is_judged_by_its_scheme_however_it_is_written() {
    let dangerous: [&[u8]; 9] = [
        b"javascript:alert(1)",
        b"JaVa",
        b" \x01\xe2\x80\x80data:text/html,x",
        b"view-source:x",
        b"vbscript:x",
        b"&#106;&#x61;va&#115cript:x",
        b"&#0000106;ava:x",
        b"j\0a\nva:x",
        // Only the lowest byte of a character counts.
        b"&#x144;ATA",
    ];
    for url in dangerous {
        assert!(detect(&[b"<a href='", url, b"'>"].concat()), "{}", url.escape_ascii());
    }
    let honest: [&[u8]; 8] = [b"", b"jav", b"/java", b"j ava", b"&#x164;ATA", b"&#", b"&#x", b"&#x1100000;data"];
    for url in honest {
        assert!(!detect(&[b"<a href='", url, b"'>"].concat()), "{}", url.escape_ascii());
    }
}

#[test]
fn names_are_judged_without_regard_to_nul_and_what_follows_an_event() {
    for markup in
        ["<scr\0ipt>", "<svg2>", "<XSLt ", "<a onload\u{aa}=x>", "<a ONERRORS=", "' onclick=x'", "<!doctype x>"]
    {
        let is_open = markup.ends_with('=');
        assert_eq!(detect(markup.as_bytes()), !is_open, "{markup}");
    }
    for markup in ["</script>", "<b onloa=x>", "<a onload>", "<ab>", "<sv>", "<!-- ok -->", "a<b=c"] {
        assert!(!detect(markup.as_bytes()), "{markup}");
    }
    for comment in ["<!--`-->", "<![if x]>", "<?xml x>", "<?import x>", "<!entity x>", "<%`"] {
        assert!(detect(comment.as_bytes()), "{comment}");
    }
}
