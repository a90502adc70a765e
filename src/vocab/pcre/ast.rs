//! Parsed patterns: flags are resolved, every byte consumed is a set of bytes.

use crate::vocab::byte_set::ByteSet;

/// A part of a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    /// Matches the empty text.
    Empty,
    /// One byte of the set; an empty set never matches.
    Set(ByteSet),
    /// A condition on the place.
    Assert(Assertion),
    /// One after the other.
    Concat(Vec<Node>),
    /// The first that leads to a match.
    Alternate(Vec<Node>),
    /// Again and again.
    Repeat(Repeat),
    /// A numbered group.
    Capture(usize, Box<Node>),
    /// What it matched is never given back: `(?>…)` and possessive quantifiers.
    Atomic(Box<Node>),
    /// Look-around.
    Look {
        /// Backwards.
        behind: bool,
        /// The text must not be there.
        negated: bool,
        /// What is looked for.
        node: Box<Node>,
    },
    /// The text of a group once more.
    BackReference {
        /// The group's number.
        group: usize,
        /// ASCII letters of either case are alike.
        caseless: bool,
    },
    /// `\K`: the match is said to begin here.
    Keep,
}

/// A repetition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Repeat {
    pub(super) node: Box<Node>,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    pub(super) greedy: bool,
}

/// A condition on a place in the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Assertion {
    /// The very start.
    Start,
    /// The very end.
    End,
    /// The very end, or before a line feed there (`\Z`).
    EndOrLastLine,
    /// The start, or behind a line feed that is not the last byte (`^` under `(?m)`).
    LineStart,
    /// The end, or before a line feed (`$` under `(?m)`).
    LineEnd,
    /// Between a word byte and another.
    WordBoundary,
    /// Not there.
    NotWordBoundary,
}

impl Node {
    /// Whether the part can match without consuming a byte.
    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Self::Set(_) => false,
            Self::Concat(nodes) => nodes.iter().all(Self::is_nullable),
            Self::Alternate(nodes) => nodes.iter().any(Self::is_nullable),
            Self::Repeat(repeat) => repeat.min == 0 || repeat.node.is_nullable(),
            Self::Capture(_, node) | Self::Atomic(node) => node.is_nullable(),
            Self::Empty | Self::Assert(_) | Self::Look { .. } | Self::BackReference { .. } | Self::Keep => true,
        }
    }

    /// Whether this is `^.*$` or `\A.*\z`: it matches every value from end to end.
    pub(super) fn is_everything(&self) -> bool {
        let Self::Concat(nodes) = self else { return false };
        let [Self::Assert(Assertion::Start), Self::Repeat(repeat), Self::Assert(Assertion::End)] = nodes.as_slice()
        else {
            return false;
        };
        let any = matches!(&*repeat.node, Self::Set(set) if *set == ByteSet::ALL);
        any && repeat.min == 0 && repeat.max.is_none()
    }

    /// Whether there is a numbered group inside.
    pub(super) fn has_captures(&self) -> bool {
        match self {
            Self::Capture(..) => true,
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes.iter().any(Self::has_captures),
            Self::Repeat(Repeat { node, .. }) | Self::Atomic(node) | Self::Look { node, .. } => node.has_captures(),
            Self::Empty | Self::Set(_) | Self::Assert(_) | Self::BackReference { .. } | Self::Keep => false,
        }
    }

    /// The parts as one, without needless nesting.
    pub(super) fn concat(mut nodes: Vec<Self>) -> Self {
        match nodes.len() {
            0 => Self::Empty,
            1 => nodes.pop().unwrap_or(Self::Empty),
            _ => Self::Concat(nodes),
        }
    }
}
