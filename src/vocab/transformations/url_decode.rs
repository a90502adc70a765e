//! `urlDecode` and `urlDecodeUni`.

use memchr::memchr2;

use super::hex::{full_width, number, pair};
use super::{TransformationContext, UnicodeMap};

/// Decodes `%HH` and `+`, in one pass; a `%` without two hexadecimal digits stays.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = memchr2(b'%', b'+', rest) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        let (byte, after) = escape(tail);
        output.push(byte);
        rest = after;
    }
    finish(input, rest, output)
}

/// Decodes `%HH`, `+` and `%uHHHH`, in one pass. A code point gives the byte of the code page map if one is loaded and
/// holds it, else its low byte (full-width forms FF01 to FF5E their ASCII twin).
pub(super) fn apply_uni(input: &[u8], output: &mut Vec<u8>, context: &TransformationContext) -> bool {
    let map = context.unicode_map.as_deref();
    let mut rest = input;
    while let Some(at) = memchr2(b'%', b'+', rest) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        let (byte, after) = unicode_escape(tail, map).unwrap_or_else(|| escape(tail));
        output.push(byte);
        rest = after;
    }
    finish(input, rest, output)
}

/// The byte that the `+` or `%` at the start of `text` stands for, and what follows.
fn escape(text: &[u8]) -> (u8, &[u8]) {
    match text {
        [b'+', rest @ ..] => (b' ', rest),
        [_, high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => (pair(*high, *low), rest),
        [_, rest @ ..] => (b'%', rest),
        [] => (b'%', text),
    }
}

fn unicode_escape<'i>(text: &'i [u8], map: Option<&UnicodeMap>) -> Option<(u8, &'i [u8])> {
    let [b'%', b'u' | b'U', a, b, c, d, rest @ ..] = text else { return None };
    let digits = [*a, *b, *c, *d];
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let code = number(&digits, 16);
    let mapped = map.and_then(|map| map.get(code as u16));
    Some((mapped.unwrap_or_else(|| full_width(code)), rest))
}

/// Only `+` decodes without a change of length.
fn finish(input: &[u8], rest: &[u8], output: &mut Vec<u8>) -> bool {
    if rest.len() == input.len() {
        return false;
    }
    output.extend_from_slice(rest);
    output != input
}
