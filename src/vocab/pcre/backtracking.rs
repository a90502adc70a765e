//! Patterns for the backtracking engine, which works on text: every byte becomes a character of its own, in the
//! pattern and in the value, so that no byte sequence can be taken for a character.
//!
//! ASCII stays itself. Bytes from 80 on become letters of a script that knows no case, so that only ASCII letters have
//! another case.

use std::fmt::Write as _;

use fancy_regex::{Regex, RegexBuilder};

use super::Groups;
use super::ast::{Assertion, Node, Repeat};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::operators::{BuildError, Captures, MatchLimit};

/// Added to bytes from 80 on: U+0680 to U+06FF are Arabic.
const SHIFT: u32 = 0x600;

/// Of the engine's program, whatever repetitions multiply it to.
const MAX_INSTRUCTIONS: usize = 200_000;

/// Of each part that the engine hands on to an automaton.
const MAX_PART_BYTES: usize = 10 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Backtracking(Regex);

impl Backtracking {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// What the engine says against the pattern.
    pub(super) fn new(node: &Node, match_limit: usize) -> Result<Self, BuildError> {
        let mut text = String::new();
        write(node, &mut text);
        let mut builder = RegexBuilder::new(&text);
        builder.backtrack_limit(match_limit).max_prog_size(MAX_INSTRUCTIONS).delegate_size_limit(MAX_PART_BYTES);
        builder.build().map(Self).map_err(|error| BuildError {
            message: format!("the pattern needs backtracking, and there it cannot be compiled: {error}"),
            help: Some("express it without look-around, references and atomic groups".into()),
            offset: None,
        })
    }

    /// Whether the pattern is found.
    pub(super) fn is_match(&self, value: &[u8]) -> Result<bool, MatchLimit> {
        self.0.is_match(encode(value).as_str()).map_err(|_| MatchLimit)
    }

    /// Looks for a match from `from` on and fills in its groups.
    pub(super) fn find_at(&self, value: &[u8], from: usize, groups: &mut Groups) -> Result<bool, MatchLimit> {
        let text = encode(value);
        let start = encode(value.get(..from).unwrap_or(value)).len();
        groups.set(std::iter::empty());
        let Some(captures) = self.0.captures_from_pos(text.as_str(), start).map_err(|_| MatchLimit)? else {
            return Ok(false);
        };
        let place = |end: usize| text.get(..end).map_or(0, |before| before.chars().count());
        groups.set(
            captures
                .iter()
                .take(Captures::MAX)
                .map(|group| group.map(|group| (place(group.start()), place(group.end())))),
        );
        Ok(true)
    }
}

fn encode(value: &[u8]) -> String {
    value.iter().map(|byte| character(*byte)).collect()
}

fn character(byte: u8) -> char {
    match byte {
        0..=0x7f => char::from(byte),
        _ => char::from_u32(SHIFT + u32::from(byte)).unwrap_or_default(),
    }
}

fn write(node: &Node, text: &mut String) {
    match node {
        Node::Empty => text.push_str("(?:)"),
        Node::Set(bytes) => write_set(bytes, text),
        Node::Assert(assertion) => text.push_str(assertion_text(*assertion)),
        Node::Concat(nodes) => nodes.iter().for_each(|node| write(node, text)),
        Node::Alternate(nodes) => write_alternatives(nodes, text),
        Node::Repeat(repeat) => write_repeat(repeat, text),
        Node::Capture(_, node) => wrap("(", node, text),
        Node::Atomic(node) => wrap("(?>", node, text),
        Node::Look { behind, negated, node } => {
            let open = match (behind, negated) {
                (false, false) => "(?=",
                (false, true) => "(?!",
                (true, false) => "(?<=",
                (true, true) => "(?<!",
            };
            wrap(open, node, text);
        }
        Node::BackReference { group, caseless } => {
            let flag = if *caseless { "i" } else { "" };
            // Writing to memory cannot fail, here and below.
            let _ = write!(text, "(?{flag}:\\{group})");
        }
        Node::Keep => text.push_str("\\K"),
    }
}

fn wrap(open: &str, node: &Node, text: &mut String) {
    text.push_str(open);
    write(node, text);
    text.push(')');
}

fn write_alternatives(nodes: &[Node], text: &mut String) {
    text.push_str("(?:");
    for (place, node) in nodes.iter().enumerate() {
        if place > 0 {
            text.push('|');
        }
        write(node, text);
    }
    text.push(')');
}

fn write_repeat(repeat: &Repeat, text: &mut String) {
    wrap("(?:", &repeat.node, text);
    let _ = match repeat.max {
        Some(max) => write!(text, "{{{},{max}}}", repeat.min),
        None => write!(text, "{{{},}}", repeat.min),
    };
    if !repeat.greedy {
        text.push('?');
    }
}

fn write_set(bytes: &ByteSet, text: &mut String) {
    let write_byte = |byte: u8, text: &mut String| {
        let _ = write!(text, "\\x{{{:x}}}", u32::from(character(byte)));
    };
    match bytes.ranges().as_slice() {
        [] => text.push_str("(?!)"),
        [(byte, last)] if byte == last => match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b' ' => text.push(char::from(*byte)),
            _ => write_byte(*byte, text),
        },
        ranges => {
            text.push('[');
            for (first, last) in ranges.iter().flat_map(|range| halves(*range)) {
                write_byte(first, text);
                text.push('-');
                write_byte(last, text);
            }
            text.push(']');
        }
    }
}

/// A range as characters is not one range where it crosses 80.
fn halves((first, last): (u8, u8)) -> Vec<(u8, u8)> {
    if first < 0x80 && last >= 0x80 { vec![(first, 0x7f), (0x80, last)] } else { vec![(first, last)] }
}

const fn assertion_text(assertion: Assertion) -> &'static str {
    match assertion {
        Assertion::Start => r"\A",
        Assertion::End => r"\z",
        Assertion::EndOrLastLine => r"(?=\n?\z)",
        Assertion::LineStart => r"(?:\A|(?<=\n)(?!\z))",
        Assertion::LineEnd => r"(?=\n|\z)",
        Assertion::WordBoundary => "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))",
        Assertion::NotWordBoundary => "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))",
    }
}
