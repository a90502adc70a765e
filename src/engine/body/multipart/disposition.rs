//! The value of a part's `Content-Disposition` header.

use super::super::MultipartFlags;

/// What is wrong with a value: ModSecurity's codes, which logs and people know.
type Code = i32;

/// The names in a `Content-Disposition` header.
#[derive(Default, Debug)]
pub(super) struct Disposition {
    /// `name`.
    pub(super) name: Option<Vec<u8>>,
    /// `filename`.
    pub(super) file_name: Option<Vec<u8>>,
}

impl Disposition {
    /// Reads `form-data; name="a"; filename="b"`: these parameters only, each once. `filename*` is checked for its
    /// place and flagged.
    pub(super) fn parse(value: &[u8], flags: &mut MultipartFlags) -> Result<Self, Code> {
        let mut disposition = Self::default();
        let mut extended_name = false;
        let mut cursor = Cursor { rest: value.strip_prefix(b"form-data").ok_or(-1)? };
        cursor.skip_blanks();
        if !cursor.rest.is_empty() {
            cursor.expect(b';', -2)?;
        }
        while !cursor.rest.is_empty() {
            let (name, value) = cursor.parameter(flags)?;
            match name {
                b"name" => set_once(&mut disposition.name, value, -14)?,
                b"filename" => set_once(&mut disposition.file_name, value, -15)?,
                b"filename*" if extended_name => return Err(-16),
                b"filename*" => extended_name = true,
                _ => return Err(-11),
            }
            cursor.end_of_parameter(flags)?;
        }
        if extended_name && disposition.file_name.is_none() {
            return Err(-21);
        }
        flags.strict_error |= extended_name;
        Ok(disposition)
    }
}

fn set_once(slot: &mut Option<Vec<u8>>, value: Vec<u8>, code: Code) -> Result<(), Code> {
    if slot.replace(value).is_some() { Err(code) } else { Ok(()) }
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn skip_blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn expect(&mut self, byte: u8, code: Code) -> Result<(), Code> {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(code),
        }
    }

    fn not_at_end(&self, code: Code) -> Result<(), Code> {
        if self.rest.is_empty() { Err(code) } else { Ok(()) }
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().take_while(|byte| wanted(**byte)).count();
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    fn parameter(&mut self, flags: &mut MultipartFlags) -> Result<(&'a [u8], Vec<u8>), Code> {
        self.skip_blanks();
        self.not_at_end(-3)?;
        let name = self.take_while(|byte| !matches!(byte, b'=' | b' ' | b'\t'));
        self.not_at_end(-4)?;
        self.skip_blanks();
        self.not_at_end(-5)?;
        self.expect(b'=', -13)?;
        self.skip_blanks();
        self.not_at_end(-6)?;
        let value = match self.rest {
            [quote @ (b'"' | b'\''), rest @ ..] => {
                flags.invalid_quoting |= *quote == b'\'';
                self.rest = rest;
                self.quoted(*quote)?
            }
            _ => {
                let token = self.take_while(is_token);
                // Only inside double quotes is an apostrophe nothing but an apostrophe.
                flags.invalid_quoting |= name != b"filename*" && token.contains(&b'\'');
                token.to_vec()
            }
        };
        Ok((name, value))
    }

    /// The value up to the closing quote. A backslash escapes the quote and itself only: others belong to Windows paths.
    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, Code> {
        self.not_at_end(-7)?;
        let mut value = Vec::new();
        loop {
            match self.rest {
                [] => return Err(-10),
                [b'\\'] => return Err(-8),
                [b'\\', escaped, rest @ ..] if *escaped == quote || *escaped == b'\\' => {
                    value.push(*escaped);
                    self.rest = rest;
                }
                [byte, rest @ ..] => {
                    self.rest = rest;
                    if *byte == quote {
                        return Ok(value);
                    }
                    value.push(*byte);
                }
            }
        }
    }

    /// Blanks and a semicolon, or the end.
    fn end_of_parameter(&mut self, flags: &mut MultipartFlags) -> Result<(), Code> {
        self.skip_blanks();
        if self.rest.is_empty() {
            return Ok(());
        }
        let result = self.expect(b';', -12);
        flags.invalid_quoting |= result.is_err();
        result
    }
}

/// A token of RFC 2045, with `{` and `}`.
const fn is_token(byte: u8) -> bool {
    !matches!(byte, 0..=32 | 127..=255)
        && !matches!(
            byte,
            b'(' | b')' | b'<' | b'>' | b'@' | b',' | b';' | b':' | b'\\' | b'"' | b'/' | b'[' | b']' | b'?' | b'='
        )
}
