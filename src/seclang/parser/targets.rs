//! `[!|&]NAME[:key]`, separated by `|` or `,`.
//!
//! Does not know which variables there are; only that `XML` and `JSON` take an expression instead of a name.

use std::ops::Range;

use crate::seclang::ast::{Key, Target};
use crate::seclang::diag::Diagnostic;
use crate::seclang::lexer::{Quoted, Text, is_blank, quoted, trim_end};
use crate::seclang::source::Spanned;

/// Parses a target list that is part of a value, such as that of `ctl:ruleRemoveTargetById=1;ARGS:a,ARGS:b`.
///
/// `range` says which bytes of the value. Targets that cannot be read are reported and left out.
pub fn targets_within(value: &Spanned<Vec<u8>>, range: Range<usize>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Target> {
    targets(Text::at(&value.node, value.span).slice(range), diagnostics)
}

/// Parses a target list; targets that cannot be read are reported and left out.
pub(crate) fn targets(text: Text<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Target> {
    let mut reader = Reader { text, at: 0 };
    let mut found = Vec::new();
    loop {
        match reader.target() {
            Ok(target) => found.push(target),
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                reader.skip(|byte| !is_separator(byte));
            }
        }
        if reader.at >= text.bytes.len() {
            return found;
        }
        reader.at += 1;
    }
}

/// The variables whose selector is an expression.
pub(crate) fn takes_expression(name: &str) -> bool {
    name.eq_ignore_ascii_case("XML") || name.eq_ignore_ascii_case("JSON")
}

const fn is_separator(byte: u8) -> bool {
    matches!(byte, b'|' | b',')
}

struct Reader<'a> {
    text: Text<'a>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.bytes.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, keep_on: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&keep_on) {
            self.at += 1;
        }
    }

    /// One target, up to its separator or the end.
    fn target(&mut self) -> Result<Target, Diagnostic> {
        self.skip(is_blank);
        let start = self.at;
        let negated = self.peek() == Some(b'!');
        let count = self.peek() == Some(b'&');
        self.at += usize::from(negated || count);
        let name = self.name()?;
        let key = match self.peek() {
            Some(b':') => Some(self.key(&name.node)?),
            _ => None,
        };
        let end = self.at;
        self.skip(is_blank);
        if let Some(byte) = self.peek().filter(|byte| !is_separator(*byte)) {
            let stray = self.text.span_of(self.at..self.text.bytes.len());
            return Err(Diagnostic::error(stray, format!("`{}` does not belong to a target", char::from(byte)))
                .with_help("separate targets with `|`"));
        }
        Ok(Target { span: self.text.span_of(start..end), negated, count, name, key })
    }

    fn name(&mut self) -> Result<Spanned<String>, Diagnostic> {
        let start = self.at;
        self.skip(|byte| !is_separator(byte) && byte != b':' && !is_blank(byte));
        let name = self.text.slice(start..self.at);
        if name.bytes.is_empty() {
            let here = self.text.span_of(start..start + 1);
            return Err(Diagnostic::error(here, "missing variable name")
                .with_help("write targets such as `ARGS|!ARGS:name|REQUEST_HEADERS:User-Agent`"));
        }
        let digit_first = name.bytes.first().is_some_and(u8::is_ascii_digit);
        if digit_first || !name.bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            return Err(bad_name(name));
        }
        Ok(Spanned { node: name.shown(), span: name.span() })
    }

    /// The selector; `at` is on the colon.
    fn key(&mut self, name: &str) -> Result<Spanned<Key>, Diagnostic> {
        self.at += 1;
        let start = self.at;
        let key = match self.peek() {
            Some(b'\'') => self.quoted_key(name)?,
            _ if takes_expression(name) => Key::XPath(self.expression_key()),
            Some(b'/') => self.pattern()?,
            _ => Key::Literal(self.plain_key(is_separator)),
        };
        let (Key::Literal(text) | Key::Regex(text) | Key::XPath(text)) = &key;
        if text.is_empty() {
            return Err(Diagnostic::error(self.text.span_of(start - 1..self.at), "the selector after `:` is empty")
                .with_help(format!("write `{name}` for all members")));
        }
        Ok(Spanned { node: key, span: self.text.span_of(start..self.at) })
    }

    /// Bytes up to the next separator, blanks at the end left out.
    fn plain_key(&mut self, ends: impl Fn(u8) -> bool) -> Vec<u8> {
        let start = self.at;
        self.skip(|byte| !ends(byte));
        let key = trim_end(self.text.slice(start..self.at).bytes);
        self.at = start + key.len();
        key.to_vec()
    }

    /// An expression up to the next separator; a comma between brackets belongs to it.
    fn expression_key(&mut self) -> Vec<u8> {
        let mut depth = 0_usize;
        let ends = |byte: &u8| {
            match byte {
                b'[' | b'(' => depth += 1,
                b']' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            *byte == b'|' || (*byte == b',' && depth == 0)
        };
        let rest = self.rest();
        let key = trim_end(rest.get(..rest.iter().position(ends).unwrap_or(rest.len())).unwrap_or_default());
        self.at += key.len();
        key.to_vec()
    }

    /// `/…/`; `at` is on the first slash.
    fn pattern(&mut self) -> Result<Key, Diagnostic> {
        let start = self.at;
        let mut pattern = Vec::new();
        let mut rest = self.rest().iter().skip(1);
        let mut read = 1;
        while let Some(byte) = rest.next() {
            read += 1;
            match byte {
                b'/' => {
                    self.at = start + read;
                    return Ok(Key::Regex(pattern));
                }
                b'\\' => {
                    let next = rest.next();
                    read += usize::from(next.is_some());
                    pattern.extend(next.filter(|next| **next != b'/').map(|_| b'\\'));
                    pattern.extend(next);
                }
                byte => pattern.push(*byte),
            }
        }
        Err(self.open_pattern(start))
    }

    /// `'…'`: a name, `/…/` or an expression; `at` is on the first quote.
    fn quoted_key(&mut self, name: &str) -> Result<Key, Diagnostic> {
        let start = self.at;
        let Some(Quoted { text, len, .. }) = quoted(self.rest().get(1..).unwrap_or_default(), b'\'') else {
            let end = self.text.bytes.len();
            self.at = end;
            return Err(Diagnostic::error(self.text.span_of(start..end), "no closing `'` in a selector")
                .with_help("end the selector with `'`"));
        };
        self.at = start + 1 + len;
        if takes_expression(name) {
            return Ok(Key::XPath(text));
        }
        match text.strip_prefix(b"/").and_then(|inner| inner.strip_suffix(b"/")) {
            Some(inner) => unescape_slashes(inner).map(Key::Regex).ok_or_else(|| self.open_pattern(start)),
            None => Ok(Key::Literal(text)),
        }
    }

    fn open_pattern(&self, start: usize) -> Diagnostic {
        Diagnostic::error(self.text.span_of(start..self.text.bytes.len()), "no closing `/` in a pattern selector")
            .with_help("end the pattern with `/`, or write `'/name'` for a name that starts with a slash")
    }
}

/// `\/` becomes `/`; `None` if the text ends within an escape.
fn unescape_slashes(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        if *byte != b'\\' {
            plain.push(*byte);
            continue;
        }
        let next = rest.next()?;
        if *next != b'/' {
            plain.push(b'\\');
        }
        plain.push(*next);
    }
    Some(plain)
}

fn bad_name(name: Text<'_>) -> Diagnostic {
    let shown = name.shown();
    let help = match shown.split_once('.') {
        Some((collection, key)) => format!("write `{collection}:{key}`; the form with a dot is for macros only"),
        None if shown.starts_with(['!', '&']) => "write `!` or `&`, not both".to_owned(),
        None => "names start with a letter and have letters, digits and `_`; separate targets with `|`".to_owned(),
    };
    Diagnostic::error(name.span(), format!("bad variable name `{shown}`")).with_help(help)
}
