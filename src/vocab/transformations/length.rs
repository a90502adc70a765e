//! `length`.

use std::io::Write as _;

use super::TransformationContext;

/// The number of bytes as decimal text.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    // Writing to memory cannot fail.
    let _ = write!(output, "{}", input.len());
    output != input
}
