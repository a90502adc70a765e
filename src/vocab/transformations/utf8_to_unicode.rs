//! `utf8toUnicode`.

use std::io::Write as _;

use super::TransformationContext;

/// Makes every valid multi-byte character a `%uhhhh` (five or six digits for the upper planes); ASCII and bytes that
/// are not UTF-8 stay as they are.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    if input.is_ascii() {
        return false;
    }
    for chunk in input.utf8_chunks() {
        for character in chunk.valid().chars() {
            // Writing to memory cannot fail.
            let _ = match character {
                '\0'..='\x7f' => write!(output, "{character}"),
                _ => write!(output, "%u{:04x}", u32::from(character)),
            };
        }
        output.extend_from_slice(chunk.invalid());
    }
    output.len() != input.len()
}
