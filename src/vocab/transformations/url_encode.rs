//! `urlEncode`.

use super::TransformationContext;
use super::hex::push;

/// Makes a blank `+` and every byte but ASCII letters, digits and `*` a `%hh`.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    for byte in input {
        match byte {
            b' ' => output.push(b'+'),
            b'*' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => output.push(*byte),
            _ => {
                output.push(b'%');
                push(*byte, output);
            }
        }
    }
    output != input
}
