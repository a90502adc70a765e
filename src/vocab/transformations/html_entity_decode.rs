//! `htmlEntityDecode`.

use super::TransformationContext;
use super::hex::number;

/// Decodes `&#xHH;`, `&#DD;` (low byte, any number of digits) and the names `quot`, `amp`, `lt`, `gt` and `nbsp` (byte
/// A0) in any case, the `;` being optional. Names are compared whole: `&ltfoo` stays, as in ModSecurity 2.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = memchr::memchr(b'&', rest) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        rest = match entity(tail.get(1..).unwrap_or_default()) {
            Some((byte, after)) => {
                output.push(byte);
                after.strip_prefix(b";").unwrap_or(after)
            }
            None => {
                output.push(b'&');
                tail.get(1..).unwrap_or_default()
            }
        };
    }
    output.extend_from_slice(rest);
    output.len() != input.len()
}

/// The byte that the entity after `&` stands for, and what follows its name or digits.
fn entity(text: &[u8]) -> Option<(u8, &[u8])> {
    match text {
        [b'#', b'x' | b'X', rest @ ..] => {
            let (digits, rest) = run(rest, u8::is_ascii_hexdigit)?;
            Some((number(digits, 16) as u8, rest))
        }
        [b'#', rest @ ..] => {
            let (digits, rest) = run(rest, u8::is_ascii_digit)?;
            Some((number(digits, 10) as u8, rest))
        }
        _ => {
            let (name, rest) = run(text, u8::is_ascii_alphanumeric)?;
            Some((named(name)?, rest))
        }
    }
}

/// The leading bytes of the kind and the rest; `None` when there is no leading byte of the kind.
fn run(text: &[u8], kind: fn(&u8) -> bool) -> Option<(&[u8], &[u8])> {
    let length = text.iter().take_while(|byte| kind(byte)).count();
    (length > 0).then(|| text.split_at(length))
}

fn named(name: &[u8]) -> Option<u8> {
    const NAMES: [(&[u8], u8); 5] = [(b"quot", b'"'), (b"amp", b'&'), (b"lt", b'<'), (b"gt", b'>'), (b"nbsp", 0xa0)];
    NAMES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, byte)| byte)
}
