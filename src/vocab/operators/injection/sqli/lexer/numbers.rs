//! Numbers in all their spellings.

use super::super::super::scan::{self, ByteTable};
use super::super::token::{Kind, Token};
use super::{Lexer, is_white};

// The C library passes over NUL as well wherever it counts bytes of a set.
static BINARY: ByteTable = ByteTable::of(b"\x0001");
static HEXADECIMAL: ByteTable = ByteTable::of(b"\x000123456789ABCDEFabcdef");
static DECIMAL: ByteTable = ByteTable::of(b"0123456789");

impl<'a> Lexer<'a> {
    /// `B'0101'`.
    pub(super) fn bits(&mut self) -> Token<'a> {
        self.digits_in_quotes(&BINARY)
    }

    /// `X'1f'`.
    pub(super) fn hexadecimal(&mut self) -> Token<'a> {
        self.digits_in_quotes(&HEXADECIMAL)
    }

    fn digits_in_quotes(&mut self, digits: &ByteTable) -> Token<'a> {
        if self.byte(1) != Some(b'\'') {
            return self.word();
        }
        let end = scan::skip(self.input, self.at + 2, digits);
        match self.input.get(end) {
            Some(b'\'') => self.token(Kind::Number, self.at, end + 1, end + 1),
            _ => self.word(),
        }
    }

    /// A number that begins with a digit or a dot; or that dot.
    pub(super) fn number(&mut self) -> Token<'a> {
        match (self.byte(0), self.byte(1)) {
            (Some(b'0'), Some(b'x' | b'X')) => self.digits_after_prefix(&HEXADECIMAL),
            (Some(b'0'), Some(b'b' | b'B')) => self.digits_after_prefix(&BINARY),
            _ => self.decimal(),
        }
    }

    /// Without a digit the prefix is a name.
    fn digits_after_prefix(&mut self, digits: &ByteTable) -> Token<'a> {
        let (start, digits_start) = (self.at, self.at + 2);
        let end = scan::skip(self.input, digits_start, digits);
        let kind = if end == digits_start { Kind::Bareword } else { Kind::Number };
        self.token(kind, start, end, end)
    }

    fn decimal(&mut self) -> Token<'a> {
        let (input, start) = (self.input, self.at);
        let mut end = scan::skip(input, start, &DECIMAL);
        if input.get(end) == Some(&b'.') {
            end = scan::skip(input, end + 1, &DECIMAL);
            if end == start + 1 {
                return self.single(Kind::Dot);
            }
        }
        let (end, lacks_exponent) = self.exponent(end);
        let end = self.float_suffix(end);
        // `1e` is no number, so that it is read as a name.
        let kind = if lacks_exponent { Kind::Bareword } else { Kind::Number };
        self.token(kind, start, end, end)
    }

    /// Where the exponent ends, and whether there is its letter but no digit.
    fn exponent(&self, start: usize) -> (usize, bool) {
        if !matches!(self.input.get(start), Some(b'e' | b'E')) {
            return (start, false);
        }
        let has_sign = matches!(self.input.get(start + 1), Some(b'+' | b'-'));
        let digits = start + 1 + usize::from(has_sign);
        let end = scan::skip(self.input, digits, &DECIMAL);
        (end, end == digits)
    }

    /// Where Oracle's `d` or `f` for a float ends. It must end the number: `1FROM` is `1` and `FROM`, but `1fUNION` is
    /// `1f` and `UNION`.
    fn float_suffix(&self, start: usize) -> usize {
        let has_letter = matches!(self.input.get(start), Some(b'd' | b'D' | b'f' | b'F'));
        let is_last =
            self.input.get(start + 1).is_none_or(|next| is_white(*next) || matches!(next, b';' | b'u' | b'U'));
        start + usize::from(has_letter && is_last)
    }
}
