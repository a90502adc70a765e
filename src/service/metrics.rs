//! Counters and their text form for Prometheus.
//!
//! On the request path: atomic additions only. Counters of a policy outlive reloads. Knows no HTTP.

mod text;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::model::{Body, NotInspected, Outcome, Request};

use super::cache::CacheCounts;
use super::counts::{Counts, Histogram, RuleHits};
use super::reload::locked;
use super::{Answer, Decision, Door, FailureKind};

/// What a request's answer is counted as.
const VERDICTS: [&str; 5] = ["allow", "deny", "redirect", "error_closed", "error_open"];

impl Door {
    /// Every door there is.
    pub(super) const ALL: [Self; 3] = [Self::ExtAuthz, Self::ForwardAuth, Self::Check];

    /// The name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExtAuthz => "ext_authz",
            Self::ForwardAuth => "forward_auth",
            Self::Check => "check",
        }
    }
}

/// The counters of the whole service.
#[derive(Default, Debug)]
pub(super) struct Metrics {
    /// Locked at start, reload and scrape only.
    policies: Mutex<BTreeMap<String, Arc<PolicyMetrics>>>,
    /// By kind, closed and open in turn.
    failures: Counts<{ FailureKind::ALL.len() * 2 }>,
}

/// The counters of one policy.
#[derive(Default, Debug)]
pub(super) struct PolicyMetrics {
    /// By door and verdict.
    requests: Counts<{ Door::ALL.len() * VERDICTS.len() }>,
    /// Requests that detection mode let pass and blocking mode had not.
    would: Counts<1>,
    not_inspected: Counts<{ NotInspected::ALL.len() }>,
    not_inspected_bytes: Counts<{ NotInspected::ALL.len() }>,
    evaluation: Histogram,
    rules: RuleHits,
    pub(super) cache: Arc<CacheCounts>,
}

impl Metrics {
    /// The counters of the policy with this name.
    pub(super) fn policy(&self, name: &str) -> Arc<PolicyMetrics> {
        Arc::clone(locked(&self.policies).entry(name.to_owned()).or_default())
    }

    /// Counts one of our own failures.
    pub(super) fn failure(&self, kind: FailureKind, open: bool) {
        self.failures.add(failure_index(kind, open));
    }
}

fn failure_index(kind: FailureKind, open: bool) -> usize {
    let place = FailureKind::ALL.iter().position(|known| *known == kind).unwrap_or_default();
    place * 2 + usize::from(open)
}

impl PolicyMetrics {
    /// Counts a decision about a request.
    pub(super) fn decided(&self, door: Door, request: &Request<'_>, decision: &Decision, body_limit: usize) {
        self.requests.add(door as usize * VERDICTS.len() + verdict_index(&decision.answer));
        let Some(outcome) = &decision.outcome else { return };
        if !decision.cached {
            self.evaluation.record(decision.evaluation);
        }
        self.spoken(request, outcome, body_limit);
    }

    fn spoken(&self, request: &Request<'_>, outcome: &Outcome, body_limit: usize) {
        outcome.logged_ids().for_each(|rule| self.rules.add(rule));
        if outcome.would.is_some() {
            self.would.add(0);
        }
        for reason in &outcome.not_inspected {
            let place = NotInspected::ALL.iter().position(|known| known == reason).unwrap_or_default();
            self.not_inspected.add(place);
            self.not_inspected_bytes.add_many(place, bytes_left_out(*reason, request, body_limit));
        }
    }
}

fn verdict_index(answer: &Answer) -> usize {
    match answer {
        Answer::Allow => 0,
        Answer::Deny { .. } => 1,
        Answer::Redirect { .. } => 2,
        Answer::Failure { open: false, .. } => 3,
        Answer::Failure { open: true, .. } => 4,
    }
}

/// The bytes that were not inspected, as far as anybody knows: of a body that the proxy kept or cut, what
/// `Content-Length` says there was.
fn bytes_left_out(reason: NotInspected, request: &Request<'_>, body_limit: usize) -> u64 {
    let here = request.body.bytes().len() as u64;
    match reason {
        NotInspected::BodyAbsent | NotInspected::BodyPartial => content_length(request).saturating_sub(here),
        NotInspected::BodyOverLimit => match request.body {
            Body::Complete(_) => here.saturating_sub(body_limit as u64),
            Body::Partial(_) | Body::NotSent => 0,
        },
        NotInspected::BodyUndecodable | NotInspected::BodySkipped => here,
        NotInspected::ArgumentsOverLimit => 0,
    }
}

/// What the client says; no more than a request can hold, so that a lie cannot make the counter useless.
fn content_length(request: &Request<'_>) -> u64 {
    const MOST: u64 = 1 << 40;
    let text = request.header(b"content-length").and_then(|value| std::str::from_utf8(value).ok());
    text.and_then(|text| text.parse().ok()).filter(|length| *length <= MOST).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Header;

    #[test]
    fn doors_stand_in_the_order_of_their_numbers() {
        for (index, door) in Door::ALL.into_iter().enumerate() {
            assert_eq!(door as usize, index);
        }
    }

    #[test]
    fn bytes_left_out_by_reason() {
        let headers = [Header { name: b"Content-Length", value: b"100" }];
        let request = |body| Request { headers: &headers, body, ..Request::default() };
        let table = [
            (NotInspected::BodyAbsent, Body::NotSent, 100),
            (NotInspected::BodyPartial, Body::Partial(b"12345"), 95),
            (NotInspected::BodyOverLimit, Body::Complete(b"12345"), 2),
            (NotInspected::BodyUndecodable, Body::Complete(b"12345"), 5),
            (NotInspected::BodySkipped, Body::Complete(b"12345"), 5),
            (NotInspected::ArgumentsOverLimit, Body::Complete(b"12345"), 0),
        ];
        for (reason, body, expected) in table {
            assert_eq!(bytes_left_out(reason, &request(body), 3), expected, "{reason:?}");
        }
        let lie = [Header { name: b"content-length", value: b"18446744073709551615" }];
        assert_eq!(
            bytes_left_out(NotInspected::BodyAbsent, &Request { headers: &lie, ..request(Body::NotSent) }, 3),
            0
        );
    }
}
