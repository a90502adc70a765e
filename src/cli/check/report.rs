//! A verdict as it is printed. The JSON form is a contract: scripts read it.

use serde::Serialize;

use super::Judged;
use crate::config::{Mode, Policy};
use crate::input::Refusal;
use crate::model::{Outcome, RuleMatch, Score, Severity, Verdict};
use crate::service::{Answer, policy};

/// One request's verdict.
#[derive(Serialize, Debug)]
pub(super) struct Report<'o> {
    pub(super) id: &'o str,
    /// What is enforced.
    #[serde(flatten)]
    pub(super) said: Said<'o>,
    /// In detection mode: what blocking mode would have said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) would: Option<Said<'o>>,
    pub(super) score: ScoreReport,
    pub(super) rules: Vec<RuleReport<'o>>,
    pub(super) not_inspected: Vec<&'static str>,
    pub(super) eval_us: u64,
}

/// A verdict with what belongs to it.
#[derive(Clone, Serialize, PartialEq, Eq, Debug)]
pub(super) struct Said<'o> {
    /// `allow`, `deny` or `redirect`.
    pub(super) verdict: &'static str,
    pub(super) status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) location: Option<&'o str>,
    /// Why, where no rule said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<&'o str>,
}

#[derive(Serialize, Default, Debug)]
pub(super) struct ScoreReport {
    pub(super) inbound: i64,
    pub(super) threshold: i64,
    pub(super) per_pl: [i64; 4],
}

/// A rule that is logged.
#[derive(Serialize, Debug)]
pub(super) struct RuleReport<'o> {
    pub(super) id: u32,
    pub(super) msg: String,
    pub(super) severity: Option<&'static str>,
    pub(super) phase: u8,
    pub(super) tags: &'o [String],
    pub(super) matches: Vec<MatchReport>,
    /// With `--explain`.
    #[serde(flatten)]
    pub(super) why: Option<Why<'o>>,
}

#[derive(Serialize, Debug)]
pub(super) struct MatchReport {
    pub(super) variable: String,
    pub(super) value: String,
}

/// What `--explain` adds.
#[derive(Serialize, Debug)]
pub(super) struct Why<'o> {
    pub(super) file: &'o str,
    pub(super) line: u32,
    pub(super) data: String,
    /// What the rule added to the anomaly score, where that is certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) adds: Option<i64>,
    /// The paranoia level whose score it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) paranoia: Option<usize>,
    pub(super) disruptive: bool,
}

const ALLOW: Said<'static> = Said { verdict: "allow", status: 200, location: None, reason: None };

impl<'o> Report<'o> {
    /// The report on a request that was judged.
    pub(super) fn new(id: &'o str, judged: &'o Judged, policy: &Policy, explain: bool) -> Self {
        let eval_us = u64::try_from(judged.evaluation.as_micros()).unwrap_or(u64::MAX);
        let Some(outcome) = &judged.outcome else { return Self { eval_us, ..Self::allowed(id) } };
        let logged = outcome.rules.iter().filter(|rule| rule.log);
        Self {
            id,
            said: said(outcome, policy),
            would: (policy.mode == Mode::Detect)
                .then(|| outcome.would.as_ref().map_or(ALLOW, |would| wanted(would, policy))),
            score: ScoreReport::new(&outcome.score),
            rules: logged.map(|rule| RuleReport::new(rule, outcome, explain)).collect(),
            not_inspected: outcome.not_inspected.iter().map(|part| part.name()).collect(),
            eval_us,
        }
    }

    /// The report on a message that the front end refuses; it does so whatever the mode.
    pub(super) fn refused(id: &'o str, refusal: Refusal) -> Self {
        let said = Said { verdict: "deny", status: refusal.status, location: None, reason: Some(refusal.reason) };
        Self { said, ..Self::allowed(id) }
    }

    const fn allowed(id: &'o str) -> Self {
        Self {
            id,
            said: ALLOW,
            would: None,
            score: ScoreReport { inbound: 0, threshold: 0, per_pl: [0; 4] },
            rules: Vec::new(),
            not_inspected: Vec::new(),
            eval_us: 0,
        }
    }
}

/// What the server would answer.
fn said<'o>(outcome: &'o Outcome, policy: &Policy) -> Said<'o> {
    match policy::answer(outcome, policy) {
        Answer::Failure { kind, open: true } => Said { reason: Some(kind.name()), ..ALLOW },
        Answer::Failure { kind, open: false } => {
            Said { verdict: "deny", status: 503, location: None, reason: Some(kind.name()) }
        }
        Answer::Allow | Answer::Deny { .. } | Answer::Redirect { .. } => wanted(&outcome.verdict, policy),
    }
}

fn wanted<'o>(verdict: &'o Verdict, policy: &Policy) -> Said<'o> {
    match verdict {
        Verdict::Allow => ALLOW,
        Verdict::Deny { status, rule, .. } => Said {
            verdict: "deny",
            status: policy.deny_status.unwrap_or(*status),
            location: None,
            reason: rule.is_none().then_some("body not inspected"),
        },
        Verdict::Redirect { status, location, .. } => {
            Said { verdict: "redirect", status: *status, location: Some(location), reason: None }
        }
    }
}

impl ScoreReport {
    const fn new(score: &Score) -> Self {
        Self { inbound: score.inbound, threshold: score.threshold, per_pl: score.per_pl }
    }
}

impl<'o> RuleReport<'o> {
    fn new(rule: &'o RuleMatch, outcome: &Outcome, explain: bool) -> Self {
        let info = &rule.info;
        // An action that matches always (`SecAction`) has nothing it matched on.
        let matches = rule
            .matches
            .iter()
            .filter(|matched| !matched.variable.is_empty())
            .map(|matched| MatchReport { variable: readable(&matched.variable), value: readable(&matched.value) });
        Self {
            id: info.id.get(),
            msg: readable(&rule.msg),
            severity: info.severity.map(Severity::name),
            phase: info.phase.number(),
            tags: rule.tags(),
            matches: matches.collect(),
            why: explain.then(|| Why {
                file: &info.file,
                line: info.line,
                data: readable(&rule.data),
                adds: paranoia(rule).and_then(|level| adds(rule, level, outcome)),
                paranoia: paranoia(rule),
                disruptive: rule.disruptive,
            }),
        }
    }
}

/// The paranoia level that CRS writes into a rule's tags, 1 to 4.
fn paranoia(rule: &RuleMatch) -> Option<usize> {
    let level = rule.tags().iter().find_map(|tag| tag.strip_prefix("paranoia-level/"))?;
    level.parse().ok().filter(|level| (1..=4).contains(level))
}

/// What a rule added to the score of its level. The engine tells sums only; where the usual points of the rules that
/// matched make up the sum exactly, each one's share is certain enough to be shown.
fn adds(rule: &RuleMatch, level: usize, outcome: &Outcome) -> Option<i64> {
    let of_level = outcome.rules.iter().filter(|other| paranoia(other) == Some(level));
    let sum: i64 = of_level.filter_map(points).sum();
    let actual = outcome.score.per_pl.get(level - 1).copied();
    points(rule).filter(|_| actual == Some(sum))
}

/// The points of a severity where `crs-setup.conf` is as it comes.
fn points(rule: &RuleMatch) -> Option<i64> {
    match rule.info.severity? {
        Severity::Critical => Some(5),
        Severity::Error => Some(4),
        Severity::Warning => Some(3),
        Severity::Notice => Some(2),
        Severity::Emergency | Severity::Alert | Severity::Info | Severity::Debug => None,
    }
}

/// Text as it is, and `\xff` for each byte that is no UTF-8.
pub(super) fn readable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from));
    }
    text
}

#[cfg(test)]
mod tests;
