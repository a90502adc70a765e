//! From what the rules said to what is answered: body policy, mode, faults, status.
//!
//! Pure functions of outcome and policy; the same for every door, for the command line, and for a cached outcome.

use crate::config::{BodyPolicy, Mode, OnFailure, Policy};
use crate::model::{NotInspected, Outcome, Verdict};

use super::{Answer, FailureKind, failure};

/// Applies the policy's settings to a fresh outcome: the body policy, and detection mode, whatever the rules enforce.
pub fn settle(outcome: &mut Outcome, policy: &Policy) {
    if policy.mode != Mode::Block {
        let enforced = std::mem::replace(&mut outcome.verdict, Verdict::Allow);
        outcome.would = outcome.would.take().or((!enforced.is_allow()).then_some(enforced));
    }
    let Some(refusal) = body_refusal(&outcome.not_inspected, &policy.body) else { return };
    match policy.mode {
        Mode::Block if outcome.verdict.is_allow() => outcome.verdict = refusal,
        Mode::Block => {}
        Mode::Detect | Mode::Off => outcome.would = outcome.would.take().or(Some(refusal)),
    }
}

/// What is answered to a settled outcome.
///
/// A refusal stands even where something went wrong on the way; a pass does not.
pub fn answer(outcome: &Outcome, policy: &Policy) -> Answer {
    match (&outcome.verdict, outcome.faults.first()) {
        (Verdict::Allow, Some(fault)) => failure::answer(policy, FailureKind::of_fault(*fault)),
        (Verdict::Allow, None) => Answer::Allow,
        (Verdict::Deny { status, close, .. }, _) => {
            Answer::Deny { status: policy.deny_status.unwrap_or(*status), close: *close }
        }
        (Verdict::Redirect { status, location, .. }, _) => {
            Answer::Redirect { status: *status, location: location.clone() }
        }
    }
}

/// The refusal that the body policy asks for, if it does.
fn body_refusal(not_inspected: &[NotInspected], body: &BodyPolicy) -> Option<Verdict> {
    let status = not_inspected.iter().find_map(|reason| refused_with(*reason, body))?;
    Some(Verdict::Deny { status, rule: None, close: false })
}

/// The status with which a request is refused for this reason; `None` lets it pass. Skipping a body is what a rule asked
/// for, and too many arguments are for the rules to judge (`REQBODY_ERROR` and CRS 920380).
fn refused_with(reason: NotInspected, body: &BodyPolicy) -> Option<u16> {
    let (setting, status) = match reason {
        NotInspected::BodyOverLimit => (body.over_limit, 413),
        NotInspected::BodyPartial => (body.partial, 413),
        NotInspected::BodyUndecodable => (body.undecodable, 400),
        NotInspected::BodyAbsent => (body.absent, 403),
        NotInspected::BodySkipped | NotInspected::ArgumentsOverLimit => return None,
    };
    (setting == OnFailure::Deny).then_some(status)
}

#[cfg(test)]
mod tests {
    use crate::model::{Fault, RuleId};
    use crate::service::testing::outcome;

    use super::*;

    const DENY_ALL: BodyPolicy = BodyPolicy {
        limit: 1,
        over_limit: OnFailure::Deny,
        partial: OnFailure::Deny,
        undecodable: OnFailure::Deny,
        absent: OnFailure::Deny,
        doctype: OnFailure::Deny,
    };
    const ALLOW_ALL: BodyPolicy = BodyPolicy {
        limit: 1,
        over_limit: OnFailure::Allow,
        partial: OnFailure::Allow,
        undecodable: OnFailure::Allow,
        absent: OnFailure::Allow,
        doctype: OnFailure::Allow,
    };

    fn deny(status: u16) -> Verdict {
        Verdict::Deny { status, rule: RuleId::new(7), close: false }
    }

    #[test]
    fn body_policy_in_every_mode() {
        let expected = [
            (NotInspected::BodyAbsent, Some(403)),
            (NotInspected::BodyPartial, Some(413)),
            (NotInspected::BodyOverLimit, Some(413)),
            (NotInspected::BodyUndecodable, Some(400)),
            (NotInspected::BodySkipped, None),
            (NotInspected::ArgumentsOverLimit, None),
        ];
        assert_eq!(expected.len(), NotInspected::ALL.len());
        for (reason, status) in expected {
            let refusal = status.map(|status| Verdict::Deny { status, rule: None, close: false });
            let settled = |mode, body| {
                let mut outcome = Outcome { not_inspected: vec![reason], ..outcome(Verdict::Allow) };
                settle(&mut outcome, &Policy { mode, body, ..Policy::default() });
                (outcome.verdict, outcome.would)
            };
            assert_eq!(settled(Mode::Block, DENY_ALL), (refusal.clone().unwrap_or(Verdict::Allow), None), "{reason:?}");
            assert_eq!(settled(Mode::Detect, DENY_ALL), (Verdict::Allow, refusal), "{reason:?}");
            assert_eq!(settled(Mode::Block, ALLOW_ALL), (Verdict::Allow, None), "{reason:?}");
        }
    }

    #[test]
    fn the_rules_verdict_comes_first() {
        let mut denied = Outcome { not_inspected: vec![NotInspected::BodyPartial], ..outcome(deny(406)) };
        settle(&mut denied, &Policy::default());
        assert_eq!(denied.verdict, deny(406));
    }

    #[test]
    fn detection_mode_never_enforces() {
        let mut denied = outcome(deny(403));
        settle(&mut denied, &Policy { mode: Mode::Detect, ..Policy::default() });
        assert_eq!((denied.verdict, denied.would), (Verdict::Allow, Some(deny(403))));
    }

    #[test]
    fn answers() {
        let block = Policy::default();
        let nginx = Policy { deny_status: Some(403), ..Policy::default() };
        let faulty = |verdict| Outcome { faults: vec![Fault::BudgetSpent], ..outcome(verdict) };
        assert_eq!(answer(&outcome(Verdict::Allow), &block), Answer::Allow);
        assert_eq!(answer(&outcome(deny(406)), &block), Answer::Deny { status: 406, close: false });
        assert_eq!(answer(&outcome(deny(406)), &nginx), Answer::Deny { status: 403, close: false });
        assert_eq!(answer(&faulty(deny(406)), &block), Answer::Deny { status: 406, close: false });
        let failure = Answer::Failure { kind: FailureKind::Budget, open: false };
        assert_eq!(answer(&faulty(Verdict::Allow), &block), failure);
    }
}
