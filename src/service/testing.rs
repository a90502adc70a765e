//! Helpers of the unit tests in this module.

use crate::model::{AuditEngine, Outcome, Score, Verdict};

/// An outcome with this verdict and nothing else.
pub(super) fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        verdict,
        would: None,
        score: Score::default(),
        rules: Vec::new(),
        not_inspected: Vec::new(),
        faults: Vec::new(),
        deterministic: true,
        audit_engine: AuditEngine::RelevantOnly,
        audit_parts: "ABHZ".to_owned(),
        work: 0,
    }
}
