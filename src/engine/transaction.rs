//! One request on its way through the phases.

use super::scratch::{Scratch, Work};
use super::state::State;
use super::{Inputs, Path, input};
use crate::model::{Body, Fault, NotInspected, Outcome, Phase, Request, RuleMatch, Score, Verdict};
use crate::ruleset::RuleSet;
use crate::ruleset::index::TxSlot;
use crate::ruleset::rule::{AllowScope, Disruptive, Rule};
use crate::ruleset::settings::{EngineMode, LimitAction};

/// Statuses a redirect may have; any other becomes 302.
const REDIRECT_STATUSES: [u16; 4] = [301, 302, 303, 307];

/// The limits are looked at once for this much work.
const BETWEEN_CHECKS: u64 = 1 << 16;

/// A transaction: what is fixed, what is read, what changes. The scratch lends everything mutable.
pub(crate) struct Transaction<'a> {
    pub(crate) rules: &'a RuleSet,
    pub(crate) request: &'a Request<'a>,
    pub(crate) inputs: &'a Inputs<'a>,
    pub(crate) input: &'a input::Input,
    pub(crate) state: &'a mut State,
    pub(crate) work: &'a mut Work,
    pub(crate) ended: bool,
    pub(crate) result: Result,
    pub(crate) path: Path,
}

/// What the rules have decided and reported so far.
#[derive(Default, Debug)]
pub(crate) struct Result {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) would: Option<Verdict>,
    pub(crate) allowed: Option<AllowScope>,
    pub(crate) rules: Vec<RuleMatch>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) spent: u64,
    /// At how much work the limits are looked at.
    pub(crate) check_at: u64,
    pub(crate) gave_up: bool,
}

/// Where a phase goes on after a rule.
enum Next {
    Rule,
    Place(usize),
    EndOfPhase,
}

/// Runs the request through phases 1, 2 and 5.
pub(crate) fn evaluate(
    rules: &RuleSet,
    request: &Request<'_>,
    inputs: &Inputs<'_>,
    scratch: &mut Scratch,
    path: Path,
) -> Outcome {
    let Scratch { input, state, work } = scratch;
    state.reset(rules, request);
    // Else the prelude's take their place.
    if path == Path::Plain || state.engine == EngineMode::Off {
        state.tx.reset(rules.tx_names.len());
    }
    work.sieve.reset(&rules.prefilter);
    input.read_request(request, &rules.settings);
    let mut result = Result { check_at: BETWEEN_CHECKS.min(inputs.work_limit), ..Result::default() };
    if state.engine != EngineMode::Off {
        let ended = run_request_phases(rules, request, inputs, (input, state, work), &mut result, path);
        if !ended {
            let mut transaction = Transaction::resume(rules, request, inputs, (input, state, work), result, path);
            transaction.run_phase(Phase::Logging);
            result = transaction.result;
        }
    }
    outcome(rules, (input, state), result)
}

/// Phases 1 and 2 with the body in between. Returns whether the engine was switched off on the way.
fn run_request_phases(
    rules: &RuleSet,
    request: &Request<'_>,
    inputs: &Inputs<'_>,
    (input, state, work): (&mut input::Input, &mut State, &mut Work),
    result: &mut Result,
    path: Path,
) -> bool {
    let mut transaction =
        Transaction::resume(rules, request, inputs, (input, state, work), std::mem::take(result), path);
    transaction.run_phase(Phase::RequestHeaders);
    let (ended, done) = (transaction.ended, transaction.is_decided());
    *result = transaction.result;
    if ended || done {
        return ended;
    }
    if let Some(verdict) = read_body(rules, request, input, state) {
        match state.engine {
            EngineMode::On => {
                result.verdict = Some(verdict);
                return false;
            }
            _ => result.would = result.would.take().or(Some(verdict)),
        }
    }
    let mut transaction =
        Transaction::resume(rules, request, inputs, (input, state, work), std::mem::take(result), path);
    if transaction.spend(transaction.input.body.work()) {
        transaction.run_phase(Phase::RequestBody);
    }
    let ended = transaction.ended;
    *result = transaction.result;
    ended
}

/// Reads the body as phase 1 left the settings. Returns the denial of a body over the limit.
fn read_body(rules: &RuleSet, request: &Request<'_>, input: &mut input::Input, state: &State) -> Option<Verdict> {
    if let Some(gap) = input::body_gap(&request.body) {
        input.note(gap);
    }
    let bytes = request.body.bytes();
    if !state.body_access {
        if !bytes.is_empty() {
            input.note(NotInspected::BodySkipped);
        }
        return None;
    }
    let over = bytes.len() > state.body_limit;
    if over {
        input.note(NotInspected::BodyOverLimit);
    }
    let reading = input::Reading {
        bytes: bytes.get(..state.body_limit).unwrap_or(bytes),
        cut: over || matches!(request.body, Body::Partial(_)),
        processor: &state.body_processor,
        force_variable: state.force_body_variable,
    };
    let reject = over && rules.settings.request_body_limit_action == LimitAction::Reject;
    if reject && state.engine == EngineMode::On {
        return Some(Verdict::Deny { status: 413, rule: None, close: false });
    }
    input.read_body(request, &reading, &rules.settings);
    reject.then_some(Verdict::Deny { status: 413, rule: None, close: false })
}

impl<'a> Transaction<'a> {
    fn resume(
        rules: &'a RuleSet,
        request: &'a Request<'a>,
        inputs: &'a Inputs<'a>,
        (input, state, work): (&'a input::Input, &'a mut State, &'a mut Work),
        result: Result,
        path: Path,
    ) -> Self {
        Self { rules, request, inputs, input, state, work, ended: false, result, path }
    }

    /// Nothing more is to be decided: a verdict is enforced, everything is allowed, or the evaluation gave up.
    fn is_decided(&self) -> bool {
        self.result.verdict.is_some()
            || matches!(self.result.allowed, Some(AllowScope::All | AllowScope::Request))
            || self.gave_up()
    }

    fn run_phase(&mut self, phase: Phase) {
        let rules = self.rules;
        let list = rules.phases.get(phase.index()).map_or(&[][..], Vec::as_slice);
        let mut place = 0;
        if self.path == Path::Prefiltered && phase == Phase::RequestHeaders {
            self.take_prelude();
        }
        while let Some(index) = self.next_rule(list, phase, &mut place) {
            let Some(rule) = rules.rule(index).filter(|_| !self.state.removed.contains(index)) else { continue };
            let prefiltered = self.path == Path::Prefiltered;
            if prefiltered && self.asks_in_vain(rule) {
                continue;
            }
            let relay = rules.prefilter.relay(index).filter(|_| prefiltered);
            let in_vain = relay.is_some_and(|relay| self.relays_in_vain(rule, relay));
            let matched = !in_vain && self.match_rule(rule, index);
            if self.ended || self.gave_up() {
                return;
            }
            if matched {
                match self.after_match(rule, phase) {
                    Next::Rule => {}
                    // Jumps go forward only, so a phase always ends.
                    Next::Place(target) => place = place.max(target),
                    Next::EndOfPhase => return,
                }
            }
        }
    }

    /// The disruptive action and the flow of a rule whose last link matched.
    fn after_match(&mut self, rule: &Rule, phase: Phase) -> Next {
        let next = rule.jump.map_or(Next::Rule, Next::Place);
        if phase == Phase::Logging {
            return next;
        }
        let verdict = match &rule.disruptive {
            Disruptive::Pass => return next,
            Disruptive::Allow(scope) => return self.allow(*scope, next),
            Disruptive::Deny => deny(rule, false),
            Disruptive::Drop => deny(rule, true),
            Disruptive::Redirect(location) => {
                let text = self.expand(location, rule);
                redirect(rule, &text)
            }
        };
        self.mark_disruptive(rule);
        if self.state.engine == EngineMode::On {
            self.result.verdict = Some(verdict);
            return Next::EndOfPhase;
        }
        self.result.would.get_or_insert(verdict);
        next
    }

    /// In detection mode an `allow` does nothing, as in ModSecurity: the log shows what every rule finds.
    fn allow(&mut self, scope: AllowScope, next: Next) -> Next {
        if self.state.engine != EngineMode::On {
            return next;
        }
        self.result.allowed = Some(scope);
        Next::EndOfPhase
    }

    fn mark_disruptive(&mut self, rule: &Rule) {
        if let Some(last) = self.result.rules.last_mut().filter(|last| last.info.id == rule.info.id) {
            last.disruptive = true;
        }
    }

    /// Counts work and tells whether the evaluation has to give up. The deadline is looked at every 64 KiB of work.
    #[inline]
    pub(crate) fn spend(&mut self, units: usize) -> bool {
        let spent = self.result.spent.saturating_add(units as u64);
        if spent <= self.result.check_at && !self.result.gave_up {
            self.result.spent = spent;
            return true;
        }
        self.check(spent)
    }

    /// Looks at the limits, and says when to look again.
    #[cold]
    fn check(&mut self, spent: u64) -> bool {
        if self.gave_up() {
            return false;
        }
        self.result.spent = spent;
        if spent > self.inputs.work_limit {
            self.give_up(Fault::BudgetSpent);
        } else {
            self.result.check_at = spent.saturating_add(BETWEEN_CHECKS).min(self.inputs.work_limit);
            if (self.inputs.expired)() {
                self.give_up(Fault::DeadlinePassed);
            }
        }
        !self.gave_up()
    }

    fn give_up(&mut self, fault: Fault) {
        if !self.gave_up() {
            self.result.faults.push(fault);
            self.result.gave_up = true;
        }
    }

    /// Whether the evaluation ended before the rules were done.
    pub(crate) fn gave_up(&self) -> bool {
        self.result.gave_up
    }
}

fn deny(rule: &Rule, close: bool) -> Verdict {
    Verdict::Deny { status: rule.status.unwrap_or(403), rule: Some(rule.info.id), close }
}

fn redirect(rule: &Rule, location: &[u8]) -> Verdict {
    // A line end or NUL can only come from the client; a header made of it would be split.
    if location.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        return Verdict::Deny { status: 403, rule: Some(rule.info.id), close: false };
    }
    let status = rule.status.filter(|status| REDIRECT_STATUSES.contains(status)).unwrap_or(302);
    Verdict::Redirect { status, location: encode_url(location), rule: rule.info.id }
}

/// Percent-encodes every byte that RFC 3986 does not allow in a URI.
fn encode_url(text: &[u8]) -> String {
    let mut url = String::with_capacity(text.len());
    for byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(byte) {
            url.push(char::from(*byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

fn outcome(rules: &RuleSet, (input, state): (&input::Input, &State), result: Result) -> Outcome {
    Outcome {
        verdict: result.verdict.unwrap_or(Verdict::Allow),
        would: result.would,
        score: score(rules, state),
        rules: result.rules,
        not_inspected: input.not_inspected.clone(),
        faults: result.faults,
        deterministic: !state.read_volatile,
        audit_engine: state.audit_engine,
        audit_parts: state.audit_parts,
        work: result.spent,
    }
}

fn score(rules: &RuleSet, state: &State) -> Score {
    let slots = &rules.score_slots;
    let read = |slot: Option<TxSlot>| slot.and_then(|slot| state.tx.get(slot)).map(super::tx::number);
    Score {
        inbound: read(slots.blocking).or_else(|| read(slots.anomaly)).unwrap_or(0),
        threshold: read(slots.threshold).unwrap_or(0),
        per_pl: slots.per_pl.map(|level| level.into_iter().find_map(read).unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_hold_no_byte_outside_rfc_3986() {
        assert_eq!(encode_url("https://h/ü?a=<b>&c=%20".as_bytes()), "https://h/%C3%BC?a=%3Cb%3E&c=%20");
    }
}
