//! A request through the rules: parsing, targets, operators, actions, phases.
//!
//! A pure function of rules, request, scratch and [`Inputs`]. Does not know the rule text, a clock, logs, metrics,
//! caches or tokio.

mod effects;
mod expand;
mod input;
mod matching;
mod prefilter;
mod prelude;
mod relayed;
mod scratch;
mod screen;
mod state;
mod time;
mod transaction;
mod tx;
mod values;

pub mod body;
pub mod fields;

pub use scratch::Scratch;
pub use screen::Screen;

use crate::model::{Outcome, Request};
use crate::ruleset::RuleSet;

/// What an evaluation takes from outside, as values, so that the same inputs give the same outcome.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// Microseconds since the Unix epoch (`TIME_*`).
    pub now_micros: i64,
    /// Microseconds since the request began (`DURATION`).
    pub duration_micros: u64,
    /// `UNIQUE_ID`.
    pub unique_id: &'a str,
    /// Units of work (bytes given to operators and transformations) after which the evaluation gives up.
    pub work_limit: u64,
    /// Asked now and then while evaluating; `true` means the deadline has passed.
    pub expired: &'a dyn Fn() -> bool,
}

impl Default for Inputs<'_> {
    /// Time zero, no limit: for tests and tools.
    fn default() -> Self {
        Self { now_micros: 0, duration_micros: 0, unique_id: "", work_limit: u64::MAX, expired: &|| false }
    }
}

/// Runs the request through phases 1, 2 and 5 and says what the rules decided.
///
/// Never fails: what could not be judged stands in the outcome's `faults` and `not_inspected`.
///
/// Rules that cannot match are passed over without being looked at. The outcome is that of [`evaluate_plainly`], save for
/// the work spent.
pub fn evaluate(rules: &RuleSet, request: &Request<'_>, inputs: &Inputs<'_>, scratch: &mut Scratch) -> Outcome {
    transaction::evaluate(rules, request, inputs, scratch, Path::Prefiltered)
}

/// As [`evaluate`], rule by rule and value by value: the reference that the prefilter is held to, and a way to tell
/// whether it is to blame.
pub fn evaluate_plainly(rules: &RuleSet, request: &Request<'_>, inputs: &Inputs<'_>, scratch: &mut Scratch) -> Outcome {
    transaction::evaluate(rules, request, inputs, scratch, Path::Plain)
}

/// How rules are chosen for evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Path {
    /// All of them.
    Plain,
    /// Those that the prefilter does not rule out.
    Prefiltered,
}
