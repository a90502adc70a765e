//! The boundary in a `Content-Type` header, and what is wrong with how it is written.

use super::super::MultipartFlags;
use super::{Step, is_blank, trim_blanks};

const MIME_TYPE: &[u8] = b"multipart/form-data";
const WORD: &[u8] = b"boundary";
const MAX_BYTES: usize = 1024;

/// The boundary, or what is wrong. Only `;` and blanks may stand before the parameter, and only `; charset=` (which
/// some clients add and ModSecurity v3 takes) after it.
pub(super) fn boundary(header: &[u8], flags: &mut MultipartFlags) -> Step<Vec<u8>> {
    let invalid = |what: &str| Err(format!("Invalid boundary in C-T ({what})."));
    if header.is_empty() {
        return Err("Content-Type header not available.".to_owned());
    }
    if header.len() > MAX_BYTES {
        return invalid("length");
    }
    if !header.get(..MIME_TYPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(MIME_TYPE)) {
        return Err("Invalid MIME type.".to_owned());
    }
    if boundary_parameters(header) > 1 {
        return Err("Multiple boundary parameters in C-T.".to_owned());
    }
    let Some(at) = memchr::memmem::find(header, WORD) else {
        if boundary_parameters(header) > 0 {
            return invalid("case sensitivity");
        }
        return Err("Boundary not found in C-T.".to_owned());
    };
    flags.missing_semicolon = !semicolon_before(header.get(MIME_TYPE.len()..at).unwrap_or_default())?;
    let value = parameter_value(header.get(at + WORD.len()..).unwrap_or_default(), flags)?;
    let boundary = unquoted(without_charset(value), flags)?;
    if boundary.is_empty() {
        return invalid("empty");
    }
    if boundary_parameters(boundary) > 0 {
        return invalid("content");
    }
    if !characters_are_valid(boundary) {
        return invalid("characters");
    }
    Ok(boundary.to_vec())
}

/// How often the word `boundary`, in any case, is followed by a `=` somewhere.
fn boundary_parameters(text: &[u8]) -> usize {
    let last_equals = memchr::memrchr(b'=', text).unwrap_or(0);
    let words = text.windows(WORD.len()).enumerate();
    words.filter(|(at, word)| at + WORD.len() <= last_equals && word.eq_ignore_ascii_case(WORD)).count()
}

/// Whether there is a semicolon among the blanks between the type and the parameter.
fn semicolon_before(text: &[u8]) -> Step<bool> {
    let mut others = text.iter().filter(|byte| !is_blank(**byte));
    match (others.next(), others.next()) {
        (None, _) => Ok(false),
        (Some(b';'), None) => Ok(true),
        _ => Err("Invalid boundary in C-T (malformed).".to_owned()),
    }
}

/// What follows the `=`; blanks around it are flagged.
fn parameter_value<'a>(text: &'a [u8], flags: &mut MultipartFlags) -> Step<&'a [u8]> {
    let Some(equals) = memchr::memchr(b'=', text) else {
        return Err("Invalid boundary in C-T (malformed).".to_owned());
    };
    let (between, value) = (text.get(..equals).unwrap_or_default(), text.get(equals + 1..).unwrap_or_default());
    if !between.iter().all(|byte| is_blank(*byte)) {
        return Err("Invalid boundary in C-T (parameter name).".to_owned());
    }
    flags.boundary_whitespace = !between.is_empty() || value.first().is_some_and(|byte| is_blank(*byte));
    Ok(value)
}

/// Without a `; charset=token` at the end.
fn without_charset(value: &[u8]) -> &[u8] {
    const CHARSET: &[u8] = b"charset=";
    let Some(semicolon) = memchr::memchr(b';', value) else { return value };
    let (head, tail) = value.split_at(semicolon);
    let parameter = trim_blanks(tail.get(1..).unwrap_or_default());
    let is_charset = parameter.get(..CHARSET.len()).is_some_and(|name| name.eq_ignore_ascii_case(CHARSET));
    let charset = parameter.get(CHARSET.len()..).unwrap_or_default();
    let is_token = charset.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:\"".contains(byte));
    if is_charset && is_token { head.trim_ascii_end() } else { value }
}

fn unquoted<'a>(value: &'a [u8], flags: &mut MultipartFlags) -> Step<&'a [u8]> {
    match value {
        [b'"', inner @ .., b'"'] => {
            flags.boundary_quoted = true;
            Ok(inner)
        }
        [b'"', ..] | [.., b'"'] => Err("Invalid boundary in C-T (quote).".to_owned()),
        _ => Ok(value),
    }
}

/// RFC 2046: a blank is allowed, but not as the last character.
fn characters_are_valid(boundary: &[u8]) -> bool {
    let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+_,-./:=?".contains(byte);
    boundary.iter().all(valid) && boundary.last() != Some(&b' ')
}
