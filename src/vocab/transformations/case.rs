//! `lowercase` and `uppercase`: ASCII letters only.

use super::TransformationContext;

/// Makes ASCII letters lower case.
pub(super) fn lower(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    // A fold without early exit lets the compiler look at many bytes at once.
    if !input.iter().fold(false, |seen, byte| seen | byte.is_ascii_uppercase()) {
        return false;
    }
    output.extend(input.iter().map(u8::to_ascii_lowercase));
    true
}

/// Makes ASCII letters upper case.
pub(super) fn upper(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if !input.iter().fold(false, |seen, byte| seen | byte.is_ascii_lowercase()) {
        return false;
    }
    output.extend(input.iter().map(u8::to_ascii_uppercase));
    true
}
