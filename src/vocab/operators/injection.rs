//! `@detectSQLi` and `@detectXSS`: the algorithms of libinjection, of which these are an implementation of our own.
//!
//! They answer as the C library does at commit 85e252a of February 2025, verdict and fingerprint alike: its test data is
//! replayed by `injection/tests.rs`. The C library that distributions ship (3.9.2, in ModSecurity) is older; what it
//! answers otherwise is listed and checked by `tests/libinjection`, which compares the two on millions of
//! values.

mod scan;
mod sqli;
#[cfg(test)]
mod tests;
mod xss;

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::necessary::Necessary;

/// A value of these bytes alone is never an injection, see [`is_never_sql`].
const WORD: ByteSet = ByteSet::of(b"_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

#[derive(Debug)]
struct Sqli;

#[derive(Debug)]
struct Xss;

/// Matches when the value, read as SQL outside or inside of quotes, has the fingerprint of an injection.
///
/// The argument is ignored. TX.0 is the fingerprint, such as `s&1`.
///
/// Example: `SecRule ARGS "@detectSQLi"`.
pub(super) fn build_sqli(_: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    context.take_necessary(Necessary::byte_of(WORD.complement()).best());
    Ok(Box::new(Sqli))
}

/// Matches when the value, read as HTML in any of five contexts, holds something that runs script.
///
/// The argument is ignored. TX.0 is the whole value.
///
/// Example: `SecRule ARGS "@detectXSS"`.
pub(super) fn build_xss(_: &[u8], context: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    context.take_necessary(Necessary::byte_of(ByteSet::of(b"<=")).best());
    Ok(Box::new(Xss))
}

impl Matcher for Sqli {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        if is_never_sql(value) {
            return Ok(false);
        }
        let Some(fingerprint) = sqli::detect(value) else { return Ok(false) };
        if let Some(captures) = captures {
            captures.clear();
            captures.push(fingerprint.as_bytes());
        }
        Ok(true)
    }
}

impl Matcher for Xss {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        if is_never_html(value) || !xss::detect(value) {
            return Ok(false);
        }
        if let Some(captures) = captures {
            captures.clear();
            captures.push(value);
        }
        Ok(true)
    }
}

/// Whether there is nothing but letters, digits and `_`, which is never an injection.
///
/// Such a value has no quote, so that it is read in one way only, as at most three tokens: `0x` or `0b` with its digits, a
/// number, and a word that takes all of the rest (a word alone takes all at once). So the first is a number, a name or
/// that word, the second a number or that word, the third that word. No phrase begins with a digit, and no other fold
/// knows these kinds: the fingerprint is theirs. Of these only `1U` is listed, a number and `UNION`, and as a whole value
/// that is let pass.
fn is_never_sql(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether there is neither `<` nor `=`, in which case nothing runs script.
///
/// The name of a tag, a comment and a document type begin with `<`. Else only the value of an attribute can do harm, if
/// the token before it was the attribute's name: and what leads from a name to a value is `=`.
fn is_never_html(value: &[u8]) -> bool {
    memchr::memchr2(b'<', b'=', value).is_none()
}
