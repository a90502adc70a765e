//! `removeNulls` and `replaceNulls`.

use super::TransformationContext;

/// Deletes every NUL.
pub(super) fn remove_nulls(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if memchr::memchr(0, input).is_none() {
        return false;
    }
    output.extend(input.iter().filter(|byte| **byte != 0));
    true
}

/// Puts a blank in place of every NUL.
pub(super) fn replace_nulls(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if memchr::memchr(0, input).is_none() {
        return false;
    }
    output.extend(input.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }));
    true
}
