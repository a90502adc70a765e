//! The failure policy: the one place that decides what our own failures do to a request.
//!
//! Knows no door: each puts [`Answer::Failure`] into its proxy's words (gRPC UNAVAILABLE, HTTP 503, or a pass).

use crate::config::{Mode, OnFailure, Policy};
use crate::model::Fault;

use super::{Answer, FailureKind};

impl FailureKind {
    /// Every kind there is, for tables and metrics.
    pub const ALL: [Self; 8] = [
        Self::Panic,
        Self::Deadline,
        Self::Overload,
        Self::Budget,
        Self::MatchLimit,
        Self::Undecodable,
        Self::UnknownPolicy,
        Self::Internal,
    ];

    /// The failure that a fault in an evaluation amounts to.
    pub(super) const fn of_fault(fault: Fault) -> Self {
        match fault {
            Fault::MatchLimit(_) => Self::MatchLimit,
            Fault::BudgetSpent => Self::Budget,
            Fault::DeadlinePassed => Self::Deadline,
        }
    }
}

/// What a failure is answered with.
///
/// A policy that does not enforce (`detect`, `off`) promises never to stop a request, so it fails open whatever
/// `on_error` says.
pub(super) fn answer(policy: &Policy, kind: FailureKind) -> Answer {
    let open = match policy.mode {
        Mode::Block => policy.on_error == OnFailure::Allow,
        Mode::Detect | Mode::Off => true,
    };
    Answer::Failure { kind, open }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_against_every_policy() {
        let table = [
            (Mode::Block, OnFailure::Deny, false),
            (Mode::Block, OnFailure::Allow, true),
            (Mode::Detect, OnFailure::Deny, true),
            (Mode::Detect, OnFailure::Allow, true),
            (Mode::Off, OnFailure::Deny, true),
            (Mode::Off, OnFailure::Allow, true),
        ];
        let mut ran = 0;
        for (mode, on_error, open) in table {
            for kind in FailureKind::ALL {
                let policy = Policy { mode, on_error, ..Policy::default() };
                assert_eq!(answer(&policy, kind), Answer::Failure { kind, open }, "{mode:?} {on_error:?}");
                ran += 1;
            }
        }
        assert_eq!(ran, 48);
    }

    #[test]
    fn kinds_have_names_of_their_own() {
        let mut names: Vec<&str> = FailureKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FailureKind::ALL.len());
    }
}
