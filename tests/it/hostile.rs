//! Requests made to cost as much as possible: the work grows in step with their size, the budget ends it, and the deadline is
//! looked at often.
//!
//! Counted, not timed. The shapes are those of `cargo bench --bench hostile`, smaller. The rules are those of the CRS in
//! `../shared/crs`, at paranoia level 4; where they are absent, the embedded baseline.

#[path = "../../benches/hostile/shapes.rs"]
mod shapes;

use std::cell::Cell;
use std::sync::OnceLock;

use portcullis::config::Policy;
use portcullis::engine::{self, Inputs, Scratch};
use portcullis::input::RequestBuf;
use portcullis::model::{Fault, Matched, Outcome};
use portcullis::ruleset::RuleSet;
use portcullis::sets;

use crate::shared;
use shapes::{Dimension, PARTS, VALUES};

fn rules() -> &'static RuleSet {
    static RULES: OnceLock<RuleSet> = OnceLock::new();
    RULES.get_or_init(|| {
        let rules = match shared::folder("crs/4.28.0") {
            Some(folder) => format!("crs@{}", folder.display()),
            None => "baseline".to_owned(),
        };
        let mut policy = Policy { rules: Some(rules), ..Policy::default() };
        policy.crs.paranoia = Some(4);
        policy.crs.detection_paranoia = Some(4);
        sets::load(&policy).unwrap().rules
    })
}

fn evaluate(request: &RequestBuf, inputs: &Inputs<'_>) -> Outcome {
    request.with_request(|request| engine::evaluate(rules(), request, inputs, &mut Scratch::without_memo()))
}

fn work(request: &RequestBuf) -> u64 {
    let outcome = evaluate(request, &Inputs::default());
    assert_eq!(outcome.faults, []);
    outcome.work
}

/// The work at some size, at twice and at four times as much.
fn check(dimensions: &[Dimension]) {
    for Dimension { name, unit, most, growth: allowed, make } in dimensions {
        // Bytes in whole blocks of random text; of other things a sixteenth of what the limits allow.
        let size = if *unit == "bytes" { 4_096 } else { (most / 16).max(16) };
        let works = [size, 2 * size, 4 * size].map(|size| work(&make(size)));
        println!("{name}: {works:?} at {size} {unit} and twice and four times as many");
        for pair in works.windows(2) {
            let growth = pair[1] as f64 / pair[0] as f64;
            assert!(growth < *allowed, "{name}: {works:?} grows by {growth:.2} when the size doubles");
        }
    }
}

#[test]
fn work_grows_in_step_with_values_of_every_shape() {
    check(&VALUES);
}

#[test]
fn work_grows_in_step_with_everything_else() {
    check(&PARTS);
}

#[test]
fn the_budget_ends_an_evaluation() {
    let request = (VALUES[13].make)(8_192);
    let whole = work(&request);
    for share in [2, 10] {
        let inputs = Inputs { work_limit: whole / share, ..Inputs::default() };
        let outcome = evaluate(&request, &inputs);
        assert_eq!(outcome.faults, [Fault::BudgetSpent]);
        // The last piece of work is counted and not begun; it was a form of the value at most.
        assert!(outcome.work > whole / share && outcome.work < whole / share + 16_384, "{} of {whole}", outcome.work);
    }
}

#[test]
fn the_deadline_is_looked_at_often() {
    for Dimension { name, make, .. } in &VALUES {
        let asked = Cell::new(0);
        let expired = || {
            asked.set(asked.get() + 1);
            false
        };
        let spent = evaluate(&make(8_192), &Inputs { expired: &expired, ..Inputs::default() }).work;
        // Between two looks lie 64 KiB, and one step more, over a form of the value.
        let least = spent / (65_536 + 2 * 8_192);
        assert!(asked.get() >= least, "{name}: asked {} times in {spent} units", asked.get());
        let passed = evaluate(&make(8_192), &Inputs { expired: &|| true, ..Inputs::default() });
        assert!(passed.faults == [Fault::DeadlinePassed] || spent < 65_536, "{name}: {:?}", passed.faults);
    }
}

#[test]
fn what_is_recorded_of_matches_is_bounded() {
    for Dimension { name, most, make, unit, .. } in PARTS.iter().chain(&VALUES) {
        let size = if *unit == "bytes" { 16_384 } else { *most / 2 };
        for rule in evaluate(&make(size), &Inputs::default()).rules {
            let id = rule.info.id;
            assert!(rule.matches.len() <= Matched::MOST, "{name}, {id}: {} matches", rule.matches.len());
            for matched in &rule.matches {
                assert!(matched.value.len() <= Matched::MAX_VALUE_BYTES, "{name}, {id}");
                assert!(matched.data.len() <= Matched::MAX_DATA_BYTES, "{name}, {id}");
            }
        }
    }
}
