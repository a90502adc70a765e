//! Folds the tokens of a value to at most five, by what adds nothing to what a statement does: `1 + 1` is `1`, `(((` is
//! `(`, `UNION` `ALL` is one word.
//!
//! The rules look at the next two or three tokens from a mark on, and move the mark back where a fold may make room for
//! another. A fold drops tokens *at the end*, wherever the mark is; that is what the C library does, and the table of
//! fingerprints was made with it.

use super::lexer::Lexer;
use super::lexicon;
use super::token::{Kind, Token};

/// How many tokens make a fingerprint.
pub(super) const MAX_TOKENS: usize = 5;

/// Five tokens, one more to see how the fifth is meant, and room behind them for a look at three from the sixth on.
const SLOTS: usize = 8;

/// Reads as many tokens as are needed and folds them.
pub(super) struct Folder<'a> {
    lexer: Lexer<'a>,
    tokens: [Token<'a>; SLOTS],
    /// Where the next token goes.
    end: usize,
    /// What is before it is folded.
    mark: usize,
    /// Whether the lexer has not come to its end.
    more: bool,
    /// The last comment, if no token followed it.
    comment: Option<Token<'a>>,
}

/// What to do after a look at the tokens from the mark on.
enum Next {
    /// Nothing was folded: look at one token more, or move the mark.
    Move,
    /// Something was: look again.
    Again,
    /// Stop, what was read is evil.
    Stop,
}

/// Words that are functions before a parenthesis, and otherwise columns or variables.
const FUNCTIONS_TOO: &[&[u8]] = &[
    b"CURRENT_DATE",
    b"CURRENT_TIME",
    b"CURRENT_TIMESTAMP",
    b"CURRENT_USER",
    b"DATABASE",
    b"LOCALTIME",
    b"LOCALTIMESTAMP",
    b"PASSWORD",
    b"USER",
    b"USER_ID",
    b"USER_NAME",
];

impl<'a> Folder<'a> {
    /// Folds what the lexer reads.
    pub(super) fn new(lexer: Lexer<'a>) -> Self {
        let mut folder = Self { lexer, tokens: [Token::EMPTY; SLOTS], end: 0, mark: 0, more: true, comment: None };
        if folder.first_token() {
            folder.run();
        }
        folder
    }

    /// What reads the tokens.
    pub(super) const fn lexer(&self) -> &Lexer<'a> {
        &self.lexer
    }

    /// The tokens that are left, five at most but for an evil one at the end.
    pub(super) fn tokens(&self) -> &[Token<'a>] {
        self.tokens.get(..self.end).unwrap_or_default()
    }

    /// The last of them, to change.
    pub(super) fn last_mut(&mut self) -> Option<&mut Token<'a>> {
        self.tokens.get_mut(..self.end)?.last_mut()
    }

    fn run(&mut self) {
        loop {
            self.fold_five();
            if !self.more || self.mark >= MAX_TOKENS {
                return self.finish();
            }
            match self.look() {
                Next::Again => {}
                Next::Move => self.mark += 1,
                Next::Stop => {
                    self.end = self.mark + 2;
                    return;
                }
            }
        }
    }

    /// The first token that is no comment, parenthesis, type or sign.
    fn first_token(&mut self) -> bool {
        while let Some(token) = self.lexer.next_token() {
            if !matches!(token.kind, Kind::Comment | Kind::OpenParen | Kind::Type) && !token.is_unary() {
                self.push(token);
                return true;
            }
        }
        false
    }

    /// A comment at the end counts where there is room for it.
    fn finish(&mut self) {
        if let (Some(comment), true) = (self.comment, self.end < MAX_TOKENS) {
            self.push(comment);
        }
        self.end = self.end.min(MAX_TOKENS);
    }

    fn look(&mut self) -> Next {
        let next = if self.fill(2) { self.fold_two() } else { self.all_folded() };
        match next {
            Next::Move if self.fill(3) => self.fold_three(),
            Next::Move => self.all_folded(),
            other => other,
        }
    }

    /// Reads until there are so many tokens from the mark on; whether there are. Mostly they are there already.
    fn fill(&mut self, count: usize) -> bool {
        let wanted = self.mark + count;
        self.end >= wanted || self.read_up_to(wanted)
    }

    fn read_up_to(&mut self, wanted: usize) -> bool {
        while self.more && self.end <= MAX_TOKENS && self.end < wanted {
            match self.lexer.next_token() {
                Some(token) if token.kind == Kind::Comment => self.comment = Some(token),
                Some(token) => {
                    self.comment = None;
                    self.push(token);
                }
                None => self.more = false,
            }
        }
        self.end >= wanted
    }

    fn push(&mut self, token: Token<'a>) {
        if let Some(slot) = self.tokens.get_mut(self.end) {
            *slot = token;
            self.end += 1;
        }
    }

    fn at(&self, ahead: usize) -> &Token<'a> {
        self.tokens.get(self.mark + ahead).unwrap_or(&Token::EMPTY)
    }

    fn replace(&mut self, ahead: usize, token: Token<'a>) {
        if let Some(slot) = self.tokens.get_mut(self.mark + ahead) {
            *slot = token;
        }
    }

    /// Changes what a token counts as; looks again.
    fn count_as(&mut self, ahead: usize, kind: Kind) -> Next {
        self.replace(ahead, Token { kind, ..*self.at(ahead) });
        Next::Again
    }

    /// Drops tokens at the end and looks again from this mark on.
    fn fold(&mut self, dropped: usize, mark: usize) -> Next {
        self.end = self.end.saturating_sub(dropped);
        self.mark = mark;
        Next::Again
    }

    fn all_folded(&mut self) -> Next {
        self.mark = self.end;
        Next::Again
    }

    /// Five tokens that are one: `1 + (1)`, `a = (b)` and two lists side by side.
    fn fold_five(&mut self) {
        use Kind::{Bareword, CloseParen, Comma, Number, OpenParen, Operator};
        let [first, second, third, fourth, fifth, sixth, ..] = &self.tokens;
        let folds = self.end >= MAX_TOKENS
            && matches!(
                (first.kind, second.kind, third.kind, fourth.kind, fifth.kind),
                (Number, Operator | Comma, OpenParen, Number, CloseParen)
                    | (Bareword, Operator, OpenParen, Bareword | Number, CloseParen)
                    | (Number, CloseParen, Comma, OpenParen, Number)
                    | (Bareword, CloseParen, Operator, OpenParen, Bareword)
            );
        if folds {
            let sixth = (self.end > MAX_TOKENS).then_some(*sixth);
            self.fold(self.end - 1, 0);
            if let Some(sixth) = sixth {
                self.push(sixth);
            }
        }
    }

    fn fold_two(&mut self) -> Next {
        use Kind::{Logic, OpenParen, Operator, Semicolon, String, Type};
        let (left, right) = (self.at(0), self.at(1));
        match (left.kind, right.kind) {
            (String, String) | (Semicolon, Semicolon) => return self.fold(1, self.mark),
            (Operator | Logic, Type) => return self.fold(1, 0),
            (Operator | Logic, Operator) if right.is_unary() => return self.fold(1, 0),
            (OpenParen, Operator) if right.is_unary() => return self.fold(1, self.mark.saturating_sub(1)),
            _ => {}
        }
        if left.kind.begins_phrase()
            && right.kind.ends_phrase()
            && let Some((kind, text)) = lexicon::phrase(left.text, right.text)
        {
            self.replace(0, Token { kind, text, ..*left });
            return self.fold(1, self.mark.saturating_sub(1));
        }
        self.reinterpret()
    }

    /// What a token means before another one.
    fn reinterpret(&mut self) -> Next {
        use Kind::{
            Backslash, Bareword, CloseBrace, CloseParen, Collate, Function, Keyword, Number, OpenBrace, OpenParen,
            Operator, Semicolon, Statement, String, Type, Variable,
        };
        let (left, right) = (self.at(0), self.at(1));
        match (left.kind, right.kind) {
            // Transact-SQL has a statement IF.
            (Semicolon, Function) if right.text.get(..2).is_some_and(|text| text.eq_ignore_ascii_case(b"IF")) => {
                self.count_as(1, Statement)
            }
            (Bareword | Variable, OpenParen) if left.is_any(FUNCTIONS_TOO) => self.count_as(0, Function),
            (Keyword, OpenParen) if left.is_any(&[b"IN", b"NOT IN"]) => self.count_as(0, Operator),
            (Keyword, _) if left.is_any(&[b"IN", b"NOT IN"]) => self.count_as(0, Bareword),
            (Operator, next) if left.is_any(&[b"LIKE", b"NOT LIKE"]) => {
                if next == OpenParen {
                    self.count_as(0, Function);
                }
                Next::Move
            }
            (Type, Bareword | Number | Type | OpenParen | Function | Variable | String) => self.drop_left(),
            // There are too many collations to list; a name with `_` is taken for one.
            (Collate, Bareword) => {
                if right.text.iter().take_while(|byte| **byte != 0).any(|byte| *byte == b'_') {
                    self.count_as(1, Type);
                    self.mark = 0;
                }
                Next::Move
            }
            // Transact-SQL reads `\%1` as `0 % 1`, and `\1` as `1`.
            (Backslash, _) if right.is_arithmetic() => {
                self.count_as(0, Number);
                self.fold(0, 0)
            }
            (Backslash, _) => self.drop_left(),
            (OpenParen, OpenParen) | (CloseParen, CloseParen) => self.fold(1, 0),
            // MySQL reads ``{``.``.id}`` as a column, which nobody writes; `{name expression}` is the expression.
            (OpenBrace, Bareword) if right.text.is_empty() => {
                self.count_as(1, Kind::Evil);
                Next::Stop
            }
            (OpenBrace, Bareword) => self.fold(2, 0),
            (_, CloseBrace) => self.fold(1, 0),
            _ => Next::Move,
        }
    }

    fn drop_left(&mut self) -> Next {
        self.replace(0, *self.at(1));
        self.fold(1, 0)
    }

    /// Drops the token in the middle, which is a sign or a dot.
    fn drop_middle(&mut self, dropped: usize) -> Next {
        self.replace(1, *self.at(2));
        self.fold(dropped, 0)
    }

    fn fold_three(&mut self) -> Next {
        use Kind::{
            Bareword, CloseParen, Comma, Dot, Expression, Function, Group, Keyword, Logic, Number, OpenParen, Operator,
            String, Type, Variable,
        };
        let (left, middle, right) = (self.at(0), self.at(1), self.at(2));
        match (left.kind, middle.kind, right.kind) {
            (Logic, _, Logic) => self.fold(2, 0),
            (Operator, kind, Operator) if kind != OpenParen => self.fold(2, 0),
            (Bareword | Number | Variable, Operator, Bareword | Number) => self.fold(2, 0),
            (Variable, Operator, Variable) => self.fold(2, 0),
            (Bareword | Number | Variable | String, Operator, Type) if middle.text == b"::" => self.fold(2, 0),
            (Bareword | Number | Variable | String, Comma, Bareword | Number | Variable | String) => self.fold(2, 0),
            (Expression | Group | Comma, Operator, OpenParen) if middle.is_unary() => self.drop_middle(1),
            (Keyword | Expression | Group, Operator, Bareword | Number | Variable | String | Function)
                if middle.is_unary() =>
            {
                self.drop_middle(1)
            }
            // `1, -1` is `1`: the comma and what follows it go as well.
            (Comma, Operator, Bareword | Number | Variable | String) if middle.is_unary() => self.drop_middle(3),
            (Comma, Operator, Function) if middle.is_unary() => self.drop_middle(1),
            (Bareword, Dot, Bareword) => self.fold(2, 0),
            (Expression, Dot, Bareword) => self.drop_middle(1),
            // With an argument USER is no function.
            (Function, OpenParen, kind) if kind != CloseParen && left.is(b"USER") => {
                self.count_as(0, Bareword);
                Next::Move
            }
            _ => Next::Move,
        }
    }
}
