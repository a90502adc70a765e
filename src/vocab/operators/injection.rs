//! `@detectSQLi` and `@detectXSS`: the libinjection algorithms.

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};

#[derive(Debug)]
struct Sqli;

#[derive(Debug)]
struct Xss;

/// Matches when the value, read as SQL outside or inside of quotes, has the fingerprint of an injection.
///
/// The argument is ignored. TX.0 is the fingerprint, such as `s&1`.
///
/// Example: `SecRule ARGS "@detectSQLi"`.
pub(super) fn build_sqli(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(Sqli))
}

/// Matches when the value, read as HTML in any of five contexts, holds something that runs script.
///
/// The argument is ignored. TX.0 is the whole value.
///
/// Example: `SecRule ARGS "@detectXSS"`.
pub(super) fn build_xss(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(Xss))
}

impl Matcher for Sqli {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        // Nothing but letters, digits and `_` is one number, one word or a number and a word, never an injection.
        if value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return Ok(false);
        }
        let result = libinjectionrs::detect_sqli(value);
        if !result.is_injection() {
            return Ok(false);
        }
        if let Some(captures) = captures {
            captures.clear();
            captures.push(result.fingerprint.as_ref().map_or(&b""[..], |fingerprint| fingerprint.as_str().as_bytes()));
        }
        Ok(true)
    }
}

impl Matcher for Xss {
    fn is_match(&self, value: &[u8], captures: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        // A tag needs `<`, an attribute that does harm needs `=`.
        if memchr::memchr2(b'<', b'=', value).is_none() || !libinjectionrs::detect_xss(value).is_injection() {
            return Ok(false);
        }
        if let Some(captures) = captures {
            captures.clear();
            captures.push(value);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::captured;
    use proptest::prelude::*;

    #[test]
    fn captures_are_the_fingerprint_and_the_whole_value() {
        assert_eq!(captured("detectSQLi", b"", b"1' or '1'='1"), Some(vec![b"s&sos".to_vec()]));
        let attack = b"<a href=\"javascript:alert(1)\">)";
        assert_eq!(captured("detectXSS", b"", attack), Some(vec![attack.to_vec()]));
        assert_eq!(captured("detectXSS", b"", b"plain"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn word_characters_alone_are_never_sql(value in "(select|union|and|or|null|having|case|into|0x|1e|[0-9a-z_]){1,6}") {
            prop_assert!(!libinjectionrs::detect_sqli(value.as_bytes()).is_injection());
        }

        #[test]
        fn markup_needs_a_tag_or_an_attribute(value in "(script|onerror|href|javascript:|[^<=]){1,8}") {
            prop_assert!(!libinjectionrs::detect_xss(value.as_bytes()).is_injection());
        }
    }
}
