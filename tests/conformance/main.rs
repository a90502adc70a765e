//! The regression tests of the CRS, both versions, through the library, with no override file.
//!
//! The tests and rules are read in place from `../shared/crs` (or `$PORTCULLIS_SHARED/crs`); where they are absent, the
//! suite says so loudly and counts every test as skipped. `known.toml` lists the tests that fail because they are wrong,
//! each with a proof: a failure that is not listed fails the suite, and so does an entry whose test passes or whose proof
//! does not hold.

mod known;
mod proof;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use known::Known;
use portcullis::config::Policy;
use portcullis::ftw::{self, Status, Suite, TestResult};
use portcullis::sets;

/// The versions, and how many tests each has. A file that is not found must not make the suite pass more easily.
const SUITES: [(&str, usize); 2] = [("4.28.0", 5003), ("3.3.10", 2553)];

/// The tests of one version and what became of them.
struct Run {
    version: &'static str,
    folder: PathBuf,
    suite: Suite,
    results: Vec<TestResult>,
}

impl Run {
    fn policy(&self) -> Policy {
        policy(&self.folder)
    }
}

fn policy(folder: &Path) -> Policy {
    ftw::setup::policy(Some(&format!("crs@{}", folder.display())))
}

/// How many tests ended how.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    /// Not run, or shown to be wrong.
    skipped: usize,
}

fn main() -> ExitCode {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let known = match Known::read(include_str!("known.toml")) {
        Ok(known) => known,
        Err(error) => {
            println!("tests/conformance/known.toml:{error}");
            return ExitCode::from(2);
        }
    };
    let (mut total, mut runs) = (Tally::default(), Vec::new());
    for (version, count) in SUITES {
        let folder = shared.join("crs").join(version);
        if !folder.is_dir() {
            println!("SKIPPED: CRS {version}: {} is not there; {count} tests were not run", folder.display());
            total.skipped += count;
            continue;
        }
        match run(folder, version, count) {
            Ok(run) => runs.push(run),
            Err(message) => {
                println!("FAILED: CRS {version}: {message}");
                total.failed += count;
            }
        }
    }
    for run in &runs {
        let tally = compare(run, &runs, &known);
        total.passed += tally.passed;
        total.failed += tally.failed;
        total.skipped += tally.skipped;
    }
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    ExitCode::from(u8::from(total.failed > 0))
}

/// Runs the tests of one version.
fn run(folder: PathBuf, version: &'static str, count: usize) -> Result<Run, String> {
    let started = Instant::now();
    let suite = ftw::load(&[folder.join("tests/regression/tests")])
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    if suite.tests.len() != count {
        return Err(format!("{} tests found instead of {count}", suite.tests.len()));
    }
    let read = started.elapsed();
    let set = sets::load(&policy(&folder)).map_err(|error| error.messages.join("\n"))?;
    let loaded = started.elapsed();
    let results = ftw::run(&suite.tests, &set.rules, &|_| {});
    println!(
        "CRS {version}: {read:.1?} to read the tests, {:.1?} to load {} rules, {:.1?} to run",
        loaded - read,
        set.rule_count,
        started.elapsed() - loaded,
    );
    Ok(Run { version, folder, suite, results })
}

/// Counts the results; a listed failure counts as skipped if its proof holds, a stale entry as failed.
fn compare(run: &Run, all: &[Run], known: &Known) -> Tally {
    let version = run.version;
    let (mut tally, mut wrong) = (Tally::default(), 0);
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut entries = known.of(version);
    for (test, result) in run.suite.tests.iter().zip(&run.results) {
        let entry = entries.remove(test.name.to_string().as_str());
        match (&result.status, entry) {
            (Status::Passed, None) => tally.passed += 1,
            (Status::Skipped { reason }, None) => {
                tally.skipped += 1;
                *reasons.entry(reason).or_default() += 1;
            }
            (Status::Failed { .. }, Some(entry)) => match proof::check(entry, test, run, all) {
                Ok(()) => {
                    println!("CRS {version}: {} is wrong: {}", test.name, entry.reason);
                    tally.skipped += 1;
                    wrong += 1;
                }
                Err(message) => {
                    tally.failed += 1;
                    println!("FAILED: CRS {version}: {} is not shown to be wrong: {message}", test.name);
                }
            },
            (Status::Failed { expected, got, note }, None) => {
                tally.failed += 1;
                let note = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
                println!("FAILED: CRS {version}: {}: expected {expected}; got {got:?}{note}", test.name);
            }
            (Status::Passed | Status::Skipped { .. }, Some(_)) => {
                tally.failed += 1;
                println!("FAILED: CRS {version}: {} does not fail; take it out of known.toml", test.name);
            }
        }
    }
    for name in entries.keys() {
        tally.failed += 1;
        println!("FAILED: CRS {version}: there is no test {name}; take it out of known.toml");
    }
    for (reason, count) in reasons {
        println!("CRS {version}: skipped {count}: {reason}");
    }
    let Tally { passed, skipped, .. } = tally;
    let run = run.suite.tests.len() + wrong - skipped;
    println!("COUNT: CRS {version}: {run} run, {passed} passed, {wrong} explained, {} skipped", skipped - wrong);
    tally
}
