//! `[!][@name ]argument`.
//!
//! Does not know which operators there are.

use crate::seclang::ast::OperatorExpr;
use crate::seclang::diag::Diagnostic;
use crate::seclang::lexer::{Text, is_blank};
use crate::seclang::source::Spanned;

/// Parses the operator of a rule. Blanks around the argument are dropped, as in Coraza; write `\x20` for one that
/// counts.
///
/// # Errors
/// There is no name after `@`.
pub(crate) fn operator(text: Text<'_>) -> Result<OperatorExpr, Diagnostic> {
    let whole = text.trim();
    let negated = whole.bytes.first() == Some(&b'!');
    let rest = if negated { whole.from(1).trim() } else { whole };
    let span = whole.span();
    if rest.bytes.first() != Some(&b'@') {
        let argument = Spanned { node: rest.bytes.to_vec(), span: rest.span() };
        let name = Spanned { node: "rx".to_owned(), span };
        return Ok(OperatorExpr { span, negated, name, implied: true, argument });
    }
    let rest = rest.from(1);
    let end = rest.bytes.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.bytes.len());
    let name = rest.slice(0..end);
    if name.bytes.is_empty() {
        return Err(Diagnostic::error(whole.span(), "missing operator name after `@`").with_help(
            "write an operator such as `@rx PATTERN`; a pattern that starts with `@` needs `@rx` before it",
        ));
    }
    let argument = rest.from(end).trim();
    let name = Spanned { node: name.shown(), span: name.span() };
    let argument = Spanned { node: argument.bytes.to_vec(), span: argument.span() };
    Ok(OperatorExpr { span, negated, name, implied: false, argument })
}
