//! Verdicts for people.

use std::fmt;
use std::io::{self, Write};

use super::report::{Report, RuleReport, Said, readable};
use crate::input::RequestBuf;

/// Values longer than this are cut: the start tells.
const MAX_VALUE_CHARS: usize = 120;

/// Writes what was said about a request; `None` stands for a message that was none.
pub(super) fn write(out: &mut impl Write, report: &Report<'_>, request: Option<&RequestBuf>) -> io::Result<()> {
    write!(out, "{}  {}", shown(&report.said), printable(report.id))?;
    if let Some(request) = request {
        let target = short(&readable(&request.target));
        write!(out, "  {} {}", printable(&readable(&request.method)), target)?;
    }
    if report.score.threshold > 0 {
        write!(out, "  score {}/{}", report.score.inbound, report.score.threshold)?;
    }
    writeln!(out)?;
    if let Some(would) = &report.would {
        writeln!(out, "  would be: {}", shown(would))?;
    }
    for rule in &report.rules {
        write_rule(out, rule)?;
    }
    if !report.not_inspected.is_empty() {
        writeln!(out, "  not inspected: {}", report.not_inspected.join(", "))?;
    }
    Ok(())
}

/// `DENY 403`, with what else there is to say.
fn shown(said: &Said<'_>) -> String {
    let mut text = format!("{} {}", said.verdict.to_ascii_uppercase(), said.status);
    if let Some(location) = said.location {
        text.push_str(&format!(" to {}", printable(location)));
    }
    if let Some(reason) = said.reason {
        text.push_str(&format!(" ({reason})"));
    }
    text
}

fn write_rule(out: &mut impl Write, rule: &RuleReport<'_>) -> io::Result<()> {
    writeln!(out, "  {} {} {}", rule.id, rule.severity.unwrap_or("-"), printable(&rule.msg))?;
    if let Some(why) = &rule.why {
        write!(out, "      at {}:{}, phase {}", why.file, why.line, rule.phase)?;
        if let Some(level) = why.paranoia {
            write!(out, ", paranoia level {level}")?;
        }
        if let Some(adds) = why.adds {
            write!(out, ", adds {adds}")?;
        }
        writeln!(out, "{}", if why.disruptive { ", decides" } else { "" })?;
        if !why.data.is_empty() {
            writeln!(out, "      data {}", short(&why.data))?;
        }
    }
    for matched in &rule.matches {
        writeln!(out, "      {} = {}", printable(&matched.variable), short(&matched.value))?;
    }
    Ok(())
}

/// Cut, and fit for a terminal.
fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        Some((end, _)) => format!("{}…", printable(text.get(..end).unwrap_or_default())),
        None => printable(text),
    }
}

/// Control characters escaped: what a request holds never moves the cursor.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// How many requests there were of each kind.
#[derive(Default, Debug)]
pub(super) struct Summary {
    pub(super) allowed: usize,
    /// Denied or redirected.
    pub(super) stopped: usize,
    /// Allowed by detection mode alone.
    pub(super) would_stop: usize,
}

impl Summary {
    pub(super) fn count(&mut self, report: &Report<'_>) {
        if report.said.verdict != "allow" {
            self.stopped += 1;
            return;
        }
        self.allowed += 1;
        self.would_stop += usize::from(report.would.as_ref().is_some_and(|would| would.verdict != "allow"));
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = self.allowed + self.stopped;
        let word = if requests == 1 { "request" } else { "requests" };
        write!(f, "{requests} {word}: {} allowed, {} denied", self.allowed, self.stopped)?;
        if self.would_stop > 0 {
            write!(f, "; blocking mode would deny {}", self.would_stop)?;
        }
        Ok(())
    }
}
