//! Everything in quotes.

use super::super::super::scan::{self, ByteTable};
use super::super::lexicon;
use super::super::token::{Kind, Token};
use super::Lexer;

/// Letters, for the tag of PostgreSQL's `$tag$`. The C library passes over NUL as well wherever it counts bytes of a set.
static TAG: ByteTable = ByteTable::of(b"\0abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

/// Digits and separators of an amount of money.
static MONEY: ByteTable = ByteTable::of(b"\x000123456789.,");

impl<'a> Lexer<'a> {
    /// A string whose text begins at `start` and goes up to the quote, unless that is escaped or doubled.
    pub(super) fn string(&mut self, start: usize, open: Option<u8>, quote: u8) -> Token<'a> {
        let mut from = start;
        while let Some(end) = scan::find(self.input, from, quote) {
            if self.is_escaped(start, end) {
                from = end + 1;
            } else if self.input.get(end + 1) == Some(&quote) {
                from = end + 2;
            } else {
                let token = self.token(Kind::String, start, end, end + 1);
                return Token { open, close: Some(quote), ..token };
            }
        }
        self.unclosed(start, open)
    }

    /// Whether the byte at `end` follows an odd number of backslashes.
    fn is_escaped(&self, start: usize, end: usize) -> bool {
        let before = scan::part(self.input, start..end);
        let backslashes = before.iter().rev().take_while(|byte| **byte == b'\\').count();
        scan::steps::add(backslashes);
        backslashes % 2 == 1
    }

    /// A string up to the end of the value.
    fn unclosed(&mut self, start: usize, open: Option<u8>) -> Token<'a> {
        let end = self.input.len();
        Token { open, ..self.token(Kind::String, start, end, end) }
    }

    /// A string up to the mark, which is no part of it.
    fn string_to_mark(&mut self, start: usize, mark: &[u8], open: u8) -> Token<'a> {
        match scan::find_all(self.input, start, mark) {
            Some(end) => {
                let token = self.token(Kind::String, start, end, end + mark.len());
                Token { open: Some(open), close: Some(open), ..token }
            }
            None => self.unclosed(start, Some(open)),
        }
    }

    /// `E'…'` of PostgreSQL, and `N'…'` of MySQL.
    pub(super) fn escaped_string(&mut self) -> Token<'a> {
        match (self.byte(1), self.byte(2)) {
            (Some(b'\''), Some(_)) => self.string(self.at + 2, Some(b'\''), b'\''),
            _ => self.word(),
        }
    }

    /// `N'…'`, or `NQ'(…)'` of Oracle.
    pub(super) fn national_string(&mut self) -> Token<'a> {
        match (self.byte(1), self.byte(2)) {
            (Some(b'\''), Some(_)) => self.escaped_string(),
            _ => self.oracle_string(1),
        }
    }

    /// `U&'…'` of the standard.
    pub(super) fn unicode_string(&mut self) -> Token<'a> {
        if self.byte(1) != Some(b'&') || self.byte(2) != Some(b'\'') {
            return self.word();
        }
        let token = self.string(self.at + 3, Some(b'u'), b'\'');
        Token { close: token.close.map(|_| b'u'), ..token }
    }

    /// `Q'(…)'` of Oracle, with any delimiters, after so many bytes.
    pub(super) fn oracle_string(&mut self, ahead: usize) -> Token<'a> {
        let head = [self.byte(ahead), self.byte(ahead + 1), self.byte(ahead + 2)];
        let [Some(b'q' | b'Q'), Some(b'\''), Some(delimiter @ b'!'..=0x7f)] = head else { return self.word() };
        let end = match delimiter {
            b'(' => b')',
            b'[' => b']',
            b'{' => b'}',
            b'<' => b'>',
            same => same,
        };
        self.string_to_mark(self.at + ahead + 3, &[end, b'\''], b'q')
    }

    /// A name in backquotes, which MySQL takes for a function where it is one.
    pub(super) fn backquoted(&mut self, start: usize) -> Token<'a> {
        let token = self.string(start, Some(b'`'), b'`');
        let kind = lexicon::word(token.text).filter(|kind| *kind == Kind::Function);
        Token { kind: kind.unwrap_or(Kind::Bareword), ..token }
    }

    /// A name in the brackets of SQL Server.
    pub(super) fn bracketed(&mut self) -> Token<'a> {
        let end = scan::find(self.input, self.at, b']').map_or(self.input.len(), |end| end + 1);
        self.token(Kind::Bareword, self.at, end, end)
    }

    /// An amount of money, a string in `$$` or `$tag$`, or a `$` and no more.
    pub(super) fn dollar(&mut self) -> Token<'a> {
        let start = self.at;
        let after_money = scan::skip(self.input, start + 1, &MONEY);
        match (after_money - start - 1, self.byte(1)) {
            (0, Some(b'$')) => self.string_to_mark(start + 2, b"$$", b'$'),
            (0, _) => self.tagged(),
            (1, Some(b'.')) => self.word(),
            _ => self.token(Kind::Number, start, after_money, after_money),
        }
    }

    fn tagged(&mut self) -> Token<'a> {
        let (input, start) = (self.input, self.at);
        let end = scan::skip(input, start + 1, &TAG);
        if end == start + 1 || input.get(end) != Some(&b'$') {
            return self.single(Kind::Bareword);
        }
        self.string_to_mark(end + 1, scan::part(input, start..end + 1), b'$')
    }
}
