//! The prefilter against the plain path: over every request below, both must give the same outcome, save for the work
//! spent.
//!
//! Requests: those of the CRS regression tests, the ordinary requests of `tests/vectors/benign`, and mutations of both
//! (encodings, case, blanks, splices; in the query, names, path, cookies, headers, and form, JSON, XML and multipart
//! bodies). Rules: both CRS versions at each paranoia level, detecting (so that every rule is reached) and blocking, and
//! the rules of `odd.conf` and `relays.conf`, made to defeat the prefilter.
//!
//! `cargo test --release --test prefilter -- [MUTATIONS [SEED]]`. The CRS is read in place from `../shared/crs`; where it
//! is absent, the suite says so loudly and counts its runs as skipped.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod mutate;
mod payloads;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use mutate::{Random, mutation};
use payloads::{Payloads, benign, of_tests};
use portcullis::compile::compile;
use portcullis::config::{Mode, Policy};
use portcullis::engine::{Inputs, Scratch, evaluate, evaluate_plainly};
use portcullis::ftw;
use portcullis::input::RequestBuf;
use portcullis::model::Outcome;
use portcullis::ruleset::RuleSet;
use portcullis::seclang::parser::parse_text;
use portcullis::seclang::source::MemoryLoader;
use portcullis::sets;

/// Mutations in all when no number is given: what a build with optimisation does in about a minute, and a sample.
const MUTATIONS: usize = if cfg!(debug_assertions) { 4_000 } else { 240_000 };

/// Rules made to defeat the prefilter.
const ODD: [(&str, &[u8]); 2] =
    [("odd.conf", include_bytes!("odd.conf")), ("relays.conf", include_bytes!("relays.conf"))];

/// Differences shown in full.
const SHOWN: usize = 5;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let mutations = numbers.next().unwrap_or(MUTATIONS);
    let seed = numbers.next().unwrap_or(20_261_130) as u64;
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let (mut compared, mut differences, mut skipped) = (0, 0, 0);
    let ordinary = benign();
    let payloads = Payloads::new(&ordinary, &[]);
    let mutated = mutations / 10;
    for (name, text) in ODD {
        let result = run(&odd_rules(name, text), &ordinary, &payloads, mutated, seed);
        report(name, result, &mut compared, &mut differences);
    }
    for version in ["4.28.0", "3.3.10"] {
        let folder = shared.join("crs").join(version);
        if !folder.is_dir() {
            println!("SKIPPED: CRS {version}: {} is not there; 5 runs were not made", folder.display());
            skipped += 5;
            continue;
        }
        let tests = of_tests(&folder.join("tests/regression/tests"));
        let payloads = Payloads::new(&ordinary, &tests);
        let requests: Vec<RequestBuf> = ordinary.iter().chain(&tests).cloned().collect();
        for (number, (name, rules)) in (0..).zip(rule_sets(&folder)) {
            let result = run(&rules, &requests, &payloads, mutated, seed + number);
            report(&format!("CRS {version}, {name}"), result, &mut compared, &mut differences);
        }
    }
    println!("{} passed, {differences} failed, {skipped} skipped", compared - differences);
    ExitCode::from(u8::from(differences > 0))
}

fn report(name: &str, (compared, different, seconds): (usize, usize, f64), sum: &mut usize, differences: &mut usize) {
    println!("{name}: {compared} requests, {different} differ ({seconds:.1} s)");
    *sum += compared;
    *differences += different;
}

/// The CRS at each paranoia level in detection mode, and blocking at the first.
fn rule_sets(folder: &Path) -> Vec<(String, RuleSet)> {
    let load = |level: u8, mode: Mode| {
        let regression = ftw::setup::policy(Some(&format!("crs@{}", folder.display())));
        let mut policy =
            Policy { rules: regression.rules.clone(), crs: regression.crs.clone(), mode, ..Policy::default() };
        policy.crs.paranoia = Some(level);
        policy.crs.detection_paranoia = Some(level);
        sets::load(&policy).unwrap_or_else(|error| panic!("{error}")).rules
    };
    let detecting = (1..=4).map(|level| (format!("PL{level} detecting"), load(level, Mode::Detect)));
    detecting.chain([("PL1 blocking".into(), load(1, Mode::Block))]).collect()
}

fn odd_rules(name: &str, text: &[u8]) -> RuleSet {
    let loader = MemoryLoader::default();
    let parsed = parse_text(&loader, name, text);
    let compiled = compile(&parsed.program, &loader);
    let messages: Vec<_> = parsed.diagnostics.iter().chain(&compiled.diagnostics).map(|found| &found.message).collect();
    compiled.rules.unwrap_or_else(|| panic!("{messages:?}"))
}

/// Compares the paths over the requests and as many mutations, on two threads. Returns how many requests were compared,
/// how many differed, and the seconds it took.
fn run(
    rules: &RuleSet,
    requests: &[RequestBuf],
    payloads: &Payloads,
    mutations: usize,
    seed: u64,
) -> (usize, usize, f64) {
    let started = Instant::now();
    let (next, different, shown) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(0));
    let total = requests.len() + mutations;
    let work = || {
        let (mut plain, mut fast) = (Scratch::default(), Scratch::default());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= total {
                return;
            }
            let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
            let request = requests.get(number).cloned().unwrap_or_else(|| mutation(&mut random, payloads));
            if let Err(difference) = compare(rules, &request, &mut plain, &mut fast) {
                different.fetch_add(1, Ordering::Relaxed);
                let mut shown = shown.lock().unwrap();
                if *shown < SHOWN {
                    *shown += 1;
                    println!("DIFFERENT (number {number}): {difference}\n{}", show(&request));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    (total, different.into_inner(), started.elapsed().as_secs_f64())
}

/// A request on few lines.
fn show(request: &RequestBuf) -> String {
    let head = [&request.method[..], b" ", &request.target, b"\n"].concat();
    let headers = request.headers.iter().map(|(name, value)| [&name[..], b": ", value, b"\n"].concat());
    let text = [head, headers.collect::<Vec<_>>().concat(), request.body.clone()].concat();
    text.get(..4_000).unwrap_or(&text).escape_ascii().to_string()
}

fn compare(rules: &RuleSet, request: &RequestBuf, plain: &mut Scratch, fast: &mut Scratch) -> Result<(), String> {
    let inputs = Inputs::default();
    let (expected, found) = request.with_request(|request| {
        (evaluate_plainly(rules, request, &inputs, plain), evaluate(rules, request, &inputs, fast))
    });
    let (expected, found) = (Outcome { work: 0, ..expected }, Outcome { work: 0, ..found });
    if expected == found {
        return Ok(());
    }
    let ids = |outcome: &Outcome| outcome.rules.iter().map(|rule| rule.info.id.get()).collect::<Vec<_>>();
    let describe = |outcome: &Outcome| format!("{:?} {:?} {:?}", outcome.verdict, ids(outcome), outcome.faults);
    Err(format!("plain {}, prefiltered {}", describe(&expected), describe(&found)))
}
