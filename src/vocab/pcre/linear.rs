//! Patterns for the linear-time engine, handed over as its own syntax tree: no second text, no second reading.

use regex_automata::meta;
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::ast::{Assertion, Node, Repeat};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::operators::BuildError;

/// Of the states of the automaton, whatever repetitions multiply them to.
const MAX_BYTES: usize = 10 << 20;

/// The lazy DFA of a pattern keeps at most this much, unless the pattern is so big that it could not work within.
const LEAST_CACHE_BYTES: usize = 128 << 10;

/// About what one state of the automaton costs at least in the cache of the lazy DFA.
const CACHE_BYTES_PER_STATE: usize = 64;

/// Compiles a regular pattern.
///
/// # Errors
/// The pattern is too big.
pub(super) fn compile(node: &Node) -> Result<meta::Regex, BuildError> {
    let cache = node.size().saturating_mul(CACHE_BYTES_PER_STATE).clamp(LEAST_CACHE_BYTES, 2 << 20);
    let config = meta::Regex::config().utf8_empty(false).nfa_size_limit(Some(MAX_BYTES)).hybrid_cache_capacity(cache);
    meta::Regex::builder().configure(config).build_from_hir(&hir(node)).map_err(|error| {
        let message = match error.size_limit() {
            Some(_) => "the pattern is too big, its repetitions multiplied".to_owned(),
            None => format!("the pattern cannot be compiled: {error}"),
        };
        BuildError { message, help: Some("lower the bounds of nested repetitions".into()), offset: None }
    })
}

fn hir(node: &Node) -> Hir {
    match node {
        Node::Set(bytes) => set(bytes),
        Node::Assert(assertion) => Hir::look(look(*assertion)),
        Node::Concat(nodes) => Hir::concat(nodes.iter().map(hir).collect()),
        Node::Alternate(nodes) => Hir::alternation(nodes.iter().map(hir).collect()),
        Node::Repeat(Repeat { node, min, max, greedy }) => {
            Hir::repetition(Repetition { min: *min, max: *max, greedy: *greedy, sub: Box::new(hir(node)) })
        }
        Node::Capture(number, node) => {
            let index = u32::try_from(*number).unwrap_or(u32::MAX);
            Hir::capture(Capture { index, name: None, sub: Box::new(hir(node)) })
        }
        // INVARIANT: `regular` leaves none of the others.
        Node::Empty | Node::Atomic(_) | Node::Look { .. } | Node::BackReference { .. } | Node::Keep => Hir::empty(),
    }
}

fn set(bytes: &ByteSet) -> Hir {
    match bytes.ranges().as_slice() {
        [] => Hir::fail(),
        [(byte, last)] if byte == last => Hir::literal([*byte]),
        ranges => {
            let ranges = ranges.iter().map(|(first, last)| ClassBytesRange::new(*first, *last));
            Hir::class(Class::Bytes(ClassBytes::new(ranges)))
        }
    }
}

const fn look(assertion: Assertion) -> Look {
    match assertion {
        Assertion::Start => Look::Start,
        // INVARIANT: `regular` leaves no `EndOrLastLine`.
        Assertion::End | Assertion::EndOrLastLine => Look::End,
        Assertion::LineStart => Look::StartLF,
        Assertion::LineEnd => Look::EndLF,
        Assertion::WordBoundary => Look::WordAscii,
        Assertion::NotWordBoundary => Look::WordAsciiNegate,
    }
}
