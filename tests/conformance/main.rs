//! The regression tests of the CRS, both versions, through the library, with no override file.
//!
//! The tests and rules are read in place from `../shared/crs` (or `$PORTCULLIS_SHARED/crs`); where they are absent, the
//! suite says so loudly and counts every test as skipped. `known.toml` lists the tests that are accepted to fail, each
//! with a reason: a failure that is not listed fails the suite, and so does an entry whose test passes.

mod known;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use known::Known;
use portcullis::ftw::{self, Status, Suite, TestResult};
use portcullis::sets;

/// The versions, and how many tests each has. A file that is not found must not make the suite pass more easily.
const SUITES: [(&str, usize); 2] = [("4.28.0", 5003), ("3.3.10", 2553)];

/// What became of the tests of one version.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
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
    let mut total = Tally::default();
    for (version, count) in SUITES {
        let tally = run(&shared.join("crs").join(version), version, count, &known);
        total.passed += tally.passed;
        total.failed += tally.failed;
        total.skipped += tally.skipped;
    }
    println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    ExitCode::from(u8::from(total.failed > 0))
}

/// Runs the tests of one version.
fn run(folder: &Path, version: &str, count: usize, known: &Known) -> Tally {
    if !folder.is_dir() {
        println!("SKIPPED: CRS {version}: {} is not there; {count} tests were not run", folder.display());
        return Tally { skipped: count, ..Tally::default() };
    }
    match judge(folder, version, count, known) {
        Ok(tally) => tally,
        Err(message) => {
            println!("FAILED: CRS {version}: {message}");
            Tally { failed: count, ..Tally::default() }
        }
    }
}

fn judge(folder: &Path, version: &str, count: usize, known: &Known) -> Result<Tally, String> {
    let started = Instant::now();
    let suite = ftw::load(&[folder.join("tests/regression/tests")])
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    if suite.tests.len() != count {
        return Err(format!("{} tests found instead of {count}", suite.tests.len()));
    }
    let read = started.elapsed();
    let policy = ftw::setup::policy(Some(&format!("crs@{}", folder.display())));
    let set = sets::load(&policy).map_err(|error| error.messages.join("\n"))?;
    let loaded = started.elapsed();
    let results = ftw::run(&suite.tests, &set.rules, &|_| {});
    let tally = compare(version, &suite, &results, known);
    println!(
        "CRS {version}: ran {} / passed {} / skipped {}; {} failed ({read:.1?} to read the tests, {:.1?} to load {} rules, \
         {:.1?} to run)",
        suite.tests.len() - tally.skipped,
        tally.passed,
        tally.skipped,
        tally.failed,
        loaded - read,
        set.rule_count,
        started.elapsed() - loaded,
    );
    Ok(tally)
}

/// Counts the results; a known failure counts as skipped, a stale entry as failed.
fn compare(version: &str, suite: &Suite, results: &[TestResult], known: &Known) -> Tally {
    let mut tally = Tally::default();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut entries = known.of(version);
    for (test, result) in suite.tests.iter().zip(results) {
        let entry = entries.remove(test.name.to_string().as_str());
        match (&result.status, entry) {
            (Status::Passed, None) => tally.passed += 1,
            (Status::Failed { .. }, Some(reason)) => {
                tally.skipped += 1;
                *reasons.entry(format!("known: {reason}")).or_default() += 1;
            }
            (Status::Skipped { reason }, None) => {
                tally.skipped += 1;
                *reasons.entry(reason.clone()).or_default() += 1;
            }
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
    tally
}
