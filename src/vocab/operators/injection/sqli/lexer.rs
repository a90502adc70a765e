//! Cuts a value into tokens as if it were SQL, of any database at once.
//!
//! Knows no grammar. Where databases differ it reads what does most harm, and where the difference changes what follows,
//! [`Lexer::depends_on_dialect`] says so, so that the value is read once more.

mod numbers;
mod quoted;

use super::super::scan::{self, ByteTable};
use super::lexicon;
use super::token::{Kind, Token};

/// Which database's comments count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    /// `--` begins a comment whatever follows, `#` is an operator.
    Ansi,
    /// `--` begins a comment before white space only, `#` begins one.
    MySql,
}

/// Cuts a value into tokens.
pub(super) struct Lexer<'a> {
    input: &'a [u8],
    at: usize,
    dialect: Dialect,
    /// The quote that is open when the value begins, until the first token has used it up.
    inside: Option<u8>,
    tokens: usize,
    depends_on_dialect: bool,
}

/// What ends a word.
static WORD_END: ByteTable = ByteTable::of(b" []{}<>:\\?=@!#~+-*/&|^%(),';\t\n\x0b\x0c\r\"\xa0\0");

/// What may end a word: besides those, what may stand between a word and a name.
static WORD_STOP: ByteTable = ByteTable::of(b".` []{}<>:\\?=@!#~+-*/&|^%(),';\t\n\x0b\x0c\r\"\xa0\0");

/// What ends the name of a variable.
static VARIABLE_END: ByteTable = ByteTable::of(b" <>:\\?=@!#~+-*/&|^%(),';\t\n\x0b\x0c\r'`\"\0");

/// White space, as far as something depends on it. More bytes than these stand between tokens without a meaning.
const fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0xa0 | b'\0')
}

impl<'a> Lexer<'a> {
    /// Reads the value from its beginning, where the quote may be open.
    pub(super) const fn new(input: &'a [u8], inside: Option<u8>, dialect: Dialect) -> Self {
        Self { input, at: 0, dialect, inside, tokens: 0, depends_on_dialect: false }
    }

    /// How many tokens were read.
    pub(super) const fn tokens(&self) -> usize {
        self.tokens
    }

    /// Whether a comment was met that another dialect reads in another way.
    pub(super) const fn depends_on_dialect(&self) -> bool {
        self.depends_on_dialect
    }

    /// Whether the value has no quote and is one word, as most names and short texts are. No fingerprint of a single
    /// token is that of an injection, but for an evil one.
    pub(super) fn reads_one_word(value: &'a [u8]) -> bool {
        let starts_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_' || *byte >= 0x80;
        if !value.first().is_some_and(starts_word) || scan::skip_until(value, 0, &WORD_END) < value.len() {
            return false;
        }
        let mut lexer = Self::new(value, None, Dialect::Ansi);
        lexer.next_token().is_some() && lexer.at == value.len()
    }

    /// The next token; `None` at the end.
    pub(super) fn next_token(&mut self) -> Option<Token<'a>> {
        let token = match self.inside.take() {
            Some(quote) => self.string(0, None, quote),
            None => self.token_at_byte()?,
        };
        self.tokens += 1;
        Some(token)
    }

    fn token_at_byte(&mut self) -> Option<Token<'a>> {
        let byte = loop {
            match self.byte(0)? {
                b'\0'..=b' ' | 0x7f | 0xa0 => self.at += 1,
                byte => break byte,
            }
        };
        scan::steps::add(1);
        Some(match byte {
            b'!' | b'&' | b'*' | b':' | b'<'..=b'>' | b'|' => self.operator(byte),
            b'%' | b'+' | b'^' | b'~' => self.single(Kind::Operator),
            b'"' | b'\'' => self.string(self.at + 1, Some(byte), byte),
            b'#' => self.hash(),
            b'$' => self.dollar(),
            b'(' => self.single(Kind::OpenParen),
            b')' => self.single(Kind::CloseParen),
            b'{' => self.single(Kind::OpenBrace),
            b'}' => self.single(Kind::CloseBrace),
            b',' => self.single(Kind::Comma),
            b';' => self.single(Kind::Semicolon),
            b'-' => self.dash(),
            b'.' | b'0'..=b'9' => self.number(),
            b'/' => self.slash(),
            b'?' | b']' => self.single(Kind::Unknown),
            b'@' => self.variable(),
            b'B' | b'b' => self.bits(),
            b'X' | b'x' => self.hexadecimal(),
            b'E' | b'e' => self.escaped_string(),
            b'N' | b'n' => self.national_string(),
            b'Q' | b'q' => self.oracle_string(0),
            b'U' | b'u' => self.unicode_string(),
            b'[' => self.bracketed(),
            b'\\' => self.backslash(),
            b'`' => self.backquoted(self.at + 1),
            _ => self.word(),
        })
    }

    /// The byte so far ahead.
    fn byte(&self, ahead: usize) -> Option<u8> {
        self.input.get(self.at + ahead).copied()
    }

    /// A token over these bytes; reading goes on at `next`.
    fn token(&mut self, kind: Kind, start: usize, end: usize, next: usize) -> Token<'a> {
        self.at = next;
        let text = scan::part(self.input, start..end.min(start + Token::MAX_TEXT));
        Token { kind, text, open: None, close: None }
    }

    /// A token of the next bytes.
    fn ahead(&mut self, kind: Kind, len: usize) -> Token<'a> {
        self.token(kind, self.at, self.at + len, self.at + len)
    }

    fn single(&mut self, kind: Kind) -> Token<'a> {
        self.ahead(kind, 1)
    }

    /// An operator of up to three bytes. Others of two that databases know (`+=`, `^=`, `~*`) are read as two operators:
    /// the C library lists them, but never looks them up.
    fn operator(&mut self, first: u8) -> Token<'a> {
        match (first, self.byte(1), self.byte(2)) {
            (b'<', Some(b'='), Some(b'>')) => self.ahead(Kind::Operator, 3),
            (b'&', Some(b'&'), _) | (b'|', Some(b'|'), _) => self.ahead(Kind::Logic, 2),
            (b'!', Some(b'!' | b'<' | b'=' | b'>'), _)
            | (b'&' | b'*' | b':' | b'>' | b'|', Some(b'='), _)
            | (b':', Some(b':'), _)
            | (b'<', Some(b'<' | b'=' | b'>' | b'@'), _)
            | (b'>', Some(b'>'), _)
            | (b'|', Some(b'/'), _) => self.ahead(Kind::Operator, 2),
            (b':', Some(_), _) => self.single(Kind::Colon),
            _ => self.single(Kind::Operator),
        }
    }

    fn hash(&mut self) -> Token<'a> {
        self.depends_on_dialect = true;
        match self.dialect {
            Dialect::MySql => self.comment_to_line_end(),
            Dialect::Ansi => self.single(Kind::Operator),
        }
    }

    fn dash(&mut self) -> Token<'a> {
        match (self.byte(1), self.byte(2)) {
            (Some(b'-'), None) => self.comment_to_line_end(),
            (Some(b'-'), Some(byte)) if is_white(byte) => self.comment_to_line_end(),
            (Some(b'-'), _) if self.dialect == Dialect::Ansi => {
                self.depends_on_dialect = true;
                self.comment_to_line_end()
            }
            _ => self.single(Kind::Operator),
        }
    }

    fn comment_to_line_end(&mut self) -> Token<'a> {
        match scan::find(self.input, self.at, b'\n') {
            Some(end) => self.token(Kind::Comment, self.at, end, end + 1),
            None => self.token(Kind::Comment, self.at, self.input.len(), self.input.len()),
        }
    }

    /// A division or a comment. PostgreSQL alone nests comments, and MySQL alone runs what stands in `/*! */`: neither
    /// can be read for all, so neither is let pass.
    fn slash(&mut self) -> Token<'a> {
        if self.byte(1) != Some(b'*') {
            return self.single(Kind::Operator);
        }
        let (start, inside) = (self.at, self.at + 2);
        let is_conditional = self.byte(2) == Some(b'!');
        let (end, nests) = match scan::find_all(self.input, inside, b"*/") {
            // The star of the end belongs to what is searched: `/*/*/` nests.
            Some(end) => (end + 2, scan::find_all(scan::part(self.input, 0..end + 1), inside, b"/*").is_some()),
            None => (self.input.len(), false),
        };
        let kind = if is_conditional || nests { Kind::Evil } else { Kind::Comment };
        self.token(kind, start, end, end)
    }

    /// `\N` is NULL to MySQL.
    fn backslash(&mut self) -> Token<'a> {
        match self.byte(1) {
            Some(b'N') => self.ahead(Kind::Number, 2),
            _ => self.single(Kind::Backslash),
        }
    }

    fn word(&mut self) -> Token<'a> {
        // Only its beginning is looked at before the end is searched: to find the end first and then to cut the word at
        // a dot would read a long word again and again.
        let start = self.at;
        let beginning = scan::part(self.input, start..start + Token::MAX_TEXT);
        let mut len = 0;
        loop {
            len = scan::skip_until(beginning, len, &WORD_STOP);
            match beginning.get(len) {
                Some(b'.' | b'`') => {
                    if let Some(kind) = Self::word_before(scan::part(beginning, 0..len)) {
                        return self.ahead(kind, len);
                    }
                    len += 1;
                }
                Some(_) => return self.whole_word(len),
                None => break,
            }
        }
        let end = scan::skip_until(self.input, start + len, &WORD_END);
        self.whole_word(end - start)
    }

    /// `SELECT.1` and ``SELECT`a` `` begin with a word; a name such as `db.table` does not.
    fn word_before(text: &[u8]) -> Option<Kind> {
        lexicon::word(text).filter(|kind| *kind != Kind::Bareword)
    }

    fn whole_word(&mut self, len: usize) -> Token<'a> {
        let mut token = self.ahead(Kind::Bareword, len);
        if len <= Token::MAX_TEXT {
            token.kind = lexicon::word(token.text).unwrap_or(Kind::Bareword);
        }
        token
    }

    /// A variable: one or two `@`, then a name or something quoted.
    fn variable(&mut self) -> Token<'a> {
        let name = self.at + if self.byte(1) == Some(b'@') { 2 } else { 1 };
        let token = match self.input.get(name) {
            Some(b'`') => self.backquoted(name + 1),
            Some(quote @ (b'\'' | b'"')) => self.string(name + 1, Some(*quote), *quote),
            _ => {
                let end = scan::skip_until(self.input, name, &VARIABLE_END);
                self.token(Kind::Variable, name, end, end)
            }
        };
        Token { kind: Kind::Variable, ..token }
    }
}
