//! `removeComments`, `removeCommentsChar` and `replaceComments`.

use memchr::memmem;

use super::TransformationContext;

/// Deletes `/*…*/` and `<!--…-->`; `--` and `#` cut the rest off; an unclosed comment leaves one blank. Unlike
/// ModSecurity, which copies the byte behind a comment unseen, what follows a comment may be another.
pub(super) fn remove(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'/' | b'<' | b'-' | b'#')) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        let (body, close): (&[u8], &[u8]) = match tail {
            [b'/', b'*', body @ ..] => (body, b"*/"),
            [b'<', b'!', b'-', b'-', body @ ..] => (body, b"-->"),
            [b'-', b'-', ..] | [b'#', ..] => return true,
            _ => {
                output.extend(tail.first());
                rest = tail.get(1..).unwrap_or_default();
                continue;
            }
        };
        let Some(end) = memmem::find(body, close) else {
            output.push(b' ');
            return output != input;
        };
        rest = body.get(end + close.len()..).unwrap_or_default();
    }
    output.extend_from_slice(rest);
    output != input
}

/// Puts one blank in place of each `/*…*/`; an unclosed one takes the rest with it.
pub(super) fn replace(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = memmem::find(rest, b"/*") {
        let (plain, comment) = rest.split_at(at);
        output.extend_from_slice(plain);
        output.push(b' ');
        let body = comment.get(2..).unwrap_or_default();
        rest = memmem::find(body, b"*/").and_then(|end| body.get(end + 2..)).unwrap_or_default();
    }
    output.extend_from_slice(rest);
    output.len() != input.len()
}

/// Deletes `/*`, `*/`, `<!--`, `-->`, `--` and `#`, and nothing between them.
pub(super) fn remove_char(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let mut rest = input;
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'/' | b'*' | b'<' | b'-' | b'#')) {
        let (plain, tail) = rest.split_at(at);
        output.extend_from_slice(plain);
        rest = match tail {
            [b'/', b'*', tail @ ..] | [b'*', b'/', tail @ ..] => tail,
            [b'<', b'!', b'-', b'-', tail @ ..] | [b'-', b'-', b'>', tail @ ..] => tail,
            [b'-', b'-', tail @ ..] | [b'#', tail @ ..] => tail,
            _ => {
                output.extend(tail.first());
                tail.get(1..).unwrap_or_default()
            }
        };
    }
    output.extend_from_slice(rest);
    output.len() != input.len()
}
