//! The reader of `[…]`.

use super::parser::{Parser, set_escape};
use super::sets::posix;
use crate::vocab::byte_set::ByteSet;
use crate::vocab::operators::BuildError;

/// A member of a class.
enum Item {
    Byte(u8),
    Set(ByteSet),
}

impl Parser<'_> {
    /// The class whose `[` at `start` has been read.
    pub(super) fn class(&mut self, start: usize) -> Result<ByteSet, BuildError> {
        let negated = self.take(b"^");
        let mut set = ByteSet::EMPTY;
        let mut first = true;
        loop {
            self.skip_quote_marks(start)?;
            if !first && self.take(b"]") {
                break;
            }
            let item = self.class_item(start)?;
            set = set.union(self.with_range(start, item)?);
            first = false;
        }
        // Case comes first, so that `(?i)[^a]` takes neither `a` nor `A`.
        let set = if self.flags.caseless { set.fold_case() } else { set };
        Ok(if negated { set.complement() } else { set })
    }

    /// The item, or the range it begins.
    fn with_range(&mut self, start: usize, item: Item) -> Result<ByteSet, BuildError> {
        let low = match item {
            Item::Byte(byte) => byte,
            Item::Set(set) => return Ok(set),
        };
        let place = self.place();
        let single = ByteSet::of(&[low]);
        if self.peek() != Some(b'-') || matches!(self.peek_at(1), Some(b']') | None) {
            return Ok(single);
        }
        self.advance(1);
        self.skip_quote_marks(start)?;
        if self.peek() == Some(b']') {
            return Ok(single.with(b'-'));
        }
        match self.class_item(start)? {
            Item::Byte(high) if high < low => {
                let message = format!("range `{}-{}` is out of order", low.escape_ascii(), high.escape_ascii());
                Err(self.error_at(place.saturating_sub(1), &message, "write the smaller byte first"))
            }
            Item::Byte(high) => {
                let mut range = ByteSet::EMPTY;
                range.insert_range(low..=high);
                Ok(range)
            }
            // A hyphen beside a set is a hyphen.
            Item::Set(set) => Ok(set.union(single).with(b'-')),
        }
    }

    fn class_item(&mut self, start: usize) -> Result<Item, BuildError> {
        let place = self.place();
        match self.next().ok_or_else(|| self.unclosed(start))? {
            b'[' => self.posix_class(place),
            b'\\' => self.class_escape(start, place),
            byte => Ok(Item::Byte(byte)),
        }
    }

    fn class_escape(&mut self, start: usize, place: usize) -> Result<Item, BuildError> {
        match self.next().ok_or_else(|| self.unclosed(start))? {
            b'Q' => Ok(self.quoted()),
            b'b' => Ok(Item::Byte(0x08)),
            letter => match set_escape(letter) {
                Some(set) => Ok(Item::Set(set)),
                None => self.byte_escape(place, letter).map(Item::Byte),
            },
        }
    }

    /// The bytes up to `\E`; without it, up to the end, where the missing `]` is found out.
    fn quoted(&mut self) -> Item {
        let length = memchr::memmem::find(self.rest(), b"\\E").unwrap_or(self.rest().len());
        let text = self.advance(length);
        self.take(b"\\E");
        match text {
            [byte] => Item::Byte(*byte),
            bytes => Item::Set(ByteSet::of(bytes)),
        }
    }

    /// Passes over `\E` and `\Q\E`, which say nothing.
    fn skip_quote_marks(&mut self, start: usize) -> Result<(), BuildError> {
        while self.take(b"\\E") || self.take(b"\\Q\\E") {}
        self.peek().map(drop).ok_or_else(|| self.unclosed(start))
    }

    /// `[:name:]` after its `[`, or a `[` that stands for itself.
    fn posix_class(&mut self, place: usize) -> Result<Item, BuildError> {
        let Some(terminator @ (b':' | b'.' | b'=')) = self.peek() else { return Ok(Item::Byte(b'[')) };
        let Some(length) = posix_length(self.rest().get(1..).unwrap_or_default(), terminator) else {
            return Ok(Item::Byte(b'['));
        };
        let text = self.advance(length + 3);
        let name = text.get(1..=length).unwrap_or_default();
        let (name, negated) = name.strip_prefix(b"^").map_or((name, false), |name| (name, true));
        match posix(name).filter(|_| terminator == b':') {
            Some(set) if self.flags.caseless => Ok(Item::Set(apply(set.fold_case(), negated))),
            Some(set) => Ok(Item::Set(apply(set, negated))),
            None => Err(self.unsupported(place, text.len() + 1, "class")),
        }
    }
}

const fn apply(set: ByteSet, negated: bool) -> ByteSet {
    if negated { set.complement() } else { set }
}

/// How long the name is, if a terminator and `]` close it before anything speaks against it.
fn posix_length(text: &[u8], terminator: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        match text.get(at..)? {
            [b'\\', b']' | b'\\', ..] => at += 2,
            [byte, b']', ..] if *byte == terminator => return Some(at),
            [b'[', byte, ..] if *byte == terminator => return None,
            [b']', ..] | [] | [_] => return None,
            _ => at += 1,
        }
    }
}
