//! `application/x-www-form-urlencoded`: bodies and query strings.
//!
//! Does not know which of the two it reads, nor any character set: names and values are bytes.

use super::{BodyLimits, Input, Parsed};
use crate::engine::fields::Fields;

/// What was wrong with a form; the arguments themselves go to [`Fields`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[must_use]
pub struct FormFlags {
    /// More arguments than allowed; the rest was dropped.
    pub arguments_over_limit: bool,
    /// A `%` that two hexadecimal digits do not follow; it stays as it is.
    pub urlencoded_error: bool,
}

/// Reads a query string or body into `arguments` (which is not cleared). `already` arguments count towards the limit.
///
/// Split at the separator, then at the first `=`. A piece without `=` is a name with an empty value, `=v` a value with
/// an empty name. An empty piece gives nothing: that is Coraza's reading; ModSecurity makes an empty argument of it.
///
/// ```
/// use portcullis::engine::{body::{BodyLimits, form}, fields::Fields};
///
/// let mut arguments = Fields::default();
/// let flags = form::parse(b"a=1+2&&b=%3d=&=v&c%zz", &BodyLimits::default(), 0, &mut arguments);
/// let pairs: Vec<_> = arguments.iter().collect();
/// assert_eq!(pairs, [(&b"a"[..], &b"1 2"[..]), (b"b", b"=="), (b"", b"v"), (b"c%zz", b"")]);
/// assert!(flags.urlencoded_error && !flags.arguments_over_limit);
/// ```
pub fn parse(text: &[u8], limits: &BodyLimits, already: usize, arguments: &mut Fields) -> FormFlags {
    let mut flags = FormFlags::default();
    let mut room = limits.arguments.saturating_sub(already);
    for piece in text.split(|&byte| byte == limits.separator).filter(|piece| !piece.is_empty()) {
        let Some(left) = room.checked_sub(1) else {
            flags.arguments_over_limit = true;
            break;
        };
        room = left;
        flags.urlencoded_error |= push_argument(piece, arguments);
    }
    flags
}

/// Reads a body. An escape cut in half at the end of a cut body is left out, so that it is no error.
pub(super) fn parse_body(input: &Input<'_>, limits: &BodyLimits, parsed: &mut Parsed) {
    let body = if input.partial { without_cut_escape(input.body) } else { input.body };
    let flags = parse(body, limits, input.already, &mut parsed.arguments);
    parsed.arguments_over_limit = flags.arguments_over_limit;
    parsed.urlencoded_error = flags.urlencoded_error;
}

fn without_cut_escape(body: &[u8]) -> &[u8] {
    match body {
        [head @ .., b'%'] => head,
        [head @ .., b'%', digit] if digit.is_ascii_hexdigit() => head,
        _ => body,
    }
}

/// Whether the piece held a bad escape.
fn push_argument(piece: &[u8], arguments: &mut Fields) -> bool {
    let (name, value) = match memchr::memchr(b'=', piece) {
        Some(at) => (piece.get(..at).unwrap_or_default(), piece.get(at + 1..).unwrap_or_default()),
        None => (piece, &[][..]),
    };
    let (mut bad_name, mut bad_value) = (false, false);
    arguments.push_with(|out| bad_name = decode(name, out), |out| bad_value = decode(value, out));
    bad_name || bad_value
}

/// Appends the decoded text; whether it held a bad escape.
fn decode(mut text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut bad = false;
    while let Some(at) = memchr::memchr2(b'%', b'+', text) {
        let (plain, rest) = text.split_at(at);
        out.extend_from_slice(plain);
        text = match rest {
            [b'+', rest @ ..] => {
                out.push(b' ');
                rest
            }
            [b'%', high, low, rest @ ..] if let Some(byte) = hex_byte(*high, *low) => {
                out.push(byte);
                rest
            }
            [first, rest @ ..] => {
                bad = true;
                out.push(*first);
                rest
            }
            [] => rest,
        };
    }
    out.extend_from_slice(text);
    bad
}

/// The byte that two hexadecimal digits stand for.
fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Pairs = Vec<(String, String)>;

    fn shown(fields: &Fields) -> Pairs {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        fields.iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn check(text: &str, expected: &[(&str, &str)], bad: bool) {
        let mut fields = Fields::default();
        let flags = parse(text.as_bytes(), &BodyLimits::default(), 0, &mut fields);
        let expected: Pairs = expected.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        assert_eq!(shown(&fields), expected, "{text}");
        assert_eq!(flags, FormFlags { arguments_over_limit: false, urlencoded_error: bad }, "{text}");
    }

    #[test]
    fn pieces() {
        check("", &[], false);
        check("&", &[], false);
        check("a", &[("a", "")], false);
        check("a=", &[("a", "")], false);
        check("=", &[("", "")], false);
        check("=v", &[("", "v")], false);
        check("a=b=c", &[("a", "b=c")], false);
        check("a=1&&b=2&", &[("a", "1"), ("b", "2")], false);
        check("a=1;b=2", &[("a", "1;b=2")], false);
        check("a=1&a=2", &[("a", "1"), ("a", "2")], false);
    }

    #[test]
    fn escapes() {
        check("a+b=c+d", &[("a b", "c d")], false);
        check("%61=%3C%3e", &[("a", "<>")], false);
        check("a=%00b", &[("a", "\\x00b")], false);
        check("a=%2525", &[("a", "%25")], false);
        check("a=%26b%3d", &[("a", "&b=")], false);
        check("a=%ff%C0", &[("a", "\\xff\\xc0")], false);
        for bad in ["%", "%4", "%zz", "%4g", "%%", "%u0041"] {
            check(&format!("a={bad}"), &[("a", bad)], true);
            check(&format!("{bad}=a"), &[(bad, "a")], true);
        }
        check("a=%%41", &[("a", "%A")], true);
    }

    #[test]
    fn another_separator() {
        let limits = BodyLimits { separator: b';', ..BodyLimits::default() };
        let mut fields = Fields::default();
        assert_eq!(parse(b"a=1&b;c=2", &limits, 0, &mut fields), FormFlags::default());
        assert_eq!(shown(&fields), [("a".to_owned(), "1&b".to_owned()), ("c".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn the_limit_counts_what_is_there_already() {
        let limits = BodyLimits { arguments: 3, ..BodyLimits::default() };
        for (already, kept, over) in [(0, 3, false), (1, 2, true), (3, 0, true), (9, 0, true)] {
            let mut fields = Fields::default();
            let flags = parse(b"a=1&b=2&c=3&", &limits, already, &mut fields);
            assert_eq!((fields.len(), flags.arguments_over_limit), (kept, over), "{already}");
        }
    }

    #[test]
    fn a_cut_escape_is_no_error() {
        for (body, partial, bad) in
            [("a=%", true, false), ("a=%4", true, false), ("a=%g", true, true), ("a=%", false, true)]
        {
            let mut parsed = Parsed::default();
            let input = Input { body: body.as_bytes(), content_type: b"", partial, already: 0 };
            parse_body(&input, &BodyLimits::default(), &mut parsed);
            assert_eq!((parsed.arguments.len(), parsed.urlencoded_error), (1, bad), "{body} {partial}");
        }
    }

    proptest! {
        #[test]
        fn never_grows_and_counts_pieces(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut fields = Fields::default();
            let flags = parse(&text, &BodyLimits::default(), 0, &mut fields);
            let pieces = text.split(|b| *b == b'&').filter(|piece| !piece.is_empty()).count();
            prop_assert_eq!(fields.len(), pieces);
            prop_assert!(fields.combined_size() <= text.len());
            prop_assert!(!flags.arguments_over_limit);
            prop_assert!(!flags.urlencoded_error || text.contains(&b'%'));
        }

        #[test]
        fn what_was_encoded_comes_back(value in proptest::collection::vec(any::<u8>(), 0..50)) {
            let text: String = value.iter().map(|byte| format!("%{byte:02x}")).collect();
            let mut fields = Fields::default();
            let flags = parse(format!("k={text}").as_bytes(), &BodyLimits::default(), 0, &mut fields);
            prop_assert_eq!(fields.get(0), Some((&b"k"[..], &value[..])));
            prop_assert_eq!(flags, FormFlags::default());
        }
    }
}
