//! XML bodies: the text of the document as one value, and its attributes.
//!
//! Nothing is ever fetched and no entity is ever expanded. Does not know schemas, DTDs or XPath.
//!
//! - `XML:/*` is the text inside the root element, whitespace and CDATA included, comments and processing instructions
//!   not: one value, as in ModSecurity (Coraza gives one per text node). Attributes leave namespace declarations out.
//! - A reference to an entity that the document declares stays as it is written (`&x;`). The text of the declaration
//!   is put in front of the document's, so that an attack cannot hide in it. Declarations that refer to other entities,
//!   parameter entities, and references that would blow up the document are errors.
//! - What is not well-formed is an error, as in ModSecurity (Coraza takes a lot); the text read so far stays.
//! - A document in an encoding in which ASCII bytes may mean something else (UTF-16, UTF-7, EBCDIC) is an error.
//!   Bytes that are not UTF-8 are kept.

mod arguments;
mod doctype;

use std::borrow::Cow;
use std::collections::HashMap;

use quick_xml::errors::{Error, IllFormedError, SyntaxError};
use quick_xml::events::{BytesDecl, BytesStart, Event};
use quick_xml::reader::Reader;

use super::{BodyLimits, Input, Parsed, name_room};
use arguments::Arguments;

/// Reads a body into `parsed.xml_text` and `parsed.xml_attributes`, and into arguments when the limits ask for it.
pub(super) fn parse_body(input: &Input<'_>, limits: &BodyLimits, parsed: &mut Parsed) {
    let control = input.body.iter().position(|byte| matches!(byte, 0..=8 | 11 | 12 | 14..=31));
    let bytes = input.body.get(..control.unwrap_or(input.body.len())).unwrap_or_default();
    let (source, bytewise) = as_text(bytes);
    let mut document = Document {
        bytewise,
        text: Vec::new(),
        attribute: Vec::new(),
        entities: HashMap::new(),
        foreign_entities: false,
        expansion_left: name_room(bytes.len()),
        depth: 0,
        root_seen: false,
        refuse_doctype: limits.refuse_doctype,
        arguments: limits.xml_into_arguments.then(|| Arguments::new(input, limits)),
        parsed,
    };
    let (result, at) = document.read(&source);
    let text = std::mem::take(&mut document.text);
    parsed.xml_text = Some(text);
    let message = match (result, control) {
        (Ok(()) | Err(Stop::End), Some(_)) => "control byte",
        (Ok(()), None) => return,
        (Err(Stop::End), None) if input.partial => return,
        (Err(stop), _) => stop.text(),
    };
    let at = if bytewise { source.get(..at).unwrap_or_default().chars().count() } else { at };
    parsed.error = Some(format!("XML parsing error: {message} at byte {at}"));
}

/// The body as text; where it is not UTF-8, every byte as the character with its number (`true`).
fn as_text(body: &[u8]) -> (Cow<'_, str>, bool) {
    match std::str::from_utf8(body) {
        Ok(text) => (Cow::Borrowed(text), false),
        Err(_) => (Cow::Owned(body.iter().copied().map(char::from).collect()), true),
    }
}

/// Why reading ended before the end of the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The text ended inside the document; no error when the body was cut.
    End,
    /// Anything else; the text names it.
    Wrong(&'static str),
}

impl Stop {
    const fn text(self) -> &'static str {
        match self {
            Self::End => "unexpected end of text",
            Self::Wrong(text) => text,
        }
    }
}

type Step<T = ()> = Result<T, Stop>;

struct Document<'a> {
    /// Characters stand for bytes.
    bytewise: bool,
    text: Vec<u8>,
    /// The value of an attribute while it is read.
    attribute: Vec<u8>,
    /// Declared entities with the length of their text.
    entities: HashMap<String, usize>,
    /// An external DTD may declare entities that we do not know.
    foreign_entities: bool,
    /// How many bytes expanding entities might have added so far.
    expansion_left: usize,
    depth: usize,
    root_seen: bool,
    refuse_doctype: bool,
    arguments: Option<Arguments>,
    parsed: &'a mut Parsed,
}

impl Document<'_> {
    /// Reads to the end; also where it ended.
    fn read(&mut self, source: &str) -> (Step, usize) {
        let mut reader = Reader::from_str(source);
        loop {
            let step = match reader.read_event() {
                Ok(Event::Eof) => {
                    let whole = self.depth == 0 && self.root_seen;
                    return (if whole { Ok(()) } else { Err(Stop::End) }, source.len());
                }
                Ok(event) => self.event(&event),
                Err(error) => {
                    let at = usize::try_from(reader.error_position()).unwrap_or_default();
                    let rest = source.get(at..).unwrap_or_default();
                    if let Some(characters) = rest.strip_prefix("<![CDATA[").filter(|_| self.depth > 0) {
                        append(characters, self.bytewise, &mut self.text);
                    }
                    return (Err(stop_of(&error, rest)), at);
                }
            };
            if step.is_err() {
                return (step, usize::try_from(reader.buffer_position()).unwrap_or_default());
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Step {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::Empty(tag) => {
                self.open(tag)?;
                self.close()
            }
            Event::End(_) => self.close(),
            Event::Text(text) => self.characters(&text.xml10_content()),
            Event::CData(text) if self.depth > 0 => self.characters(&text.xml10_content()),
            Event::GeneralRef(name) if self.depth > 0 => self.text_reference(name),
            Event::CData(_) | Event::GeneralRef(_) => Err(Stop::Wrong("content outside the root element")),
            Event::DocType(text) => self.doctype(text),
            Event::Decl(declaration) => check_encoding(declaration),
            Event::Comment(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Step {
        if self.depth == 0 && self.root_seen {
            return Err(Stop::Wrong("a second root element"));
        }
        check_name(tag.name().as_ref())?;
        self.root_seen = true;
        self.depth += 1;
        self.attributes(tag)?;
        match &mut self.arguments {
            Some(arguments) => arguments.open(tag.local_name().as_ref().as_bytes(), self.parsed),
            None => Ok(()),
        }
    }

    fn close(&mut self) -> Step {
        self.depth = self.depth.saturating_sub(1);
        match &mut self.arguments {
            Some(arguments) => arguments.close(self.parsed),
            None => Ok(()),
        }
    }

    fn attributes(&mut self, tag: &BytesStart<'_>) -> Step {
        let mut names = Vec::new();
        for attribute in tag.attributes().with_checks(false) {
            let Ok(attribute) = attribute else { return Err(Stop::Wrong("malformed attribute")) };
            let name = attribute.key.into_inner();
            check_name(name)?;
            names.push(name);
            let mut value = std::mem::take(&mut self.attribute);
            value.clear();
            let result = self.attribute_value(&attribute.value, &mut value);
            if name != "xmlns" && !name.starts_with("xmlns:") {
                let bytewise = self.bytewise;
                self.parsed
                    .xml_attributes
                    .push_with(|out| append(name, bytewise, out), |out| out.extend_from_slice(&value));
            }
            self.attribute = value;
            result?;
        }
        names.sort_unstable();
        if names.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(Stop::Wrong("an attribute twice"));
        }
        Ok(())
    }

    fn attribute_value(&mut self, raw: &str, out: &mut Vec<u8>) -> Step {
        let mut rest = raw;
        while let Some(at) = rest.find(['&', '<', '\t', '\r', '\n']) {
            let (plain, special) = rest.split_at(at);
            append(plain, self.bytewise, out);
            rest = special.get(1..).unwrap_or_default();
            if special.starts_with('<') {
                return Err(Stop::Wrong("`<` in an attribute"));
            }
            if special.starts_with('&') {
                let Some((name, after)) = rest.split_once(';') else { return Err(Stop::Wrong("malformed reference")) };
                self.reference(name, out)?;
                rest = after;
            } else {
                // A CR LF pair is one line end, and a line end is a blank.
                rest = special.strip_prefix("\r\n").unwrap_or(rest);
                out.push(b' ');
            }
        }
        append(rest, self.bytewise, out);
        Ok(())
    }

    fn characters(&mut self, text: &str) -> Step {
        if self.depth == 0 {
            let blank = text.bytes().all(|byte| byte.is_ascii_whitespace());
            return if blank { Ok(()) } else { Err(Stop::Wrong("content outside the root element")) };
        }
        let start = self.text.len();
        append(text, self.bytewise, &mut self.text);
        self.copy_to_arguments(start);
        Ok(())
    }

    fn text_reference(&mut self, name: &str) -> Step {
        let mut text = std::mem::take(&mut self.text);
        let start = text.len();
        let result = self.reference(name, &mut text);
        self.text = text;
        self.copy_to_arguments(start);
        result
    }

    /// The text from `start` on is new.
    fn copy_to_arguments(&mut self, start: usize) {
        if let Some(arguments) = &mut self.arguments {
            arguments.characters(self.text.get(start..).unwrap_or_default());
        }
    }

    /// Appends the character that a reference stands for, or the reference to a declared entity as it is.
    fn reference(&mut self, name: &str, out: &mut Vec<u8>) -> Step {
        if let Some(number) = name.strip_prefix('#') {
            let character = doctype::character(number).ok_or(Stop::Wrong("bad character reference"))?;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return Ok(());
        }
        if let Some(character) = doctype::predefined(name) {
            out.push(character);
            return Ok(());
        }
        let length = match self.entities.get(name) {
            Some(length) => *length,
            None if self.foreign_entities => 0,
            None => return Err(Stop::Wrong("unknown entity")),
        };
        self.expansion_left = self.expansion_left.checked_sub(length).ok_or(Stop::Wrong("entity expansion"))?;
        out.push(b'&');
        append(name, self.bytewise, out);
        out.push(b';');
        Ok(())
    }

    fn doctype(&mut self, text: &str) -> Step {
        if self.root_seen {
            return Err(Stop::Wrong("misplaced DOCTYPE"));
        }
        if self.refuse_doctype {
            return Err(Stop::Wrong("DOCTYPE is refused"));
        }
        let doctype = doctype::parse(text).map_err(Stop::Wrong)?;
        self.foreign_entities = doctype.external;
        for (name, value) in doctype.entities {
            append(&value, self.bytewise, &mut self.text);
            // The first declaration of a name is the one that counts.
            self.entities.entry(name.to_owned()).or_insert(value.len());
        }
        Ok(())
    }
}

/// What a reader error means; `rest` is the text from where it began.
fn stop_of(error: &Error, rest: &str) -> Stop {
    match error {
        Error::Syntax(SyntaxError::InvalidBangMarkup) if rest.len() > "<![CDATA".len() => Stop::Wrong("unknown markup"),
        Error::Syntax(_) => Stop::End,
        Error::IllFormed(IllFormedError::UnclosedReference) if !rest.contains(['<', ';']) => Stop::End,
        Error::IllFormed(IllFormedError::UnclosedReference) => Stop::Wrong("malformed reference"),
        Error::IllFormed(IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_)) => {
            Stop::Wrong("mismatched end tag")
        }
        Error::IllFormed(IllFormedError::MissingDoctypeName) => Stop::Wrong("malformed DOCTYPE"),
        _ => Stop::Wrong("not well-formed"),
    }
}

fn append(text: &str, bytewise: bool, out: &mut Vec<u8>) {
    if bytewise {
        out.extend(text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// Names of elements and attributes: ASCII as XML has it, everything beyond ASCII taken.
fn check_name(name: &str) -> Step {
    let starts = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':' | 0x80..);
    let continues = |byte: u8| starts(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    match name.as_bytes() {
        [first, rest @ ..] if starts(*first) && rest.iter().all(|byte| continues(*byte)) => Ok(()),
        _ => Err(Stop::Wrong("malformed name")),
    }
}

/// Refuses encodings in which bytes below 128 are not always ASCII, or that we do not know.
fn check_encoding(declaration: &BytesDecl<'_>) -> Step {
    const PREFIXES: [&str; 6] = ["iso-8859-", "windows-125", "koi8-", "euc-", "ibm866", "tis-620"];
    const NAMES: [&str; 9] = ["utf-8", "utf8", "us-ascii", "ascii", "latin1", "gb2312", "gbk", "shift_jis", "big5"];
    let name = match declaration.encoding() {
        None => return Ok(()),
        Some(Ok(name)) => name.to_ascii_lowercase(),
        Some(Err(_)) => return Err(Stop::Wrong("malformed declaration")),
    };
    if NAMES.contains(&&name[..]) || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return Ok(());
    }
    Err(Stop::Wrong("unsupported encoding"))
}

#[cfg(test)]
mod tests;
