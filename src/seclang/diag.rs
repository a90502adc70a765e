//! Diagnostics: what is wrong with rule text, where, and what to write instead.

use std::fmt::Write as _;

use super::source::{Sources, Span};

/// How serious a diagnostic is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// The rules cannot be used.
    Error,
    /// The rules can be used; something in them has no effect or is probably not meant.
    Warning,
    /// Worth knowing; accepted without effect by design.
    Notice,
}

impl Level {
    /// `error`, `warning` or `notice`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// One finding. Messages start in lower case, quote the user's text in backticks and end without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How serious it is.
    pub level: Level,
    /// The place.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to write instead, or the next step.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self { level: Level::Error, span, message: message.into(), help: None }
    }

    /// A warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { level: Level::Warning, span, message: message.into(), help: None }
    }

    /// A notice at `span`.
    pub fn notice(span: Span, message: impl Into<String>) -> Self {
        Self { level: Level::Notice, span, message: message.into(), help: None }
    }

    /// Adds what to write instead.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// `file:line:column: level: message; help`, then the line and a caret line under the text meant.
    pub fn render(&self, sources: &Sources) -> String {
        let Span { file, line, column, len } = self.span;
        let mut text = format!("{}:{line}:{column}: {}: {}", sources.path(file), self.level.name(), self.message);
        if let Some(help) = &self.help {
            let _ = write!(text, "; {help}");
        }
        if let Some(excerpt) = sources.line(file, line) {
            let start = (column as usize).saturating_sub(1);
            let from = start.saturating_sub(60);
            let to = excerpt.len().min(start + 60);
            let shown = printable(excerpt.get(from..to).unwrap_or_default());
            let carets = (len as usize).clamp(1, to.saturating_sub(start).max(1));
            let _ = write!(text, "\n    {shown}\n    {}{}", " ".repeat(start - from), "^".repeat(carets));
        }
        text
    }
}

/// One column a byte, whatever the byte is, so that the caret line stays in place.
fn printable(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| if (32..127).contains(byte) { char::from(*byte) } else { '.' }).collect()
}

/// The candidate that is most like a misspelt name, without regard to case; `None` when none is close.
///
/// Close means: at most one edit for each three letters (insert, delete, replace, swap of neighbours). Of equally close
/// candidates the first one wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let limit = (name.len() / 3).max(1);
    let rated = candidates.into_iter().filter(|candidate| candidate.len().abs_diff(name.len()) <= limit);
    let rated = rated.map(|candidate| (edits(name.as_bytes(), candidate.to_ascii_lowercase().as_bytes()), candidate));
    let (distance, best) = rated.min_by_key(|(distance, _)| *distance)?;
    (distance <= limit).then_some(best)
}

/// The number of edits between two texts, a swap of neighbours counting as one.
fn edits(from: &[u8], to: &[u8]) -> usize {
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    let mut last = None;
    for (done, byte) in from.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(done + 1);
        for (column, wanted) in to.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&row, column) + usize::from(byte != wanted);
            let mut best = replaced.min(at(&row, column + 1) + 1).min(at(&next, column) + 1);
            let before = column.checked_sub(1);
            if last == Some(wanted) && before.and_then(|before| to.get(before)) == Some(byte) {
                best = best.min(at(&above, column - 1) + 1);
            }
            next.push(best);
        }
        above = std::mem::replace(&mut row, next);
        last = Some(byte);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_small_slips_only() {
        let names = ["beginsWith", "endsWith", "contains", "rx", "eq", "pm"];
        let cases = [
            ("beginWith", Some("beginsWith")),
            ("BEGINSWITH", Some("beginsWith")),
            ("contians", Some("contains")),
            ("endWith", Some("endsWith")),
            ("rxx", Some("rx")),
            ("qe", Some("eq")),
            ("completely", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
    }

    #[test]
    fn edits_count_swaps_once() {
        for (from, to, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("ca", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(from.as_bytes(), to.as_bytes()), expected, "{from} {to}");
            assert_eq!(edits(to.as_bytes(), from.as_bytes()), expected, "{to} {from}");
        }
    }
}
