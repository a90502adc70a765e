//! `hexDecode` and `hexEncode`, and the reading of digits that the other decoders share.

use super::TransformationContext;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Turns every two digits into a byte. Nothing is checked, as in ModSecurity 2 and 3: bad digits give some byte, an
/// odd last digit is dropped.
pub(super) fn decode(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend(input.as_chunks().0.iter().map(|[high, low]| pair(*high, *low)));
    output.len() != input.len()
}

/// Two lower-case digits for every byte.
pub(super) fn encode(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    for byte in input {
        push(*byte, output);
    }
    !input.is_empty()
}

/// Appends the two lower-case digits of `byte`.
pub(super) fn push(byte: u8, output: &mut Vec<u8>) {
    let digits = [byte >> 4, byte & 15].map(|nibble| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default());
    output.extend(digits);
}

/// The byte of two hexadecimal digits; garbage, but no panic, for others.
pub(super) const fn pair(high: u8, low: u8) -> u8 {
    nibble(high).wrapping_mul(16).wrapping_add(nibble(low))
}

const fn nibble(digit: u8) -> u8 {
    if digit >= b'A' { (digit & 0xdf).wrapping_sub(b'A').wrapping_add(10) } else { digit.wrapping_sub(b'0') }
}

/// The number of these digits of base 8, 10 or 16, its high bits lost if it is longer than 32 bits.
pub(super) fn number(digits: &[u8], base: u32) -> u32 {
    digits.iter().fold(0, |number: u32, digit| number.wrapping_mul(base).wrapping_add(u32::from(nibble(*digit))))
}

/// The low byte of a code point, or the ASCII twin of a full-width form (FF01 to FF5E).
pub(super) const fn full_width(code: u32) -> u8 {
    match code {
        0xff01..=0xff5e => (code as u8).wrapping_add(0x20),
        _ => code as u8,
    }
}
