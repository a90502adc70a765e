//! What one request may cost, and how much may be going on at once.
//!
//! Knows no rules and no door.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Units of work (bytes given to operators and transformations) after which an evaluation gives up. Far above what the
/// largest body that is inspected costs under CRS at paranoia level 4; the deadline is what usually ends an evaluation.
pub const WORK_LIMIT: u64 = 4 << 30;

/// Calls that may be in flight at once, whatever they carry.
pub(super) const MAX_CALLS: usize = 4096;

/// Body bytes that calls in flight may hold together.
pub(super) const MAX_BODY_BYTES: usize = 256 << 20;

/// The earlier of the policy's deadline and the caller's.
pub(super) fn deadline(policy: Instant, caller: Option<Instant>) -> Instant {
    caller.map_or(policy, |caller| caller.min(policy))
}

/// Counts calls and bytes in flight and refuses those that would be too many.
#[derive(Default, Debug)]
pub(super) struct Gate {
    calls: AtomicUsize,
    bytes: AtomicUsize,
}

impl Gate {
    /// Lets a call in that holds this many body bytes; `None` when it is to be shed.
    pub(super) fn enter(&self, bytes: usize) -> Option<Pass<'_>> {
        let pass = Pass { gate: self, bytes };
        let calls = self.calls.fetch_add(1, Ordering::Relaxed);
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        // A call alone in the house is let in however large it is: the doors bound the body.
        let fits = calls < MAX_CALLS && (held == 0 || held.saturating_add(bytes) <= MAX_BODY_BYTES);
        fits.then_some(pass)
    }

    /// Calls in flight.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Body bytes in flight.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A call's leave to be here; dropping it makes room.
#[derive(Debug)]
pub struct Pass<'g> {
    gate: &'g Gate,
    bytes: usize,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.gate.calls.fetch_sub(1, Ordering::Relaxed);
        self.gate.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_sheds_and_makes_room_again() {
        let gate = Gate::default();
        let first = gate.enter(MAX_BODY_BYTES + 1);
        assert!(first.is_some(), "alone");
        assert!(gate.enter(1).is_none());
        assert_eq!((gate.calls(), gate.bytes()), (1, MAX_BODY_BYTES + 1));
        drop(first);
        assert!(gate.enter(1).is_some());
        let all: Vec<_> = (0..MAX_CALLS).map(|_| gate.enter(0)).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(gate.enter(0).is_none());
        drop(all);
        assert_eq!((gate.calls(), gate.bytes()), (0, 0));
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
