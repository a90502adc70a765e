//! libmodsecurity 3 and our engine: the same rules, the same requests, and the ids of the rules that were logged.
//!
//! Run by name: `make differential` for all, `cargo test --features reference --test differential -- --sample` for a
//! twentieth. Every difference belongs to a class of `classes.rs`, or fails the run; `README.md` says what they are.
//! Rules and tests are read in place from `../shared` (or `$PORTCULLIS_SHARED`).

#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test that makes its own data; a slip stops the run, as it should"
)]

mod classes;
mod explain;
mod facts;
mod mutate;
mod payloads;
mod place;
mod random;
mod report;
mod rules;
mod sample;

#[path = "../../benches/common/corpora.rs"]
#[allow(dead_code, reason = "benchmarks group the requests, too")]
mod corpora;
#[path = "../reference/modsecurity.rs"]
mod modsecurity;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use explain::{Engines, Explained};
use modsecurity::ModSecurity;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::ftw;
use portcullis::ruleset::RuleSet;
use report::{Report, Totals};
use sample::Sample;

const VERSIONS: [&str; 2] = ["4.28.0", "3.3.10"];

/// Mutations for each version.
const MUTATIONS: usize = 20_000;

/// `--sample` takes this part of everything.
const SAMPLE: usize = 20;

const SEED: u64 = 0x9a7e;

type Ids = BTreeSet<u32>;

/// The rules that ours logs. libmodsecurity logs no rule with `noauditlog`, so none of them is compared.
fn ours(rules: &RuleSet, sample: &Sample, scratch: &mut Scratch) -> Ids {
    sample.request.with_request(|request| {
        let outcome = evaluate(rules, request, &Inputs { unique_id: "differential", ..Inputs::default() }, scratch);
        outcome.rules.iter().filter(|rule| rule.log && rule.audit).map(|rule| rule.info.id.get()).collect()
    })
}

/// The rules that libmodsecurity logs.
fn theirs(engine: &ModSecurity, sample: &Sample) -> Ids {
    sample.request.with_request(|request| engine.judge(request, "differential", true).logged.into_iter().collect())
}

fn main() -> ExitCode {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let arguments: Vec<String> = std::env::args().collect();
    let given = |text: &str| arguments.iter().any(|argument| argument == text);
    let part = if given("--sample") { SAMPLE } else { 1 };
    let chosen: Vec<&str> = VERSIONS.into_iter().filter(|version| given(version)).collect();
    let versions = if chosen.is_empty() { VERSIONS.to_vec() } else { chosen };
    let mut totals = Totals::default();
    for version in &versions {
        match run(&shared, version, part) {
            Ok(Some(report)) => totals.add(version, &report),
            Ok(None) => totals.skip(version, MUTATIONS / part),
            Err(message) => totals.fail(version, &message),
        }
    }
    if part == 1 && versions.len() == VERSIONS.len() {
        totals.check_for_stale_classes();
    }
    totals.print();
    ExitCode::from(u8::from(totals.failed()))
}

/// One version; `None` when something that it needs is not here.
fn run(shared: &Path, version: &str, part: usize) -> Result<Option<Report>, String> {
    let folder = shared.join("crs").join(version);
    if !folder.is_dir() {
        println!("SKIPPED: CRS {version}: {} is not there", folder.display());
        return Ok(None);
    }
    let map = shared.join("vectors/engine/modsecurity-v3/data/unicode.mapping");
    let Some(engines) = load(&folder, &map)? else {
        println!("SKIPPED: CRS {version}: libmodsecurity 3 is not installed (Debian: libmodsecurity-dev)");
        return Ok(None);
    };
    let samples = samples(&folder, &shared.join("corpus/benign.jsonl"), part)?;
    println!("CRS {version}: {} requests against {}", samples.len(), engines.reference.version());
    let differences = compare(&engines, &samples);
    let report = Report::new(samples, differences);
    report.print(version, &engines);
    Ok(Some(report))
}

fn load(folder: &Path, map: &Path) -> Result<Option<Engines>, String> {
    let policy = rules::policy(folder);
    let Some(reference) = ModSecurity::load(&rules::sources(&policy, folder, map)?)? else { return Ok(None) };
    let base = rules::read(&policy)?;
    let facts = facts::collect(&base.program);
    let mut readings = Vec::new();
    for reading in &classes::READINGS {
        readings.push((reading.class, rules::compile_with(&policy, reading.text, reading.change)?));
    }
    let texts: String = classes::READINGS.iter().map(|reading| reading.text).collect();
    let all_readings =
        rules::compile_with(&policy, &texts, |program| classes::READINGS.iter().for_each(|one| (one.change)(program)))?;
    Ok(Some(Engines { rules: rules::compile(base, |_| {})?, readings, all_readings, reference, facts }))
}

/// Everything that is sent: the regression tests as they are, the benign corpus, and the mutations.
fn samples(folder: &Path, benign: &Path, part: usize) -> Result<Vec<Sample>, String> {
    let suite = ftw::load(&[folder.join("tests/regression/tests")])
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let requests = payloads::requests(&suite);
    let payloads = payloads::payloads(&requests);
    let benign = sample::benign(&std::fs::read_to_string(benign).map_err(|error| error.to_string())?)?;
    let tests = requests.into_iter().step_by(part).map(|(rule, request)| Sample::as_is(rule, request));
    Ok(tests.chain(benign).chain(sample::mutations(&payloads, MUTATIONS / part, SEED)).collect())
}

/// Hands the samples out to all cores; the result is in the order of the samples.
fn compare(engines: &Engines, samples: &[Sample]) -> Vec<Option<Explained>> {
    const BATCH: usize = 32;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = Scratch::default();
        let mut found = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let batch = samples.get(start..samples.len().min(start + BATCH)).unwrap_or_default();
            if batch.is_empty() {
                return found;
            }
            found.push((start, batch.iter().map(|one| engines.compare(one, &mut scratch)).collect::<Vec<_>>()));
        }
    };
    let mut batches: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("no comparison panics")).collect()
    });
    batches.sort_by_key(|(start, _)| *start);
    batches.into_iter().flat_map(|(_, batch)| batch).collect()
}
