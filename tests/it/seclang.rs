//! The rule language over whole rule sets: both CRS versions parse without a finding and survive printing.

use std::collections::BTreeMap;

use portcullis::seclang::ast::{Directive, DirectiveKind, Program};
use portcullis::seclang::parser::{parse, parse_text};
use portcullis::seclang::print;
use portcullis::seclang::source::{FileId, MemoryLoader, Span};
use portcullis::sets::files::Files;

use crate::shared;

/// The directives without their places.
fn meaning(program: &Program) -> Vec<Directive> {
    let nowhere = Span { file: FileId(0), line: 1, column: 1, len: 1 };
    program.directives.iter().cloned().map(|directive| directive.placed_at(nowhere)).collect()
}

fn assert_round_trip(program: &Program) {
    assert_reads_back(program, &print::program(program));
    let lines: Vec<_> = program.directives.iter().map(print::directive_in_lines).collect();
    assert_reads_back(program, &lines.join(b"\n".as_slice()));
}

fn assert_reads_back(program: &Program, printed: &[u8]) {
    let again = parse_text(&MemoryLoader::new(), "printed.conf", printed);
    assert_eq!(again.diagnostics, [], "{}", String::from_utf8_lossy(printed));
    let (before, after) = (meaning(program), meaning(&again.program));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
}

/// The number of directives by name.
fn counts(program: &Program) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for directive in &program.directives {
        *counts.entry(directive.name.as_str()).or_default() += 1;
    }
    counts
}

fn check_crs(version: &str, expected: &[(&str, usize)]) {
    let Some(folder) = shared::folder(&format!("crs/{version}")) else { return };
    let entry = format!("Include {}/rules/*.conf", folder.display());
    let parsed = parse_text(&Files::default(), "entry.conf", entry.as_bytes());
    let found: Vec<_> = parsed.diagnostics.iter().map(|one| one.render(&parsed.program.sources)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert_eq!(counts(&parsed.program), expected.iter().copied().collect());
    assert_round_trip(&parsed.program);

    let setup = parse(&Files::default(), &folder.join("crs-setup.conf.example").to_string_lossy());
    assert_eq!(setup.diagnostics, []);
    assert_eq!(counts(&setup.program).get("SecAction"), Some(&1));
    assert_round_trip(&setup.program);
}

#[test]
fn crs_4_parses_without_a_finding() {
    check_crs(
        "4.28.0",
        &[
            ("SecRule", 695),
            ("SecAction", 7),
            ("SecMarker", 30),
            ("SecRuleUpdateTargetById", 55),
            ("SecComponentSignature", 1),
        ],
    );
}

#[test]
fn crs_3_parses_without_a_finding() {
    check_crs("3.3.10", &[("SecRule", 795), ("SecAction", 9), ("SecMarker", 40), ("SecComponentSignature", 1)]);
}

#[test]
fn crs_rules_have_the_parts_that_were_counted() {
    let Some(folder) = shared::folder("crs/4.28.0") else { return };
    let entry = format!("Include {}/rules/*.conf", folder.display());
    let parsed = parse_text(&Files::default(), "entry.conf", entry.as_bytes());
    let (mut targets, mut actions, mut operators) =
        (0, BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    for directive in &parsed.program.directives {
        let list = match &directive.kind {
            DirectiveKind::Rule { targets: list, operator, actions } => {
                targets += list.len();
                *operators.entry(operator.name.node.clone()).or_default() += 1;
                actions
            }
            DirectiveKind::Action(actions) => actions,
            _ => continue,
        };
        for action in list {
            *actions.entry(action.name.node.clone()).or_default() += 1;
        }
    }
    assert_eq!(targets, 1_749);
    for (name, count) in [("rx", 318), ("lt", 190), ("eq", 53), ("ge", 42), ("pmFromFile", 21), ("detectSQLi", 2)] {
        assert_eq!(operators[name], count, "@{name}");
    }
    for (name, count) in [("tag", 3_088), ("t", 839), ("setvar", 683), ("id", 629), ("chain", 73), ("logdata", 331)] {
        assert_eq!(actions[name], count, "{name}");
    }
}
