//! JSON bodies as arguments, named as in Coraza: `{"a":"x","b":[1]}` gives `json.a` = `x` and `json.b.0` = `1`.
//!
//! One pass, no recursion, and what was read before an error stays. Does not know which keys mean anything.
//!
//! - A scalar at the top is `json`, the first element of an array at the top `json.0`, an empty key adds an empty name.
//! - Strings are unescaped, numbers keep their text, `null` is empty, equal keys are all kept (Coraza keeps the last
//!   one only, which hides the others from the rules).
//! - Coraza's extra argument with the length of each array is left out. The keys of arrays that hold something are
//!   kept apart and stand in `ARGS_NAMES` alone, since a key can be the attack (CRS 934210) and the names of the
//!   elements end in their index. An empty array or object gives its name with an empty value.
//! - Bytes that are not UTF-8 stay as they are and are no error, as in Coraza; rules judge them. Half a surrogate pair
//!   in escapes becomes U+FFFD, and what follows it is read on its own, never swallowed.

use super::{BodyLimits, Input, Parsed, name_room};

/// Reads a body into `parsed.arguments`.
pub(super) fn parse_body(input: &Input<'_>, limits: &BodyLimits, parsed: &mut Parsed) {
    let mut reader = Reader {
        text: input.body,
        at: 0,
        path: b"json".to_vec(),
        open: Vec::new(),
        depth_limit: limits.json_depth,
        arguments_left: limits.arguments.saturating_sub(input.already),
        names_left: name_room(input.body.len()),
        parsed,
    };
    match reader.document() {
        Ok(()) => {}
        Err(Stop::TooMany) => parsed.arguments_over_limit = true,
        Err(Stop::End) if input.partial => {}
        Err(stop) => {
            let at = reader.at;
            parsed.error = Some(format!("JSON parsing error: {} at byte {at}", stop.text()));
        }
    }
}

/// Why reading ended before the end of the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The text ended inside the document; no error when the body was cut.
    End,
    /// More arguments than allowed.
    TooMany,
    TooDeep,
    /// Long keys above many values would take far more memory than the body itself.
    NamesTooLong,
    Unexpected,
    ControlByte,
    BadEscape,
    BadNumber,
    Trailing,
}

impl Stop {
    const fn text(self) -> &'static str {
        match self {
            Self::End => "unexpected end of text",
            Self::TooMany => "too many arguments",
            Self::TooDeep => "nested too deep",
            Self::NamesTooLong => "names too long",
            Self::Unexpected => "unexpected byte",
            Self::ControlByte => "control byte in a string",
            Self::BadEscape => "bad escape in a string",
            Self::BadNumber => "malformed number",
            Self::Trailing => "content after the value",
        }
    }
}

type Step<T = ()> = Result<T, Stop>;

/// An array or object that is not closed yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// How much of the path names the container itself.
    path: usize,
    /// The index of the next element; `None` in an object.
    next_index: Option<usize>,
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    path: Vec<u8>,
    open: Vec<Open>,
    depth_limit: usize,
    arguments_left: usize,
    names_left: usize,
    parsed: &'a mut Parsed,
}

impl Reader<'_> {
    fn document(&mut self) -> Step {
        self.value()?;
        while let Some(container) = self.open.last().copied() {
            match (self.next_token()?, container.next_index) {
                (b',', _) => {
                    self.at += 1;
                    self.member()?;
                    self.value()?;
                }
                (b']', Some(_)) | (b'}', None) => self.close(),
                _ => return Err(Stop::Unexpected),
            }
        }
        self.skip_blanks();
        if self.at < self.text.len() { Err(Stop::Trailing) } else { Ok(()) }
    }

    /// Reads a scalar, or opens containers down to the first scalar or empty container.
    fn value(&mut self) -> Step {
        loop {
            match self.next_token()? {
                b'{' => self.enter(None)?,
                b'[' => self.enter(Some(0))?,
                b'"' => return self.emit(string),
                b'-' | b'0'..=b'9' => return self.emit(number),
                b't' => return self.emit(|text, at, out| word(b"true", b"true", text, at, out)),
                b'f' => return self.emit(|text, at, out| word(b"false", b"false", text, at, out)),
                b'n' => return self.emit(|text, at, out| word(b"null", b"", text, at, out)),
                _ => return Err(Stop::Unexpected),
            }
            if self.close_if_empty()? {
                return Ok(());
            }
            self.note_array()?;
            self.member()?;
        }
    }

    fn enter(&mut self, next_index: Option<usize>) -> Step {
        if self.open.len() >= self.depth_limit {
            return Err(Stop::TooDeep);
        }
        self.at += 1;
        self.open.push(Open { path: self.path.len(), next_index });
        Ok(())
    }

    fn close_if_empty(&mut self) -> Step<bool> {
        let closing = self.next_token()?;
        let in_array = self.open.last().is_some_and(|open| open.next_index.is_some());
        if closing != if in_array { b']' } else { b'}' } {
            return Ok(false);
        }
        if self.open.len() > 1 {
            self.emit(|_, _, _| Ok(()))?;
        }
        self.close();
        Ok(true)
    }

    /// Keeps the name of the array just entered, if it has a key: an index says nothing.
    fn note_array(&mut self) -> Step {
        if let [.., Open { next_index: None, .. }, Open { next_index: Some(_), .. }] = self.open.as_slice() {
            self.names_left = self.names_left.checked_sub(self.path.len()).ok_or(Stop::NamesTooLong)?;
            self.parsed.array_names.push(&self.path, b"");
        }
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        if let Some(open) = self.open.pop() {
            self.path.truncate(open.path);
        }
    }

    /// Puts the name of the next element or member on the path; of an object, reads the key up to its colon.
    fn member(&mut self) -> Step {
        let Some(open) = self.open.last_mut() else { return Err(Stop::Unexpected) };
        self.path.truncate(open.path);
        self.path.push(b'.');
        if let Some(index) = open.next_index.as_mut() {
            self.path.extend_from_slice(index.to_string().as_bytes());
            *index += 1;
            return Ok(());
        }
        self.expect(b'"')?;
        string(self.text, &mut self.at, &mut self.path)?;
        self.expect(b':')?;
        self.at += 1;
        Ok(())
    }

    /// Adds an argument whose value `read` appends; what it appended before an error stays.
    fn emit(&mut self, read: impl FnOnce(&[u8], &mut usize, &mut Vec<u8>) -> Step) -> Step {
        self.arguments_left = self.arguments_left.checked_sub(1).ok_or(Stop::TooMany)?;
        self.names_left = self.names_left.checked_sub(self.path.len()).ok_or(Stop::NamesTooLong)?;
        let mut result = Ok(());
        let (path, text, at) = (&self.path, self.text, &mut self.at);
        self.parsed.arguments.push_with(|out| out.extend_from_slice(path), |out| result = read(text, at, out));
        result
    }

    fn expect(&mut self, byte: u8) -> Step {
        if self.next_token()? == byte { Ok(()) } else { Err(Stop::Unexpected) }
    }

    /// The next byte that is not blank, not consumed.
    fn next_token(&mut self) -> Step<u8> {
        self.skip_blanks();
        self.text.get(self.at).copied().ok_or(Stop::End)
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }
}

/// Reads a string from its opening quote on and appends what it means.
fn string(text: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Step {
    *at += 1;
    loop {
        let rest = text.get(*at..).unwrap_or_default();
        let plain = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
        let (head, rest) = rest.split_at(plain);
        out.extend_from_slice(head);
        *at += plain;
        match rest {
            [] => return Err(Stop::End),
            [b'"', ..] => {
                *at += 1;
                return Ok(());
            }
            [b'\\', rest @ ..] => *at += 1 + escape(rest, out)?,
            _ => return Err(Stop::ControlByte),
        }
    }
}

/// Appends what an escape means (`text` begins after the backslash) and gives the number of bytes read.
fn escape(text: &[u8], out: &mut Vec<u8>) -> Step<usize> {
    let Some((kind, rest)) = text.split_first() else { return Err(Stop::End) };
    let byte = match kind {
        b'"' | b'\\' | b'/' => *kind,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode_escape(rest, out).map(|used| used + 1),
        _ => return Err(Stop::BadEscape),
    };
    out.push(byte);
    Ok(1)
}

/// Four hexadecimal digits, or a surrogate pair: `d83d\ude00`. Only a real pair reads the second escape.
fn unicode_escape(text: &[u8], out: &mut Vec<u8>) -> Step<usize> {
    let high = hex4(text)?;
    let low = match text.get(4..) {
        Some([b'\\', b'u', rest @ ..]) if (0xd800..0xdc00).contains(&high) => hex4(rest).ok(),
        _ => None,
    };
    let pair = low.filter(|low| (0xdc00..0xe000).contains(low));
    let (code, used) = match pair {
        Some(low) => (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 10),
        None => (high, 4),
    };
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Ok(used)
}

fn hex4(text: &[u8]) -> Step<u32> {
    let mut code = 0;
    for at in 0..4 {
        let byte = text.get(at).copied().ok_or(Stop::End)?;
        code = code * 16 + char::from(byte).to_digit(16).ok_or(Stop::BadEscape)?;
    }
    Ok(code)
}

/// Appends the text of a number: `-0.5e+10`, no leading zeros.
fn number(text: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Step {
    let start = *at;
    let result = number_end(text, at);
    out.extend_from_slice(text.get(start..*at).unwrap_or_default());
    result
}

fn number_end(text: &[u8], at: &mut usize) -> Step {
    if text.get(*at) == Some(&b'-') {
        *at += 1;
    }
    if text.get(*at) == Some(&b'0') {
        *at += 1;
    } else {
        digits(text, at)?;
    }
    if text.get(*at) == Some(&b'.') {
        *at += 1;
        digits(text, at)?;
    }
    if let Some(b'e' | b'E') = text.get(*at) {
        *at += 1;
        if let Some(b'+' | b'-') = text.get(*at) {
            *at += 1;
        }
        digits(text, at)?;
    }
    Ok(())
}

/// One digit or more.
fn digits(text: &[u8], at: &mut usize) -> Step {
    let rest = text.get(*at..).unwrap_or_default();
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    *at += count;
    match (count, rest) {
        (0, []) => Err(Stop::End),
        (0, _) => Err(Stop::BadNumber),
        _ => Ok(()),
    }
}

/// Reads `true`, `false` or `null` and appends its meaning.
fn word(word: &[u8], meaning: &[u8], text: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Step {
    let rest = text.get(*at..).unwrap_or_default();
    if rest.starts_with(word) {
        *at += word.len();
        out.extend_from_slice(meaning);
        return Ok(());
    }
    Err(if word.starts_with(rest) { Stop::End } else { Stop::Unexpected })
}

#[cfg(test)]
mod tests;
