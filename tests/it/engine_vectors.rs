//! The whole-engine cases of ModSecurity v3, read in place: rules, a request, what comes of it.
//!
//! What upstream writes to its logs is judged where our outcome bears it out (`log`); where not, and where we decided
//! otherwise, the case stands in `tests/vectors/engine-skips.json` with the reason. A skip that is not needed fails.

mod case;
mod json;
mod log;
mod run;
mod scope;

use std::path::{Path, PathBuf};

use portcullis::model::{Outcome, Verdict};
use regex::bytes::RegexBuilder;
use serde::Deserialize;

use self::case::Case;
use self::json::Json;
use self::run::Files;
use crate::{counted, shared};

const FOLDER: &str = "vectors/engine/modsecurity-v3";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Skip {
    file: String,
    cases: Vec<usize>,
    what: What,
    reason: String,
}

/// What of a case is not judged.
#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum What {
    /// The pattern on a log; loading and status are judged.
    Log,
    /// Nothing is.
    Case,
}

/// Which of the two a case did not meet.
struct Miss(What, String);

fn judge(files: &Files, case: &Case) -> Result<bool, Miss> {
    let whole = |text: String| Miss(What::Case, text);
    let mut program = match files.parse(case) {
        Ok(program) => program,
        Err(_) if case.expected.load_error => return Ok(false),
        Err(error) => return Err(whole(format!("does not load: {error}"))),
    };
    let moved = run::without_response_phases(&mut program);
    let outcome = match files.run(&program, case.sent.as_ref()) {
        Ok(outcome) => outcome,
        Err(_) if case.expected.load_error => return Ok(moved),
        Err(error) => return Err(whole(format!("does not load: {error}"))),
    };
    if case.expected.load_error {
        return Err(whole("loads".to_owned()));
    }
    if let (Some(outcome), Some(sent)) = (outcome, &case.sent) {
        verdict(case, &outcome.verdict).map_err(whole)?;
        let probed = log::Probed { files, program: &program, sent };
        logs(case, &probed, &outcome).map_err(|text| Miss(What::Log, text))?;
    }
    Ok(moved)
}

fn verdict(case: &Case, verdict: &Verdict) -> Result<(), String> {
    let (status, location) = match verdict {
        Verdict::Allow => (200, None),
        Verdict::Deny { status, .. } => (*status, None),
        Verdict::Redirect { status, location, .. } => (*status, Some(location)),
    };
    let expected = case.expected.status.unwrap_or(200);
    if status != expected {
        return Err(format!("status {status}, expected {expected}"));
    }
    if case.expected.location.is_some() && case.expected.location.as_ref() != location {
        return Err(format!("location {location:?}, expected {:?}", case.expected.location));
    }
    Ok(())
}

fn logs(case: &Case, probed: &log::Probed<'_>, outcome: &Outcome) -> Result<(), String> {
    if let Some(pattern) = &case.expected.debug_log {
        found("debug log", pattern, &probed.debug_log(outcome))?;
    }
    if let Some(pattern) = &case.expected.error_log {
        found("error log", pattern, &log::error_log(probed.program, outcome))?;
    }
    if let Some(pattern) = &case.expected.audit_log {
        found("audit log", pattern, &log::audit_log(probed.program, outcome))?;
    }
    Ok(())
}

fn found(what: &str, pattern: &str, log: &str) -> Result<(), String> {
    let regex = RegexBuilder::new(pattern).multi_line(true).dot_matches_new_line(true).unicode(false).build();
    let regex = regex.map_err(|error| format!("{what}: {error}"))?;
    if regex.is_match(log.as_bytes()) { Ok(()) } else { Err(format!("{what}: no `{pattern}` in\n{log}")) }
}

#[derive(Default)]
struct Tally {
    total: usize,
    outside: usize,
    passed: usize,
    moved: usize,
    skipped_logs: usize,
    skipped_cases: usize,
    failures: Vec<String>,
}

impl Tally {
    fn count(&mut self, case: &Case, result: Result<bool, Miss>, skip: Option<What>) {
        match (result, skip) {
            (Ok(moved), None) => {
                self.passed += 1;
                self.moved += usize::from(moved);
            }
            (Err(Miss(What::Log, _)), Some(What::Log)) => self.skipped_logs += 1,
            (Err(Miss(What::Case, _)), Some(What::Case)) => self.skipped_cases += 1,
            (Ok(_), Some(_)) => self.failures.push(format!("{}: passes, but stands in the skip list", case.name())),
            (Err(Miss(what, text)), skip) => {
                self.failures.push(format!("{}: ({what:?}, skip {skip:?}) {text}\n{}\n", case.name(), case.rules));
            }
        }
    }
}

fn cases(folder: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ext| ext == "json")).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let items = json.items().iter().enumerate();
        items.map(|(index, item)| Case::read(&file, index, item)).collect::<Vec<_>>()
    };
    paths.iter().flat_map(read).collect()
}

fn skips() -> Vec<Skip> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/engine-skips.json");
    let skips: Vec<Skip> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(skips.iter().all(|skip| !skip.reason.is_empty()));
    skips
}

#[test]
fn the_cases_of_modsecurity_v3_hold() {
    let Some(folder) = shared::folder(FOLDER) else { return };
    let (files, skips) = (Files::read(&folder), skips());
    let mut tally = Tally::default();
    for case in cases(&folder) {
        tally.total += 1;
        if scope::outside(&case).is_some() {
            tally.outside += 1;
            continue;
        }
        let of_case = |skip: &&Skip| skip.file == case.file && skip.cases.contains(&case.index);
        let skip = skips.iter().find(of_case).map(|skip| skip.what);
        tally.count(&case, judge(&files, &case), skip);
    }
    tally.finish(&skips);
}

impl Tally {
    fn finish(self, skips: &[Skip]) {
        let ran = self.total - self.outside - self.skipped_cases;
        println!(
            "engine cases of ModSecurity v3: {} in all, {} out of scope, {ran} ran, {} passed ({} with rules moved from \
             phases 3 and 4), {} judged without their log, {} skipped",
            self.total, self.outside, self.passed, self.moved, self.skipped_logs, self.skipped_cases
        );
        let whole = ran - self.skipped_logs;
        counted::say("engine, judged whole", whole + self.skipped_cases, self.passed, self.skipped_cases, self.outside);
        counted::say("engine, judged without the log's wording", self.skipped_logs, self.skipped_logs, 0, 0);
        assert!(self.failures.is_empty(), "{} failures:\n{}", self.failures.len(), self.failures.join("\n"));
        let counts = (self.total, self.outside, self.passed, self.moved, self.skipped_logs, self.skipped_cases);
        assert_eq!(counts, (656, 115, 411, 116, 101, 29), "cases were lost, added, or judged otherwise");
        let listed: usize = skips.iter().map(|skip| skip.cases.len()).sum();
        assert_eq!(self.skipped_logs + self.skipped_cases, listed, "a skip is about no case, or listed twice");
    }
}
