//! `normalizePath` and `normalizePathWin`.

use super::TransformationContext;

/// Collapses `//`, `/./` and `/../`. A relative path keeps the `..` that lead out of it, an absolute one never climbs
/// above its root; a final slash stays.
pub(super) fn apply(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    // Without an empty segment or one that begins with a dot there is nothing to collapse.
    let collapses = |slash: usize| matches!(input.get(slash + 1), Some(b'.' | b'/'));
    if input.first() != Some(&b'.') && !memchr::memchr_iter(b'/', input).any(collapses) {
        return false;
    }
    normalize(input, output);
    output != input
}

/// As [`apply`], with every backslash read as a slash.
pub(super) fn apply_win(input: &[u8], output: &mut Vec<u8>, context: &TransformationContext) -> bool {
    if memchr::memchr(b'\\', input).is_none() {
        return apply(input, output, context);
    }
    let slashed: Vec<u8> = input.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect();
    normalize(&slashed, output);
    true
}

fn normalize(input: &[u8], output: &mut Vec<u8>) {
    let root = usize::from(input.first() == Some(&b'/'));
    output.extend(input.iter().take(root));
    for segment in input.split(|byte| *byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." if !pop_segment(output, root) => {
                if root == 0 {
                    push_segment(output, segment);
                }
            }
            b".." => {}
            _ => push_segment(output, segment),
        }
    }
    if input.last() == Some(&b'/') && output.last().is_some_and(|byte| *byte != b'/') {
        output.push(b'/');
    }
}

fn push_segment(output: &mut Vec<u8>, segment: &[u8]) {
    if output.last().is_some_and(|byte| *byte != b'/') {
        output.push(b'/');
    }
    output.extend_from_slice(segment);
}

/// Takes the last segment away, unless there is none or it is a `..` itself.
fn pop_segment(output: &mut Vec<u8>, root: usize) -> bool {
    let start = memchr::memrchr(b'/', output).map_or(0, |slash| slash + 1);
    if matches!(output.get(start..), None | Some(b"" | b"..")) {
        return false;
    }
    output.truncate(start.saturating_sub(1).max(root));
    true
}
