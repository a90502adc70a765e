//! A request through the rules: parsing, targets, operators, actions, phases.
//!
//! A pure function of rules, request, scratch and [`Inputs`]. Does not know the rule text, a clock, logs, metrics,
//! caches or tokio.

pub mod body;
pub mod fields;

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

/// Everything mutable that an evaluation needs; reused from request to request, one per worker.
#[derive(Default, Debug)]
pub struct Scratch {}

/// Runs the request through phases 1, 2 and 5.
pub fn evaluate(_rules: &RuleSet, _request: &Request<'_>, _inputs: &Inputs<'_>, _scratch: &mut Scratch) -> Outcome {
    Outcome {
        verdict: crate::model::Verdict::Allow,
        would: None,
        score: crate::model::Score::default(),
        rules: Vec::new(),
        not_inspected: Vec::new(),
        faults: Vec::new(),
        deterministic: true,
        audit_engine: crate::model::AuditEngine::Off,
        audit_parts: String::new(),
        work: 0,
    }
}

/// Whether any rule matches on this header's value, in any phase, link or not, exclusions and levels left aside.
///
/// When neither the old value of a header nor the new one matches anywhere, both requests get the same outcome: the
/// rules learn from a value only whether it matches. Used by the verdict cache for volatile headers.
pub fn screen(_rules: &RuleSet, _name: &[u8], _value: &[u8], _scratch: &mut Scratch) -> bool {
    true
}
