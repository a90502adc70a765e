//! The present schema of the tests: `rule_id` once a file, numeric `test_id`, `log.expect_ids`.

use super::yaml::{Node, Reader};
use super::{Completion, Test, TestName, stage};

/// Reads the tests of one file.
pub(super) fn read(document: &Node, reader: &mut Reader<'_>, tests: &mut Vec<Test>) {
    let mut file = reader.fields(document, "the file");
    file.ignore(&["meta", "author"]);
    let rule_id = file.take("rule_id").and_then(|node| reader.number(node, "rule_id"));
    let rule_id = rule_id.or_else(|| rule_id_of(&reader.file()));
    if rule_id.is_none() {
        reader.error(file.line, "`rule_id` is missing");
    }
    match file.take("tests") {
        Some(list) => {
            for (index, node) in reader.list(list, "`tests`").iter().enumerate() {
                tests.extend(test(node, rule_id.unwrap_or_default(), index + 1, reader));
            }
        }
        None => reader.error(file.line, "`tests` is missing"),
    }
    file.finish(reader);
}

/// The number in a file's name, which stands for a missing `rule_id`.
fn rule_id_of(file: &str) -> Option<u32> {
    let name = file.rsplit('/').next()?;
    name.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty())?.parse().ok()
}

fn test(node: &Node, rule_id: u32, position: usize, reader: &mut Reader<'_>) -> Option<Test> {
    let mut fields = reader.fields(node, "the test");
    fields.ignore(&["desc", "tags", "test_title"]);
    let test_id = match fields.take("test_id") {
        Some(node) => reader.number::<u32>(node, "test_id")?.to_string(),
        None => position.to_string(),
    };
    let stages = stage::read_all(fields.take("stages"), node, reader, |node, reader| {
        stage::read(node, Completion::Methods, reader)
    });
    fields.finish(reader);
    Some(Test { name: TestName { rule_id, test_id }, file: reader.file(), line: node.line, stages })
}
