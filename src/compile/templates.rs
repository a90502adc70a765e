//! Texts with macros.

use super::Compiler;
use crate::ruleset::template::{Macro, Piece, Template};
use crate::seclang::diag::{Diagnostic, nearest};
use crate::seclang::source::{Span, Spanned};
use crate::vocab::variables::{Shape, Variable};

impl Compiler<'_> {
    /// A text whose macros must name variables; those that do not are errors.
    pub(super) fn template(&mut self, text: &Spanned<Vec<u8>>) -> Template {
        let (template, unknown) = parse(&text.node);
        self.pattern_keys(&template, text.span);
        for name in unknown {
            let message = format!("the macro `%{{{name}}}` names no variable");
            let variable = name.split(['.', ':']).next().unwrap_or_default();
            match nearest(variable, Variable::ALL.iter().map(|variable| variable.name())) {
                Some(near) => self.error_with_help(text.span, message, format!("did you mean `{near}`?")),
                None => self.error_with_help(text.span, message, "write `%{tx.NAME}` for a variable of your own"),
            }
        }
        self.with_slots(template)
    }

    /// Gives each `%{tx.name}` its slot, so that no expansion has to look the name up.
    fn with_slots(&mut self, mut template: Template) -> Template {
        for found in template.macros_mut().filter(|found| found.variable == Variable::Tx) {
            found.slot = self.tx_names.intern(found.key.as_deref().unwrap_or_default());
        }
        template
    }

    /// As [`Compiler::template`], for texts in which `%{` may be meant literally, as in patterns: a macro that names no
    /// variable stays text.
    pub(super) fn lenient(&mut self, text: &Spanned<Vec<u8>>) -> Template {
        let template = parse(&text.node).0;
        self.pattern_keys(&template, text.span);
        self.with_slots(template)
    }

    /// `%{ARGS:/x/}`: `ModSecurity` 2 takes the first member whose name the pattern matches, 3 and Coraza the one that is
    /// called `/x/`. So do we, which is hardly what is meant.
    fn pattern_keys(&mut self, template: &Template, span: Span) {
        for (variable, key) in template.macros().filter_map(|found| Some((found.variable, found.key.as_deref()?))) {
            if key.len() > 1 && key.starts_with(b"/") && key.ends_with(b"/") {
                let (name, key) = (variable.name(), String::from_utf8_lossy(key));
                let message = format!("`%{{{name}:{key}}}` is always empty: a macro takes a name, not a pattern");
                let help = "write the whole name, or let a rule with `capture` match it and write `%{TX.0}`";
                self.diagnostics.push(Diagnostic::warning(span, message).with_help(help));
            }
        }
    }

    /// An action's text, empty when the action is not there.
    pub(super) fn template_of(&mut self, text: Option<&Spanned<Vec<u8>>>) -> Template {
        text.map(|text| self.template(text)).unwrap_or_default()
    }
}

/// The template, and the contents of `%{…}` that name no variable (kept as text).
fn parse(text: &[u8]) -> (Template, Vec<String>) {
    let mut pieces = Vec::new();
    let mut unknown = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        if let Some((name, after)) = macro_at(rest) {
            match resolve(name) {
                Some(found) => {
                    flush(&mut literal, &mut pieces);
                    pieces.push(Piece::Macro(found));
                }
                None => {
                    unknown.push(String::from_utf8_lossy(name).into_owned());
                    literal.extend_from_slice(rest.get(..rest.len() - after.len()).unwrap_or_default());
                }
            }
            rest = after;
        } else {
            literal.push(*first);
            rest = tail;
        }
    }
    flush(&mut literal, &mut pieces);
    (Template::new(pieces), unknown)
}

fn flush(literal: &mut Vec<u8>, pieces: &mut Vec<Piece>) {
    if !literal.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(literal).into()));
    }
}

/// The content of `%{…}` at the beginning of a text and what follows it; `%{` without `}` is text.
fn macro_at(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inner = text.strip_prefix(b"%{")?;
    let end = inner.iter().position(|byte| *byte == b'}')?;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

/// `NAME`, `NAME.key` or `NAME:key`, any case.
fn resolve(name: &[u8]) -> Option<Macro> {
    let split = name.iter().position(|byte| matches!(byte, b'.' | b':'));
    let (variable, key) = match split {
        Some(at) => (name.get(..at)?, Some(name.get(at + 1..)?)),
        None => (name, None),
    };
    let variable = Variable::find(std::str::from_utf8(variable).ok()?)?;
    let key = key.filter(|_| variable.shape() == Shape::Collection).map(|key| key.to_ascii_lowercase().into());
    Some(Macro { variable, key, slot: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_found_in_any_case_and_spelling() {
        let (template, unknown) = parse(b"a %{tx.Foo} %{REQUEST_HEADERS:Host} %{matched_var} %{nope.x} %{open");
        assert_eq!(unknown, ["nope.x"]);
        let keys: Vec<_> = template.macros().map(|found| (found.variable, found.key.clone())).collect();
        assert_eq!(
            keys,
            [
                (Variable::Tx, Some(b"foo".as_slice().into())),
                (Variable::RequestHeaders, Some(b"host".as_slice().into())),
                (Variable::MatchedVar, None),
            ]
        );
        assert_eq!(template.pieces().last(), Some(&Piece::Literal(b" %{nope.x} %{open".as_slice().into())));
    }
}
