//! Steps that were followed a moment ago: text that repeats itself takes the same ones again.
//!
//! Of a fixed size, and forgotten at the end of the search.

#![expect(
    clippy::indexing_slicing,
    reason = "places are taken modulo the number of slots, and lengths are checked before they are kept"
)]

use super::conditions::Side;

/// Slots; a step drives out the one in its place.
const SLOTS: usize = 128;

/// Larger sets of states are not kept.
const MAX_STATES: usize = 24;

/// Steps of one search.
#[derive(Default, Debug)]
pub(super) struct Recent {
    slots: Vec<Slot>,
    search: u64,
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    search: u64,
    from: States,
    /// Which class was read with what before it.
    read: (u16, u8),
    to: States,
    row: Option<u16>,
}

/// Some states in the order in which they were found, and their hash.
#[derive(Clone, Copy, Default, Debug)]
struct States {
    states: [u32; MAX_STATES],
    len: u8,
    hash: u64,
}

impl States {
    fn set(&mut self, states: &[u32], hash: u64) {
        self.states[..states.len()].copy_from_slice(states);
        (self.len, self.hash) = (states.len() as u8, hash);
    }

    fn get(&self) -> &[u32] {
        &self.states[..usize::from(self.len)]
    }
}

impl Recent {
    /// Forgets the search before.
    pub(super) fn begin(&mut self) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, Slot::default());
        }
        self.search += 1;
    }

    fn place(hash: u64, (class, before): (u16, u8)) -> usize {
        (hash >> 20) as usize ^ usize::from(class) ^ usize::from(before) << 5
    }

    /// Where these states lead, and the row of the table that this is; `None` when it is not known.
    #[inline]
    pub(super) fn get(
        &self,
        states: &[u32],
        hash: u64,
        class: usize,
        before: Side,
    ) -> Option<(&[u32], u64, Option<u16>)> {
        let read = (class as u16, before as u8);
        let slot = &self.slots[Self::place(hash, read) % SLOTS];
        let known = slot.search == self.search && slot.from.hash == hash && slot.read == read;
        (known && slot.from.get() == states).then(|| (slot.to.get(), slot.to.hash, slot.row))
    }

    /// Keeps where states lead.
    pub(super) fn keep(
        &mut self,
        (from, from_hash): (&[u32], u64),
        (class, before): (usize, Side),
        (to, to_hash): (&[u32], u64),
        row: Option<u16>,
    ) {
        if from.len().max(to.len()) > MAX_STATES {
            return;
        }
        let read = (class as u16, before as u8);
        let slot = &mut self.slots[Self::place(from_hash, read) % SLOTS];
        (slot.search, slot.read, slot.row) = (self.search, read, row);
        slot.from.set(from, from_hash);
        slot.to.set(to, to_hash);
    }
}
