//! `jsDecode`: the escapes of JavaScript strings.

use super::TransformationContext;
use super::escape_seq_decode::{decode, letter_escape};
use super::hex::{full_width, number, pair};

/// Decodes `\uHHHH` (low byte; full-width forms FF01 to FF5E their ASCII twin), `\xHH`, octal up to `\377`,
/// `\a \b \f \n \r \t \v`, and any other `\c` to `c`; a lone final `\` stays.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    decode(input, output, escape)
}

/// The byte that the escape at the start of `text` stands for, and what follows it.
fn escape(text: &[u8]) -> (u8, &[u8]) {
    match text {
        [_, b'u', a, b, c, d, rest @ ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) => {
            (full_width(number(&[*a, *b, *c, *d], 16)), rest)
        }
        [_, b'x', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            (pair(*high, *low), rest)
        }
        [_, rest @ ..] if rest.first().is_some_and(|byte| matches!(byte, b'0'..=b'7')) => octal(rest),
        [_, letter, rest @ ..] => (letter_escape(*letter), rest),
        _ => (b'\\', &[]),
    }
}

/// Three digits only where they fit a byte.
fn octal(text: &[u8]) -> (u8, &[u8]) {
    let most = if matches!(text.first(), Some(b'0'..=b'3')) { 3 } else { 2 };
    let digits = text.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (digits, rest) = text.split_at(digits);
    (number(digits, 8) as u8, rest)
}
