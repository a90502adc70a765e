//! Ordinary requests: what the CRS says about each of them at each paranoia level is written down.
//!
//! The requests are ours, `tests/vectors/benign/*.jsonl`, a file for each kind of application, in the form that
//! `portcullis check` reads. What fires stands in `expected.json` beside them, a line per request, so that whoever
//! changes a verdict sees it in review. After looking at each change, write the file anew with
//!
//! ```sh
//! PORTCULLIS_BLESS=1 cargo test --test it benign::
//! ```
//!
//! The rules are read in place from `../shared/crs`; where they are absent, the test says so and checks the form alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portcullis::config::{CrsSettings, Policy};
use portcullis::engine::{self, Inputs, Scratch};
use portcullis::input::{RequestBuf, jsonl};
use portcullis::model::Outcome;
use portcullis::ruleset::RuleSet;
use portcullis::sets;
use serde::Deserialize;

use crate::{counted, shared};

const LEVELS: [u8; 4] = [1, 2, 3, 4];

/// Initialisation, thresholds and scores: what other rules lead to.
const SCORING: [std::ops::Range<u32>; 3] = [901_000..902_000, 949_000..950_000, 980_000..981_000];

/// What was written down, or what was found.
#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(deny_unknown_fields)]
struct Verdicts {
    /// By paranoia level.
    totals: BTreeMap<u8, Totals>,
    /// By request; those about which nobody ever says anything are left out.
    requests: BTreeMap<String, Findings>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(deny_unknown_fields)]
struct Totals {
    requests: usize,
    /// Requests in which any rule matched.
    detected: usize,
    /// Requests refused at the default threshold, 5.
    refused: usize,
}

#[derive(Deserialize, PartialEq, Eq, Default, Debug)]
#[serde(deny_unknown_fields)]
struct Findings {
    /// The ids of the rules that matched, by paranoia level.
    rules: BTreeMap<u8, Vec<u32>>,
    /// The levels at which the request is refused.
    refused: Vec<u8>,
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/benign")
}

/// The requests of one kind.
pub(crate) fn kind(name: &str) -> Vec<RequestBuf> {
    let path = folder().join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let request = |line: &str| jsonl::parse_line(line.as_bytes(), "").unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(request).collect()
}

fn kinds() -> BTreeSet<String> {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let requests = paths.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    requests.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

pub(crate) fn requests() -> Vec<RequestBuf> {
    kinds().iter().flat_map(|name| kind(name)).collect()
}

/// The ids of the rules that an operator sees in the log.
pub(crate) fn detected(outcome: &Outcome) -> Vec<u32> {
    let rules = outcome.rules.iter().filter(|rule| rule.log).map(|rule| rule.info.id.get());
    let mut ids: Vec<u32> = rules.filter(|id| !SCORING.iter().any(|range| range.contains(id))).collect();
    ids.sort_unstable();
    ids
}

pub(crate) fn load(policy: &Policy) -> RuleSet {
    sets::load(policy).unwrap_or_else(|error| panic!("{error}")).rules
}

fn judge_all(crs: &Path, level: u8, requests: &[RequestBuf]) -> Vec<(Vec<u32>, bool)> {
    let settings = CrsSettings { paranoia: Some(level), ..CrsSettings::default() };
    let policy = Policy { rules: Some(format!("crs@{}", crs.display())), crs: settings, ..Policy::default() };
    let rules = load(&policy);
    let mut scratch = Scratch::default();
    let judge = |request: &RequestBuf| {
        let inputs = Inputs::default();
        let outcome = request.with_request(|request| engine::evaluate(&rules, request, &inputs, &mut scratch));
        (detected(&outcome), !outcome.verdict.is_allow())
    };
    requests.iter().map(judge).collect()
}

fn judge(crs: &Path, requests: &[RequestBuf]) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let by_level: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = LEVELS.map(|level| scope.spawn(move || judge_all(crs, level, requests))).into();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (level, found) in LEVELS.into_iter().zip(by_level) {
        let mut totals = Totals { requests: requests.len(), ..Totals::default() };
        for (request, (ids, refused)) in requests.iter().zip(found) {
            totals.detected += usize::from(!ids.is_empty());
            totals.refused += usize::from(refused);
            if ids.is_empty() && !refused {
                continue;
            }
            let findings = verdicts.requests.entry(request.id.clone()).or_default();
            findings.rules.insert(level, ids);
            findings.refused.extend(refused.then_some(level));
        }
        verdicts.totals.insert(level, totals);
    }
    verdicts
}

/// A line per request and level total, so that a difference between two versions is short.
fn written(verdicts: &Verdicts) -> String {
    let mut text = "{\"totals\": {\n".to_owned();
    let totals = verdicts.totals.iter().map(|(level, Totals { requests, detected, refused })| {
        format!("  \"{level}\": {{\"requests\": {requests}, \"detected\": {detected}, \"refused\": {refused}}}")
    });
    text += &totals.collect::<Vec<_>>().join(",\n");
    text += "\n}, \"requests\": {\n";
    let lines = verdicts.requests.iter().map(|(id, Findings { rules, refused })| {
        let levels: Vec<_> = rules.iter().map(|(level, ids)| format!("\"{level}\": {ids:?}")).collect();
        let id = serde_json::Value::from(id.as_str());
        format!("  {id}: {{\"rules\": {{{}}}, \"refused\": {refused:?}}}", levels.join(", "))
    });
    text += &lines.collect::<Vec<_>>().join(",\n");
    text + "\n}}\n"
}

/// The changes, a line each.
fn changes(expected: &Verdicts, got: &Verdicts) -> Vec<String> {
    let ids: BTreeSet<_> = expected.requests.keys().chain(got.requests.keys()).collect();
    let mut changes = Vec::new();
    for id in ids {
        let (before, now) = (expected.requests.get(id), got.requests.get(id));
        for level in LEVELS {
            let rules = |findings: Option<&Findings>| {
                findings.and_then(|findings| findings.rules.get(&level)).cloned().unwrap_or_default()
            };
            let refused = |findings: Option<&Findings>| findings.is_some_and(|one| one.refused.contains(&level));
            if (rules(before), refused(before)) != (rules(now), refused(now)) {
                let verdict = |refused: bool| if refused { "refused" } else { "passes" };
                changes.push(format!(
                    "{id}, level {level}: expected {:?} {}, got {:?} {}",
                    rules(before),
                    verdict(refused(before)),
                    rules(now),
                    verdict(refused(now))
                ));
            }
        }
    }
    if expected.totals != got.totals {
        changes.push(format!("totals: expected {:?}, got {:?}", expected.totals, got.totals));
    }
    changes
}

#[test]
fn what_the_rules_say_about_ordinary_requests_is_written_down() {
    let file = folder().join("expected.json");
    let Some(crs) = shared::folder("crs/4.28.0") else { return };
    let got = judge(&crs, &requests());
    for (level, Totals { requests, detected, refused }) in &got.totals {
        println!("benign: level {level}: {requests} requests, {detected} with a finding, {refused} refused");
    }
    if std::env::var_os("PORTCULLIS_BLESS").is_some() {
        assert!(std::env::var_os("CI").is_none(), "expectations are for people to change");
        std::fs::write(&file, written(&got)).unwrap();
        return;
    }
    let expected: Verdicts = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let changes = changes(&expected, &got);
    let run = got.totals.values().map(|totals| totals.requests).sum::<usize>();
    counted::say("ordinary requests, what the CRS says", run, run.saturating_sub(changes.len()), 0, 0);
    assert!(changes.is_empty(), "{} verdicts changed\n{}", changes.len(), changes.join("\n"));
}

#[test]
fn the_requests_are_many_and_of_many_kinds() {
    let kinds = kinds();
    let mut ids = BTreeSet::new();
    for name in &kinds {
        for request in kind(name) {
            assert!(request.id.starts_with(&format!("{name}/")), "{}", request.id);
            let has = |name: &[u8]| request.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
            assert!(has(b"host") && (request.body.is_empty() || has(b"content-length")), "{}", request.id);
            assert!(ids.insert(request.id.clone()), "{} stands twice", request.id);
        }
    }
    println!("benign: {} requests of {} kinds", ids.len(), kinds.len());
    assert!(ids.len() >= 500 && kinds.len() >= 12, "only {} requests of {} kinds", ids.len(), kinds.len());
    let expected: Verdicts = serde_json::from_slice(&std::fs::read(folder().join("expected.json")).unwrap()).unwrap();
    let unknown: Vec<_> = expected.requests.keys().filter(|id| !ids.contains(*id)).collect();
    assert!(unknown.is_empty(), "no request of the name {unknown:?}");
    assert!(expected.totals.values().all(|totals| totals.requests == ids.len()), "{:?}", expected.totals);
}
