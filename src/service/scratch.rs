//! Scratch memory of evaluations, kept warm between requests.
//!
//! A pool belongs to one rule set, since a scratch may hold caches of that set's patterns.

use std::sync::Mutex;

use crate::engine::Scratch;

/// As many scratches as are kept; more evaluations at once than this allocate.
const SLOTS: usize = 64;

/// A pool that never blocks: a slot in use by another thread at this very moment is passed over.
#[derive(Debug)]
pub(super) struct Pool {
    slots: [Mutex<Option<Box<Scratch>>>; SLOTS],
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { slots: std::array::from_fn(|_| Mutex::new(None)) }
    }

    /// A scratch, warm if there is one.
    pub(super) fn take(&self) -> Box<Scratch> {
        self.slots.iter().find_map(|slot| slot.try_lock().ok()?.take()).unwrap_or_default()
    }

    /// Gives a scratch back. One that was in use during a panic must not come back: its state is unknown.
    pub(super) fn put(&self, scratch: Box<Scratch>) {
        let free = self.slots.iter().filter_map(|slot| slot.try_lock().ok()).find(|slot| slot.is_none());
        if let Some(mut slot) = free {
            *slot = Some(scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratches_come_back_and_the_pool_is_bounded() {
        let pool = Pool::new();
        for _ in 0..SLOTS * 2 {
            pool.put(Box::default());
        }
        let kept = pool.slots.iter().filter(|slot| slot.lock().unwrap().is_some()).count();
        assert_eq!(kept, SLOTS);
        pool.take();
        assert!(pool.slots[0].lock().unwrap().is_none());
    }
}
