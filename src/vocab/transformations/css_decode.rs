//! `cssDecode`.

use super::TransformationContext;
use super::hex::{full_width, number};

/// Decodes CSS escapes: `\` and one to six hexadecimal digits give the low byte (full-width forms FF01 to FF5E their
/// ASCII twin) and take one following blank with them; `\` LF vanishes; any other `\c` gives `c`; a final `\` vanishes.
/// Low byte rather than code point: ModSecurity 2 and 3, not Coraza.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        rest = escape(tail.get(1..).unwrap_or_default(), output);
    }
    output.extend_from_slice(rest);
    // Every escape loses at least its backslash.
    output.len() != input.len()
}

fn escape<'i>(text: &'i [u8], output: &mut Vec<u8>) -> &'i [u8] {
    let digits = text.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
    if digits > 0 {
        let (digits, rest) = text.split_at(digits);
        output.push(low_byte(digits));
        return match rest {
            [b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r', rest @ ..] => rest,
            _ => rest,
        };
    }
    match text {
        [b'\n', rest @ ..] => rest,
        [byte, rest @ ..] => {
            output.push(*byte);
            rest
        }
        [] => text,
    }
}

/// A full-width code point may be written with one or two leading zeros, no other digit.
fn low_byte(digits: &[u8]) -> u8 {
    let code = number(digits, 16);
    if digits.len() >= 4 && code <= 0xffff { full_width(code) } else { code as u8 }
}
