//! The engine alone, one thread: loading the rules, ordinary requests, attacks, and a few hostile requests. Time by
//! criterion, then instructions by valgrind's callgrind. Checks what it measures first: every outcome is that of the plain
//! path, ordinary GETs pass and attacks are found.
//!
//! ```text
//! cargo bench --bench evaluate                     everything
//! cargo bench --bench evaluate -- 'benign GET'     only the times of what has this in its name
//! cargo bench --bench evaluate -- --instructions   only the instructions
//! ```
//!
//! Tables go to target/bench/ as well; benches/README.md says how they are measured.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

#[path = "../common/callgrind.rs"]
mod callgrind;
#[path = "../common/clock.rs"]
mod clock;
#[path = "../common/corpora.rs"]
#[allow(dead_code, reason = "the corpus alone is read line by line elsewhere")]
mod corpora;
mod instructions;
#[path = "../common/report.rs"]
mod report;
mod requests;
mod rules;
mod time;

use std::path::Path;

use corpora::{Class, GETS};
use portcullis::engine::{Inputs, Scratch, evaluate, evaluate_plainly};
use portcullis::model::Outcome;
use portcullis::ruleset::RuleSet;

/// The root of the repository.
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The folder `target`.
fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| *word != "--bench").collect();
    match words.as_slice() {
        // How the table of instructions is made: this program runs itself.
        ["--count", level] => return instructions::count(level.parse().unwrap()),
        ["--instructions"] => return instructions::table(),
        _ => {}
    }
    check();
    time::measure();
    // `cargo bench` says `--bench`; without it this is a test of the benchmark.
    if words.is_empty() && arguments.iter().any(|argument| argument == "--bench") {
        time::table();
        instructions::table();
    }
}

/// Verdict and rules, for comparison.
fn said(outcome: &Outcome) -> (bool, Vec<u32>) {
    (outcome.verdict.is_allow(), outcome.logged_ids().map(|id| id.get()).collect())
}

/// Judges everything that is measured, in every way in which it is measured.
fn check() {
    let (classes, remark) = requests::ordinary_and_attacks();
    remark.iter().for_each(|remark| println!("{remark}"));
    for level in rules::LEVELS {
        let set = rules::load(level);
        println!("rules: {}, {} rules, paranoia level {level}", set.name, set.rule_count);
        for class in classes.iter().chain(&requests::hostile()) {
            let denied = class.requests.iter().filter(|request| !is_allowed(&set.rules, request)).count();
            println!("{}: {denied} of {} refused", class.name, class.requests.len());
            let is_right = match class.name {
                GETS if level == 1 => denied == 0,
                "CRS attacks" | "attack" => denied * 2 > class.requests.len() || set.fallback,
                _ => true,
            };
            assert!(is_right, "{}: that is not what is to be measured", class.name);
        }
    }
}

fn is_allowed(rules: &RuleSet, request: &portcullis::input::RequestBuf) -> bool {
    request.with_request(|request| {
        let (mut off, mut on) = (Scratch::without_memo(), Scratch::default());
        let plain = said(&evaluate_plainly(rules, request, &Inputs::default(), &mut off));
        // The second time all that is kept is there.
        for scratch in [&mut off, &mut on] {
            for _ in 0..2 {
                assert_eq!(said(&evaluate(rules, request, &Inputs::default(), scratch)), plain);
            }
        }
        plain.0
    })
}

/// Judges these requests one after the other.
fn pass(rules: &RuleSet, requests: &[portcullis::model::Request<'_>], scratch: &mut Scratch) {
    for request in requests {
        std::hint::black_box(evaluate(rules, std::hint::black_box(request), &Inputs::default(), scratch));
    }
}

/// The hostile requests, to find out what they leave behind.
fn all_hostile() -> Class {
    let requests = requests::hostile().into_iter().flat_map(|class| class.requests).collect();
    Class { name: "hostile", requests }
}
