//! `portcullis rules show ID`: one rule, where it is from, and what changed it.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::Format;
use super::view::{self, RuleView};
use crate::cli::Exit;
use crate::seclang::ast::{Directive, Program};
use crate::seclang::print;
use crate::sets::ReadSet;

/// Prints the rule; [`Exit::No`] when the set has none with this id.
pub(super) fn run(set: &ReadSet, id: u32, format: Format) -> anyhow::Result<Exit> {
    let rules = view::rules(&set.program);
    let Some(rule) = rules.iter().find(|rule| rule.id == id) else {
        writeln!(io::stderr(), "no rule {id} in {}; `portcullis rules list` names those there are", set.found.title)?;
        return Ok(Exit::No);
    };
    match format {
        Format::Text => io::stdout().write_all(text(rule, set).as_bytes())?,
        Format::Json => writeln!(io::stdout(), "{}", json(rule, &set.program))?,
    }
    Ok(Exit::Fine)
}

fn text(rule: &RuleView<'_>, set: &ReadSet) -> String {
    let mut text = format!("rule {} of {}\n", rule.id, set.found.title);
    for (name, value) in facts(rule, &set.program).into_iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "  {name:<16} {value}");
    }
    let _ = writeln!(text);
    for (at, link) in rule.links.iter().enumerate() {
        let indent = "    ".repeat(at);
        let lines = String::from_utf8_lossy(&print::directive_in_lines(link)).replace('\n', &format!("\n{indent}"));
        let _ = writeln!(text, "{indent}{lines}");
    }
    text
}

fn facts(rule: &RuleView<'_>, program: &Program) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("from", rule.place(program)),
        ("phase", rule.phase()),
        ("severity", rule.severity().unwrap_or_default()),
        ("paranoia level", rule.paranoia_level().map(|level| level.to_string()).unwrap_or_default()),
        ("message", rule.msg()),
        ("tags", rule.values("tag").collect::<Vec<_>>().join(", ")),
        ("chain links", (rule.links.len() - 1).to_string()),
    ];
    let transformations = rule.links.iter().map(|link| ("transformations", transformations(link).join(", ")));
    facts.extend(transformations);
    facts.extend(rule.changes.iter().map(|change| ("changed by", placed(change, program))));
    facts.extend(rule.removed_by.map(|removal| ("removed by", placed(removal, program))));
    facts
}

/// What is left after `none` has emptied the list.
fn transformations(link: &Directive) -> Vec<String> {
    let written: Vec<String> = view::values(view::actions(link).unwrap_or_default(), "t").collect();
    let after_none = written.iter().rposition(|name| name.eq_ignore_ascii_case("none")).map_or(0, |at| at + 1);
    written.into_iter().skip(after_none).collect()
}

fn printed(directive: &Directive) -> String {
    String::from_utf8_lossy(&print::directive(directive)).into_owned()
}

fn placed(directive: &Directive, program: &Program) -> String {
    format!("{}: {}", view::place(directive, program), printed(directive))
}

fn json(rule: &RuleView<'_>, program: &Program) -> Value {
    let change = |directive: &&Directive| json!({"at": view::place(directive, program), "text": printed(directive)});
    json!({
        "id": rule.id,
        "from": rule.place(program),
        "phase": rule.phase().parse::<u8>().ok(),
        "severity": rule.severity(),
        "paranoia_level": rule.paranoia_level(),
        "msg": rule.msg(),
        "tags": rule.values("tag").collect::<Vec<_>>(),
        "links": rule.links.iter().map(|link| link_json(link, program)).collect::<Vec<_>>(),
        "changed_by": rule.changes.iter().map(change).collect::<Vec<_>>(),
        "removed_by": rule.removed_by.as_ref().map(change),
    })
}

fn link_json(link: &Directive, program: &Program) -> Value {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let condition = view::condition(link);
    json!({
        "at": view::place(link, program),
        "text": printed(link),
        "targets": condition.map(|(targets, _)| text(print::targets(targets))),
        "operator": condition.map(|(_, operator)| text(print::operator(operator))),
        "transformations": transformations(link),
    })
}
