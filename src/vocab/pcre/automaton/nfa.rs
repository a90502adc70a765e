//! The automaton as states and transitions, and one step of all states that it may be in.

#![expect(
    clippy::indexing_slicing,
    reason = "classes are below `class_count`, sets below the number of rows, states below that of states: \
              all made together by `Nfa::new`"
)]

use rustc_hash::FxHashMap;

use super::build::{List, Next, Positions};
use super::conditions::{Conditions, Side};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::pcre::ast::Node;
use crate::vocab::pcre::sets;

/// The state before the first byte, in which the automaton always is: a match may begin anywhere. INVARIANT: of the
/// others none that always accepts is ever entered, since the search ends before.
const START: u32 = 0;

/// States with more transitions than this have them sorted by class.
const MANY: usize = 6;

/// A nondeterministic automaton without empty transitions.
#[derive(Debug)]
pub(super) struct Nfa {
    /// The class of each byte: bytes of one class are alike to the pattern.
    pub(super) classes: Box<[u8; 256]>,
    /// What bytes of each class are to conditions.
    pub(super) sides: Box<[Side]>,
    states: Box<[State]>,
    transitions: Box<[Transition]>,
    /// Conditions under which states accept, for those that do not always.
    accepts: Box<[Conditions]>,
    /// A bit for each class, `words` of them for each set.
    rows: Box<[u64]>,
    words: usize,
    /// Where the transitions of each class begin, for states that have many.
    starts: Box<[u32]>,
    /// All conditions of the pattern.
    used: Conditions,
    /// Whether no match can begin behind the start of the value.
    anchored: bool,
    /// Whether a match that has begun may be in the start state, which is then not told from none.
    returns: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct State {
    transitions: (u32, u32),
    accepts: (u32, u32),
    /// Into `starts`, for states that have many transitions.
    sorted: Option<u32>,
    always_accepts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Transition {
    to: u32,
    set: u16,
    conditions: Conditions,
}

/// The states that an automaton is in, besides the start.
#[derive(Default, Debug)]
pub(super) struct Active {
    states: Vec<u32>,
    next: Vec<u32>,
    /// In which round each state was last added.
    marks: Vec<u32>,
    round: u32,
    /// Of the states, in any order.
    hash: u64,
}

impl Nfa {
    /// The automaton of a regular pattern. `None` when it is too big.
    pub(super) fn new(node: &Node) -> Option<Self> {
        let (positions, first) = Positions::of(node)?;
        let mut maker = Maker::new(&positions);
        maker.state(&first)?;
        let mut done = 0;
        while let Some(list) = maker.lists.get(done).cloned() {
            maker.add(&list)?;
            done += 1;
        }
        Some(maker.finish())
    }

    pub(super) fn class_count(&self) -> usize {
        self.sides.len()
    }

    pub(super) fn class(&self, byte: u8) -> usize {
        usize::from(self.classes[usize::from(byte)])
    }

    /// What lies before the first byte, as far as it makes a difference.
    pub(super) fn before_value(&self) -> Side {
        if self.used.depend_on(Side::Nothing) { Side::Nothing } else { Side::Other }
    }

    /// Whether there is nothing left to hope for once no state is active.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// Whether no match has begun where no state is active.
    pub(super) fn shows_matches_begun(&self) -> bool {
        !self.returns
    }

    /// The heap memory it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.states)
            + size_of_val(&*self.transitions)
            + size_of_val(&*self.rows)
            + size_of_val(&*self.starts)
            + 512
    }

    /// Whether any of the states, or the start, accepts where these conditions hold.
    pub(super) fn accepts(&self, active: &[u32], holding: Conditions) -> bool {
        let accepts = |state: &u32| {
            let State { accepts: (from, to), always_accepts, .. } = self.states[*state as usize];
            always_accepts
                || self.accepts[from as usize..to as usize].iter().any(|conditions| conditions.are_met(holding))
        };
        accepts(&START) || active.iter().any(accepts)
    }

    /// Whether a state accepts under conditions.
    pub(super) fn may_accept(&self, state: u32) -> bool {
        let State { accepts: (from, to), .. } = self.states[state as usize];
        from < to
    }

    /// Marks the classes that a state has a transition for.
    pub(super) fn mark_classes(&self, state: u32, marked: &mut [u64]) {
        let State { transitions: (from, to), .. } = self.states[state as usize];
        for transition in &self.transitions[from as usize..to as usize] {
            let row = usize::from(transition.set) * self.words;
            marked.iter_mut().zip(&self.rows[row..row + self.words]).for_each(|(word, more)| *word |= more);
        }
    }

    /// Reads a byte of a class with `before` in front of it. Returns whether the pattern is found.
    pub(super) fn step(&self, active: &mut Active, before: Side, class: usize) -> bool {
        let holding = Conditions::between(before, self.sides[class]);
        active.begin();
        if self.states[START as usize].always_accepts || self.leave(START, active, holding, class) {
            return true;
        }
        let states = std::mem::take(&mut active.states);
        let found = states.iter().any(|state| self.leave(*state, active, holding, class));
        active.states = states;
        std::mem::swap(&mut active.states, &mut active.next);
        found
    }

    #[inline]
    fn leave(&self, state: u32, active: &mut Active, holding: Conditions, class: usize) -> bool {
        let State { transitions: (from, to), accepts, sorted, .. } = self.states[state as usize];
        if accepts.0 < accepts.1
            && self.accepts[accepts.0 as usize..accepts.1 as usize].iter().any(|accept| accept.are_met(holding))
        {
            return true;
        }
        let (from, to) = match sorted {
            Some(place) => (self.starts[place as usize + class], self.starts[place as usize + class + 1]),
            None => (from, to),
        };
        for transition in &self.transitions[from as usize..to as usize] {
            if !transition.conditions.are_met(holding) {
                continue;
            }
            let row = usize::from(transition.set) * self.words + class / 64;
            if sorted.is_none() && self.rows[row] >> (class % 64) & 1 == 0 {
                continue;
            }
            if self.states[transition.to as usize].always_accepts {
                return true;
            }
            active.add(transition.to);
        }
        false
    }
}

impl Active {
    /// Makes room for an automaton and leaves all states.
    pub(super) fn reset(&mut self, nfa: &Nfa) {
        if self.marks.len() < nfa.states.len() {
            self.marks.resize(nfa.states.len(), 0);
        }
        self.states.clear();
        self.hash = 0;
    }

    /// Is in these states.
    pub(super) fn enter(&mut self, states: &[u32]) {
        self.begin();
        states.iter().for_each(|state| self.add(*state));
        std::mem::swap(&mut self.states, &mut self.next);
    }

    /// The states in no order, each once.
    pub(super) fn states(&self) -> &[u32] {
        &self.states
    }

    /// The states before the last step.
    pub(super) fn left(&self) -> &[u32] {
        &self.next
    }

    /// Is in these states, whose hash is known. [`Active::are`] does not know of them.
    #[inline]
    pub(super) fn replace(&mut self, states: &[u32], hash: u64) {
        self.states.clear();
        self.states.extend_from_slice(states);
        self.hash = hash;
    }

    /// The same for the same states, in whatever order.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether these are the states.
    pub(super) fn are(&self, states: &[u32]) -> bool {
        states.len() == self.states.len() && states.iter().all(|state| self.marks[*state as usize] == self.round)
    }

    fn begin(&mut self) {
        self.next.clear();
        self.hash = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.marks.fill(0);
            self.round = 1;
        }
    }

    #[inline]
    fn add(&mut self, state: u32) {
        let mark = &mut self.marks[state as usize];
        if *mark != self.round && state != START {
            *mark = self.round;
            self.next.push(state);
            let mixed = u64::from(state).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.hash = self.hash.wrapping_add((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9));
        }
    }
}

/// Makes an automaton state by state.
struct Maker<'p> {
    positions: &'p Positions,
    /// The states by their lists.
    known: FxHashMap<Vec<(Next, Conditions)>, u32>,
    lists: Vec<Vec<(Next, Conditions)>>,
    /// The state behind each position, once known.
    behind: FxHashMap<u32, u32>,
    sets: FxHashMap<ByteSet, u16>,
    states: Vec<State>,
    transitions: Vec<Transition>,
    accepts: Vec<Conditions>,
    used: Conditions,
}

impl<'p> Maker<'p> {
    fn new(positions: &'p Positions) -> Self {
        Self {
            positions,
            known: FxHashMap::default(),
            lists: Vec::new(),
            behind: FxHashMap::default(),
            sets: FxHashMap::default(),
            states: Vec::new(),
            transitions: Vec::new(),
            accepts: Vec::new(),
            used: Conditions::NONE,
        }
    }

    /// The number of the state in which this may come next.
    fn state(&mut self, list: &List) -> Option<u32> {
        let resolved = self.positions.resolve(list);
        if let Some(known) = self.known.get(&resolved) {
            return Some(*known);
        }
        let number = u32::try_from(self.lists.len()).ok()?;
        self.known.insert(resolved.clone(), number);
        self.lists.push(resolved);
        Some(number)
    }

    /// Adds the next state.
    fn add(&mut self, list: &[(Next, Conditions)]) -> Option<()> {
        let (first_transition, first_accept) = (self.transitions.len() as u32, self.accepts.len() as u32);
        let always_accepts = list.contains(&(Next::Accept, Conditions::NONE));
        for (next, conditions) in list.iter().filter(|_| !always_accepts) {
            self.used = self.used.and(*conditions);
            match next {
                Next::Accept => self.accepts.push(*conditions),
                Next::Position(position) => {
                    let (set, to) = (self.positions.get(*position)?.set, self.behind(*position)?);
                    let sets = u16::try_from(self.sets.len()).ok()?;
                    let set = *self.sets.entry(set).or_insert(sets);
                    self.transitions.push(Transition { to, set, conditions: *conditions });
                }
                // INVARIANT: `resolve` leaves no loop.
                Next::Loop(_) => {}
            }
        }
        self.states.push(State {
            transitions: (first_transition, self.transitions.len() as u32),
            accepts: (first_accept, self.accepts.len() as u32),
            sorted: None,
            always_accepts,
        });
        Some(())
    }

    fn behind(&mut self, position: u32) -> Option<u32> {
        if let Some(known) = self.behind.get(&position) {
            return Some(*known);
        }
        let list = self.positions.get(position)?.then.clone();
        let state = self.state(&list)?;
        self.behind.insert(position, state);
        Some(state)
    }

    fn finish(mut self) -> Nfa {
        let anchored = self.only_at_start();
        let returns = self.transitions.iter().any(|transition| transition.to == START);
        let mut sets: Vec<ByteSet> = vec![ByteSet::EMPTY; self.sets.len()];
        self.sets.iter().for_each(|(set, number)| sets[usize::from(*number)] = *set);
        let (classes, sides) = classes(&sets, self.used);
        let words = sides.len().div_ceil(64);
        let mut rows = vec![0; sets.len() * words];
        for (number, set) in sets.iter().enumerate() {
            for class in set.iter().map(|byte| usize::from(classes[usize::from(byte)])) {
                rows[number * words + class / 64] |= 1 << (class % 64);
            }
        }
        let starts = self.sort(&rows, words, sides.len());
        Nfa {
            classes,
            sides,
            states: self.states.into(),
            transitions: self.transitions.into(),
            accepts: self.accepts.into(),
            rows: rows.into(),
            words,
            starts: starts.into(),
            used: self.used,
            anchored,
            returns,
        }
    }

    fn only_at_start(&self) -> bool {
        self.lists
            .first()
            .is_some_and(|list| !list.is_empty() && list.iter().all(|(_, conditions)| conditions.want_start()))
    }

    /// Sorts the transitions of states with many by class: one for each class of their sets.
    fn sort(&mut self, rows: &[u64], words: usize, class_count: usize) -> Vec<u32> {
        let mut starts = Vec::new();
        let old = std::mem::take(&mut self.transitions);
        for state in &mut self.states {
            let own = &old[state.transitions.0 as usize..state.transitions.1 as usize];
            let first = self.transitions.len() as u32;
            if own.len() > MANY {
                state.sorted = Some(starts.len() as u32);
                for class in 0..class_count {
                    starts.push(self.transitions.len() as u32);
                    let has = |set: u16| rows[usize::from(set) * words + class / 64] >> (class % 64) & 1 == 1;
                    self.transitions.extend(own.iter().filter(|transition| has(transition.set)));
                }
                starts.push(self.transitions.len() as u32);
            } else {
                self.transitions.extend_from_slice(own);
            }
            state.transitions = (first, self.transitions.len() as u32);
        }
        starts
    }
}

/// Bytes that no set and no condition tells apart are one class. Returns the class of each byte, and what bytes of each
/// class are to conditions.
fn classes(sets: &[ByteSet], used: Conditions) -> (Box<[u8; 256]>, Box<[Side]>) {
    let side = |byte: u8| match byte {
        b'\n' if used.depend_on(Side::LineFeed) => Side::LineFeed,
        _ if used.depend_on(Side::Word) && sets::WORD.contains(byte) => Side::Word,
        _ => Side::Other,
    };
    let (mut classes, mut sides, mut known) = (Box::new([0; 256]), Vec::new(), FxHashMap::default());
    for byte in 0..=u8::MAX {
        let mut bits = vec![0u64; sets.len().div_ceil(64)];
        for (number, _) in sets.iter().enumerate().filter(|(_, set)| set.contains(byte)) {
            bits[number / 64] |= 1 << (number % 64);
        }
        let class = *known.entry((bits, side(byte))).or_insert_with(|| {
            sides.push(side(byte));
            (sides.len() - 1) as u8
        });
        classes[usize::from(byte)] = class;
    }
    (classes, sides.into())
}
