//! The reader of PCRE's syntax (version 10, no UTF mode).

use super::ast::{Assertion, Node, Repeat};
use super::sets::{DIGIT, DOT, HORIZONTAL, SPACE, VERTICAL, WORD};
use crate::vocab::byte_set::ByteSet;
use crate::vocab::operators::BuildError;

/// As PCRE's own limit; it bounds every recursion over a pattern.
const MAX_DEPTH: usize = 250;

/// As PCRE's own limit.
const MAX_REPEAT: u32 = 65_535;

/// Reads a pattern.
///
/// # Errors
/// The construct that is malformed or not supported, with its offset.
pub(super) fn parse(pattern: &[u8]) -> Result<Node, BuildError> {
    let first = Parser::new(pattern, Groups::default()).run()?;
    if !first.looked_ahead {
        return Ok(first.node);
    }
    // A reference to a group further on, or `\10` which is one only if there are ten groups: now the groups are known.
    Ok(Parser::new(pattern, first.groups).run()?.node)
}

/// The groups of a pattern, from an earlier reading.
#[derive(Clone, Default, Debug)]
struct Groups {
    known: bool,
    count: usize,
    names: Vec<(Vec<u8>, usize)>,
}

struct Reading {
    node: Node,
    groups: Groups,
    looked_ahead: bool,
}

/// The inline flags.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Flags {
    pub(super) caseless: bool,
    multi_line: bool,
    dot_all: bool,
    extended: bool,
    ungreedy: bool,
    no_auto_capture: bool,
}

pub(super) struct Parser<'p> {
    pattern: &'p [u8],
    at: usize,
    pub(super) flags: Flags,
    depth: usize,
    quoting: bool,
    groups: Groups,
    count: usize,
    names: Vec<(Vec<u8>, usize)>,
    looked_ahead: bool,
}

/// What stands between the parts of a concatenation.
enum Atom {
    /// Something a quantifier may follow.
    Node(Node),
    /// Flags and comments.
    Nothing,
}

impl<'p> Parser<'p> {
    fn new(pattern: &'p [u8], groups: Groups) -> Self {
        let flags = Flags { dot_all: true, ..Flags::default() };
        Self {
            pattern,
            at: 0,
            flags,
            depth: 0,
            quoting: false,
            groups,
            count: 0,
            names: Vec::new(),
            looked_ahead: false,
        }
    }

    fn run(mut self) -> Result<Reading, BuildError> {
        let node = self.alternation()?;
        if self.peek().is_some() {
            return Err(self.error_at(self.at, "`)` without a `(` before it", "write `\\)` for the character itself"));
        }
        let groups = Groups { known: true, count: self.count, names: self.names };
        Ok(Reading { node, groups, looked_ahead: self.looked_ahead })
    }

    /// Alternatives up to the closing parenthesis or the end.
    fn alternation(&mut self) -> Result<Node, BuildError> {
        let first = self.concatenation()?;
        if self.peek() != Some(b'|') {
            return Ok(first);
        }
        let mut nodes = vec![first];
        while self.take(b"|") {
            nodes.push(self.concatenation()?);
        }
        Ok(Node::Alternate(nodes))
    }

    fn concatenation(&mut self) -> Result<Node, BuildError> {
        let mut nodes = Vec::new();
        loop {
            self.skip_ignored()?;
            match self.peek() {
                None => break,
                Some(b'|' | b')') if !self.quoting => break,
                Some(_) => {}
            }
            if let Atom::Node(node) = self.atom()? {
                self.skip_ignored()?;
                nodes.push(self.quantified(node)?);
            }
        }
        Ok(Node::concat(nodes))
    }

    /// Passes over comments, blanks under `(?x)`, and the marks of quoting.
    fn skip_ignored(&mut self) -> Result<(), BuildError> {
        loop {
            let start = self.at;
            if self.take(b"\\E") {
                self.quoting = false;
            } else if self.quoting {
                return Ok(());
            } else if self.take(b"\\Q") {
                self.quoting = true;
            } else if self.take(b"(?#") {
                while self.next().ok_or_else(|| self.unclosed(start))? != b')' {}
            } else if self.flags.extended && self.peek().is_some_and(|byte| SPACE.contains(byte)) {
                self.at += 1;
            } else if self.flags.extended && self.take(b"#") {
                while self.next().is_some_and(|byte| byte != b'\n') {}
            } else {
                return Ok(());
            }
        }
    }

    fn atom(&mut self) -> Result<Atom, BuildError> {
        let start = self.at;
        let Some(byte) = self.next() else { return Ok(Atom::Nothing) };
        if self.quoting {
            return Ok(Atom::Node(self.literal(byte)));
        }
        Ok(Atom::Node(match byte {
            b'.' if self.flags.dot_all => Node::Set(ByteSet::ALL),
            b'.' => Node::Set(DOT),
            b'^' if self.flags.multi_line => Node::Assert(Assertion::LineStart),
            b'^' => Node::Assert(Assertion::Start),
            b'$' if self.flags.multi_line => Node::Assert(Assertion::LineEnd),
            b'$' => Node::Assert(Assertion::End),
            b'[' => Node::Set(self.class(start)?),
            b'(' => return self.group(start),
            b'\\' => self.escape(start)?,
            b'*' | b'+' | b'?' => return Err(self.nothing_to_repeat(start)),
            b'{' if self.braces(start).is_some() => return Err(self.nothing_to_repeat(start)),
            _ => self.literal(byte),
        }))
    }

    pub(super) fn literal(&self, byte: u8) -> Node {
        let set = ByteSet::of(&[byte]);
        Node::Set(if self.flags.caseless { set.fold_case() } else { set })
    }

    fn quantified(&mut self, node: Node) -> Result<Node, BuildError> {
        let start = self.at;
        let (min, max) = match self.peek() {
            _ if self.quoting => return Ok(node),
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => match self.braces(start) {
                Some((min, max, end)) => {
                    self.at = end - 1;
                    (min, max)
                }
                None => return Ok(node),
            },
            _ => return Ok(node),
        };
        self.at += 1;
        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || max < min) {
            let help = format!("write at most {MAX_REPEAT}, the smaller number first");
            return Err(self.error_at(start, "numbers of a repetition out of order or too big", &help));
        }
        let possessive = self.take(b"+");
        let greedy = self.take(b"?") == self.flags.ungreedy;
        if matches!(node, Node::Assert(_) | Node::Look { .. }) {
            // A condition said twice says no more; where it may be left out it still is tried first.
            return Ok(if min > 0 { node } else { Node::Alternate(vec![node, Node::Empty]) });
        }
        let repeat = Node::Repeat(Repeat { node: Box::new(node), min, max, greedy: greedy || possessive });
        Ok(if possessive { Node::Atomic(Box::new(repeat)) } else { repeat })
    }

    /// The numbers of `{n}`, `{n,}` or `{n,m}` at `start` and where it ends; anything else in braces is literal.
    fn braces(&self, start: usize) -> Option<(u32, Option<u32>, usize)> {
        let text = self.pattern.get(start..)?.strip_prefix(b"{")?;
        let length = memchr::memchr(b'}', text)?;
        let inside = std::str::from_utf8(text.get(..length)?).ok()?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let (min, max) = match inside.split_once(',') {
            None => (number(inside)?, Some(number(inside)?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        Some((min, max, start + length + 2))
    }

    fn group(&mut self, start: usize) -> Result<Atom, BuildError> {
        if self.peek() == Some(b'*') {
            return Err(self.unsupported(start, 3, "verb"));
        }
        if !self.take(b"?") {
            if self.flags.no_auto_capture {
                return self.inside(start, |node| node);
            }
            return self.capture(start);
        }
        for (mark, behind, negated) in
            [(&b"="[..], false, false), (b"!", false, true), (b"<=", true, false), (b"<!", true, true)]
        {
            if self.take(mark) {
                return self.inside(start, |node| Node::Look { behind, negated, node: Box::new(node) });
            }
        }
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                self.inside(start, |node| node)
            }
            Some(b'>') => {
                self.at += 1;
                self.inside(start, |node| Node::Atomic(Box::new(node)))
            }
            Some(b'<' | b'\'' | b'P') => self.named_group(start),
            Some(b'|') => Err(self.unsupported(start, 3, "branch reset")),
            Some(b'(') => Err(self.unsupported(start, 3, "conditional group")),
            Some(b'C') => Err(self.unsupported(start, 3, "callout")),
            Some(b'R' | b'&' | b'+' | b'0'..=b'9') => Err(self.unsupported(start, 3, "recursion")),
            Some(b'-') if self.peek_at(1).is_some_and(|byte| byte.is_ascii_digit()) => {
                Err(self.unsupported(start, 3, "recursion"))
            }
            _ => self.flag_group(start),
        }
    }

    fn capture(&mut self, start: usize) -> Result<Atom, BuildError> {
        self.count += 1;
        let number = self.count;
        self.inside(start, |node| Node::Capture(number, Box::new(node)))
    }

    /// `(?<name>…)`, `(?'name'…)`, `(?P<name>…)` and the reference `(?P=name)`.
    fn named_group(&mut self, start: usize) -> Result<Atom, BuildError> {
        if self.take(b"P=") {
            let name = self.name(start, b')')?;
            return Ok(Atom::Node(self.reference_by_name(start, name)?));
        }
        if self.take(b"P") && self.peek() != Some(b'<') {
            return Err(self.unsupported(start, 4, "recursion"));
        }
        let close = if self.next() == Some(b'<') { b'>' } else { b'\'' };
        let name = self.name(start, close)?;
        self.names.push((name.to_vec(), self.count + 1));
        self.capture(start)
    }

    /// `(?i)`, `(?s-m:…)` and the like.
    fn flag_group(&mut self, start: usize) -> Result<Atom, BuildError> {
        let mut flags = self.flags;
        let mut on = true;
        loop {
            match self.next() {
                Some(b'i') => flags.caseless = on,
                Some(b'm') => flags.multi_line = on,
                Some(b's') => flags.dot_all = on,
                Some(b'x') => flags.extended = on,
                Some(b'U') => flags.ungreedy = on,
                Some(b'n') => flags.no_auto_capture = on,
                Some(b'J') => {}
                Some(b'-') => on = false,
                Some(b'^') => flags = Flags { ungreedy: flags.ungreedy, ..Flags::default() },
                Some(b')') => {
                    self.flags = flags;
                    return Ok(Atom::Nothing);
                }
                Some(b':') => {
                    let outer = std::mem::replace(&mut self.flags, flags);
                    let group = self.inside(start, |node| node);
                    self.flags = outer;
                    return group;
                }
                _ => return Err(self.unsupported(start, self.at - start, "group")),
            }
        }
    }

    /// The alternatives up to the closing parenthesis, made into a node; flags set inside end there.
    fn inside(&mut self, start: usize, make: impl FnOnce(Node) -> Node) -> Result<Atom, BuildError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error_at(start, "groups nested too deeply", &format!("nest at most {MAX_DEPTH} groups")));
        }
        let flags = self.flags;
        let node = self.alternation()?;
        self.flags = flags;
        self.depth -= 1;
        if !self.take(b")") {
            return Err(self.unclosed(start));
        }
        Ok(Atom::Node(make(node)))
    }

    fn escape(&mut self, start: usize) -> Result<Node, BuildError> {
        let Some(byte) = self.next() else {
            return Err(self.error_at(start, "`\\` at the end", "write `\\\\` for the character itself"));
        };
        Ok(match byte {
            b'b' => Node::Assert(Assertion::WordBoundary),
            b'B' => Node::Assert(Assertion::NotWordBoundary),
            b'A' => Node::Assert(Assertion::Start),
            b'z' => Node::Assert(Assertion::End),
            b'Z' => Node::Assert(Assertion::EndOrLastLine),
            b'K' => Node::Keep,
            b'C' => Node::Set(ByteSet::ALL),
            b'N' if self.peek() != Some(b'{') => Node::Set(DOT),
            b'R' => Node::Atomic(Box::new(Node::Alternate(vec![
                Node::Concat(vec![Node::Set(ByteSet::of(b"\r")), Node::Set(ByteSet::of(b"\n"))]),
                Node::Set(VERTICAL),
            ]))),
            b'1'..=b'9' => self.reference_or_octal(start, byte)?,
            b'g' => self.g_reference(start)?,
            b'k' => {
                let close = match self.next() {
                    Some(b'<') => b'>',
                    Some(b'{') => b'}',
                    Some(b'\'') => b'\'',
                    _ => return Err(self.unsupported(start, 2, "reference")),
                };
                let name = self.name(start, close)?;
                self.reference_by_name(start, name)?
            }
            _ => match set_escape(byte) {
                Some(set) => Node::Set(set),
                None => self.byte_escape(start, byte).map(|byte| self.literal(byte))?,
            },
        })
    }

    /// `\1` to `\9` are references; a longer number is one if there are so many groups, else octal.
    fn reference_or_octal(&mut self, start: usize, first: u8) -> Result<Node, BuildError> {
        let more = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = self.pattern.get(self.at - 1..self.at + more).unwrap_or_default();
        let number = decimal(digits);
        if more == 0 || number <= self.groups.count {
            self.at += more;
            return self.reference(start, number);
        }
        self.looked_ahead |= !self.groups.known;
        match first {
            b'8' | b'9' if self.groups.known => self.reference(start, number),
            b'8' | b'9' => Ok(self.literal(first)),
            _ => {
                self.at -= 1;
                self.octal(start).map(|byte| self.literal(byte))
            }
        }
    }

    /// `\g1`, `\g{-1}`, `\g{name}`.
    fn g_reference(&mut self, start: usize) -> Result<Node, BuildError> {
        let braced = self.take(b"{");
        let length = match braced {
            true => memchr::memchr(b'}', self.rest()).ok_or_else(|| self.unclosed(start))?,
            false => self.rest().iter().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-')).count(),
        };
        let text = self.rest().get(..length).unwrap_or_default();
        self.at += length + usize::from(braced);
        match text {
            [] => Err(self.unsupported(start, 3, "reference")),
            [b'-', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                let back = decimal(digits);
                let number = (self.count + 1).checked_sub(back).filter(|number| *number > 0);
                self.reference(start, number.unwrap_or(usize::MAX))
            }
            digits if digits.iter().all(u8::is_ascii_digit) => self.reference(start, decimal(digits)),
            name if braced => self.reference_by_name(start, name),
            _ => Err(self.unsupported(start, 3, "reference")),
        }
    }

    fn reference(&mut self, start: usize, number: usize) -> Result<Node, BuildError> {
        self.looked_ahead |= number > self.count && !self.groups.known;
        if number == 0 || self.groups.known && number > self.groups.count {
            return Err(self.error_at(start, "reference to a group that is not there", "count the groups from 1"));
        }
        Ok(Node::BackReference { group: number, caseless: self.flags.caseless })
    }

    fn reference_by_name(&mut self, start: usize, name: &[u8]) -> Result<Node, BuildError> {
        let mut names = self.names.iter().chain(&self.groups.names);
        match names.find(|(known, _)| known == name).map(|(_, number)| *number) {
            Some(number) => self.reference(start, number),
            None if !self.groups.known => {
                self.looked_ahead = true;
                Ok(Node::Empty)
            }
            None => {
                let message = format!("reference to a group `{}` that is not there", name.escape_ascii());
                Err(self.error_at(start, &message, "name the group with `(?<name>…)`"))
            }
        }
    }

    fn name(&mut self, start: usize, close: u8) -> Result<&'p [u8], BuildError> {
        let rest: &'p [u8] = self.pattern.get(self.at..).unwrap_or_default();
        let length = memchr::memchr(close, rest).ok_or_else(|| self.unclosed(start))?;
        let name = rest.get(..length).unwrap_or_default();
        self.at += length + 1;
        let starts_well = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        if !starts_well || !name.iter().all(|byte| WORD.contains(*byte)) {
            let message = format!("`{}` is no name for a group", name.escape_ascii());
            return Err(self.error_at(start, &message, "use letters, digits and `_`, no digit first"));
        }
        Ok(name)
    }

    /// An escape that stands for one byte, in a class or outside; `byte` follows the backslash.
    pub(super) fn byte_escape(&mut self, start: usize, byte: u8) -> Result<u8, BuildError> {
        Ok(match byte {
            b'a' => 0x07,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0'..=b'7' => {
                self.at -= 1;
                self.octal(start)?
            }
            b'o' if self.take(b"{") => self.braced_number(start, 8)?,
            b'x' if self.take(b"{") => self.braced_number(start, 16)?,
            b'x' => {
                let digits = self.rest().iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                let digits = self.advance(digits);
                digits.iter().fold(0, |number, digit| number << 4 | hex_digit(*digit))
            }
            b'c' => match self.next() {
                Some(byte @ 0x20..=0x7e) => byte.to_ascii_uppercase() ^ 0x40,
                _ => return Err(self.unsupported(start, 2, "escape")),
            },
            byte if byte.is_ascii_alphanumeric() => return Err(self.unsupported(start, 2, "escape")),
            byte => byte,
        })
    }

    /// Up to three octal digits.
    fn octal(&mut self, start: usize) -> Result<u8, BuildError> {
        let count = self.rest().iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let digits = self.advance(count);
        let number = digits.iter().fold(0u32, |number, digit| number * 8 + u32::from(digit - b'0'));
        u8::try_from(number).map_err(|_| self.too_big(start))
    }

    fn braced_number(&mut self, start: usize, base: u32) -> Result<u8, BuildError> {
        let length = memchr::memchr(b'}', self.rest()).ok_or_else(|| self.unclosed(start))?;
        let digits = std::str::from_utf8(self.advance(length)).unwrap_or_default();
        self.at += 1;
        match u32::from_str_radix(digits, base) {
            Ok(number) => u8::try_from(number).map_err(|_| self.too_big(start)),
            Err(_) => Err(self.unsupported(start, self.at - start, "escape")),
        }
    }

    pub(super) fn rest(&self) -> &'p [u8] {
        self.pattern.get(self.at..).unwrap_or_default()
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    pub(super) fn peek_at(&self, distance: usize) -> Option<u8> {
        self.rest().get(distance).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn advance(&mut self, count: usize) -> &'p [u8] {
        let taken = self.rest().get(..count).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    pub(super) fn take(&mut self, text: &[u8]) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    pub(super) fn error_at(&self, offset: usize, message: &str, help: &str) -> BuildError {
        BuildError { message: message.into(), help: Some(help.into()), offset: Some(offset) }
    }

    pub(super) fn unclosed(&self, start: usize) -> BuildError {
        let opened = self.pattern.get(start..).unwrap_or_default().iter().take(3).copied().collect::<Vec<_>>();
        let message = format!("`{}` is never closed", opened.escape_ascii());
        self.error_at(start, &message, "close it, or write a backslash before it for the character itself")
    }

    /// An error that quotes `length` bytes from `start`.
    pub(super) fn unsupported(&self, start: usize, length: usize, what: &str) -> BuildError {
        let text = self.pattern.get(start..).unwrap_or_default();
        let text = text.get(..length).unwrap_or(text);
        let message = format!("{what} `{}` is not supported", text.escape_ascii());
        self.error_at(start, &message, "express it without, or drop the backslash if the character itself is meant")
    }

    fn nothing_to_repeat(&self, start: usize) -> BuildError {
        self.error_at(start, "quantifier without anything to repeat", "write a backslash before it for the character")
    }

    fn too_big(&self, start: usize) -> BuildError {
        self.error_at(start, "number beyond one byte", "patterns work on bytes: write the bytes of the character")
    }
}

/// The escapes that stand for a set of bytes, in a class or outside.
pub(super) const fn set_escape(letter: u8) -> Option<ByteSet> {
    Some(match letter {
        b'd' => DIGIT,
        b'D' => DIGIT.complement(),
        b'w' => WORD,
        b'W' => WORD.complement(),
        b's' => SPACE,
        b'S' => SPACE.complement(),
        b'h' => HORIZONTAL,
        b'H' => HORIZONTAL.complement(),
        b'v' => VERTICAL,
        b'V' => VERTICAL.complement(),
        _ => return None,
    })
}

fn decimal(digits: &[u8]) -> usize {
    digits.iter().fold(0usize, |number, digit| number.saturating_mul(10).saturating_add(usize::from(digit - b'0')))
}

fn hex_digit(digit: u8) -> u8 {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or_default()
}
