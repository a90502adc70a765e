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
