//! What one request may cost, and how much may be going on at once.
//!
//! Knows no rules and no door.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Units of work (bytes given to operators and transformations) for each byte of the largest body that is inspected.
/// Half of it is the most that any shape of value we know costs under the CRS at paranoia level 4, attacks of all kinds one
/// after the other; ordinary requests stay below a thousandth of the whole.
const WORK_PER_BODY_BYTE: u64 = 1_024;

/// Smaller body limits do not lower the work limit: targets and headers cost as much.
const LEAST_BODY_LIMIT: usize = 128 << 10;

/// Units of work after which an evaluation gives up, under a policy that inspects bodies up to this limit. A bound that
/// does not depend on how busy the machine is, as the deadline does.
pub fn work_limit(body_limit: usize) -> u64 {
    WORK_PER_BODY_BYTE.saturating_mul(body_limit.max(LEAST_BODY_LIMIT) as u64)
}

/// Calls that may be in flight at once, whatever they carry.
const MAX_CALLS: usize = 4096;

/// Body bytes that calls in flight may hold together.
const MAX_BODY_BYTES: usize = 256 << 20;

/// The earlier of the policy's deadline and the caller's.
pub(super) fn deadline(policy: Instant, caller: Option<Instant>) -> Instant {
    caller.map_or(policy, |caller| caller.min(policy))
}

/// How much may be in flight at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Calls, whatever they carry.
    pub calls: usize,
    /// Bytes of bodies that these calls hold together.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: MAX_CALLS, bytes: MAX_BODY_BYTES }
    }
}

/// Counts calls and bytes in flight and refuses those that would be too many.
#[derive(Clone, Default, Debug)]
pub struct Gate(Arc<InFlight>);

#[derive(Default, Debug)]
struct InFlight {
    limits: Limits,
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

impl Gate {
    /// A gate with these bounds.
    pub fn new(limits: Limits) -> Self {
        Self(Arc::new(InFlight { limits, ..InFlight::default() }))
    }

    /// Lets a call in; `None` when it is to be shed.
    pub fn enter(&self) -> Option<Pass> {
        let pass = Pass { gate: self.clone(), bytes: 0 };
        let calls = self.0.calls.fetch_add(1, Ordering::Relaxed);
        (calls < self.0.limits.calls).then_some(pass)
    }

    /// Calls in flight.
    pub(super) fn calls(&self) -> usize {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Body bytes in flight.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes.load(Ordering::Relaxed)
    }
}

/// A call's leave to be here; dropping it makes room.
#[derive(Debug)]
pub struct Pass {
    gate: Gate,
    bytes: usize,
}

impl Pass {
    /// Asks for room for that many more body bytes, before they are read; `false` when there is none.
    #[must_use]
    pub fn hold(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        let held = self.gate.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A body alone in the house is let in however large it is: the doors bound it.
        held == 0 || held.saturating_add(bytes) <= self.gate.0.limits.bytes
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gate.0.calls.fetch_sub(1, Ordering::Relaxed);
        if self.bytes > 0 {
            self.gate.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_sheds_and_makes_room_again() {
        let gate = Gate::new(Limits { calls: 3, bytes: 10 });
        let mut first = gate.enter().unwrap();
        assert!(first.hold(11), "alone");
        let mut second = gate.enter().unwrap();
        assert!(!second.hold(1));
        drop((first, second));
        assert_eq!((gate.calls(), gate.bytes()), (0, 0));
        let mut all: Vec<_> = (0..3).map(|_| gate.enter().unwrap()).collect();
        assert!(gate.enter().is_none());
        assert!(all[0].hold(4) && all[1].hold(6) && !all[2].hold(1));
        drop(all);
        assert_eq!((gate.calls(), gate.bytes()), (0, 0));
    }

    #[test]
    fn the_work_limit_grows_with_the_body_limit() {
        assert_eq!(work_limit(1 << 20), 8 * work_limit(128 << 10));
        assert_eq!(work_limit(0), work_limit(128 << 10));
        assert!(work_limit(usize::MAX) >= work_limit(1 << 40));
    }

    #[test]
    fn the_earlier_deadline_wins() {
        let now = Instant::now();
        let later = now + std::time::Duration::from_secs(1);
        assert_eq!(deadline(now, Some(later)), now);
        assert_eq!(deadline(later, Some(now)), now);
        assert_eq!(deadline(later, None), later);
    }
}
