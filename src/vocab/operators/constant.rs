//! `@unconditionalMatch` and `@noMatch`.

use super::{BuildContext, BuildError, Captures, MatchLimit, Matcher};

#[derive(Debug)]
struct Constant(bool);

/// Matches every value, whatever the argument.
///
/// Example: `SecRule REMOTE_ADDR "@unconditionalMatch"`.
pub(super) fn build_always(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(Constant(true)))
}

/// Matches no value, whatever the argument.
///
/// Example: `SecRule REMOTE_ADDR "@noMatch"`.
pub(super) fn build_never(_: &[u8], _: &mut dyn BuildContext) -> Result<Box<dyn Matcher>, BuildError> {
    Ok(Box::new(Constant(false)))
}

impl Matcher for Constant {
    fn is_match(&self, _: &[u8], _: Option<&mut Captures>) -> Result<bool, MatchLimit> {
        Ok(self.0)
    }
}
