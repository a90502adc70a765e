//! `parityEven7bit`, `parityOdd7bit` and `parityZero7bit`.

use super::TransformationContext;

/// Sets the top bit where the byte has an odd number of ones, clears it elsewhere.
pub(super) fn even(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend(input.iter().map(|byte| with_top_bit(*byte, byte.count_ones() % 2 == 1)));
    output != input
}

/// Sets the top bit where the byte has an even number of ones, clears it elsewhere.
pub(super) fn odd(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend(input.iter().map(|byte| with_top_bit(*byte, byte.count_ones() % 2 == 0)));
    output != input
}

/// Clears the top bit.
pub(super) fn zero(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend(input.iter().map(|byte| byte & 0x7f));
    output != input
}

const fn with_top_bit(byte: u8, set: bool) -> u8 {
    if set { byte | 0x80 } else { byte & 0x7f }
}
