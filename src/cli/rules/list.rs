//! `portcullis rules list`: a line for each rule.

use std::io::{self, BufWriter, Write};

use serde_json::json;

use super::Format;
use super::view::{self, RuleView};
use crate::cli::Exit;
use crate::seclang::ast::Program;
use crate::sets::ReadSet;

/// Prints the rules that are in force, in load order.
pub(super) fn run(set: &ReadSet, format: Format) -> anyhow::Result<Exit> {
    let mut out = BufWriter::new(io::stdout().lock());
    for rule in view::rules(&set.program).iter().filter(|rule| rule.removed_by.is_none()) {
        match format {
            Format::Text => text(&mut out, rule, &set.program)?,
            Format::Json => writeln!(out, "{}", json(rule, &set.program))?,
        }
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// Columns that a person can read and `awk` can split: the message, which has blanks in it, comes last.
fn text(out: &mut impl Write, rule: &RuleView<'_>, program: &Program) -> io::Result<()> {
    let severity = rule.severity().unwrap_or_else(|| "-".to_owned());
    let level = rule.paranoia_level().map_or_else(|| "-".to_owned(), |level| format!("PL{level}"));
    let (id, phase, place, msg) = (rule.id, rule.phase(), rule.place(program), rule.msg());
    writeln!(out, "{}", format!("{id:<8} {phase} {severity:<9} {level:<3} {place} {msg}").trim_end())
}

fn json(rule: &RuleView<'_>, program: &Program) -> serde_json::Value {
    let starter = rule.starter();
    json!({
        "id": rule.id,
        "phase": rule.phase().parse::<u8>().ok(),
        "severity": rule.severity(),
        "paranoia_level": rule.paranoia_level(),
        "msg": rule.msg(),
        "file": starter.map(|starter| program.sources.path(starter.span.file).to_string()),
        "line": starter.map(|starter| starter.span.line),
        "tags": rule.values("tag").collect::<Vec<_>>(),
    })
}
