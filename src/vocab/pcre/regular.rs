//! Makes a pattern regular where that is exact: atomic groups and possessive quantifiers dropped, line starts judged.
//!
//! An atomic part may become an ordinary one if giving something back could never lead to a match, or is never asked
//! for. That is decided by what can follow the part, up to the end of the pattern.

use super::ast::{Assertion, Node, Repeat};
use crate::vocab::byte_set::ByteSet;

/// What can come next in the pattern at some place.
#[derive(Clone, Copy, Debug)]
struct Follow {
    /// Every byte it can begin with, or more.
    first: ByteSet,
    /// The bytes among them that cannot just be left out: what begins with a byte of an optional repetition matches
    /// without it too.
    needed: ByteSet,
    /// Whether the rest of the pattern can match without consuming anything.
    empty: Empty,
}

/// Ordered: "and" is the minimum, "or" the maximum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Empty {
    /// Never: at least one byte is needed.
    Never,
    /// Only at the very end of the value.
    AtEnd,
    /// In some places.
    Sometimes,
    /// Everywhere.
    Always,
}

impl Follow {
    const NOTHING: Self = Self { first: ByteSet::EMPTY, needed: ByteSet::EMPTY, empty: Empty::Always };

    const fn byte_of(set: ByteSet) -> Self {
        Self { first: set, needed: set, empty: Empty::Never }
    }

    fn or(self, other: Self) -> Self {
        Self { empty: self.empty.max(other.empty), ..self.union(other) }
    }

    /// One or the other, it is not known which.
    fn either(self, other: Self) -> Self {
        let (low, high) = (self.empty.min(other.empty), self.empty.max(other.empty));
        let empty = if high <= Empty::AtEnd || low == Empty::Always { high } else { Empty::Sometimes };
        Self { empty, ..self.union(other) }
    }

    const fn union(self, other: Self) -> Self {
        let (first, needed) = (self.first.union(other.first), self.needed.union(other.needed));
        Self { first, needed, empty: self.empty }
    }

    /// Behind a condition on the place, where nothing can be left out.
    fn under_condition(self) -> Self {
        Self { first: self.first, needed: self.first, empty: self.empty.min(Empty::Sometimes) }
    }
}

/// The same pattern without atomic parts, or `None` if it cannot be made regular.
pub(super) fn regular(node: &Node) -> Option<Node> {
    convert(node, Follow::NOTHING)
}

fn convert(node: &Node, follow: Follow) -> Option<Node> {
    Some(match node {
        Node::Empty | Node::Set(_) => node.clone(),
        Node::Assert(Assertion::EndOrLastLine) => return None,
        // Behind a line feed at the very end PCRE sees no line start, the linear engine does; where a byte must
        // follow they agree.
        Node::Assert(Assertion::LineStart) if follow.empty != Empty::Never => return None,
        Node::Assert(_) => node.clone(),
        Node::Concat(nodes) => return concat(nodes, follow),
        Node::Alternate(nodes) => {
            Node::Alternate(nodes.iter().map(|node| convert(node, follow)).collect::<Option<_>>()?)
        }
        Node::Repeat(repeat) => {
            let inner = convert(&repeat.node, within_loop(repeat, follow))?;
            Node::Repeat(Repeat { node: Box::new(inner), ..repeat.clone() })
        }
        Node::Capture(number, inner) => Node::Capture(*number, Box::new(convert(inner, follow)?)),
        Node::Atomic(inner) if may_give_back(inner, follow) => convert(inner, follow)?,
        Node::Atomic(_) | Node::Look { .. } | Node::BackReference { .. } | Node::Keep => return None,
    })
}

/// From right to left, so that what follows each part is known.
fn concat(nodes: &[Node], follow: Follow) -> Option<Node> {
    let mut done: Vec<Node> = Vec::with_capacity(nodes.len());
    let mut next = follow;
    for node in nodes.iter().rev() {
        let converted = match (convert(node, next), node) {
            (Some(converted), _) => converted,
            (None, Node::Atomic(inner)) => {
                done.reverse();
                exclude_from_concat(&mut done, endless_set(inner)?);
                let next = done.iter().rev().fold(follow, |follow, node| first_of(node, follow));
                done.reverse();
                may_give_back(inner, next).then(|| (**inner).clone())?
            }
            _ => return None,
        };
        next = first_of(&converted, next);
        done.push(converted);
    }
    done.reverse();
    Some(Node::concat(done))
}

/// What follows the body of a repetition: the body again or what follows the whole.
fn within_loop(repeat: &Repeat, follow: Follow) -> Follow {
    if repeat.max.is_some_and(|max| max <= 1) {
        return follow;
    }
    let again = first_of(&repeat.node, follow.or(first_of(&repeat.node, follow)));
    if repeat.min <= 1 { follow.or(again) } else { follow.either(again) }
}

/// What the node and then `follow` can begin with.
fn first_of(node: &Node, follow: Follow) -> Follow {
    match node {
        Node::Empty | Node::Keep => follow,
        Node::Set(set) => Follow::byte_of(*set),
        Node::Assert(Assertion::End) => Follow { empty: Empty::AtEnd.min(follow.empty), ..Follow::NOTHING },
        Node::Assert(_) | Node::Look { .. } => follow.under_condition(),
        Node::BackReference { .. } => Follow { first: ByteSet::ALL, ..follow }.under_condition(),
        Node::Concat(nodes) => nodes.iter().rev().fold(follow, |follow, node| first_of(node, follow)),
        Node::Alternate(nodes) => {
            nodes.iter().fold(Follow::byte_of(ByteSet::EMPTY), |sum, node| sum.or(first_of(node, follow)))
        }
        Node::Repeat(repeat) if repeat.max == Some(0) => follow,
        Node::Repeat(repeat) => {
            let once = first_of(&repeat.node, within_loop(repeat, follow));
            match single_set(&repeat.node) {
                Some(set) if repeat.min == 0 => Follow { first: follow.first.union(set), ..follow },
                _ if repeat.min == 0 => follow.or(once),
                _ => once,
            }
        }
        Node::Atomic(node) => match (&**node, endless_set(node)) {
            (Node::Repeat(repeat), Some(set)) if repeat.min == 0 => Follow { first: follow.first.union(set), ..follow },
            // What an atomic part took may be what the rest needs, so that "always" is not sure.
            _ => first_of(node, follow).under_condition(),
        },
        Node::Capture(_, node) => first_of(node, follow),
    }
}

/// Whether it makes no difference that the part may give back what it matched.
fn may_give_back(node: &Node, follow: Follow) -> bool {
    let Some(given_back) = give_back(node) else { return false };
    // Nothing to give back; or never asked, since the first try leads to a match; or in vain: what follows would have
    // to begin with a byte given back, and either cannot or could begin behind it as well.
    given_back.is_empty()
        || follow.empty == Empty::Always
        || follow.empty <= Empty::AtEnd && follow.needed.intersection(given_back).is_empty()
}

/// The bytes that what follows would begin with if the part gave something back; `None` if that is not known.
fn give_back(node: &Node) -> Option<ByteSet> {
    match node {
        Node::Empty | Node::Set(_) => Some(ByteSet::EMPTY),
        Node::Capture(_, node) => give_back(node),
        Node::Repeat(repeat) => {
            let set = single_set(&repeat.node)?;
            match repeat.max {
                Some(max) if max == repeat.min => Some(ByteSet::EMPTY),
                _ => repeat.greedy.then_some(set),
            }
        }
        Node::Concat(nodes) => {
            let (last, fixed) = nodes.split_last()?;
            fixed.iter().all(|node| single_set(node).is_some()).then(|| give_back(last))?
        }
        Node::Alternate(nodes) => {
            let strings: Vec<_> = nodes.iter().map(fixed_string).collect::<Option<_>>()?;
            alternatives_give_back(&strings)
        }
        _ => None,
    }
}

/// If a later alternative matches in place of an earlier and longer one, what follows begins inside the longer one.
fn alternatives_give_back(strings: &[Vec<ByteSet>]) -> Option<ByteSet> {
    let mut given_back = ByteSet::EMPTY;
    for (place, earlier) in strings.iter().enumerate() {
        for later in strings.iter().skip(place + 1) {
            if earlier.iter().zip(later).any(|(a, b)| a.intersection(*b).is_empty()) {
                continue;
            }
            match earlier.get(later.len()) {
                Some(set) => given_back = given_back.union(*set),
                None if earlier.len() == later.len() => {}
                None => return None,
            }
        }
    }
    Some(given_back)
}

fn fixed_string(node: &Node) -> Option<Vec<ByteSet>> {
    match node {
        Node::Empty => Some(Vec::new()),
        Node::Concat(nodes) => nodes.iter().map(single_set).collect(),
        node => Some(vec![single_set(node)?]),
    }
}

fn single_set(node: &Node) -> Option<ByteSet> {
    match node {
        Node::Set(set) => Some(*set),
        Node::Capture(_, node) => single_set(node),
        _ => None,
    }
}

/// The set of a greedy repetition without upper bound, which takes every byte of the set there is.
fn endless_set(node: &Node) -> Option<ByteSet> {
    match node {
        Node::Repeat(Repeat { node, max: None, greedy: true, .. }) => single_set(node),
        _ => None,
    }
}

/// Keeps the parts from beginning with a byte of the set, as far as that is simple: behind an endless repetition of the
/// set there is none.
fn exclude_from_concat(nodes: &mut [Node], set: ByteSet) {
    if let Some(first) = nodes.iter_mut().find(|node| !matches!(node, Node::Assert(_) | Node::Empty)) {
        exclude(first, set);
    }
}

fn exclude(node: &mut Node, set: ByteSet) {
    match node {
        Node::Set(own) => *own = own.minus(set),
        Node::Concat(nodes) => exclude_from_concat(nodes, set),
        Node::Alternate(nodes) => nodes.iter_mut().for_each(|node| exclude(node, set)),
        Node::Capture(_, node) => exclude(node, set),
        Node::Repeat(repeat) if repeat.min > 0 && !repeat.node.has_captures() && !repeat.node.is_nullable() => {
            let mut first = (*repeat.node).clone();
            exclude(&mut first, set);
            let rest = Repeat { min: repeat.min - 1, max: repeat.max.map(|max| max - 1), ..repeat.clone() };
            *node = Node::Concat(vec![first, Node::Repeat(rest)]);
        }
        _ => {}
    }
}
