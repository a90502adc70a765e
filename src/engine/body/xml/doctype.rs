//! What a DOCTYPE declares: entities with a text of their own. Expands and fetches nothing.

/// What is wrong with a DOCTYPE.
type Wrong = &'static str;

/// A DOCTYPE read.
#[derive(Default, Debug)]
pub(super) struct Doctype<'a> {
    /// It names an external DTD, which may declare more.
    pub(super) external: bool,
    /// Names and texts, character references resolved; the text of an external entity is empty.
    pub(super) entities: Vec<(&'a str, String)>,
}

/// Reads what stands between `<!DOCTYPE` and its `>`.
pub(super) fn parse(text: &str) -> Result<Doctype<'_>, Wrong> {
    let mut doctype = Doctype::default();
    let (head, mut rest) = split_outside_quotes(text, '[').map_or((text, ""), |(head, rest)| (head, rest));
    doctype.external = head.split_ascii_whitespace().nth(1).is_some();
    loop {
        rest = rest.trim_start();
        rest = if let Some(after) = rest.strip_prefix("<!--") {
            after.split_once("-->").ok_or(MALFORMED)?.1
        } else if let Some(after) = rest.strip_prefix("<?") {
            after.split_once("?>").ok_or(MALFORMED)?.1
        } else if let Some(after) = rest.strip_prefix("<!ENTITY") {
            let (entity, after) = split_outside_quotes(after, '>').ok_or(MALFORMED)?;
            doctype.entities.push(parse_entity(entity)?);
            after
        } else if let Some(after) = rest.strip_prefix("<!") {
            split_outside_quotes(after, '>').ok_or(MALFORMED)?.1
        } else if rest.starts_with('%') {
            return Err(PARAMETER_ENTITY);
        } else if rest.is_empty() || rest.starts_with(']') {
            return Ok(doctype);
        } else {
            return Err(MALFORMED);
        };
    }
}

const MALFORMED: Wrong = "malformed DOCTYPE";
const PARAMETER_ENTITY: Wrong = "parameter entity";
const NESTED_ENTITY: Wrong = "entity within an entity";

/// Splits at the first `wanted` that does not stand in quotes.
fn split_outside_quotes(text: &str, wanted: char) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if character == wanted => return Some((text.get(..at)?, text.get(at + wanted.len_utf8()..)?)),
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None => {}
        }
    }
    None
}

/// `name "text"` or `name SYSTEM …`.
fn parse_entity(text: &str) -> Result<(&str, String), Wrong> {
    let text = text.trim_start();
    if text.starts_with('%') {
        return Err(PARAMETER_ENTITY);
    }
    let (name, value) = text.split_once(|character: char| character.is_ascii_whitespace()).ok_or(MALFORMED)?;
    let value = value.trim();
    let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        return Ok((name, String::new()));
    };
    let value = value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote)).ok_or(MALFORMED)?;
    Ok((name, entity_text(value)?))
}

/// Resolves character references, as a parser does when it reads the declaration, then looks for references to other
/// entities: none may be there, whether written plainly or put together from character references.
fn entity_text(raw: &str) -> Result<String, Wrong> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, after)) = rest.split_once("&#") {
        let (number, after) = after.split_once(';').ok_or("malformed reference")?;
        text.push_str(plain);
        text.push(character(number).ok_or("bad character reference")?);
        rest = after;
    }
    text.push_str(rest);
    let names = text.split('&').skip(1).map(|after| after.split_once(';').map_or(after, |(name, _)| name));
    let nested = |name: &str| !name.starts_with('#') && predefined(name).is_none();
    if names.into_iter().any(nested) { Err(NESTED_ENTITY) } else { Ok(text) }
}

/// The character behind `&#…;` or `&#x…;`, if XML allows it.
pub(super) fn character(number: &str) -> Option<char> {
    let digits_only = |digits: &str, radix| digits.chars().all(|digit| digit.is_digit(radix));
    let code = match number.strip_prefix('x') {
        Some(digits) if digits_only(digits, 16) => u32::from_str_radix(digits, 16).ok()?,
        None if digits_only(number, 10) => number.parse().ok()?,
        _ => return None,
    };
    let allowed = matches!(code, 9 | 10 | 13 | 0x20..=0xfffd | 0x1_0000..);
    char::from_u32(code).filter(|_| allowed)
}

/// The five entities that need no declaration.
pub(super) fn predefined(name: &str) -> Option<u8> {
    match name {
        "lt" => Some(b'<'),
        "gt" => Some(b'>'),
        "amp" => Some(b'&'),
        "apos" => Some(b'\''),
        "quot" => Some(b'"'),
        _ => None,
    }
}
