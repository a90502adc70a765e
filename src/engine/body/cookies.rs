//! `Cookie` headers, version 0 (Netscape) syntax: the one browsers and `SecCookieFormat 0` speak.
//!
//! Version 1 (`$Version`, quotes, commas) is not read: such names appear as ordinary cookies, which CRS 921250 expects.

use crate::engine::fields::Fields;

/// Adds the cookies of one header value to `cookies` (which is not cleared); call it once per `Cookie` header.
///
/// Split at `;`, leading blanks dropped, split at the first `=`. No `=` gives a name with an empty value; an empty name
/// is skipped. Values stay as they are, quotes and percent escapes included: that is ModSecurity v2; v3 trims the last
/// value and Coraza every one.
///
/// ```
/// use portcullis::engine::{body::cookies, fields::Fields};
///
/// let mut jar = Fields::default();
/// cookies::parse(b"a=1; b=\"x=y\"; c; =lost;", &mut jar);
/// let pairs: Vec<_> = jar.iter().collect();
/// assert_eq!(pairs, [(&b"a"[..], &b"1"[..]), (b"b", b"\"x=y\""), (b"c", b"")]);
/// ```
pub fn parse(header_value: &[u8], cookies: &mut Fields) {
    for piece in header_value.split(|&byte| byte == b';') {
        let piece = piece.trim_ascii_start();
        let (name, value) = match memchr::memchr(b'=', piece) {
            Some(at) => (piece.get(..at).unwrap_or_default(), piece.get(at + 1..).unwrap_or_default()),
            None => (piece, &[][..]),
        };
        if !name.is_empty() {
            cookies.push(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(header: &str, expected: &[(&str, &str)]) {
        let mut cookies = Fields::default();
        parse(header.as_bytes(), &mut cookies);
        let pairs: Vec<_> = cookies.iter().collect();
        let expected: Vec<_> = expected.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())).collect();
        assert_eq!(pairs, expected, "{header}");
    }

    #[test]
    fn version_0() {
        check("", &[]);
        check(";;  ;", &[]);
        check("a=1", &[("a", "1")]);
        check("a=1;b=2", &[("a", "1"), ("b", "2")]);
        check("a=1;  b=2 ; c= 3", &[("a", "1"), ("b", "2 "), ("c", " 3")]);
        check("a=b=c", &[("a", "b=c")]);
        check("a", &[("a", "")]);
        check("=v; a=", &[("a", "")]);
        check("a=\"q;r\"", &[("a", "\"q"), ("r\"", "")]);
        check("a=%41+b", &[("a", "%41+b")]);
        check("$Version=1; a=1, b=2", &[("$Version", "1"), ("a", "1, b=2")]);
        check("a=1; a=2", &[("a", "1"), ("a", "2")]);
    }
}
