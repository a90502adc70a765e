//! `compressWhitespace` and `removeWhitespace`: ASCII whitespace, VT included, and the byte A0 (no-break space).

use super::TransformationContext;

/// Makes every run of whitespace one blank.
pub(super) fn compress(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if !input.iter().fold(false, |seen, byte| seen | is_wide_space(*byte)) {
        return false;
    }
    let mut after_blank = false;
    for byte in input {
        let blank = is_wide_space(*byte);
        if !blank {
            output.push(*byte);
        } else if !after_blank {
            output.push(b' ');
        }
        after_blank = blank;
    }
    output != input
}

/// Deletes whitespace.
pub(super) fn remove(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    // Run by run: most bytes are none.
    input.split(|byte| is_wide_space(*byte)).for_each(|run| output.extend_from_slice(run));
    output.len() < input.len()
}

/// Whether C's `isspace` says yes.
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

const fn is_wide_space(byte: u8) -> bool {
    is_space(byte) || byte == 0xa0
}
