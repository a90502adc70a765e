//! The likeliest sets of states, with all their steps worked out when the pattern is compiled.
//!
//! A lazy table would be made by what clients send, and a hostile one would have it made over and over. This one never
//! changes: where it ends, the states are followed one by one until they are again a set that it knows.

#![expect(
    clippy::indexing_slicing,
    reason = "rows are whole, states below the number of rows, places in the index below its length, a power of two"
)]

use std::collections::BinaryHeap;

use super::conditions::{Conditions, Side};
use super::nfa::{Active, Nfa};
use crate::vocab::necessary::frequency;

/// Up to here a table takes in sets of states however unlikely they are.
const LIKELY_BYTES: usize = 8 << 10;

/// Sets of states that are met less often than this, in ordinary text, are not kept.
const LEAST_WEIGHT: f32 = 1e-7;

/// What values begin with far more often than the bytes alone tell: the names of all arguments of a JSON body do.
const LIKELY_START: &[u8] = b"json.";

/// How often each byte is met where no ordinary text would have it.
const SURPRISE: f32 = 0.002;

/// Larger sets of states are not kept.
const MAX_SET: usize = 24;

/// Of a table, however wide: those without states, and a few more.
const LEAST_ROWS: usize = 6;

/// Not a row: the pattern is found.
pub(super) const FOUND: u16 = u16::MAX;
/// Not a row: it will not be found.
pub(super) const NEVER: u16 = FOUND - 1;
/// Not a row: the states have to be followed one by one.
pub(super) const UNKNOWN: u16 = FOUND - 2;

/// Rows, one for each kept set of states and what lies before: by class, where the next row begins.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) next: Box<[u16]>,
    sets: Box<[Kept]>,
    /// The states of all sets.
    states: Box<[u32]>,
    /// Numbers of sets by their hash, 0 for none, else one more.
    index: Box<[u16]>,
    stride: usize,
    /// Where the rows with states begin.
    bare: u16,
}

#[derive(Clone, Copy, Debug)]
struct Kept {
    states: (u32, u32),
    before: Side,
    /// Whether the pattern is found if the value ends here.
    at_end: bool,
}

impl Table {
    /// The table of an automaton: of at most so many bytes, and a few rows at least.
    pub(super) fn new(nfa: &Nfa, bytes: usize) -> Self {
        let mut maker = Maker::new(nfa, bytes);
        // Before all others those without states: the rows of the others are much like theirs.
        for side in [nfa.before_value(), Side::Other, Side::Word, Side::LineFeed] {
            if side == nfa.before_value() || nfa.sides.contains(&side) {
                maker.active.reset(nfa);
                maker.row_of(side, 1.0);
            }
        }
        maker.walk(LIKELY_START);
        maker.discover();
        (0..maker.sets.len()).for_each(|number| maker.fill(number));
        maker.finish()
    }

    /// The row of the states, if they are kept.
    #[inline]
    pub(super) fn row(&self, active: &Active, before: Side) -> Option<u16> {
        let number = find(&self.index, &self.sets, &self.states, active, before)?;
        Some((number * self.stride) as u16)
    }

    /// Whether a row, not the first, is without states.
    #[inline]
    pub(super) fn is_bare(&self, row: u16) -> bool {
        row < self.bare
    }

    /// The states of a row, and what lies before.
    pub(super) fn states(&self, row: u16) -> (&[u32], Side) {
        let kept = &self.sets[usize::from(row) / self.stride];
        (&self.states[kept.states.0 as usize..kept.states.1 as usize], kept.before)
    }

    /// Whether the pattern is found if the value ends at a row.
    pub(super) fn is_found_at_end(&self, row: u16) -> bool {
        self.sets[usize::from(row) / self.stride].at_end
    }

    /// The heap memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.next) + size_of_val(&*self.sets) + size_of_val(&*self.states) + size_of_val(&*self.index)
    }
}

#[inline]
fn find(index: &[u16], sets: &[Kept], states: &[u32], active: &Active, before: Side) -> Option<usize> {
    let mut place = place(active, before);
    loop {
        place &= index.len() - 1;
        let number = usize::from(index[place].checked_sub(1)?);
        let kept = &sets[number];
        if kept.before == before && active.are(&states[kept.states.0 as usize..kept.states.1 as usize]) {
            return Some(number);
        }
        place += 1;
    }
}

fn place(active: &Active, before: Side) -> usize {
    (active.hash().wrapping_add(before as u64) >> 7) as usize
}

fn insert(index: &mut [u16], place: usize, number: usize) {
    let mut place = place & (index.len() - 1);
    while index[place] != 0 {
        place = (place + 1) & (index.len() - 1);
    }
    index[place] = (number + 1) as u16;
}

struct Maker<'n> {
    nfa: &'n Nfa,
    next: Vec<u16>,
    sets: Vec<Kept>,
    states: Vec<u32>,
    index: Vec<u16>,
    stride: usize,
    most: usize,
    active: Active,
    /// Steps to be worked out, the likeliest first: weight, row, class.
    open: BinaryHeap<(u32, usize, usize)>,
    /// How likely each class is.
    likely: Vec<f32>,
    /// How likely each row was to be reached when it was first met.
    weights: Vec<f32>,
}

impl<'n> Maker<'n> {
    fn new(nfa: &'n Nfa, bytes: usize) -> Self {
        let stride = nfa.class_count();
        let most = (bytes / 2 / stride).clamp(LEAST_ROWS, 1 << 11);
        let total: f32 = (0..=u8::MAX).map(|byte| frequency(byte) + SURPRISE).sum();
        let mut likely = vec![0.0; stride];
        (0..=u8::MAX).for_each(|byte| likely[nfa.class(byte)] += (frequency(byte) + SURPRISE) / total);
        Self {
            nfa,
            next: Vec::new(),
            sets: Vec::new(),
            states: Vec::new(),
            index: vec![0; (most * 2).next_power_of_two()],
            stride,
            most,
            active: Active::default(),
            open: BinaryHeap::new(),
            likely,
            weights: Vec::new(),
        }
    }

    /// The row of the active states; a new one if there is room.
    fn row_of(&mut self, before: Side, weight: f32) -> u16 {
        if self.active.states().is_empty() && self.nfa.is_anchored() && before != Side::Nothing {
            return NEVER;
        }
        if let Some(number) = find(&self.index, &self.sets, &self.states, &self.active, before) {
            return (number * self.stride) as u16;
        }
        let number = self.sets.len();
        let unlikely = weight < LEAST_WEIGHT && self.next.len() * 2 >= LIKELY_BYTES;
        if number >= self.most || unlikely || self.active.states().len() > MAX_SET {
            return UNKNOWN;
        }
        let first = self.states.len() as u32;
        self.states.extend_from_slice(self.active.states());
        let at_end = self.nfa.accepts(self.active.states(), Conditions::between(before, Side::Nothing));
        self.sets.push(Kept { states: (first, self.states.len() as u32), before, at_end });
        self.weights.push(weight);
        self.next.resize(self.sets.len() * self.stride, UNKNOWN);
        insert(&mut self.index, place(&self.active, before), number);
        self.open_steps(number);
        (number * self.stride) as u16
    }

    /// Keeps the states that a text leads to from the start.
    fn walk(&mut self, text: &[u8]) {
        let mut row = 0;
        for byte in text {
            let (number, class) = (usize::from(row) / self.stride, self.nfa.class(*byte));
            row = self.step(number, class, 1.0);
            if row >= UNKNOWN {
                return;
            }
            self.next[number * self.stride + class] = row;
        }
    }

    /// Notes the steps from a row, except those that lead where they lead without any of its states.
    fn open_steps(&mut self, number: usize) {
        let touched = self.touched(number);
        for class in (0..self.stride).filter(|class| touched[class / 64] >> (class % 64) & 1 == 1) {
            // Positive numbers are ordered as their bits are.
            self.open.push(((self.weights[number] * self.likely[class]).to_bits(), number, class));
        }
    }

    /// Makes rows, the likeliest first, as long as there is room for more.
    fn discover(&mut self) {
        while self.sets.len() < self.most
            && let Some((weight, number, class)) = self.open.pop()
        {
            self.next[number * self.stride + class] = self.step(number, class, f32::from_bits(weight));
        }
    }

    /// Fills in what is left of a row.
    fn fill(&mut self, number: usize) {
        let (row, touched) = (number * self.stride, self.touched(number));
        let bare = self.bare(number).map_or(row, |bare| bare * self.stride);
        for class in 0..self.stride {
            if touched[class / 64] >> (class % 64) & 1 == 0 {
                self.next[row + class] = self.next[bare + class];
            } else if self.next[row + class] == UNKNOWN {
                self.next[row + class] = self.step(number, class, 0.0);
            }
        }
    }

    /// The row without any state where the same lies before.
    fn bare(&self, number: usize) -> Option<usize> {
        let before = self.sets[number].before;
        self.sets.iter().take(4).position(|kept| kept.before == before && kept.states.0 == kept.states.1)
    }

    /// The classes that any state of a row goes on with, or accepts before; of a row without states, all.
    fn touched(&self, number: usize) -> Vec<u64> {
        let (from, to) = self.sets[number].states;
        let own = &self.states[from as usize..to as usize];
        let bare = self.bare(number).is_none_or(|bare| bare == number);
        if bare || own.iter().any(|state| self.nfa.may_accept(*state)) {
            return vec![u64::MAX; self.stride.div_ceil(64)];
        }
        let mut touched = vec![0; self.stride.div_ceil(64)];
        own.iter().for_each(|state| self.nfa.mark_classes(*state, &mut touched));
        touched
    }

    /// Where a class leads from a row.
    fn step(&mut self, number: usize, class: usize, weight: f32) -> u16 {
        let Kept { states: (from, to), before, .. } = self.sets[number];
        self.active.reset(self.nfa);
        self.active.enter(&self.states[from as usize..to as usize]);
        if self.nfa.step(&mut self.active, before, class) {
            return FOUND;
        }
        self.row_of(self.nfa.sides[class], weight)
    }

    fn finish(mut self) -> Table {
        self.index = vec![0; (self.sets.len() * 2).next_power_of_two()];
        for (number, kept) in self.sets.iter().enumerate() {
            self.active.reset(self.nfa);
            self.active.enter(&self.states[kept.states.0 as usize..kept.states.1 as usize]);
            insert(&mut self.index, place(&self.active, kept.before), number);
        }
        let bare = self.sets.iter().take_while(|kept| kept.states.0 == kept.states.1).count() * self.stride;
        Table {
            bare: bare as u16,
            next: self.next.into(),
            sets: self.sets.into(),
            states: self.states.into(),
            index: self.index.into(),
            stride: self.stride,
        }
    }
}
