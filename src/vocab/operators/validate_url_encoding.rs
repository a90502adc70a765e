//! `@validateUrlEncoding`.

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};

#[derive(Debug)]
struct UrlEncoding;

/// Matches when a `%` of the value is not followed by two hexadecimal digits. The argument is ignored.
///
/// Example: `SecRule REQUEST_URI "@validateUrlEncoding"`.
pub(super) fn build(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(UrlEncoding))
}

impl Matcher for UrlEncoding {
    fn is_match(&self, value: &[u8], _: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        let mut escapes = memchr::memchr_iter(b'%', value);
        Ok(escapes.any(|at| !matches!(value.get(at + 1..), Some([high, low, ..]) if is_hex(*high) && is_hex(*low))))
    }
}

const fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}
