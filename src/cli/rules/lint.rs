//! `portcullis rules lint`: everything the parser, the compiler and the set itself have to say.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::Format;
use crate::cli::Exit;
use crate::seclang::diag::{Diagnostic, Level};
use crate::sets::{ReadSet, Remark};

/// Prints all findings and a summary; [`Exit::No`] when one of them is an error.
pub(super) fn run(set: &ReadSet, strict: bool, format: Format) -> anyhow::Result<Exit> {
    let (rules, diagnostics) = set.check();
    let mut report = Report { set, rules: rules.map(|rules| rules.rules().len()), diagnostics, remarks: set.remarks() };
    if strict {
        report.promote_warnings();
    }
    match format {
        Format::Text => io::stdout().write_all(report.text().as_bytes())?,
        Format::Json => writeln!(io::stdout(), "{}", report.json())?,
    }
    Ok(if report.rules.is_some() && report.count(Level::Error) == 0 { Exit::Fine } else { Exit::No })
}

struct Report<'s> {
    set: &'s ReadSet,
    /// `None` when the rules cannot be used.
    rules: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    remarks: Vec<Remark>,
}

impl Report<'_> {
    /// What `--strict` says: a warning is an error.
    fn promote_warnings(&mut self) {
        let levels = self.diagnostics.iter_mut().map(|diagnostic| &mut diagnostic.level);
        let levels = levels.chain(self.remarks.iter_mut().map(|remark| &mut remark.level));
        levels.filter(|level| **level == Level::Warning).for_each(|level| *level = Level::Error);
    }

    fn count(&self, level: Level) -> usize {
        let levels = self.diagnostics.iter().map(|diagnostic| diagnostic.level);
        levels.chain(self.remarks.iter().map(|remark| remark.level)).filter(|found| *found == level).count()
    }

    fn text(&self) -> String {
        let rendered = self.diagnostics.iter().map(|diagnostic| diagnostic.render(&self.set.program.sources));
        let mut text = String::new();
        for line in rendered.chain(self.remarks.iter().map(|remark| self.set.render(remark))) {
            let _ = writeln!(text, "{line}");
        }
        let rules = self.rules.map_or_else(|| "not usable".to_owned(), |count| format!("{count} rules"));
        let (errors, warnings) = (self.count(Level::Error), self.count(Level::Warning));
        let notices = self.count(Level::Notice);
        let title = &self.set.found.title;
        let _ = writeln!(text, "{title}: {rules}; errors: {errors}, warnings: {warnings}, notices: {notices}");
        text
    }

    fn json(&self) -> Value {
        json!({
            "set": self.set.found.title,
            "version": self.set.version(),
            "verified": self.set.differences.as_ref().map(|differences| differences.is_none()),
            "rules": self.rules,
            "errors": self.count(Level::Error),
            "warnings": self.count(Level::Warning),
            "notices": self.count(Level::Notice),
            "diagnostics": self.diagnostics.iter().map(|diagnostic| self.json_line(diagnostic)).collect::<Vec<_>>(),
            "remarks": self.remarks.iter().map(|one| json!({"level": one.level.name(), "message": one.message})).collect::<Vec<_>>(),
        })
    }

    fn json_line(&self, diagnostic: &Diagnostic) -> Value {
        json!({
            "level": diagnostic.level.name(),
            "file": *self.set.program.sources.path(diagnostic.span.file),
            "line": diagnostic.span.line,
            "column": diagnostic.span.column,
            "message": diagnostic.message,
            "help": diagnostic.help,
        })
    }
}
