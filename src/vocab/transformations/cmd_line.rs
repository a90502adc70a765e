//! `cmdLine`: undoes what shells ignore.

use super::TransformationContext;

/// Deletes `\ " ' ^`, makes runs of `,`, `;` and blanks one blank, drops it before `/` and `(`, and makes ASCII letters
/// lower case.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if !input.iter().fold(false, |seen, byte| seen | is_of_interest(*byte)) {
        return false;
    }
    let mut after_blank = false;
    for byte in input {
        match byte {
            b'"' | b'\'' | b'\\' | b'^' => {}
            b' ' | b',' | b';' | b'\t' | b'\r' | b'\n' => {
                if !after_blank {
                    output.push(b' ');
                }
                after_blank = true;
            }
            _ => {
                if after_blank && matches!(byte, b'/' | b'(') {
                    output.pop();
                }
                output.push(byte.to_ascii_lowercase());
                after_blank = false;
            }
        }
    }
    output != input
}

const fn is_of_interest(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\' | b'^' | b' ' | b',' | b';' | b'\t' | b'\r' | b'\n' | b'A'..=b'Z')
}
