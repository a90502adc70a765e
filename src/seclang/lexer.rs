//! From bytes to words: physical lines, logical lines, words; every byte keeps its place in the file.
//!
//! Lines are joined as `ModSecurity` 2 joins them: a line that ends in a backslash goes on in the next one, comments
//! included, so that a rule of which only the first line is commented out is gone as a whole. As in `ModSecurity` 3 and
//! Coraza the blanks at the start of a joined line are dropped. A `#` line inside a directive is refused, since the
//! engines disagree on it. Does not know what a directive is.

use std::ops::Range;

use super::diag::Diagnostic;
use super::source::{FileId, Span};

/// A directive's text with its continuations joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// The joined bytes.
    pub(crate) text: Vec<u8>,
    file: FileId,
    segments: Vec<Segment>,
}

/// Where a part of a logical line was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Segment {
    /// Offset of its first byte in the logical line.
    offset: usize,
    /// The physical line, from 1.
    line: u32,
    /// The column of its first byte, from 1.
    column: u32,
    /// Blanks before its first byte were dropped, so a bare word ends here.
    indented: bool,
}

impl Line {
    /// An empty line of this file.
    pub(crate) const fn new(file: FileId) -> Self {
        Self { text: Vec::new(), file, segments: Vec::new() }
    }

    /// The place of a range of the joined text; its length ends with the physical line.
    pub(crate) fn span(&self, range: Range<usize>) -> Span {
        let after = self.segments.partition_point(|segment| segment.offset <= range.start);
        let Some(segment) = after.checked_sub(1).and_then(|index| self.segments.get(index)) else {
            return Span { file: self.file, line: 1, column: 1, len: 1 };
        };
        let end = self.segments.get(after).map_or(range.end, |next| range.end.min(next.offset));
        Span {
            file: self.file,
            line: segment.line,
            column: segment.column.saturating_add(small(range.start.saturating_sub(segment.offset))),
            len: small(end.saturating_sub(range.start)).max(1),
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.segments.clear();
    }

    fn push(&mut self, physical: Physical<'_>, bytes: &[u8]) {
        let trimmed = bytes.trim_ascii_start();
        let blanks = bytes.len() - trimmed.len();
        self.segments.push(Segment {
            offset: self.text.len(),
            line: physical.number,
            column: physical.column.saturating_add(small(blanks)),
            indented: blanks > 0,
        });
        self.text.extend_from_slice(trimmed);
    }

    fn breaks_at(&self, offset: usize) -> bool {
        let index = self.segments.partition_point(|segment| segment.offset < offset);
        self.segments.iter().skip(index).take_while(|segment| segment.offset == offset).any(|segment| segment.indented)
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A line of the file.
#[derive(Clone, Copy)]
struct Physical<'a> {
    bytes: &'a [u8],
    number: u32,
    column: u32,
}

/// How a physical line ends.
enum Ending<'a> {
    /// Nothing follows.
    Whole,
    /// A backslash: the bytes before it, and the next line belongs to this one.
    Continued(&'a [u8]),
    /// A backslash followed by blanks, meant as a continuation.
    Blurred(&'a [u8]),
}

impl<'a> Physical<'a> {
    fn ending(&self) -> Ending<'a> {
        if let Some(before) = self.bytes.strip_suffix(b"\\") {
            return Ending::Continued(before);
        }
        match self.bytes.trim_ascii_end().strip_suffix(b"\\") {
            Some(before) => Ending::Blurred(before),
            None => Ending::Whole,
        }
    }

    fn is_comment(&self) -> bool {
        self.bytes.trim_ascii_start().starts_with(b"#")
    }

    /// The place of everything from an offset on, blanks around it left out.
    fn span(&self, file: FileId, from: usize) -> Span {
        let text = self.bytes.get(from..).unwrap_or_default();
        let start = from + (text.len() - text.trim_ascii_start().len());
        let column = self.column.saturating_add(small(start));
        Span { file, line: self.number, column, len: small(text.trim_ascii().len()).max(1) }
    }
}

/// The logical lines of a file, comments and empty lines left out.
pub(crate) struct Lines<'a> {
    rest: Option<&'a [u8]>,
    number: u32,
    column: u32,
    file: FileId,
}

impl<'a> Lines<'a> {
    /// The lines of `text`, which is the file `file`.
    pub(crate) fn new(file: FileId, text: &'a [u8]) -> Self {
        match text.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => Self { rest: Some(rest), number: 0, column: 4, file },
            None => Self { rest: Some(text), number: 0, column: 1, file },
        }
    }

    /// Reads the next logical line into `line`; `false` at the end of the file.
    pub(crate) fn next(&mut self, line: &mut Line, diagnostics: &mut Vec<Diagnostic>) -> bool {
        line.clear();
        while let Some(physical) = self.physical() {
            if physical.is_comment() {
                self.comment(physical, line, diagnostics);
                let ended = !matches!(physical.ending(), Ending::Continued(_));
                if ended && !line.text.is_empty() {
                    return true;
                }
                continue;
            }
            match physical.ending() {
                Ending::Continued(before) => line.push(physical, before),
                Ending::Blurred(before) => {
                    diagnostics.push(blurred(physical.span(self.file, before.len())));
                    line.push(physical, before);
                }
                Ending::Whole => {
                    line.push(physical, physical.bytes);
                    if !line.text.trim_ascii().is_empty() {
                        return true;
                    }
                    line.clear();
                }
            }
        }
        !line.text.trim_ascii().is_empty()
    }

    /// A comment between directives with all that its backslash swallows; inside a directive it is an error.
    fn comment(&mut self, physical: Physical<'a>, line: &mut Line, diagnostics: &mut Vec<Diagnostic>) {
        if !line.text.trim_ascii().is_empty() {
            diagnostics.push(inner_comment(physical.span(self.file, 0)));
            return;
        }
        line.clear();
        let mut last = physical;
        while let Ending::Continued(_) = last.ending() {
            match self.physical() {
                Some(next) => last = next,
                None => return,
            }
        }
    }

    fn physical(&mut self) -> Option<Physical<'a>> {
        let rest = self.rest?;
        let (bytes, rest) = match memchr::memchr(b'\n', rest).and_then(|end| rest.split_at_checked(end)) {
            Some((bytes, rest)) => (bytes, rest.get(1..)),
            None => (rest, None),
        };
        self.rest = rest;
        self.number = self.number.saturating_add(1);
        let column = std::mem::replace(&mut self.column, 1);
        Some(Physical { bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes), number: self.number, column })
    }
}

fn blurred(span: Span) -> Diagnostic {
    Diagnostic::warning(span, "blanks after the `\\` at the end of the line")
        .with_help("remove them; other engines do not continue the line here")
}

fn inner_comment(span: Span) -> Diagnostic {
    Diagnostic::error(span, "a comment inside a continued directive")
        .with_help("move it above the directive; some engines take it as part of the directive")
}

/// A word of a logical line: bare, `"…"` or `'…'`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    /// The text, quotes removed and the escaped quote reduced.
    pub(crate) text: Vec<u8>,
    /// Where the text starts in the logical line, behind an opening quote.
    start: usize,
    /// The offsets in `text` of the bytes that a backslash before them was removed from.
    escapes: Vec<usize>,
}

impl Word {
    /// The offset in the logical line of an offset in the text.
    fn raw(&self, offset: usize) -> usize {
        self.start + offset + self.escapes.partition_point(|escape| *escape < offset)
    }

    /// The place of a range of the text.
    pub(crate) fn span(&self, line: &Line, range: Range<usize>) -> Span {
        line.span(self.raw(range.start)..self.raw(range.end))
    }

    /// The word with each four backslashes in a row read as two.
    pub(crate) fn with_fours_halved(&self) -> Self {
        const FOUR: &[u8] = b"\\\\\\\\";
        let (mut text, mut escapes, mut at) = (Vec::with_capacity(self.text.len()), Vec::new(), 0);
        while let Some(byte) = self.text.get(at) {
            if self.text.get(at..).is_some_and(|rest| rest.starts_with(FOUR)) {
                escapes.extend([text.len(), text.len() + 1]);
                text.extend_from_slice(b"\\\\");
                at += FOUR.len();
                continue;
            }
            if self.escapes.binary_search(&at).is_ok() {
                escapes.push(text.len());
            }
            text.push(*byte);
            at += 1;
        }
        Self { text, start: self.start, escapes }
    }
}

/// Text up to its closing quote.
pub(crate) struct Quoted {
    /// The text, escaped quotes reduced, all other backslashes kept.
    pub(crate) text: Vec<u8>,
    /// The offsets in `text` of the quotes that an escape was removed from.
    pub(crate) escapes: Vec<usize>,
    /// The bytes read, closing quote included.
    pub(crate) len: usize,
}

/// Reads the text behind an opening quote; `None` if the closing one is missing.
///
/// Only `\` and the quote are an escape. Two backslashes are a pair and stay, so they do not escape a quote behind them
/// (as in `ModSecurity` 2).
pub(crate) fn quoted(bytes: &[u8], quote: u8) -> Option<Quoted> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut escapes = Vec::new();
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => match rest.as_slice().first() {
                Some(next) if *next == quote => {
                    escapes.push(text.len());
                    text.push(quote);
                    rest.next();
                }
                Some(b'\\') => {
                    text.extend_from_slice(b"\\\\");
                    rest.next();
                }
                _ => text.push(b'\\'),
            },
            byte if *byte == quote => {
                return Some(Quoted { text, escapes, len: bytes.len() - rest.as_slice().len() });
            }
            byte => text.push(*byte),
        }
    }
    None
}

/// Space or tab.
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The bytes without blanks at the end; one that a backslash escapes stays, so that no pattern loses its last sign.
pub(crate) fn trim_end(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    let (text, blanks) = bytes.split_at_checked(end).unwrap_or_default();
    let backslashes = text.iter().rev().take_while(|byte| **byte == b'\\').count();
    let kept = usize::from(backslashes % 2 == 1 && !blanks.is_empty());
    bytes.get(..end + kept).unwrap_or(bytes)
}

/// Splits a logical line into words.
///
/// # Errors
/// A quote is not closed, or text follows a closing quote.
pub(crate) fn words(line: &Line) -> Result<Vec<Word>, Diagnostic> {
    let mut words = Vec::with_capacity(4);
    let mut at = 0;
    while let Some(first) = line.text.get(at) {
        if is_blank(*first) {
            at += 1;
            continue;
        }
        let end = match first {
            b'"' | b'\'' if !words.is_empty() => {
                let (word, end) = quoted_word(line, at, *first)?;
                words.push(word);
                end
            }
            _ => {
                let end = bare_end(line, at);
                let text = line.text.get(at..end).unwrap_or_default().to_vec();
                words.push(Word { text, start: at, escapes: Vec::new() });
                end
            }
        };
        at = end;
    }
    Ok(words)
}

fn quoted_word(line: &Line, at: usize, quote: u8) -> Result<(Word, usize), Diagnostic> {
    let inner = line.text.get(at + 1..).unwrap_or_default();
    let shown = char::from(quote);
    let Some(Quoted { text, escapes, len }) = quoted(inner, quote) else {
        return Err(Diagnostic::error(line.span(at..line.text.len()), format!("no closing `{shown}`")).with_help(
            format!("close the text with `{shown}`, or end the line with `\\` if it goes on in the next line"),
        ));
    };
    let end = at + 1 + len;
    if line.text.get(end).is_some_and(|byte| !is_blank(*byte)) && !line.breaks_at(end) {
        let stray = line.span(end..bare_end(line, end));
        return Err(Diagnostic::error(stray, format!("text directly after the closing `{shown}`")).with_help(format!(
            "write `\\{shown}` for a quote inside the text, or put a blank between two arguments"
        )));
    }
    Ok((Word { text, start: at + 1, escapes }, end))
}

fn bare_end(line: &Line, at: usize) -> usize {
    let rest = line.text.get(at..).unwrap_or_default();
    let end = at + rest.iter().position(|byte| is_blank(*byte)).unwrap_or(rest.len());
    let mut breaks = line.segments.iter().filter(|segment| segment.indented && segment.offset > at);
    breaks.next().map_or(end, |segment| end.min(segment.offset))
}

/// A piece of a logical line or of a value, with the way back to its place.
#[derive(Clone, Copy)]
pub(crate) struct Text<'a> {
    /// The bytes.
    pub(crate) bytes: &'a [u8],
    /// Offset of `bytes` in what `place` speaks of.
    offset: usize,
    place: Place<'a>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Word(&'a Line, &'a Word),
    At(Span),
}

impl<'a> Text<'a> {
    /// The text of a word.
    pub(crate) fn word(line: &'a Line, word: &'a Word) -> Self {
        Self { bytes: &word.text, offset: 0, place: Place::Word(line, word) }
    }

    /// Text that starts at a known place and is written there as it is.
    pub(crate) const fn at(bytes: &'a [u8], span: Span) -> Self {
        Self { bytes, offset: 0, place: Place::At(span) }
    }

    /// A part of the text.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let bytes = self.bytes.get(range.clone()).unwrap_or_default();
        Self { bytes, offset: self.offset + range.start.min(self.bytes.len()), place: self.place }
    }

    /// The text from an offset on.
    pub(crate) fn from(&self, start: usize) -> Self {
        self.slice(start..self.bytes.len())
    }

    /// The text without blanks around it.
    pub(crate) fn trim(&self) -> Self {
        let end = trim_end(self.bytes).len();
        let start = self.bytes.iter().position(|byte| !is_blank(*byte)).unwrap_or(end);
        self.slice(start..end)
    }

    /// The place of the whole text.
    pub(crate) fn span(&self) -> Span {
        self.span_of(0..self.bytes.len())
    }

    /// The place of a part of the text.
    pub(crate) fn span_of(&self, range: Range<usize>) -> Span {
        let range = self.offset + range.start..self.offset + range.end;
        match self.place {
            Place::Word(line, word) => word.span(line, range),
            Place::At(span) if range.start < span.len as usize => Span {
                column: span.column.saturating_add(small(range.start)),
                len: small(range.len()).min(span.len - small(range.start)).max(1),
                ..span
            },
            Place::At(span) => span,
        }
    }

    /// The bytes as text for a message, odd ones replaced.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}
