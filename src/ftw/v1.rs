//! The schema of the CRS 3.3 tests: a `test_title` each, stages wrapped in `stage`, `log_contains` as a pattern.

use super::yaml::{Node, Reader, Value};
use super::{Completion, Test, TestName, stage};

/// Whether the file is written in this schema: its first test has a `test_title` and no `test_id`.
pub(super) fn is_v1(document: &Node) -> bool {
    let Some(Value::List(tests)) = field(document, "tests").map(|node| &node.value) else { return false };
    tests.first().is_some_and(|test| field(test, "test_title").is_some() && field(test, "test_id").is_none())
}

fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
}

/// Reads the tests of one file. `enabled: false` is disregarded, as by later runners: those tests do work.
pub(super) fn read(document: &Node, reader: &mut Reader<'_>, tests: &mut Vec<Test>) {
    let mut file = reader.fields(document, "the file");
    file.ignore(&["meta"]);
    let first = tests.len();
    if let Some(list) = file.take("tests") {
        for node in reader.list(list, "`tests`") {
            if let Some(mut test) = test(node, reader) {
                number_repeats(tests.get(first..).unwrap_or_default(), &mut test.name);
                tests.push(test);
            }
        }
    }
    file.finish(reader);
}

fn test(node: &Node, reader: &mut Reader<'_>) -> Option<Test> {
    let mut fields = reader.fields(node, "the test");
    fields.ignore(&["desc"]);
    let title = fields.take("test_title").and_then(|node| reader.text(node, "test_title"));
    let stages = stage::read_all(fields.take("stages"), node, reader, wrapped);
    fields.finish(reader);
    let Some(name) = title.and_then(name) else {
        reader.error(node.line, "`test_title` must be a rule id, a `-` and a number");
        return None;
    };
    Some(Test { name, file: reader.file(), line: node.line, stages })
}

fn wrapped(node: &Node, reader: &mut Reader<'_>) -> Option<super::Stage> {
    let mut fields = reader.fields(node, "the list of stages");
    let stage = fields.take("stage").and_then(|node| stage::read(node, Completion::Bodies, reader));
    fields.finish(reader);
    stage
}

fn name(title: &str) -> Option<TestName> {
    let (rule_id, test_id) = title.split_once('-')?;
    Some(TestName { rule_id: rule_id.parse().ok()?, test_id: test_id.to_owned() })
}

/// CRS 3.3.10 has one title twice in a file (`941160-10`). Both tests count; the later one is called `941160-10#2`.
fn number_repeats(before: &[Test], name: &mut TestName) {
    let plain = name.test_id.clone();
    let mut number = 1;
    while before.iter().any(|test| test.name == *name) {
        number += 1;
        name.test_id = format!("{plain}#{number}");
    }
}
