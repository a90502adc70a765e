//! Where the first match of a pattern begins and ends, in time linear in the value's length.
//!
//! The crate's engine walks the empty moves of its automaton again at each byte, hundreds of them in a list of commands
//! spelt with noise between the letters. Here they are worked out once, in their order: what is left is to follow the
//! few places in the pattern that the value has reached. Ways that a match may take are kept in order of preference, so
//! that the first one is found that a backtracking engine would find.

#![expect(
    clippy::indexing_slicing,
    reason = "classes are below the number of sides, sets below the number of rows, lists and entries below their numbers: \
              all made together by `Maker`"
)]

mod build;

use std::cell::RefCell;

use regex_automata::nfa::thompson::NFA;

use super::conditions::{Conditions, Side};

/// Not a list: the match ends here.
const ACCEPT: u32 = u32::MAX;

thread_local! {
    /// Memory for searches, nothing more: it holds nothing from one search to the next.
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// A pattern as lists of what may come next, the preferred first.
#[derive(Debug)]
pub(in crate::vocab::pcre) struct Spans {
    /// The class of each byte: bytes of one class are alike to the pattern. The end of the value is one more.
    classes: Box<[u8; 256]>,
    /// What bytes of each class, and the end, are to conditions.
    sides: Box<[Side]>,
    /// Where matches begin is list 0.
    lists: Box<[List]>,
    entries: Box<[Entry]>,
    /// Where the entries of each class begin, for lists that have many.
    starts: Box<[u32]>,
    /// A bit for each class, `words` of them for each set.
    rows: Box<[u64]>,
    words: usize,
    /// Whether no match can begin behind the start of the value.
    anchored: bool,
}

/// What may come next at a place in the pattern.
#[derive(Clone, Copy, Default, Debug)]
struct List {
    entries: (u32, u32),
    /// Into `starts`, for lists that have many entries.
    sorted: Option<u32>,
    /// Whether the match takes all that is left of the value: `.*` before the pattern's end.
    takes_all: bool,
}

/// A byte of a set, and the list that comes after it; or the end of the match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry {
    to: u32,
    set: u16,
    conditions: Conditions,
}

/// A way that a match may have taken: the list it has reached, and where it began.
type Way = (u32, usize);

#[derive(Default)]
struct Memory {
    ways: Vec<Way>,
    reached: Reached,
}

/// The ways a byte further.
#[derive(Default)]
struct Reached {
    /// The preferred first.
    ways: Vec<Way>,
    /// In which round each list was last reached: the way that reached it first is preferred to all others.
    marks: Vec<u32>,
    round: u32,
}

impl Spans {
    /// From the crate's automaton of the pattern. `None` when it would be too big.
    pub(in crate::vocab::pcre) fn new(nfa: &NFA) -> Option<Self> {
        build::Maker::new(nfa).make()
    }

    /// The first match that begins at `from` or later.
    pub(in crate::vocab::pcre) fn find(&self, value: &[u8], from: usize) -> Option<(usize, usize)> {
        MEMORY.with_borrow_mut(|memory| self.find_with(memory, value, from))
    }

    fn find_with(&self, memory: &mut Memory, value: &[u8], from: usize) -> Option<(usize, usize)> {
        memory.begin(self.lists.len());
        let mut found = None;
        let mut before = self.sides[self.class(from.checked_sub(1).and_then(|place| value.get(place)))];
        for place in from..=value.len() {
            if found.is_none() && !(self.anchored && place > 0) {
                memory.reached.add(0, place);
            }
            std::mem::swap(&mut memory.ways, &mut memory.reached.ways);
            match memory.ways.first() {
                None if found.is_some() || self.anchored => break,
                Some((list, start)) if self.lists[*list as usize].takes_all => return Some((*start, value.len())),
                _ => {}
            }
            let class = self.class(value.get(place));
            let behind = self.sides[class];
            if let Some(start) = self.step(memory, Conditions::between(before, behind), class) {
                found = Some((start, place));
            }
            before = behind;
        }
        found
    }

    /// The class of a byte, or of none.
    #[inline]
    fn class(&self, byte: Option<&u8>) -> usize {
        byte.map_or(self.sides.len() - 1, |byte| usize::from(self.classes[usize::from(*byte)]))
    }

    /// Takes all ways a byte further. Returns where the match began that ends before the byte: the preferred ways go on,
    /// the others are given up.
    fn step(&self, memory: &mut Memory, holding: Conditions, class: usize) -> Option<usize> {
        memory.begin_round();
        let Memory { ways, reached } = memory;
        let ended = ways.iter().find(|(list, start)| self.leave(reached, *list, *start, holding, class));
        ended.map(|(_, start)| *start)
    }

    /// Takes a way a byte further. Returns whether the match ends before it.
    #[inline]
    fn leave(&self, reached: &mut Reached, list: u32, start: usize, holding: Conditions, class: usize) -> bool {
        let List { entries: (from, to), sorted, .. } = self.lists[list as usize];
        let (from, to) = match sorted {
            Some(place) => (self.starts[place as usize + class], self.starts[place as usize + class + 1]),
            None => (from, to),
        };
        for entry in &self.entries[from as usize..to as usize] {
            let row = usize::from(entry.set) * self.words + class / 64;
            let fits = sorted.is_some() || self.rows[row] >> (class % 64) & 1 == 1;
            if !fits || !entry.conditions.are_met(holding) {
                continue;
            }
            if entry.to == ACCEPT {
                return true;
            }
            reached.add(entry.to, start);
        }
        false
    }

    /// The heap memory it takes, in bytes.
    pub(in crate::vocab::pcre) fn memory(&self) -> usize {
        size_of_val(&*self.lists)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.starts)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.classes)
            + size_of_val(&*self.sides)
    }
}

impl Memory {
    /// Makes room for a pattern and forgets all ways.
    fn begin(&mut self, lists: usize) {
        if self.reached.marks.len() < lists {
            self.reached.marks.resize(lists, 0);
        }
        self.ways.clear();
        self.begin_round();
    }

    fn begin_round(&mut self) {
        let Reached { ways, marks, round } = &mut self.reached;
        ways.clear();
        *round = round.wrapping_add(1);
        if *round == 0 {
            marks.fill(0);
            *round = 1;
        }
    }
}

impl Reached {
    #[inline]
    fn add(&mut self, list: u32, start: usize) {
        let mark = &mut self.marks[list as usize];
        if *mark != self.round {
            *mark = self.round;
            self.ways.push((list, start));
        }
    }
}
