//! Patterns for the linear-time engine, handed over as its own syntax tree: no second text, no second reading.

use std::sync::OnceLock;

use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input, meta};
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, Look, Repetition};

use super::ast::{Assertion, Node, Repeat};
use super::automaton::{Automaton, Spans};
use super::{Groups, parser, regular};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::operators::{BuildError, Captures};

/// Of the states of the automaton, whatever repetitions multiply them to.
const MAX_BYTES: usize = 10 << 20;

/// A regular pattern.
///
/// Most values match nothing, so three engines share the work: one automaton says whether there is a match, another where
/// it is, the crate's engine where its groups are. The latter two take more memory, which few patterns ever need: they
/// are made at the first match that needs them.
#[derive(Debug)]
pub(super) struct Linear {
    /// `None` when it would be too big; then the crate's engine says all.
    automaton: Option<Automaton>,
    text: Box<[u8]>,
    has_groups: bool,
    spans: OnceLock<Option<Spans>>,
    regex: OnceLock<Option<meta::Regex>>,
}

impl Linear {
    /// Compiles a pattern, which `node` is the regular form of.
    ///
    /// # Errors
    /// The pattern is too big.
    pub(super) fn new(text: &[u8], node: &Node) -> Result<Self, BuildError> {
        let automaton = Automaton::new(node);
        let regex = match &automaton {
            Some(_) => OnceLock::new(),
            None => OnceLock::from(Some(compile(node)?)),
        };
        Ok(Self { automaton, text: text.into(), has_groups: node.has_captures(), spans: OnceLock::new(), regex })
    }

    /// Whether the pattern is found.
    #[inline]
    pub(super) fn is_match(&self, value: &[u8]) -> bool {
        match &self.automaton {
            Some(automaton) => automaton.is_match(value),
            None => self.regex().is_some_and(|regex| regex.is_match(value)),
        }
    }

    /// Looks for a match from `from` on and fills in its groups.
    pub(super) fn find_at(&self, value: &[u8], from: usize, groups: &mut Groups) -> bool {
        groups.set(std::iter::empty());
        // The answer is mostly no. If not, those that find places are slow: they are spared what comes before the match.
        let floor = match &self.automaton {
            Some(automaton) if from == 0 => automaton.floor(value),
            None if from == 0 && !self.is_match(value) => None,
            _ => Some(from),
        };
        let Some(from) = floor.filter(|from| *from <= value.len()) else { return false };
        let Some(spans) = self.spans() else { return self.find_groups(Input::new(value).range(from..), groups) };
        let Some((start, end)) = spans.find(value, from) else { return false };
        if self.has_groups {
            // Of all matches within the place of the preferred one, that one is the preferred.
            return self.find_groups(Input::new(value).range(start..end).anchored(Anchored::Yes), groups);
        }
        groups.set(std::iter::once(Some((start, end))));
        true
    }

    fn find_groups(&self, input: Input<'_>, groups: &mut Groups) -> bool {
        let Some(regex) = self.regex() else { return false };
        let mut slots = [None; 2 * Captures::MAX];
        let found = regex.search_slots(&input, &mut slots).is_some();
        if found {
            let count = regex.captures_len();
            let place = |pair: &[Option<NonMaxUsize>; 2]| Some((pair[0]?.get(), pair[1]?.get()));
            groups.set(slots.as_chunks().0.iter().take(count).map(place));
        }
        found
    }

    /// The engine that finds places; `None` for patterns that are too big for it.
    fn spans(&self) -> Option<&Spans> {
        self.spans.get_or_init(|| spans(&self.node()?)).as_ref()
    }

    /// The engine that finds groups.
    fn regex(&self) -> Option<&meta::Regex> {
        // The automaton was small: this does not fail now.
        self.regex.get_or_init(|| compile(&self.node()?).ok()).as_ref()
    }

    /// The pattern read again: it could be read before.
    fn node(&self) -> Option<Node> {
        regular::regular(&parser::parse(&self.text).ok()?)
    }

    /// The heap memory that the automatons take so far.
    pub(super) fn automaton_bytes(&self) -> usize {
        let spans = self.spans.get().and_then(Option::as_ref);
        self.automaton.as_ref().map_or(0, Automaton::memory) + spans.map_or(0, Spans::memory)
    }
}

/// Compiles a pattern for the engine that finds places. `None` when it is too big.
pub(super) fn spans(node: &Node) -> Option<Spans> {
    let config = NFA::config().utf8(false).nfa_size_limit(Some(MAX_BYTES)).which_captures(WhichCaptures::None);
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(&hir(node)).ok()?;
    Spans::new(&nfa)
}

/// Compiles a pattern for the engine that finds groups. Without a lazy DFA: it would be made anew by hostile values over
/// and over, and keep what they made of it.
pub(super) fn compile(node: &Node) -> Result<meta::Regex, BuildError> {
    let config = meta::Regex::config().utf8_empty(false).nfa_size_limit(Some(MAX_BYTES)).hybrid(false);
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
