//! Override files of the CRS runner: what an engine or platform is known to answer instead.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::yaml::{Node, Reader};
use super::{Expected, FtwError, Test, stage};

/// What is expected of some tests instead of what they say themselves.
#[derive(Clone, Debug)]
pub struct Override {
    rule_id: u32,
    /// None given: all tests of the rule.
    test_ids: Vec<u32>,
    /// None given: all stages.
    stage_ids: Vec<usize>,
    reason: String,
    expected: Expected,
    skip: Option<String>,
    line: u32,
}

/// Reads an overrides file.
///
/// # Errors
/// Every error in the file.
pub fn load(path: &Path) -> Result<Vec<Override>, Vec<FtwError>> {
    let file: Arc<str> = path.to_string_lossy().into();
    match std::fs::read_to_string(path) {
        Ok(text) => read(&file, &text),
        Err(error) => Err(vec![FtwError { file, line: 0, message: error.to_string() }]),
    }
}

fn read(file: &Arc<str>, text: &str) -> Result<Vec<Override>, Vec<FtwError>> {
    let mut errors = Vec::new();
    let mut reader = Reader::new(Arc::clone(file), &mut errors);
    let mut overrides = Vec::new();
    if let Some(document) = reader.document(text) {
        let mut fields = reader.fields(&document, "the file");
        fields.ignore(&["version", "meta"]);
        match fields.take("test_overrides") {
            Some(list) => {
                overrides.extend(reader.list(list, "`test_overrides`").iter().filter_map(|node| one(node, &mut reader)))
            }
            None => reader.error(document.line, "`test_overrides` is missing"),
        }
        fields.finish(&mut reader);
    }
    if errors.is_empty() { Ok(overrides) } else { Err(errors) }
}

fn one(node: &Node, reader: &mut Reader<'_>) -> Option<Override> {
    let mut fields = reader.fields(node, "the override");
    fields.ignore(&["retry_once"]);
    let mut skip = None;
    let rule_id = fields.take("rule_id").and_then(|node| reader.number(node, "rule_id"));
    let test_ids = fields.take("test_ids").map(|node| reader.numbers(node, "test_ids")).unwrap_or_default();
    let stage_ids = fields.take("stage_ids").map(|node| reader.numbers(node, "stage_ids")).unwrap_or_default();
    let reason = fields.take("reason").and_then(|node| reader.text(node, "reason")).unwrap_or_default();
    let expected = fields.take("output").map(|node| stage::read_output(node, reader, &mut skip)).unwrap_or_default();
    fields.finish(reader);
    let Some(rule_id) = rule_id else {
        reader.error(node.line, "an override needs a `rule_id`");
        return None;
    };
    Some(Override { rule_id, test_ids, stage_ids, reason: reason.trim().to_owned(), expected, skip, line: node.line })
}

/// Puts the overrides into the tests; what they say replaces the whole output of a stage. A stage of which nothing is
/// expected any more is skipped with the override's reason, since it could not fail. Returns a line for each override
/// that fits no test.
pub fn apply(overrides: &[Override], tests: &mut [Test]) -> Vec<String> {
    let mut used = BTreeSet::new();
    for test in tests {
        for (index, entry) in overrides.iter().enumerate() {
            if entry.fits(test) {
                used.insert(index);
                entry.apply(test);
            }
        }
    }
    let unused = overrides.iter().enumerate().filter(|(index, _)| !used.contains(index));
    unused.map(|(_, entry)| format!("line {}: no test fits the override of {}", entry.line, entry.rule_id)).collect()
}

impl Override {
    fn fits(&self, test: &Test) -> bool {
        let named = self.test_ids.is_empty() || self.test_ids.iter().any(|id| id.to_string() == test.name.test_id);
        self.rule_id == test.name.rule_id && named
    }

    fn apply(&self, test: &mut Test) {
        for (index, stage) in test.stages.iter_mut().enumerate() {
            if self.stage_ids.is_empty() || self.stage_ids.contains(&index) {
                stage.expected = self.expected.clone();
                if stage.skip.is_none() {
                    stage.skip = self.skip.clone();
                }
                if self.expected.is_empty() && stage.skip.is_none() {
                    stage.skip = Some(format!("override: {}", self.reason));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftw::{Input, Stage, TestName};

    fn test(rule_id: u32, test_id: &str) -> Test {
        let stage = Stage { input: Input::Raw(Vec::new()), expected: Expected::default(), skip: None };
        let name = TestName { rule_id, test_id: test_id.to_owned() };
        Test { name, file: "t.yaml".into(), line: 1, stages: vec![stage.clone(), stage] }
    }

    #[test]
    fn overrides_replace_what_a_stage_expects() {
        let text = "version: x\nmeta:\n  engine: e\ntest_overrides:\n\
            - rule_id: 1\n  test_ids: [2, 3]\n  reason: r\n  output:\n    status: 404\n    log:\n      expect_ids: [7]\n\
            - rule_id: 2\n  stage_ids: [1]\n  reason: wip\n\
            - rule_id: 3\n  reason: none\n";
        let overrides = read(&"o.yaml".into(), text).unwrap();
        let mut tests = [test(1, "1"), test(1, "3"), test(2, "9")];
        let unused = apply(&overrides, &mut tests);
        assert_eq!(unused, ["line 15: no test fits the override of 3"]);
        let seen: Vec<_> = tests
            .iter()
            .flat_map(|test| &test.stages)
            .map(|stage| {
                (stage.expected.status.as_slice(), stage.expected.expect_ids.as_slice(), stage.skip.as_deref())
            })
            .collect();
        let changed: (&[u16], &[u32], Option<&str>) = (&[404], &[7], None);
        let same: (&[u16], &[u32], Option<&str>) = (&[], &[], None);
        assert_eq!(seen, [same, same, changed, changed, same, (&[], &[], Some("override: wip"))]);
    }

    #[test]
    fn errors_name_the_line() {
        let text = "test_overrides:\n- rule: 1\n  reason: r\n";
        let errors: Vec<_> = read(&"o.yaml".into(), text).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            ["o.yaml:2: unknown field `rule` in the override", "o.yaml:2: an override needs a `rule_id`"]
        );
    }
}
