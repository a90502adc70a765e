//! `@validateUtf8Encoding`.

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};

#[derive(Debug)]
struct Utf8Encoding;

/// Matches when the value is not UTF-8: stray or missing continuation bytes, overlong forms, surrogates, code points
/// above 10FFFF. The argument is ignored.
///
/// Example: `SecRule ARGS "@validateUtf8Encoding"`.
pub(super) fn build(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(Utf8Encoding))
}

impl Matcher for Utf8Encoding {
    fn is_match(&self, value: &[u8], _: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        Ok(std::str::from_utf8(value).is_err())
    }
}
