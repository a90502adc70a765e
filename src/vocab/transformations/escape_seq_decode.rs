//! `escapeSeqDecode`: the escapes of C.

use super::TransformationContext;
use super::hex::{number, pair};

/// Decodes `\a \b \f \n \r \t \v`, `\xHH`, up to three octal digits (low byte), and any other `\c` to `c`; a lone
/// final `\` stays.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    decode(input, output, escape)
}

/// Puts the byte for which an escape stands in its place; `escape` is given a text that begins with `\`, and tells the
/// byte and what follows.
pub(super) fn decode(input: &[u8], output: &mut Vec<u8>, escape: impl Fn(&[u8]) -> (u8, &[u8])) -> bool {
    let mut rest = input;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        let (byte, after) = escape(tail);
        output.push(byte);
        rest = after;
    }
    output.extend_from_slice(rest);
    output.len() != input.len()
}

/// The byte that the escape at the start of `text` stands for, and what follows it.
fn escape(text: &[u8]) -> (u8, &[u8]) {
    match text {
        [_, b'x' | b'X', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            (pair(*high, *low), rest)
        }
        [_, rest @ ..] if rest.first().is_some_and(|byte| matches!(byte, b'0'..=b'7')) => {
            let digits = rest.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let (digits, rest) = rest.split_at(digits);
            (number(digits, 8) as u8, rest)
        }
        [_, letter, rest @ ..] => (letter_escape(*letter), rest),
        _ => (b'\\', &[]),
    }
}

/// The control byte that `\letter` stands for; other letters stand for themselves.
pub(super) const fn letter_escape(letter: u8) -> u8 {
    match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        _ => letter,
    }
}
