//! The answer to a request in which nothing was found: most answers, and all but a few bytes of them the same.
//!
//! One that was written is kept by the thread that wrote it, and what differs is put in its place. Written anew, it is a
//! twentieth of all that a check costs beside the rules.

use std::cell::RefCell;
use std::sync::Arc;

use super::{Checked, answer};
use crate::config::Annotate;
use crate::service::{Answer, Decision};

/// A policy has two: from the cache and not. Those of policies in use push out others.
const KEPT: usize = 16;

thread_local! {
    static PATTERNS: RefCell<Vec<Pattern>> = const { RefCell::new(Vec::new()) };
}

/// An answer, and where in it stands what differs from request to request.
struct Pattern {
    policy: Arc<str>,
    generation: u64,
    cached: bool,
    metadata: Annotate,
    upstream_headers: Annotate,
    start: Box<[u8]>,
    bytes: Vec<u8>,
    /// The request id, as long as this one: in a header and in the metadata, if there are any.
    ids: Vec<usize>,
    id_length: usize,
}

/// Whether nothing stands in the answer but that the request passes: which is all that a [`Pattern`] is about.
pub(super) fn is_usual(decision: &Decision) -> bool {
    let nothing_found = |outcome: &crate::model::Outcome| {
        outcome.score.inbound == 0
            && outcome.not_inspected.is_empty()
            && outcome.would.is_none()
            && outcome.logged_ids().next().is_none()
    };
    decision.answer == Answer::Allow && decision.outcome.as_deref().is_none_or(nothing_found)
}

/// The answer to such a decision; `write` writes it where there is no pattern yet.
pub(super) fn response(decision: &Decision, start: &[u8], write: impl FnOnce() -> Option<Checked>) -> Option<Checked> {
    let id = answer::request_id(decision);
    PATTERNS.with_borrow_mut(|patterns| {
        let known = patterns.iter().find(|pattern| pattern.fits(decision, &id, start));
        if let Some(checked) = known.and_then(|pattern| pattern.fill(decision, &id)) {
            return Some(checked);
        }
        let checked = write()?;
        if let Some(pattern) = Pattern::of(&checked, decision, &id, start) {
            patterns.truncate(KEPT - 1);
            patterns.insert(0, pattern);
        }
        Some(checked)
    })
}

impl Pattern {
    /// `None` where the places cannot be told.
    fn of(checked: &Checked, decision: &Decision, id: &str, start: &[u8]) -> Option<Self> {
        let bytes = checked.0.clone();
        let ids: Vec<usize> = memchr::memmem::find_iter(&bytes, id.as_bytes()).collect();
        let [headers, metadata] = [decision.upstream_headers, decision.metadata].map(|wanted| wanted == Annotate::All);
        let timed = !metadata || *bytes.last_chunk()? == micros(decision);
        if id.is_empty() || ids.len() != usize::from(headers) + usize::from(metadata) || !timed {
            return None;
        }
        Some(Self {
            policy: Arc::clone(&decision.policy),
            generation: decision.generation,
            cached: decision.cached,
            metadata: decision.metadata,
            upstream_headers: decision.upstream_headers,
            start: start.into(),
            ids,
            id_length: id.len(),
            bytes,
        })
    }

    fn fits(&self, decision: &Decision, id: &str, start: &[u8]) -> bool {
        Arc::ptr_eq(&self.policy, &decision.policy)
            && self.generation == decision.generation
            && self.cached == decision.cached
            && self.metadata == decision.metadata
            && self.upstream_headers == decision.upstream_headers
            && self.id_length == id.len()
            && *self.start == *start
    }

    fn fill(&self, decision: &Decision, id: &str) -> Option<Checked> {
        let mut bytes = self.bytes.clone();
        for &place in &self.ids {
            bytes.get_mut(place..place + self.id_length)?.copy_from_slice(id.as_bytes());
        }
        if self.metadata == Annotate::All {
            // Their last field is the time the evaluation took.
            *bytes.last_chunk_mut()? = micros(decision);
        }
        Some(Checked(bytes))
    }
}

fn micros(decision: &Decision) -> [u8; 8] {
    (decision.evaluation.as_micros() as f64).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::written;
    use super::*;
    use crate::config::Expose;
    use crate::model::{AuditEngine, AuditParts, NotInspected, Outcome, Score, Verdict};
    use crate::service::FailureKind;

    fn decisions() -> Vec<Decision> {
        let outcome = |inbound, not_inspected, would| {
            Some(Arc::new(Outcome {
                verdict: Verdict::Allow,
                would,
                score: Score { inbound, ..Score::default() },
                rules: Vec::new(),
                not_inspected,
                faults: Vec::new(),
                deterministic: true,
                audit_engine: AuditEngine::RelevantOnly,
                audit_parts: AuditParts::of("ABHZ"),
                work: 0,
            }))
        };
        let denied = Verdict::Deny { status: 403, rule: None, close: false };
        let outcomes = [
            None,
            outcome(0, Vec::new(), None),
            outcome(3, Vec::new(), None),
            outcome(0, vec![NotInspected::BodyAbsent], None),
            outcome(0, Vec::new(), Some(denied)),
        ];
        let policies: [Arc<str>; 3] = ["default".into(), "default".into(), "x".repeat(200).into()];
        let ids = ["01JDX3M5Q8R7K2V9W4ZT6YHB1C", "01JDX3M5Q8R7K2V9W4ZT6YHB1D", "id-1\r\nx: <b>", "default", "d", ""];
        let mut decisions = Vec::new();
        let annotate = |number| if number == 0 { Annotate::Relevant } else { Annotate::All };
        for number in 0..4_000_usize {
            let answer = match number % 17 {
                15 => Answer::Deny { status: 403, close: false },
                16 => Answer::Failure { kind: FailureKind::Budget, open: true },
                _ => Answer::Allow,
            };
            decisions.push(Decision {
                answer,
                policy: Arc::clone(&policies[number % 3]),
                generation: (number / 5 % 3) as u64,
                request_id: ids[number / 7 % 6].to_owned(),
                cached: number / 2 % 2 == 0,
                evaluation: Duration::from_micros((number * 31 % 1000) as u64),
                outcome: outcomes[number / 11 % 5].clone(),
                expose: Expose::None,
                metadata: annotate(number / 1_000 % 2),
                upstream_headers: annotate(number / 2_000),
            });
        }
        decisions
    }

    #[test]
    fn an_answer_by_pattern_is_the_one_that_would_have_been_written() {
        let mut from_patterns = [[0; 2]; 2];
        for decision in decisions() {
            let start = [0; 5].get(..decision.request_id.len() % 6).unwrap();
            let mut anew = false;
            let expected = written(&decision, start);
            if is_usual(&decision) {
                let got = response(&decision, start, || {
                    anew = true;
                    written(&decision, start)
                });
                assert_eq!(got, expected, "{decision:?}");
                let [headers, metadata] =
                    [decision.upstream_headers, decision.metadata].map(|wanted| usize::from(wanted == Annotate::All));
                from_patterns[headers][metadata] += usize::from(!anew);
            }
            assert_eq!(super::super::response(&decision, start), expected, "{decision:?}");
        }
        assert!(from_patterns.iter().flatten().all(|&made| made > 50), "{from_patterns:?}");
    }
}
