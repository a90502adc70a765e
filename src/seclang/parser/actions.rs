//! `name` and `name:value`, separated by commas.
//!
//! Does not know which actions there are.

use crate::seclang::ast::Action;
use crate::seclang::diag::Diagnostic;
use crate::seclang::lexer::{Quoted, Text, is_blank, quoted};
use crate::seclang::source::Spanned;

/// Parses an action list; actions that cannot be read are reported and left out.
pub(crate) fn actions(text: Text<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Action> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.bytes.is_empty() {
        let (action, len) = action(rest);
        match action {
            Ok(action) => found.push(action),
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
        let comma = rest.slice(len..len + 1);
        rest = rest.from(len + 1).trim();
        if rest.bytes.is_empty() && comma.bytes == b"," {
            diagnostics.push(Diagnostic::warning(comma.span(), "`,` with no action behind it").with_help("remove it"));
        }
    }
    found
}

/// One action and the bytes up to its comma, also when it cannot be read.
fn action(text: Text<'_>) -> (Result<Action, Diagnostic>, usize) {
    let ends = |byte: &u8| matches!(byte, b':' | b',');
    let name_end = text.bytes.iter().position(ends).unwrap_or(text.bytes.len());
    let name = check_name(text.slice(0..name_end).trim());
    if text.bytes.get(name_end) != Some(&b':') {
        return (name.map(|name| Action { span: name.span, name, value: None }), name_end);
    }
    let (value, len) = value(text, name_end + 1);
    let action = name.and_then(|name| {
        let (value, end) = value?;
        Ok(Action { span: text.span_of(0..end), name, value: Some(value) })
    });
    (action, len)
}

/// A value and its end, closing quote included.
type Value = (Spanned<Vec<u8>>, usize);

/// The value from `start` on, and where its comma or the end is.
fn value(text: Text<'_>, start: usize) -> (Result<Value, Diagnostic>, usize) {
    let rest = text.bytes.get(start..).unwrap_or_default();
    let start = start + rest.iter().take_while(|byte| is_blank(**byte)).count();
    if text.bytes.get(start) == Some(&b'\'') {
        return quoted_value(text, start);
    }
    let comma = comma(text, start);
    let value = text.slice(start..comma).trim();
    let end = start + value.bytes.len();
    (Ok((Spanned { node: value.bytes.to_vec(), span: value.span() }, end)), comma)
}

fn quoted_value(text: Text<'_>, start: usize) -> (Result<Value, Diagnostic>, usize) {
    let inner = text.bytes.get(start + 1..).unwrap_or_default();
    let Some(Quoted { text: node, len, .. }) = quoted(inner, b'\'') else {
        let diagnostic = Diagnostic::error(text.from(start).span(), "no closing `'` in an action")
            .with_help("end the value with `'`; write `\\'` for a quote inside it");
        return (Err(diagnostic), text.bytes.len());
    };
    let end = start + 1 + len;
    let comma = comma(text, end);
    let stray = text.slice(end..comma).trim();
    if !stray.bytes.is_empty() {
        let diagnostic = Diagnostic::error(stray.span(), "text after the closing `'` of an action")
            .with_help("separate actions with `,`; write `\\'` for a quote inside the value");
        return (Err(diagnostic), comma);
    }
    (Ok((Spanned { node, span: text.span_of(start + 1..end - 1) }, end)), comma)
}

fn comma(text: Text<'_>, from: usize) -> usize {
    let rest = text.bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len())
}

fn check_name(name: Text<'_>) -> Result<Spanned<String>, Diagnostic> {
    if name.bytes.is_empty() {
        return Err(Diagnostic::error(name.span(), "missing action name").with_help("write `name` or `name:value`"));
    }
    if !name.bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
        return Err(Diagnostic::error(name.span(), format!("bad action name `{}`", name.shown()))
            .with_help("separate actions with `,`; a value that holds a comma needs single quotes"));
    }
    Ok(Spanned { node: name.shown(), span: name.span() })
}
