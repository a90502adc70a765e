//! The results of `portcullis test` as text, JSON and JUnit XML.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crate::ftw::{Status, Test, TestName, TestResult};

/// Everything a report is made of.
pub(super) struct Report<'r> {
    /// The rule set's name.
    pub(super) rules: &'r str,
    pub(super) tests: &'r [Test],
    /// One for each test, in the same order.
    pub(super) results: &'r [TestResult],
    pub(super) elapsed: Duration,
}

impl<'r> Report<'r> {
    /// The number of failed tests.
    pub(super) fn failed(&self) -> usize {
        self.results.iter().filter(|result| matches!(result.status, Status::Failed { .. })).count()
    }

    fn skipped(&self) -> usize {
        self.results.iter().filter(|result| matches!(result.status, Status::Skipped { .. })).count()
    }

    fn passed(&self) -> usize {
        self.results.len() - self.failed() - self.skipped()
    }

    fn each(&self) -> impl Iterator<Item = (&'r Test, &'r TestResult)> {
        self.tests.iter().zip(self.results)
    }

    /// A line for each failure, the reasons for skips, and a summary.
    pub(super) fn text(&self, out: &mut impl Write) -> io::Result<()> {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for (test, result) in self.each() {
            match &result.status {
                Status::Passed => {}
                Status::Failed { expected, got, note } => {
                    write!(out, "FAILED {} ({}:{}): expected {expected}; ", test.name, test.file, test.line)?;
                    writeln!(out, "got {}", outcome(got, note.as_deref()))?;
                }
                Status::Skipped { reason } => *reasons.entry(reason).or_default() += 1,
            }
        }
        for (reason, count) in reasons {
            writeln!(out, "skipped {count}: {reason}")?;
        }
        let refused = self.results.iter().filter(|result| result.refused).count();
        writeln!(out, "{refused} answered by the raw-request parser, the others by {}", self.rules)?;
        let (passed, failed, skipped) = (self.passed(), self.failed(), self.skipped());
        let seconds = self.elapsed.as_secs_f64();
        writeln!(
            out,
            "{} tests: {passed} passed, {failed} failed, {skipped} skipped in {seconds:.1} s",
            self.tests.len()
        )
    }

    /// One object on one line.
    pub(super) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let (mut failures, mut skips) = (Vec::new(), Vec::new());
        for (test, result) in self.each() {
            let (rule_id, test_id) = (test.name.rule_id, test_id(&test.name));
            match &result.status {
                Status::Passed => {}
                Status::Failed { expected, got, note } => failures.push(json!({
                    "rule_id": rule_id, "test_id": test_id, "expected": expected, "got": got, "note": note,
                    "file": &*test.file, "line": test.line,
                })),
                Status::Skipped { reason } => {
                    skips.push(json!({"rule_id": rule_id, "test_id": test_id, "reason": reason}));
                }
            }
        }
        let report = json!({
            "total": self.tests.len(), "passed": self.passed(), "failed": self.failed(), "skipped": self.skipped(),
            "failures": failures, "skips": skips,
        });
        writeln!(out, "{report}")
    }

    /// A test suite with a case for each test.
    pub(super) fn junit(&self, out: &mut impl Write) -> io::Result<()> {
        let (total, failed, skipped) = (self.tests.len(), self.failed(), self.skipped());
        let seconds = self.elapsed.as_secs_f64();
        writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        writeln!(
            out,
            r#"<testsuites><testsuite name="{}" tests="{total}" failures="{failed}" errors="0" skipped="{skipped}" time="{seconds:.3}">"#,
            xml(self.rules)
        )?;
        for (test, result) in self.each() {
            let (name, class, file) = (xml(&test.name.to_string()), test.name.rule_id, xml(&test.file));
            write!(out, r#"<testcase classname="{class}" name="{name}" file="{file}" line="{}""#, test.line)?;
            match &result.status {
                Status::Passed => writeln!(out, "/>")?,
                Status::Failed { expected, got, note } => {
                    let text = format!("expected {expected}; got {}", outcome(got, note.as_deref()));
                    writeln!(out, r#"><failure message="{}"/></testcase>"#, xml(&text))?;
                }
                Status::Skipped { reason } => {
                    writeln!(out, r#"><skipped message="{}"/></testcase>"#, xml(reason))?;
                }
            }
        }
        writeln!(out, "</testsuite></testsuites>")
    }
}

/// The test id as a number, or as text where it is none (`0FP`).
fn test_id(name: &TestName) -> Value {
    name.test_id.parse::<u32>().map_or_else(|_| json!(name.test_id), |number| json!(number))
}

/// The ids that were logged, and the note.
fn outcome(got: &[u32], note: Option<&str>) -> String {
    let ids: Vec<_> = got.iter().map(ToString::to_string).collect();
    let ids = if ids.is_empty() { "no rule logged".to_owned() } else { ids.join(", ") };
    match note {
        Some(note) => format!("{ids} ({note})"),
        None => ids,
    }
}

/// Text for an XML attribute; what XML 1.0 cannot hold becomes `?`.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('?'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(test_id: &str) -> Test {
        let name = TestName { rule_id: 942_100, test_id: test_id.to_owned() };
        Test { name, file: "a&b.yaml".into(), line: 7, stages: Vec::new() }
    }

    /// One passed, one failed, one skipped test, written by `write`.
    fn report(write: impl Fn(&Report<'_>, &mut Vec<u8>) -> io::Result<()>) -> String {
        let tests = [test("1"), test("2"), test("0FP")];
        let failed = Status::Failed {
            expected: "a log line that matches `<a>`".to_owned(),
            got: vec![1, 2],
            note: Some("refused with 400: bare CR".to_owned()),
        };
        let skipped = Status::Skipped { reason: "later".to_owned() };
        let results = [(Status::Passed, false), (failed, true), (skipped, false)]
            .map(|(status, refused)| TestResult { status, refused });
        let elapsed = Duration::from_millis(1500);
        let report = Report { rules: "crs 4.28.0", tests: &tests, results: &results, elapsed };
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text() {
        assert_eq!(
            report(|report, out| report.text(out)),
            "FAILED 942100-2 (a&b.yaml:7): expected a log line that matches `<a>`; got 1, 2 (refused with 400: bare CR)\n\
             skipped 1: later\n\
             1 answered by the raw-request parser, the others by crs 4.28.0\n\
             3 tests: 1 passed, 1 failed, 1 skipped in 1.5 s\n"
        );
    }

    #[test]
    fn json_is_the_contract() {
        let text = report(|report, out| report.json(out));
        assert_eq!(text.lines().count(), 1);
        let value: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "total": 3, "passed": 1, "failed": 1, "skipped": 1,
            "failures": [{
                "rule_id": 942_100, "test_id": 2, "expected": "a log line that matches `<a>`", "got": [1, 2],
                "note": "refused with 400: bare CR", "file": "a&b.yaml", "line": 7,
            }],
            "skips": [{"rule_id": 942_100, "test_id": "0FP", "reason": "later"}],
        });
        assert_eq!(value, expected);
    }

    #[test]
    fn junit_is_well_formed() {
        let text = report(|report, out| report.junit(out));
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut names = Vec::new();
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                    assert!(tag.attributes().all(|attribute| attribute.is_ok()), "{text}");
                    names.push(tag.name().as_ref().to_string());
                }
                _ => {}
            }
        }
        let expected = ["testsuites", "testsuite", "testcase", "testcase", "failure", "testcase", "skipped"];
        assert_eq!(names, expected, "{text}");
        assert!(text.contains("file=\"a&amp;b.yaml\"") && text.contains("`&lt;a&gt;`"), "{text}");
    }
}
