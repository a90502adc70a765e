//! Cross-site scripting, by the algorithm of libinjection: what a browser would run if the value stood in a page.
//!
//! A value may stand between tags, within a tag, or in one of three kinds of quotes that it closes. Each reading is cut
//! into the tokens of HTML, and those that can run script are looked for.
//!
//! Knows no rule and no variable. Nothing is allocated; the work is linear in the length of the value.

mod html;
mod names;
#[cfg(test)]
pub(super) mod tests;

use super::scan;
use html::{Context, Kind, Token, Tokens};
use names::Danger;

/// Whether a browser would run something.
pub(super) fn detect(value: &[u8]) -> bool {
    // Between tags nothing begins without `<`, and in quotes nothing happens before they are closed.
    let contexts = [
        (Context::Text, b'<'),
        (Context::Quoted(b'\''), b'\''),
        (Context::Quoted(b'"'), b'"'),
        (Context::Quoted(b'`'), b'`'),
    ];
    let is_possible = |needed: &u8| memchr::memchr(*needed, value).is_some();
    runs_script(value, Context::Tag)
        || contexts.iter().any(|(context, needed)| is_possible(needed) && runs_script(value, *context))
}

fn runs_script(value: &[u8], context: Context) -> bool {
    // What the value of the attribute just named can do.
    let mut danger = None;
    for Token { kind, text } in Tokens::new(value, context) {
        let previous = danger.take();
        let runs = match kind {
            Kind::Doctype => true,
            Kind::TagName => is_dangerous_tag(text),
            Kind::Comment => is_dangerous_comment(text),
            Kind::AttributeValue => previous.is_some_and(|danger| is_dangerous_value(danger, text)),
            Kind::AttributeName => {
                danger = attribute_danger(text);
                false
            }
            Kind::Text | Kind::ClosingTag | Kind::TagEnd | Kind::SelfClosingEnd => false,
        };
        if runs {
            return true;
        }
    }
    false
}

fn is_dangerous_tag(name: &[u8]) -> bool {
    // All of SVG and of XSL can run script.
    let is_family = name.get(..3).is_some_and(|start| starts_with_any(start, &[b"SVG", b"XSL"]));
    is_family || (name.len() >= 3 && with_upper_name(name, names::is_tag).unwrap_or_default())
}

fn attribute_danger(name: &[u8]) -> Option<Danger> {
    if name.len() >= 5 {
        let is_handler = starts_with_any(name, &[b"ON"]) && names::is_event(scan::from(name, 2));
        // With XMLNS any tag can be made.
        if is_handler || starts_with_any(name, &[b"XMLNS", b"XLINK"]) {
            return Some(Danger::Always);
        }
    }
    if name.len() < 2 { None } else { with_upper_name(name, names::attribute).flatten() }
}

fn is_dangerous_value(danger: Danger, value: &[u8]) -> bool {
    match danger {
        Danger::Always => true,
        Danger::Url => is_dangerous_url(value),
        Danger::Name => attribute_danger(value).is_some(),
    }
}

/// Internet Explorer ends a comment at a backquote, and runs conditional comments and `<?import`; XML has entities.
fn is_dangerous_comment(text: &[u8]) -> bool {
    memchr::memchr(b'`', text).is_some()
        || (text.len() > 3 && starts_with_any(text, &[b"[IF", b"XML"]))
        || starts_with_any(text, &[b"IMPORT", b"ENTITY"])
}

fn starts_with_any(text: &[u8], upper: &[&[u8]]) -> bool {
    upper.iter().any(|upper| text.get(..upper.len()).is_some_and(|start| start.eq_ignore_ascii_case(upper)))
}

/// Calls the function with the name in upper case and without NULs, unless that is longer than any name known.
fn with_upper_name<T>(name: &[u8], function: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut upper = [0; names::MAX_NAME];
    let mut len = 0;
    for byte in name.iter().filter(|byte| **byte != 0) {
        *upper.get_mut(len)? = byte.to_ascii_uppercase();
        len += 1;
    }
    upper.get(..len).map(function)
}

/// Whether the URL has a scheme that runs script, with white space and control characters where browsers ignore them.
fn is_dangerous_url(url: &[u8]) -> bool {
    let start = url.iter().position(|byte| matches!(byte, b'!'..=b'~')).unwrap_or(url.len());
    let mut scheme = [0; names::MAX_SCHEME];
    let mut len = 0;
    let mut at = start;
    while let (Some(slot), Some((character, used))) = (scheme.get_mut(len), character_at(url, at)) {
        at += used;
        let is_ignored = if len == 0 { character <= 32 } else { matches!(character, 0 | 10) };
        if !is_ignored {
            // A character above 255 counts as its lowest byte, after letters have become upper case.
            *slot = u8::try_from(character).map_or(character as u8, |byte| byte.to_ascii_uppercase());
            len += 1;
        }
    }
    scan::steps::add(at);
    names::SCHEMES.iter().any(|known| scheme.get(..len).is_some_and(|scheme| scheme.starts_with(known)))
}

/// The character here, which may be written as a number, and how many bytes it takes; `None` at the end.
fn character_at(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = *text.get(at)?;
    let (radix, prefix) = match scan::from(text, at) {
        [b'&', b'#', b'x' | b'X', ..] => (16, 3),
        [b'&', b'#', ..] => (10, 2),
        _ => return Some((u32::from(first), 1)),
    };
    Some(number_at(text, at + prefix, radix).map_or((u32::from(first), 1), |(number, used)| (number, prefix + used)))
}

/// The number here and how many bytes it takes, with a semicolon behind it; `None` if there is none, or one that is no
/// character.
fn number_at(text: &[u8], at: usize, radix: u32) -> Option<(u32, usize)> {
    const MAX: u32 = 0x10_00ff;
    let digits = scan::from(text, at).iter().map_while(|byte| char::from(*byte).to_digit(radix));
    let (mut number, mut len) = (0, 0);
    for digit in digits {
        number = number * radix + digit;
        len += 1;
        if number > MAX {
            return None;
        }
    }
    let has_semicolon = text.get(at + len) == Some(&b';');
    (len > 0).then_some((number, len + usize::from(has_semicolon)))
}
