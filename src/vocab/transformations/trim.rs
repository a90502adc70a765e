//! `trim`, `trimLeft` and `trimRight`: ASCII whitespace, VT included.

use super::TransformationContext;
use super::whitespace::is_space;

/// Cuts whitespace at both ends.
pub(super) fn both(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    finish(input, end(start(input)), output)
}

/// Cuts whitespace at the start.
pub(super) fn left(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    finish(input, start(input), output)
}

/// Cuts whitespace at the end.
pub(super) fn right(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    finish(input, end(input), output)
}

fn start(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
    text.get(blanks..).unwrap_or_default()
}

fn end(text: &[u8]) -> &[u8] {
    let blanks = text.iter().rev().take_while(|byte| is_space(**byte)).count();
    text.get(..text.len() - blanks).unwrap_or_default()
}

fn finish(input: &[u8], trimmed: &[u8], output: &mut Vec<u8>) -> bool {
    if trimmed.len() == input.len() {
        return false;
    }
    output.extend_from_slice(trimmed);
    true
}
