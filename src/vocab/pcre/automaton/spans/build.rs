//! Works out the empty moves of the crate's automaton.
//!
//! From that one and not from the pattern, since what a loop prefers that may take nothing is a matter of how its moves
//! are laid out.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::look::Look;
use regex_automata::util::primitives::StateID;
use rustc_hash::FxHashMap;

use super::{ACCEPT, Entry, List, Spans};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::pcre::ast::Assertion;
use crate::vocab::pcre::automaton::conditions::{Conditions, Side};
use crate::vocab::pcre::sets;

/// Of all lists together; patterns that need more are left to the crate's engine.
const MAX_ENTRIES: usize = 600_000;

/// Lists with more entries than this have them sorted by class.
const MANY: usize = 6;

/// A bit for each way in which conditions can come together.
type Seen = u64;

/// Makes the lists one by one.
pub(super) struct Maker<'n> {
    nfa: &'n NFA,
    /// The lists by the states that they stand for, and the states in the order of the lists.
    numbers: FxHashMap<StateID, u32>,
    states: Vec<StateID>,
    sets: FxHashMap<ByteSet, u16>,
    lists: Vec<List>,
    entries: Vec<Entry>,
    /// With which conditions each state has been visited on the way from the list at hand.
    seen: Vec<Seen>,
    visited: Vec<StateID>,
    open: Vec<(StateID, Conditions)>,
}

impl<'n> Maker<'n> {
    pub(super) fn new(nfa: &'n NFA) -> Self {
        Self {
            nfa,
            numbers: FxHashMap::default(),
            states: Vec::new(),
            // Matches end before any byte and before the end of the value.
            sets: FxHashMap::from_iter([(ByteSet::ALL, 0)]),
            lists: Vec::new(),
            entries: Vec::new(),
            seen: vec![0; nfa.states().len()],
            visited: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn make(mut self) -> Option<Spans> {
        self.number(self.nfa.start_anchored())?;
        while let Some(state) = self.states.get(self.lists.len()).copied() {
            self.add(state)?;
        }
        self.finish()
    }

    /// The number of the list that stands for a state.
    fn number(&mut self, state: StateID) -> Option<u32> {
        if let Some(known) = self.numbers.get(&state) {
            return Some(*known);
        }
        let number = u32::try_from(self.states.len()).ok()?;
        self.numbers.insert(state, number);
        self.states.push(state);
        Some(number)
    }

    /// Adds the list of a state: all that empty moves lead to, in their order.
    fn add(&mut self, state: StateID) -> Option<()> {
        let first = self.entries.len();
        self.open.push((state, Conditions::NONE));
        while let Some((state, conditions)) = self.open.pop() {
            if !self.visit(state, conditions) {
                continue;
            }
            match self.nfa.state(state) {
                State::Match { .. } => {
                    self.entries.push(Entry { to: ACCEPT, set: 0, conditions });
                    // What comes behind is never taken.
                    if conditions == Conditions::NONE {
                        self.open.clear();
                    }
                }
                State::Look { look, next } => self.open.push((*next, conditions.and(condition(*look)?))),
                State::Union { alternates } => {
                    self.open.extend(alternates.iter().rev().map(|state| (*state, conditions)));
                }
                State::BinaryUnion { alt1, alt2 } => self.open.extend([(*alt2, conditions), (*alt1, conditions)]),
                State::Capture { next, .. } => self.open.push((*next, conditions)),
                State::ByteRange { trans } => {
                    self.take(ByteSet::of_range(trans.start, trans.end), trans.next, conditions)?;
                }
                State::Sparse(moves) => {
                    let mut by_next: Vec<(StateID, ByteSet)> = Vec::new();
                    for trans in &*moves.transitions {
                        let range = ByteSet::of_range(trans.start, trans.end);
                        match by_next.iter_mut().find(|(next, _)| *next == trans.next) {
                            Some((_, set)) => *set = set.union(range),
                            None => by_next.push((trans.next, range)),
                        }
                    }
                    for (next, set) in by_next {
                        self.take(set, next, conditions)?;
                    }
                }
                State::Dense(_) => return None,
                State::Fail => {}
            }
        }
        for state in self.visited.drain(..) {
            *self.seen.get_mut(state.as_usize())? = 0;
        }
        let entries = (u32::try_from(first).ok()?, u32::try_from(self.entries.len()).ok()?);
        let takes_all = self.takes_all(first, self.lists.len());
        self.lists.push(List { entries, sorted: None, takes_all });
        (self.entries.len() <= MAX_ENTRIES).then_some(())
    }

    /// Whether no visit of a state came before under these conditions, or some of them: that one led to all that this
    /// one would lead to.
    fn visit(&mut self, state: StateID, conditions: Conditions) -> bool {
        let Some(seen) = self.seen.get_mut(state.as_usize()).filter(|_| conditions.is_possible()) else { return false };
        if *seen == 0 {
            self.visited.push(state);
        }
        let mut before = *seen;
        while before != 0 {
            if Conditions::numbered(before.trailing_zeros() as u8).are_met(conditions) {
                return false;
            }
            before &= before - 1;
        }
        *seen |= 1 << conditions.number();
        true
    }

    fn take(&mut self, set: ByteSet, next: StateID, conditions: Conditions) -> Option<()> {
        let sets = u16::try_from(self.sets.len()).ok()?;
        let set = *self.sets.entry(set).or_insert(sets);
        let to = self.number(next)?;
        self.entries.push(Entry { to, set, conditions });
        Some(())
    }

    /// Whether a list is: any byte and the list again, else the end.
    fn takes_all(&self, first: usize, number: usize) -> bool {
        let own = self.entries.get(first..).unwrap_or_default();
        let entry = |to| Entry { to, set: 0, conditions: Conditions::NONE };
        u32::try_from(number).is_ok_and(|number| own == [entry(number), entry(ACCEPT)])
    }

    fn finish(mut self) -> Option<Spans> {
        let of_crate = self.nfa.byte_classes();
        // With one more for the end of the value.
        let class_count = of_crate.alphabet_len();
        let (mut classes, mut sides) = (Box::new([0; 256]), vec![Side::Nothing; class_count]);
        for (byte, class) in (0..=u8::MAX).zip(classes.iter_mut()) {
            *class = of_crate.get(byte);
            // Bytes of one class are on one side, if the pattern has conditions that depend on it.
            *sides.get_mut(usize::from(*class))? = side(byte);
        }
        let words = class_count.div_ceil(64);
        let mut rows = vec![0; self.sets.len() * words];
        for (set, number) in &self.sets {
            let row = rows.get_mut(usize::from(*number) * words..)?;
            for class in set.iter().filter_map(|byte| classes.get(usize::from(byte))).copied().map(usize::from) {
                *row.get_mut(class / 64)? |= 1 << (class % 64);
            }
        }
        // Matches may end at the end of the value. That any byte may come there, too, by the same set, leads nowhere.
        *rows.get_mut((class_count - 1) / 64)? |= 1 << ((class_count - 1) % 64);
        let starts = self.sort(&rows, words, class_count)?;
        Some(Spans {
            classes,
            sides: sides.into(),
            lists: self.lists.into(),
            entries: self.entries.into(),
            starts: starts.into(),
            rows: rows.into(),
            words,
            anchored: self.nfa.is_always_start_anchored(),
        })
    }

    /// Sorts the entries of lists with many by class, in their order: one for each class of their sets.
    fn sort(&mut self, rows: &[u64], words: usize, class_count: usize) -> Option<Vec<u32>> {
        let mut starts = Vec::new();
        let old = std::mem::take(&mut self.entries);
        for list in &mut self.lists {
            let own = old.get(list.entries.0 as usize..list.entries.1 as usize)?;
            let first = u32::try_from(self.entries.len()).ok()?;
            if own.len() > MANY {
                list.sorted = Some(u32::try_from(starts.len()).ok()?);
                for class in 0..class_count {
                    starts.push(u32::try_from(self.entries.len()).ok()?);
                    let has = |set: u16| {
                        rows.get(usize::from(set) * words + class / 64).is_some_and(|row| row >> (class % 64) & 1 == 1)
                    };
                    self.entries.extend(own.iter().filter(|entry| has(entry.set)));
                }
                starts.push(u32::try_from(self.entries.len()).ok()?);
            } else {
                self.entries.extend_from_slice(own);
            }
            list.entries = (first, u32::try_from(self.entries.len()).ok()?);
        }
        Some(starts)
    }
}

fn side(byte: u8) -> Side {
    match byte {
        b'\n' => Side::LineFeed,
        _ if sets::WORD.contains(byte) => Side::Word,
        _ => Side::Other,
    }
}

/// The condition that the crate's engine means; `None` for those that no pattern of ours has.
fn condition(look: Look) -> Option<Conditions> {
    Some(Conditions::of(match look {
        Look::Start => Assertion::Start,
        Look::End => Assertion::End,
        Look::StartLF => Assertion::LineStart,
        Look::EndLF => Assertion::LineEnd,
        Look::WordAscii => Assertion::WordBoundary,
        Look::WordAsciiNegate => Assertion::NotWordBoundary,
        _ => return None,
    }))
}
