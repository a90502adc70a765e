//! Whether what came of a request is what a stage expects.

use std::fmt::Write as _;

use regex::Regex;

use super::log;
use crate::model::{Outcome, Verdict};

/// What must and must not come of a request.
#[derive(Clone, Default, Debug)]
pub struct Expected {
    /// Any of these statuses.
    pub status: Vec<u16>,
    /// Rules that must be logged, all of them.
    pub expect_ids: Vec<u32>,
    /// Rules that must not be logged, none of them.
    pub no_expect_ids: Vec<u32>,
    /// Some log line must match.
    pub match_regex: Option<Regex>,
    /// No log line may match.
    pub no_match_regex: Option<Regex>,
    /// The connection breaks, or everything else that is expected holds.
    pub expect_error: bool,
    /// Exactly one rule is logged.
    pub isolated: bool,
}

impl Expected {
    /// Whether there is nothing that could fail.
    pub fn is_empty(&self) -> bool {
        self.status.is_empty() && !self.expect_error && self.expects_no_log()
    }

    fn expects_no_log(&self) -> bool {
        self.expect_ids.is_empty()
            && self.no_expect_ids.is_empty()
            && self.match_regex.is_none()
            && self.no_match_regex.is_none()
            && !self.isolated
    }
}

/// What came of a request.
#[derive(Clone, Debug)]
pub enum Observed {
    /// The front end, or the raw-request parser in its place, refused it or found it incomplete; the rules saw nothing.
    Refused {
        /// The status it answered with.
        status: u16,
        /// Why.
        reason: String,
    },
    /// The rules judged it.
    Judged(Box<Outcome>),
}

impl Observed {
    /// The ids in the log, in order.
    pub(super) fn logged(&self) -> Vec<u32> {
        match self {
            Self::Refused { .. } => Vec::new(),
            Self::Judged(outcome) => outcome.logged_ids().map(|id| id.get()).collect(),
        }
    }

    fn log_lines(&self) -> Vec<String> {
        match self {
            Self::Refused { .. } => Vec::new(),
            Self::Judged(outcome) => outcome.rules.iter().filter(|rule| rule.log).map(log::line).collect(),
        }
    }
}

/// What was expected and did not happen, in words; `None` when all of it did.
pub fn judge(expected: &Expected, observed: &Observed) -> Option<String> {
    // A client would see a broken connection, or wait in vain.
    if expected.expect_error && matches!(observed, Observed::Refused { .. }) {
        return None;
    }
    let mut missing = String::new();
    let mut note = |text: String| {
        let _ = write!(missing, "{}{text}", if missing.is_empty() { "" } else { "; " });
    };
    if !expected.status.is_empty() && !expected.status.iter().any(|status| answers(*status, observed)) {
        note(format!("status {:?}", expected.status));
    }
    if expected.expect_error && expected.expects_no_log() {
        note("a refused or incomplete message".to_owned());
    }
    judge_log(expected, observed, &mut note);
    (!missing.is_empty()).then_some(missing)
}

fn judge_log(expected: &Expected, observed: &Observed, note: &mut impl FnMut(String)) {
    let logged = observed.logged();
    for id in expected.expect_ids.iter().filter(|id| !logged.contains(id)) {
        note(format!("{id} logged"));
    }
    for id in expected.no_expect_ids.iter().filter(|id| logged.contains(id)) {
        note(format!("{id} not logged"));
    }
    if expected.isolated && logged.len() != 1 {
        note("a single rule logged".to_owned());
    }
    if expected.match_regex.is_none() && expected.no_match_regex.is_none() {
        return;
    }
    let lines = observed.log_lines();
    if let Some(pattern) = expected.match_regex.as_ref().filter(|pattern| !matches(pattern, &lines)) {
        note(format!("a log line that matches `{pattern}`"));
    }
    if let Some(pattern) = expected.no_match_regex.as_ref().filter(|pattern| matches(pattern, &lines)) {
        note(format!("no log line that matches `{pattern}`"));
    }
}

fn matches(pattern: &Regex, lines: &[String]) -> bool {
    lines.iter().any(|line| pattern.is_match(line))
}

/// Whether a server with these rules could have answered with this status.
///
/// The tests were written against a web server: 400 is its own refusal, 403 and 405 are its own or those of a rule
/// that scores, and a success is whatever it did not refuse.
fn answers(status: u16, observed: &Observed) -> bool {
    match (status, observed) {
        (403 | 405, Observed::Refused { .. }) => true,
        (_, Observed::Refused { status: refused, .. }) => *refused == status,
        (_, Observed::Judged(outcome)) => match (&outcome.verdict, status) {
            (Verdict::Deny { status: denied, .. }, _) => *denied == status,
            (Verdict::Redirect { status: redirected, .. }, _) => *redirected == status,
            (Verdict::Allow, 200..=299) => true,
            (Verdict::Allow, 403 | 405) => outcome.rules.iter().any(|rule| rule.log && rule.info.severity.is_some()),
            (Verdict::Allow, _) => false,
        },
    }
}

/// What happened besides the log, for the reader of a failure.
pub(super) fn describe(observed: &Observed) -> Option<String> {
    match observed {
        Observed::Refused { status, reason } => Some(format!("refused with {status}: {reason}")),
        Observed::Judged(outcome) if !outcome.faults.is_empty() => Some(format!("{:?}", outcome.faults)),
        Observed::Judged(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AuditEngine, AuditParts, Phase, RuleId, RuleInfo, RuleMatch, Score, Severity};

    fn judged(ids: &[u32], verdict: Verdict) -> Observed {
        let rules = ids.iter().map(|id| logged(*id)).collect();
        let outcome = Outcome {
            verdict,
            would: None,
            score: Score::default(),
            rules,
            not_inspected: Vec::new(),
            faults: Vec::new(),
            deterministic: true,
            audit_engine: AuditEngine::Off,
            audit_parts: AuditParts::default(),
            work: 0,
        };
        Observed::Judged(Box::new(outcome))
    }

    /// Odd ids have a severity.
    fn logged(id: u32) -> RuleMatch {
        let info = RuleInfo {
            id: RuleId::new(id).unwrap(),
            phase: Phase::RequestBody,
            file: "r.conf".into(),
            line: 1,
            msg: String::new(),
            severity: (id % 2 == 1).then_some(Severity::Critical),
            tags: Vec::new(),
            ver: String::new(),
            rev: String::new(),
            maturity: String::new(),
            accuracy: String::new(),
        };
        RuleMatch {
            info: info.into(),
            msg: b"m".to_vec(),
            data: Vec::new(),
            expanded_tags: None,
            matches: Vec::new(),
            log: true,
            audit: true,
            disruptive: false,
        }
    }

    fn refused() -> Observed {
        Observed::Refused { status: 400, reason: "no".to_owned() }
    }

    fn status(status: &[u16]) -> Expected {
        Expected { status: status.to_vec(), ..Expected::default() }
    }

    fn deny(status: u16) -> Verdict {
        Verdict::Deny { status, rule: None, close: false }
    }

    #[test]
    fn stages_are_judged_by_status_ids_and_log_lines() {
        let ids = |yes: &[u32], no: &[u32]| Expected {
            expect_ids: yes.to_vec(),
            no_expect_ids: no.to_vec(),
            ..Expected::default()
        };
        let pattern = |text: &str| Some(Regex::new(text).unwrap());
        let found = |text| Expected { match_regex: pattern(text), ..Expected::default() };
        let not_found = |text| Expected { no_match_regex: pattern(text), ..Expected::default() };
        let error = Expected { expect_error: true, ..Expected::default() };
        let error_or_log = Expected { expect_error: true, expect_ids: vec![7], ..Expected::default() };
        let isolated = Expected { isolated: true, ..Expected::default() };
        let allowed = |ids: &[u32]| judged(ids, Verdict::Allow);
        let cases = [
            (ids(&[1, 2], &[3]), allowed(&[2, 1]), None),
            (ids(&[1, 2], &[3]), allowed(&[3, 1]), Some("2 logged; 3 not logged")),
            (ids(&[1], &[]), refused(), Some("1 logged")),
            (ids(&[], &[1]), refused(), None),
            (found(r#"id "12"\] \[msg"#), allowed(&[12]), None),
            (found(r#"id "1"\]"#), allowed(&[12]), Some(r#"a log line that matches `id "1"\]`"#)),
            (not_found("id"), allowed(&[]), None),
            (not_found("id"), allowed(&[2]), Some("no log line that matches `id`")),
            (status(&[400]), refused(), None),
            (status(&[400]), allowed(&[1]), Some("status [400]")),
            (status(&[400]), judged(&[], deny(400)), None),
            (status(&[403, 400]), allowed(&[1]), None),
            (status(&[405]), refused(), None),
            (status(&[403]), allowed(&[2]), Some("status [403]")),
            (status(&[404]), allowed(&[1]), Some("status [404]")),
            (status(&[404]), refused(), Some("status [404]")),
            (status(&[200]), allowed(&[1]), None),
            (status(&[200]), refused(), Some("status [200]")),
            (status(&[200]), judged(&[], deny(403)), Some("status [200]")),
            (error.clone(), refused(), None),
            (error, allowed(&[1]), Some("a refused or incomplete message")),
            (error_or_log.clone(), allowed(&[7]), None),
            (error_or_log, allowed(&[1]), Some("7 logged")),
            (isolated.clone(), allowed(&[1]), None),
            (isolated, allowed(&[1, 2]), Some("a single rule logged")),
        ];
        for (expected, observed, missing) in cases {
            assert_eq!(judge(&expected, &observed).as_deref(), missing, "{expected:?} of {:?}", observed.logged());
        }
    }
}
