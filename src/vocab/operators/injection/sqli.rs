//! SQL injection, by the algorithm of libinjection: what a value would be as a part of SQL, told by its first tokens.
//!
//! A value may stand in a statement as it is, or inside of single or double quotes that it closes. Each reading is cut into
//! tokens, folded to five at most, and their kinds are looked up in a table of fingerprints. What looks like an injection
//! but is too common in honest text is let pass.
//!
//! Knows no rule and no variable. Nothing is allocated; the work is linear in the length of the value.

mod fold;
mod lexer;
mod lexicon;
#[cfg(test)]
pub(super) mod tests;
mod token;

use fold::{Folder, MAX_TOKENS};
use lexer::{Dialect, Lexer};
use token::{Kind, Token};

/// The kinds of the tokens of an injection, such as `s&1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fingerprint {
    letters: [u8; MAX_TOKENS],
    len: usize,
}

impl Fingerprint {
    const EVIL: Self = Self { letters: [Kind::Evil.letter(), 0, 0, 0, 0], len: 1 };

    fn of(tokens: &[Token<'_>]) -> Self {
        let mut letters = [0; MAX_TOKENS];
        for (letter, token) in letters.iter_mut().zip(tokens) {
            *letter = token.kind.letter();
        }
        Self { letters, len: tokens.len().min(MAX_TOKENS) }
    }

    /// A letter a token.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.letters.get(..self.len).unwrap_or_default()
    }
}

/// The fingerprint of the injection in the value, if there is one.
pub(super) fn detect(value: &[u8]) -> Option<Fingerprint> {
    if Lexer::reads_one_word(value) {
        return None;
    }
    in_either_dialect(value, None)
        .or_else(|| in_either_dialect(value, has(value, b'\'')?))
        .or_else(|| read(value, has(value, b'"')?, Dialect::MySql).0)
}

/// The quote, as one that may be open when the value begins, if the value has one to close it.
fn has(value: &[u8], quote: u8) -> Option<Option<u8>> {
    memchr::memchr(quote, value).map(|_| Some(quote))
}

/// The answer for ANSI SQL, and where that finds nothing but comments might hide something, that for MySQL.
fn in_either_dialect(value: &[u8], inside: Option<u8>) -> Option<Fingerprint> {
    match read(value, inside, Dialect::Ansi) {
        (None, true) => read(value, inside, Dialect::MySql).0,
        (found, _) => found,
    }
}

/// The answer for one reading, and whether it depends on the dialect.
fn read(value: &[u8], inside: Option<u8>, dialect: Dialect) -> (Option<Fingerprint>, bool) {
    let mut folder = Folder::new(Lexer::new(value, inside, dialect));
    end_with_comment(&mut folder);
    (judge(value, folder.tokens(), folder.lexer().tokens()), folder.lexer().depends_on_dialect())
}

/// A lone backquote at the end hides what follows from MySQL, so that it counts as a comment.
fn end_with_comment(folder: &mut Folder<'_>) {
    if folder.tokens().len() > 2
        && let Some(last) = folder.last_mut()
        && (last.kind, last.open, last.close) == (Kind::Bareword, Some(b'`'), None)
        && last.text.is_empty()
    {
        last.kind = Kind::Comment;
    }
}

/// The fingerprint, if it is one of an injection and the value is not of a kind that honest people write as well.
fn judge(value: &[u8], tokens: &[Token<'_>], tokens_read: usize) -> Option<Fingerprint> {
    if tokens.iter().any(|token| token.kind == Kind::Evil) {
        return Some(Fingerprint::EVIL);
    }
    let fingerprint = Fingerprint::of(tokens);
    if !lexicon::is_injection(fingerprint.as_bytes()) {
        return None;
    }
    let hides_from_audit = matches!(tokens, [_, .., Token { kind: Kind::Comment, .. }])
        // What SQL Server leaves out of its audit log.
        && memchr::memmem::find(value, b"sp_password").is_some();
    let is_honest = match tokens {
        _ if hides_from_audit => false,
        [first, second] => is_honest_pair(value, first, second, tokens_read),
        [first, second, third] => is_honest_triple([first, second, third], fingerprint, tokens_read),
        _ => false,
    };
    (!is_honest).then_some(fingerprint)
}

/// Two tokens are easily written by chance: a number and the word "union", or a text with `--` in it.
fn is_honest_pair(value: &[u8], first: &Token<'_>, second: &Token<'_>, tokens_read: usize) -> bool {
    let begins_with = second.text.first();
    match (first.kind, second.kind) {
        (_, Kind::Union) => tokens_read == 2,
        _ if begins_with == Some(&b'#') => true,
        (Kind::Bareword, Kind::Comment) => begins_with != Some(&b'/'),
        (Kind::Number, Kind::Comment) => {
            begins_with != Some(&b'/') && tokens_read <= 2 && !is_plain_number(value, first.text.len())
        }
        // Only a `--` at the very end is suspicious.
        _ => second.text.len() > 2 && begins_with == Some(&b'-'),
    }
}

/// Whether white space or a comment follows the number, rather than more of a name such as `1234-abcdef--`.
///
/// The place is counted from the beginning of the value even where the number does not stand there, as in the C library;
/// there bytes from 0x80 on are negative, so that they count as white space.
fn is_plain_number(value: &[u8], len: usize) -> bool {
    match (value.get(len), value.get(len + 1)) {
        (Some(b'/'), next) => next == Some(&b'*'),
        (Some(b'-'), next) => next == Some(&b'-'),
        (Some(b'!'..=0x7f), _) => false,
        _ => true,
    }
}

fn is_honest_triple(tokens: [&Token<'_>; 3], fingerprint: Fingerprint, tokens_read: usize) -> bool {
    let [first, second, third] = tokens;
    match fingerprint.as_bytes() {
        // `…foo' + 'bar…` joins two strings that are open at the ends of the value; anything else is a quotation.
        b"sos" | b"s&s" => first.open.is_some() || third.close.is_some() || first.close != third.open,
        // `sexy and 17`, but not `sexy and 17<18`.
        b"s&n" | b"n&1" | b"1&1" | b"1&v" | b"1&s" => tokens_read == 3,
        // Of all keywords in the middle only INTO OUTFILE and INTO DUMPFILE do harm.
        _ if second.kind == Kind::Keyword => {
            second.text.len() < 5 || !second.text.get(..4).is_some_and(|text| text.eq_ignore_ascii_case(b"INTO"))
        }
        _ => false,
    }
}
