//! `phpArgsNames`: a parameter's name as PHP makes it a variable.

use super::TransformationContext;

/// Drops leading blanks; makes blanks and dots before the first `[` underscores; keeps `[…]` groups that follow each
/// other at once and cuts what follows the last; a `[` never closed becomes an underscore, the text behind it stays;
/// a name that begins with `[` is dropped whole.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let blanks = input.iter().take_while(|byte| **byte == b' ').count();
    let name = input.get(blanks..).unwrap_or_default();
    let base = name.iter().position(|byte| *byte == b'[').unwrap_or(name.len());
    let (base, keys) = name.split_at(base);
    if base.is_empty() {
        return !input.is_empty();
    }
    output.extend(base.iter().map(|byte| if matches!(byte, b' ' | b'.') { b'_' } else { *byte }));
    push_keys(keys, output);
    output != input
}

fn push_keys(keys: &[u8], output: &mut Vec<u8>) {
    let mut rest = keys;
    while let Some(key) = rest.strip_prefix(b"[") {
        let Some(end) = memchr::memchr(b']', key) else {
            // Only the first bracket is undone; a later one cuts the name.
            if rest.len() == keys.len() {
                output.push(b'_');
                output.extend_from_slice(key);
            }
            return;
        };
        let (text, tail) = key.split_at(end);
        output.push(b'[');
        output.extend_from_slice(if is_one_blank(text) { b"" } else { text });
        output.push(b']');
        rest = tail.get(1..).unwrap_or_default();
    }
}

const fn is_one_blank(text: &[u8]) -> bool {
    matches!(text, [b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r'])
}
