//! Whether a regular pattern is found in a value: an automaton that never grows.
//!
//! The crate's lazy DFA is made while values are read, within bounds; a value that asks for new states over and over
//! costs it microseconds a byte. Here the likeliest states are worked out when the pattern is compiled, and where the value
//! leaves them, the positions in the pattern are followed one by one until it comes back. Nothing that a client sends
//! is kept, time is linear in the value's length, and no value costs much more a byte than others.
//!
//! Says only whether there is a match, not where.

mod build;
mod conditions;
mod nfa;
mod table;

use std::cell::RefCell;

use self::conditions::{Conditions, Side};
use self::nfa::{Active, Nfa};
use self::table::{FOUND, NEVER, Table, UNKNOWN};
use super::ast::Node;

/// The table of a pattern takes at most this much.
const MAX_TABLE_BYTES: usize = 64 << 10;

thread_local! {
    /// Memory for following states, nothing more: it holds nothing from one search to the next.
    static ACTIVE: RefCell<Active> = RefCell::default();
}

/// A pattern as an automaton.
#[derive(Debug)]
pub(super) struct Automaton {
    nfa: Nfa,
    table: Table,
}

/// Where following the states one by one led.
enum Followed {
    /// To a row of the table, after so many bytes.
    Row(u16, usize),
    Answer(bool),
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
    pub(super) fn is_match(&self, value: &[u8]) -> bool {
        let (mut row, mut rest) = (0, value);
        loop {
            let (last, next, read) = self.read(row, rest);
            match next {
                FOUND => return true,
                NEVER => return false,
                UNKNOWN => {}
                _ => return self.table.is_found_at_end(next),
            }
            let tail = rest.get(read..).unwrap_or_default();
            match ACTIVE.with_borrow_mut(|active| self.follow(active, last, tail)) {
                Followed::Answer(found) => return found,
                Followed::Row(back, read) => {
                    row = back;
                    rest = tail.get(read..).unwrap_or_default();
                }
            }
        }
    }

    /// Reads along the table. Returns the last row, what it says next (itself at the end of the value), and how many
    /// bytes were read before that.
    #[inline]
    fn read(&self, mut row: u16, value: &[u8]) -> (u16, u16, usize) {
        for (place, byte) in value.iter().enumerate() {
            let class = usize::from(self.nfa.classes.get(usize::from(*byte)).copied().unwrap_or_default());
            let next = self.table.next.get(usize::from(row) + class).copied().unwrap_or(UNKNOWN);
            if next >= UNKNOWN {
                return (row, next, place);
            }
            row = next;
        }
        (row, row, value.len())
    }

    /// Follows the states of a row one by one, until they are those of a row again.
    #[cold]
    #[inline(never)]
    fn follow(&self, active: &mut Active, row: u16, value: &[u8]) -> Followed {
        let (states, mut before) = self.table.states(row);
        active.reset(&self.nfa);
        active.enter(states);
        for (place, byte) in value.iter().enumerate() {
            let class = self.nfa.class(*byte);
            if self.nfa.step(active, before, class) {
                return Followed::Answer(true);
            }
            before = self.nfa.sides.get(class).copied().unwrap_or(Side::Other);
            if active.states().is_empty() && self.nfa.is_anchored() {
                return Followed::Answer(false);
            }
            if let Some(row) = self.table.row(active, before) {
                return Followed::Row(row, place + 1);
            }
        }
        Followed::Answer(self.nfa.accepts(active.states(), Conditions::between(before, Side::Nothing)))
    }

    /// The heap memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.nfa.memory() + self.table.memory()
    }
}
