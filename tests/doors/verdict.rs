//! How a test ended, by what was sent, who answered, and what arrived.

use portcullis::engine::{self, Inputs, Scratch};
use portcullis::ftw::{Expected, Observed, judge};
use portcullis::input::{RequestBuf, parse_raw};
use portcullis::model::{Fault, NotInspected, Outcome, RuleMatch};
use portcullis::ruleset::RuleSet;

use crate::arrived::{self, Seen};
use crate::client::Answer;
use crate::record::{Message, REDACTED, Record, shown};
use crate::rewriting;
use crate::support::{Checked, ensure};

/// How a stage, or a test, ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// As the test expects.
    Passed,
    /// The test's expectation does not hold because of what the proxy did.
    Class(String),
    /// It does not hold for the request as it was sent either.
    Unmet(String),
    /// Something that no proxy excuses.
    Failed(String),
}

/// The rules, in this process.
pub(crate) struct Oracle<'r> {
    pub(crate) rules: &'r RuleSet,
    pub(crate) seen: &'r Seen,
    pub(crate) scratch: Scratch,
}

/// What is known of a request that was let through.
pub(crate) struct Let<'a> {
    pub(crate) record: Option<&'a Record>,
    pub(crate) backend: Option<&'a [u8]>,
}

impl Oracle<'_> {
    /// Judges a stage.
    pub(crate) fn judge(&mut self, bytes: &[u8], expected: &Expected, answer: &Answer, found: Let<'_>) -> End {
        match answer {
            Answer::Passed(id) => self.passed(bytes, expected, id, found).unwrap_or_else(End::Failed),
            Answer::Refused(status @ 502..=504) => End::Failed(format!("the proxy answered {status}")),
            Answer::Refused(status) => refused(bytes, expected, *status, "proxy"),
            Answer::RefusedByUs(status) if parse_raw(bytes).is_err() => refused(bytes, expected, *status, "sidecar"),
            Answer::RefusedByUs(status) => End::Failed(format!("the sidecar refused it with {status}")),
            Answer::Nothing => refused(bytes, expected, 0, "proxy"),
        }
    }

    fn passed(&mut self, bytes: &[u8], expected: &Expected, id: &str, found: Let<'_>) -> Checked<End> {
        let record = found.record.ok_or_else(|| format!("no audit record {id:?}"))?;
        let backend = found.backend.ok_or("the application keeps no such request")?;
        let arrived = arrived::request(record, backend, self.seen)?;
        let outcome = self.evaluate(&arrived);
        same(record, &outcome)?;
        let Some(unmet) = judge(expected, &Observed::Judged(Box::new(outcome))) else { return Ok(End::Passed) };
        let sent = match parse_raw(bytes) {
            Ok(sent) => sent,
            Err(refusal) => return Ok(End::Class(format!("let through: {}", refusal.reason))),
        };
        let holds = |request: &RequestBuf| {
            let outcome = self.evaluate(request);
            judge(expected, &Observed::Judged(Box::new(outcome))).is_none()
        };
        let blame = rewriting::to_blame(&sent, &arrived, holds);
        Ok(blame.map_or(End::Unmet(unmet), |name| End::Class(format!("rewritten: {name}"))))
    }

    fn evaluate(&mut self, request: &RequestBuf) -> Outcome {
        request.with_request(|request| engine::evaluate(self.rules, request, &Inputs::default(), &mut self.scratch))
    }
}

/// The proxy, or the sidecar's door, answered in the place of the rules, with 0 for not at all. Where the tests expect
/// that a front end does, all is well.
fn refused(bytes: &[u8], expected: &Expected, status: u16, who: &str) -> End {
    let observed = Observed::Refused { status, reason: String::new() };
    if parse_raw(bytes).is_err() && judge(expected, &observed).is_none() {
        return End::Passed;
    }
    End::Class(match status {
        0 => "refused: no answer".to_owned(),
        200..300 => format!("refused: answered by the {who} with {status}"),
        300..400 => format!("refused: sent elsewhere by the {who} with {status}"),
        _ => format!("refused: by the {who} with {status}"),
    })
}

/// The proof that the door changes nothing: the sidecar's result is that of the rules on the request that arrived.
fn same(record: &Record, outcome: &Outcome) -> Checked {
    let told = &record.portcullis;
    let faults: Vec<String> = outcome.faults.iter().copied().map(fault).collect();
    ensure(told.faults == faults, || format!("faults: live {:?}, in process {faults:?}", told.faults))?;
    // Detection lets everything pass; what could not be judged to its end is let pass as an error.
    let verdict = if faults.is_empty() { "allow" } else { "error" };
    ensure(told.verdict == verdict, || format!("{} because of {:?}", told.verdict, told.failure))?;
    let ours: Vec<&RuleMatch> = outcome.rules.iter().filter(|rule| rule.audit).collect();
    let ids: Vec<String> = ours.iter().map(|rule| rule.info.id.to_string()).collect();
    let live: Vec<&str> = record.messages.iter().map(|message| message.details.rule_id.as_str()).collect();
    ensure(ids == live, || format!("live {live:?}, in process {ids:?}"))?;
    for (message, rule) in record.messages.iter().zip(ours) {
        ensure(says(message, rule), || {
            format!("rule {}: {}, {}", rule.info.id, message.message, message.details.data)
        })?;
    }
    let inbound = record.portcullis.score.inbound;
    ensure(inbound == outcome.score.inbound, || {
        format!("score: live {inbound}, in process {}", outcome.score.inbound)
    })?;
    let would = outcome.would.as_ref().map(|would| would.name().to_owned());
    ensure(record.portcullis.would == would, || format!("would: live {:?}", record.portcullis.would))?;
    let not: Vec<&str> = outcome.not_inspected.iter().copied().map(NotInspected::name).collect();
    ensure(record.portcullis.not_inspected == not, || {
        format!("not inspected: live {:?}, in process {not:?}", record.portcullis.not_inspected)
    })
}

fn fault(fault: Fault) -> String {
    match fault {
        Fault::MatchLimit(rule) => format!("match_limit:{rule}"),
        Fault::BudgetSpent => "budget".to_owned(),
        Fault::DeadlinePassed => "deadline".to_owned(),
    }
}

/// Whether a recorded message is that of this match, as far as it was recorded.
fn says(message: &Message, rule: &RuleMatch) -> bool {
    const MAX_TEXT: usize = 2 << 10;
    let is = |recorded: &str, bytes: &[u8]| {
        recorded == REDACTED || recorded == shown(bytes.get(..MAX_TEXT).unwrap_or(bytes))
    };
    let severity = rule.info.severity.map_or_else(String::new, |severity| severity.number().to_string());
    is(&message.message, &rule.msg)
        && is(&message.details.data, &rule.data)
        && message.details.severity == severity
        && message.details.tags == rule.tags()
}
