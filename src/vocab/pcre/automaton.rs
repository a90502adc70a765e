//! Whether a regular pattern is found in a value: an automaton that never grows.
//!
//! The crate's lazy DFA is made while values are read, within bounds; a value that asks for new states over and over
//! costs it microseconds a byte. Here the likeliest states are worked out when the pattern is compiled, and where the value
//! leaves them, the positions in the pattern are followed one by one until it comes back. Nothing that a client sends
//! is kept, time is linear in the value's length, and no value costs much more a byte than others.
//!
//! Says only whether there is a match; where it is, [`Spans`] says.

mod build;
mod conditions;
mod nfa;
mod recent;
mod spans;
mod table;

use std::cell::RefCell;

use self::conditions::{Conditions, Side};
use self::nfa::{Active, Nfa};
use self::recent::Recent;
pub(super) use self::spans::Spans;
use self::table::{FOUND, NEVER, Table, UNKNOWN};
use super::ast::Node;

/// The table of a pattern takes at most this much.
const MAX_TABLE_BYTES: usize = 64 << 10;

thread_local! {
    /// Memory for following states, nothing more: it holds nothing from one search to the next.
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// A pattern as an automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    nfa: Nfa,
    table: Table,
}

#[derive(Default)]
struct Memory {
    active: Active,
    recent: Recent,
}

/// A search on its way through a value.
struct Search<'v> {
    value: &'v [u8],
    place: usize,
    row: u16,
    /// The last place where no state was active: no match found later begins before it, if matches show from their first
    /// byte on.
    floor: usize,
    /// Whether states have been followed one by one before.
    followed: bool,
}

impl Automaton {
    /// The automaton of a regular pattern. `None` when it would be too big.
    pub(super) fn new(node: &Node) -> Option<Self> {
        Self::with_table_bytes(node, MAX_TABLE_BYTES)
    }

    /// The same with a table of about this size at most, and a few rows at least.
    pub(super) fn with_table_bytes(node: &Node, bytes: usize) -> Option<Self> {
        let nfa = Nfa::new(node)?;
        let table = Table::new(&nfa, bytes);
        Some(Self { nfa, table })
    }

    /// Whether the pattern is found in the value.
    #[inline]
    pub(super) fn is_match(&self, value: &[u8]) -> bool {
        self.search::<false>(value).is_some()
    }

    /// Whether the pattern is found in the value; then a place that no match begins before.
    pub(super) fn floor(&self, value: &[u8]) -> Option<usize> {
        let floor = self.search::<true>(value)?;
        Some(if self.nfa.shows_matches_begun() { floor } else { 0 })
    }

    #[inline]
    fn search<const FLOOR: bool>(&self, value: &[u8]) -> Option<usize> {
        let mut search = Search { value, place: 0, row: 0, floor: 0, followed: false };
        loop {
            let found = match self.read::<FLOOR>(&mut search) {
                FOUND => true,
                NEVER => false,
                UNKNOWN => match MEMORY.with_borrow_mut(|memory| self.follow(memory, &mut search)) {
                    Some(found) => found,
                    None => continue,
                },
                row => self.table.is_found_at_end(row),
            };
            return found.then_some(search.floor);
        }
    }

    /// Reads along the table. Returns the last row, or what the table says where it ends.
    #[inline]
    fn read<const FLOOR: bool>(&self, search: &mut Search<'_>) -> u16 {
        let (mut row, first) = (search.row, search.place);
        for (offset, byte) in search.value.get(first..).unwrap_or_default().iter().enumerate() {
            let class = usize::from(self.nfa.classes.get(usize::from(*byte)).copied().unwrap_or_default());
            let next = self.table.next.get(usize::from(row) + class).copied().unwrap_or(UNKNOWN);
            if next >= UNKNOWN {
                (search.row, search.place) = (row, first + offset);
                return next;
            }
            row = next;
            if FLOOR && self.table.is_bare(row) {
                search.floor = first + offset + 1;
            }
        }
        (search.row, search.place) = (row, search.value.len());
        row
    }

    /// Follows the states of a row one by one, until they are those of a row again (then `None`) or there is an answer.
    #[cold]
    #[inline(never)]
    fn follow(&self, Memory { active, recent }: &mut Memory, search: &mut Search<'_>) -> Option<bool> {
        if !std::mem::replace(&mut search.followed, true) {
            recent.begin();
        }
        let (states, mut before) = self.table.states(search.row);
        active.reset(&self.nfa);
        active.enter(states);
        while let Some(byte) = search.value.get(search.place) {
            search.place += 1;
            let class = self.nfa.class(*byte);
            let behind = self.nfa.sides.get(class).copied().unwrap_or(Side::Other);
            let row = match recent.get(active.states(), active.hash(), class, before) {
                Some((states, hash, row)) => {
                    active.replace(states, hash);
                    row
                }
                None => {
                    let from = active.hash();
                    if self.nfa.step(active, before, class) {
                        return Some(true);
                    }
                    let row = self.table.row(active, behind);
                    recent.keep((active.left(), from), (class, before), (active.states(), active.hash()), row);
                    row
                }
            };
            before = behind;
            if active.states().is_empty() {
                if self.nfa.is_anchored() {
                    return Some(false);
                }
                search.floor = search.place;
            }
            if let Some(row) = row {
                search.row = row;
                return None;
            }
        }
        Some(self.nfa.accepts(active.states(), Conditions::between(before, Side::Nothing)))
    }

    /// The heap memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.nfa.memory() + self.table.memory()
    }
}
