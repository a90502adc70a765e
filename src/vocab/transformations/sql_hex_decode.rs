//! `sqlHexDecode`.

use super::TransformationContext;
use super::hex::pair;

/// Puts the bytes meant in place of each `0x` that is followed by at least one pair of hexadecimal digits.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let [first, tail @ ..] = rest {
        let decoded = match rest {
            [b'0', b'x' | b'X', digits @ ..] => push_pairs(digits, output),
            _ => None,
        };
        rest = decoded.unwrap_or_else(|| {
            output.push(*first);
            tail
        });
    }
    output.len() != input.len()
}

/// Appends the bytes of the leading pairs of digits; `None` when there is no such pair.
fn push_pairs<'i>(text: &'i [u8], output: &mut Vec<u8>) -> Option<&'i [u8]> {
    let mut rest = text;
    while let [high, low, tail @ ..] = rest {
        if !(high.is_ascii_hexdigit() && low.is_ascii_hexdigit()) {
            break;
        }
        output.push(pair(*high, *low));
        rest = tail;
    }
    (rest.len() < text.len()).then_some(rest)
}
