//! What the lexer makes of SQL.

/// The kind of a token; its letter is what stands in a fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Kind {
    /// `SELECT`, `CASE`: what an expression follows.
    Expression = b'E',
    /// `INSERT INTO`, `SHUTDOWN`: what begins a statement.
    Statement = b'T',
    Union = b'U',
    /// `GROUP BY`, `HAVING`, `LIMIT`.
    Group = b'B',
    Keyword = b'k',
    Function = b'f',
    Variable = b'v',
    Type = b't',
    Number = b'1',
    Bareword = b'n',
    Operator = b'o',
    /// `AND`, `OR` and their like.
    Logic = b'&',
    Collate = b'A',
    String = b's',
    Comment = b'c',
    OpenParen = b'(',
    CloseParen = b')',
    OpenBrace = b'{',
    CloseBrace = b'}',
    Dot = b'.',
    Comma = b',',
    Colon = b':',
    Semicolon = b';',
    Backslash = b'\\',
    Unknown = b'?',
    /// What databases read in different ways, and honest people never write.
    Evil = b'X',
}

impl Kind {
    /// The letter in a fingerprint.
    pub(super) const fn letter(self) -> u8 {
        self as u8
    }

    /// The kind of a word in the word list.
    pub(super) const fn of_word(letter: u8) -> Option<Self> {
        Some(match letter {
            b'E' => Self::Expression,
            b'T' => Self::Statement,
            b'U' => Self::Union,
            b'B' => Self::Group,
            b'k' => Self::Keyword,
            b'f' => Self::Function,
            b'v' => Self::Variable,
            b't' => Self::Type,
            b'1' => Self::Number,
            b'n' => Self::Bareword,
            b'o' => Self::Operator,
            b'&' => Self::Logic,
            b'A' => Self::Collate,
            _ => return None,
        })
    }

    /// Whether it may be the first word of a phrase.
    pub(super) const fn begins_phrase(self) -> bool {
        use Kind::{Bareword, Expression, Function, Keyword, Operator, Statement, Type, Union};
        matches!(self, Keyword | Bareword | Operator | Union | Function | Expression | Statement | Type)
    }

    /// Whether it may be the second word of a phrase.
    pub(super) const fn ends_phrase(self) -> bool {
        self.begins_phrase() || matches!(self, Self::Logic)
    }
}

/// A token: its kind and the beginning of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// At most [`Token::MAX_TEXT`] bytes, without the quotes of a string and the `@` of a variable.
    pub(super) text: &'a [u8],
    /// What opened it: the quote, or `q`, `u` or `$` for the other ways to quote. `None` for a string that was open when
    /// the value began.
    pub(super) open: Option<u8>,
    /// What closed it; `None` for a string that was still open when the value ended.
    pub(super) close: Option<u8>,
}

impl<'a> Token<'a> {
    /// How much of its text a token knows. Part of the algorithm: longer names are no words.
    pub(super) const MAX_TEXT: usize = 31;

    /// What stands where no token is yet.
    pub(super) const EMPTY: Self = Self { kind: Kind::Unknown, text: b"", open: None, close: None };

    /// Whether the text is this, in any case.
    pub(super) const fn is(&self, text: &[u8]) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }

    /// Whether the text is one of these, in any case.
    pub(super) fn is_any(&self, texts: &[&[u8]]) -> bool {
        texts.iter().any(|text| self.is(text))
    }

    /// Whether it is an operator that needs nothing to its left.
    pub(super) fn is_unary(&self) -> bool {
        let is_sign = matches!(self.text, [b'+' | b'-' | b'!' | b'~'] | b"!!");
        self.kind == Kind::Operator && (is_sign || self.is(b"NOT"))
    }

    /// Whether it is an operator of arithmetic.
    pub(super) fn is_arithmetic(&self) -> bool {
        self.kind == Kind::Operator && matches!(self.text, [b'*' | b'/' | b'-' | b'+' | b'%'])
    }
}
