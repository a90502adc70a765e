//! What lets most rules be ruled out for most values without running them: per rule the conditions that a matching
//! value fulfils, per kind of value the rules and transformations that see it.
//!
//! The prefilter only ever says "this rule cannot match"; what it does not rule out is evaluated rule by rule as if it
//! did not exist. It covers the starters of chains whose targets are read off the request. Everything else, such as
//! rules on TX, is always evaluated.

pub(crate) mod literals;
pub(crate) mod signature;

use self::literals::Literals;
use self::signature::{Signature, Signatures};
use super::index::{RuleBits, RuleIndex, TxSlot};
use super::rule::{KeyPattern, Selector};
use crate::vocab::variables::Variable;

/// A set of [`Entry`]s, by their places; as many words as all entries need.
pub(crate) type Entries = Box<[u64]>;

/// The prefilter of a rule set.
#[derive(Default, Debug)]
pub(crate) struct Prefilter {
    /// The rules covered, in load order.
    pub(crate) entries: Vec<Entry>,
    /// For each rule whether it is covered, and may start the look at the values.
    pub(crate) starts: RuleBits,
    /// For phases 1 and 2 what is not covered, and the entries.
    pub(crate) phases: [PhaseParts; 2],
    /// Words of an [`Entries`].
    pub(crate) words: usize,
    /// Where values come from.
    pub(crate) sources: Vec<Source>,
    /// The nodes of all transformation trees, see [`Node`].
    pub(crate) nodes: Vec<Node>,
    pub(crate) signatures: Signatures,
    pub(crate) literals: Literals,
    /// The entries with a first and with a second clause.
    pub(crate) with_clause: [Entries; 2],
    /// For each length, up to the last one that makes a difference, the entries that a value of that length can match.
    pub(crate) by_length: Vec<Entries>,
    /// Rules that only skip others, see [`Entry::guards`].
    pub(crate) guards: Vec<RuleIndex>,
    /// For the slot of each TX variable whether a [`Question`] is about it.
    pub(crate) asked: Vec<bool>,
    /// Some rule can read what a match of an earlier rule left in the `MATCHED_*` variables.
    pub(crate) reads_matches_before: bool,
    /// Rules that hand over from link to link, see [`Relay`].
    pub(crate) relays: Vec<Relay>,
    /// Tells prefilters apart whose plans are kept in a scratch.
    pub(crate) identity: u64,
}

/// A rule that the prefilter covers.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) rule: RuleIndex,
    /// Its place in the list of its phase.
    pub(crate) place: usize,
    /// The signature bits that a matching value has.
    pub(crate) needs: Signature,
    /// The guards it stands behind, one bit each: while one of them matches, the rule is skipped.
    pub(crate) guards: u64,
    /// The operator is given the value as transformed so far.
    pub(crate) as_is: bool,
    /// The operator is given the value in lower case.
    pub(crate) lower: bool,
}

/// A rule whose first link does nothing but hand over to the second, in TX variables whose names are made of what it
/// matched. Nobody else learns of them as long as none of `others` is found in such a name behind its literal beginning.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) rule: RuleIndex,
    pub(crate) others: Vec<KeyPattern>,
}

/// The rules of a phase, those that are covered and the others.
#[derive(Default, Debug)]
pub(crate) struct PhaseParts {
    /// A bit for the place in the phase's list of each rule that is not covered.
    pub(crate) uncovered: Vec<u64>,
    /// The entries of the phase.
    pub(crate) entries: Entries,
    /// What its rules ask about TX variables before all else.
    pub(crate) questions: Vec<Question>,
}

/// A comparison of a TX variable with a text that rules start with. Its answer rules them out, or what they skip.
#[derive(Debug)]
pub(crate) struct Question {
    /// A rule that asks it with its first link.
    pub(crate) rule: RuleIndex,
    /// The variable.
    pub(crate) slot: TxSlot,
    /// A bit for the place of each rule that does not match when the answer is no.
    pub(crate) in_vain: Vec<u64>,
    /// A bit for the place of each rule that need not be looked at when the answer is yes: rules that only skip others,
    /// and those skipped.
    pub(crate) skipped: Vec<u64>,
}

/// A stream of values: one scalar variable, or the values or keys of one collection.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) variable: Variable,
    pub(crate) selector: Selector,
    /// The values are known only when the body has been read.
    pub(crate) late: bool,
    /// The root of the tree for members that `keyed` does not name.
    pub(crate) root: NodeIndex,
    /// The roots for members with these keys.
    pub(crate) keyed: Vec<(Box<[u8]>, NodeIndex)>,
}

impl Source {
    /// The root of the tree for the member with this key.
    pub(crate) fn root_of(&self, key: &[u8]) -> NodeIndex {
        let keyed = self.keyed.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
        keyed.map_or(self.root, |(_, root)| *root)
    }
}

/// The place of a [`Node`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(crate) struct NodeIndex(pub(crate) u32);

/// A node of the transformation tree of one kind of value: who looks at the value there, and what happens to it next.
///
/// `lowercase` at the end of a list is not in the tree: conditions fold case anyway, and the operator gets its value in
/// lower case when it comes to that.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The transformation that leads here, as a place in `TRANSFORMATIONS`; meaningless for a root.
    pub(crate) transformation: usize,
    /// Signature bits without which the transformation changes nothing; 0: it always may.
    pub(crate) triggers: Signature,
    /// The bits that make a difference here and below.
    pub(crate) looks_at: Signature,
    /// The entries that look at the value here.
    pub(crate) entries: Entries,
    /// The entries of this node and all below.
    pub(crate) subtree: Entries,
    /// No shorter value, before the transformation, can make an entry of the subtree match.
    pub(crate) least: usize,
    pub(crate) children: Vec<NodeIndex>,
}

impl Prefilter {
    /// The node at an index; `None` never happens for indices of this prefilter.
    pub(crate) fn node(&self, index: NodeIndex) -> Option<&Node> {
        self.nodes.get(index.0 as usize)
    }

    /// What is known of a rule that hands over from link to link.
    pub(crate) fn relay(&self, rule: RuleIndex) -> Option<&Relay> {
        self.relays.iter().find(|relay| relay.rule == rule)
    }

    /// Whether a rule asks about this variable before all else.
    pub(crate) fn asks_about(&self, slot: TxSlot) -> bool {
        self.asked.get(slot.get()).copied().unwrap_or(false)
    }

    /// The entries that a value of this length can match.
    pub(crate) fn of_length(&self, length: usize) -> &[u64] {
        self.by_length.get(length).or(self.by_length.last()).map_or(&[], |entries| entries)
    }
}

/// Adds an entry to a set.
pub(crate) fn insert(entries: &mut [u64], place: usize) {
    if let Some(word) = entries.get_mut(place / 64) {
        *word |= 1 << (place % 64);
    }
}

/// The places in a set, in order.
pub(crate) fn members(entries: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    Members { entries: entries.enumerate(), word: 0, bits: 0 }
}

struct Members<I> {
    entries: std::iter::Enumerate<I>,
    word: usize,
    bits: u64,
}

impl<I: Iterator<Item = u64>> Iterator for Members<I> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            (self.word, self.bits) = self.entries.next()?;
        }
        let bit = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.word * 64 + bit)
    }
}
