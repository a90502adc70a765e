//! How much may be under way at once: calls, and bytes of bodies held for them.
//!
//! Knows no door and no policy. What does not fit is turned away at once, before anything is read, rather than queued:
//! a proxy that gives up after 200 ms gains nothing from an answer that comes later.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds on the work under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Calls.
    pub calls: usize,
    /// Bytes of messages and bodies held in memory for these calls.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { calls: 1024, bytes: 128 << 20 }
    }
}

/// Counts what is under way.
#[derive(Clone, Debug)]
pub struct Gate {
    calls: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

/// The right to be under way; given back when dropped.
#[derive(Debug)]
pub struct Pass(
    #[expect(dead_code, reason = "held, never read: dropping it gives the permit back")] OwnedSemaphorePermit,
);

impl Gate {
    /// A gate with these bounds.
    pub fn new(limits: Limits) -> Self {
        let permits = |number: usize| Arc::new(Semaphore::new(number.min(Semaphore::MAX_PERMITS)));
        Self { calls: permits(limits.calls), bytes: permits(limits.bytes) }
    }

    /// Lets one more call in, or none.
    pub fn enter(&self) -> Option<Pass> {
        Arc::clone(&self.calls).try_acquire_owned().ok().map(Pass)
    }

    /// Lets that many more bytes in, or none.
    pub fn hold(&self, bytes: usize) -> Option<Pass> {
        let bytes = u32::try_from(bytes).ok()?;
        Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok().map(Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_bounded_and_come_back() {
        let gate = Gate::new(Limits { calls: 2, bytes: 10 });
        let (first, second) = (gate.enter(), gate.enter());
        assert!(first.is_some() && second.is_some() && gate.enter().is_none());
        drop(first);
        assert!(gate.enter().is_some());
        let held = gate.hold(8);
        assert!(held.is_some() && gate.hold(3).is_none());
        drop(held);
        assert!(gate.hold(10).is_some() && gate.hold(11).is_none() && gate.hold(usize::MAX).is_none());
    }
}
