//! The rules that a removal or update means: ids and ranges of ids.
//!
//! Does not know which rules there are.

use std::ops::Range;

use crate::seclang::ast::RuleSelector;
use crate::seclang::diag::Diagnostic;
use crate::seclang::lexer::{Text, is_blank};
use crate::seclang::source::Spanned;

/// Parses ids and ranges that are part of a value, such as that of `ctl:ruleRemoveById=1-10`.
///
/// `range` says which bytes of the value. What cannot be read is reported and left out.
pub fn ids_within(
    value: &Spanned<Vec<u8>>,
    range: Range<usize>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<RuleSelector> {
    ids(Text::at(&value.node, value.span).slice(range), diagnostics)
}

/// Parses ids and ranges separated by blanks or commas; what cannot be read is reported and left out.
pub(crate) fn ids(text: Text<'_>, diagnostics: &mut Vec<Diagnostic>) -> Vec<RuleSelector> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.bytes.len() {
        let rest = text.bytes.get(at..).unwrap_or_default();
        let len = rest.iter().position(|byte| is_blank(*byte) || *byte == b',').unwrap_or(rest.len());
        if len > 0 {
            match id_or_range(text.slice(at..at + len)) {
                Ok(ids) => found.push(RuleSelector::Ids(ids)),
                Err(diagnostic) => diagnostics.push(diagnostic),
            }
        }
        at += len + 1;
    }
    if text.trim().bytes.is_empty() {
        diagnostics.push(not_an_id(text));
    }
    found
}

/// Parses one number.
pub(crate) fn number(text: Text<'_>) -> Result<u32, Diagnostic> {
    let digits = std::str::from_utf8(text.bytes).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| not_an_id(text))
}

fn id_or_range(text: Text<'_>) -> Result<Spanned<(u32, u32)>, Diagnostic> {
    let (first, last) = match text.bytes.iter().position(|byte| *byte == b'-') {
        Some(dash) => (number(text.slice(0..dash))?, number(text.from(dash + 1))?),
        None => number(text).map(|id| (id, id))?,
    };
    if first > last {
        return Err(Diagnostic::error(text.span(), format!("the range `{}` is empty", text.shown()))
            .with_help(format!("write `{last}-{first}`")));
    }
    Ok(Spanned { node: (first, last), span: text.span() })
}

fn not_an_id(text: Text<'_>) -> Diagnostic {
    Diagnostic::error(text.span(), format!("`{}` is not a rule id", text.shown()))
        .with_help("write an id such as `942100` or a range such as `942100-942199`")
}
