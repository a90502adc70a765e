//! From the syntax tree to the lists of what may come next.
//!
//! Built from the back: each part is told what follows it, and answers with what it begins with. Parts that begin and go
//! on alike become one, so that the endings of a list of words are shared.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::conditions::Conditions;
use crate::vocab::byte_set::ByteSet;
use crate::vocab::pcre::ast::{Node, Repeat};

/// Patterns that need more are left to the other engine.
const MAX_POSITIONS: usize = 60_000;

/// Of all lists together.
const MAX_ENTRIES: usize = 600_000;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Next {
    /// The pattern is found.
    Accept,
    /// A byte.
    Position(u32),
    /// Whatever the loop with this number goes on with.
    Loop(u32),
}

/// All that may come next at a place, each under conditions on the place.
pub(super) type List = Rc<Vec<(Next, Conditions)>>;

/// A byte of the pattern, and what comes after it.
pub(super) struct Position {
    pub(super) set: ByteSet,
    pub(super) then: List,
}

/// The pattern as positions.
#[derive(Default)]
pub(super) struct Positions {
    positions: Vec<Position>,
    /// Positions by their set and the address of the list behind them, which they keep alive.
    known: FxHashMap<(ByteSet, usize), List>,
    loops: Vec<List>,
    entries: usize,
}

impl Positions {
    /// Reads a pattern. `None` when it is too big.
    pub(super) fn of(node: &Node) -> Option<(Self, List)> {
        let mut positions = Self::default();
        let accept = Rc::new(vec![(Next::Accept, Conditions::NONE)]);
        let first = positions.enter(node, &accept)?;
        Some((positions, first))
    }

    pub(super) fn get(&self, position: u32) -> Option<&Position> {
        self.positions.get(position as usize)
    }

    /// What a part begins with when `then` follows it.
    fn enter(&mut self, node: &Node, then: &List) -> Option<List> {
        match node {
            Node::Set(set) => self.position(*set, then),
            Node::Assert(assertion) => {
                let condition = Conditions::of(*assertion);
                let both = then.iter().map(|(next, known)| (*next, known.and(condition)));
                self.list(both.filter(|(_, conditions)| conditions.is_possible()).collect())
            }
            Node::Concat(nodes) => nodes.iter().rev().try_fold(then.clone(), |then, node| self.enter(node, &then)),
            Node::Alternate(nodes) => {
                let branches = nodes.iter().map(|node| self.enter(node, then)).collect::<Option<Vec<_>>>()?;
                self.list(branches.iter().flat_map(|branch| branch.iter().copied()).collect())
            }
            Node::Capture(_, node) => self.enter(node, then),
            Node::Repeat(repeat) => self.repeat(repeat, then),
            // INVARIANT: `regular` leaves none of the others.
            Node::Empty | Node::Atomic(_) | Node::Look { .. } | Node::BackReference { .. } | Node::Keep => {
                Some(then.clone())
            }
        }
    }

    fn repeat(&mut self, Repeat { node, min, max, .. }: &Repeat, then: &List) -> Option<List> {
        let (mut list, needed) = match max {
            Some(max) => {
                let mut list = then.clone();
                for _ in *min..*max {
                    let once_more = self.enter(node, &list)?;
                    list = self.either(&once_more, then)?;
                }
                (list, *min)
            }
            None => {
                let number = u32::try_from(self.loops.len()).ok()?;
                self.loops.push(Rc::default());
                let again = self.list(vec![(Next::Loop(number), Conditions::NONE)])?;
                let once = self.enter(node, &again)?;
                let round = self.either(&once, then)?;
                *self.loops.get_mut(number as usize)? = round.clone();
                if *min == 0 { (round, 0) } else { (once, *min - 1) }
            }
        };
        for _ in 0..needed {
            list = self.enter(node, &list)?;
        }
        Some(list)
    }

    fn position(&mut self, set: ByteSet, then: &List) -> Option<List> {
        if set.is_empty() || then.is_empty() {
            return Some(List::default());
        }
        let key = (set, Rc::as_ptr(then) as usize);
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        let number = u32::try_from(self.positions.len()).ok().filter(|_| self.positions.len() < MAX_POSITIONS)?;
        self.positions.push(Position { set, then: then.clone() });
        let list = self.list(vec![(Next::Position(number), Conditions::NONE)])?;
        self.known.insert(key, list.clone());
        Some(list)
    }

    fn either(&mut self, one: &List, other: &List) -> Option<List> {
        self.list(one.iter().chain(other.iter()).copied().collect())
    }

    fn list(&mut self, mut entries: Vec<(Next, Conditions)>) -> Option<List> {
        entries.sort_unstable();
        entries.dedup();
        self.entries = self.entries.saturating_add(entries.len());
        (self.entries <= MAX_ENTRIES).then(|| Rc::new(entries))
    }

    /// A list with loops replaced by what they go on with.
    pub(super) fn resolve(&self, list: &List) -> Vec<(Next, Conditions)> {
        let mut open: Vec<(Next, Conditions)> = list.to_vec();
        let (mut seen, mut found) = (FxHashSet::default(), Vec::new());
        while let Some((next, conditions)) = open.pop() {
            let Next::Loop(number) = next else {
                found.push((next, conditions));
                continue;
            };
            if !seen.insert((number, conditions)) {
                continue;
            }
            let round = self.loops.get(number as usize).into_iter().flat_map(|round| round.iter());
            let both = round.map(|(next, more)| (*next, more.and(conditions)));
            open.extend(both.filter(|(_, conditions)| conditions.is_possible()));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
