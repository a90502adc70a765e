//! How both readers walk over bytes. Every walk goes through here, so that tests can count its steps.

use std::ops::Range;

/// A set of bytes with a look-up of one load.
pub(super) struct ByteTable([bool; 256]);

impl ByteTable {
    /// The set of these bytes.
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
    pub(super) const fn of(bytes: &[u8]) -> Self {
        let mut table = [false; 256];
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            table[*byte as usize] = true;
            rest = tail;
        }
        Self(table)
    }

    /// Whether the byte is in the set.
    #[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }
}

/// The bytes of the range, or of as much of it as there is.
pub(super) fn part(input: &[u8], range: Range<usize>) -> &[u8] {
    input.get(range.start..range.end.min(input.len())).unwrap_or_default()
}

/// The bytes from here on.
pub(super) fn from(input: &[u8], start: usize) -> &[u8] {
    input.get(start..).unwrap_or_default()
}

/// Where the byte comes next.
pub(super) fn find(input: &[u8], start: usize, byte: u8) -> Option<usize> {
    let found = memchr::memchr(byte, from(input, start)).map(|at| start + at);
    steps::add(found.unwrap_or(input.len()).saturating_sub(start));
    found
}

/// Where these bytes come next, one behind the other.
pub(super) fn find_all(input: &[u8], start: usize, bytes: &[u8]) -> Option<usize> {
    if let [byte] = bytes {
        return find(input, start, *byte);
    }
    let found = memchr::memmem::find(from(input, start), bytes).map(|at| start + at);
    steps::add(found.unwrap_or(input.len()).saturating_sub(start));
    found
}

/// Where bytes of the set end.
pub(super) fn skip(input: &[u8], start: usize, set: &ByteTable) -> usize {
    end_of(input, start, |byte| set.contains(byte))
}

/// Where bytes outside of the set end.
pub(super) fn skip_until(input: &[u8], start: usize, set: &ByteTable) -> usize {
    end_of(input, start, |byte| !set.contains(byte))
}

#[inline]
fn end_of(input: &[u8], start: usize, is_in: impl Fn(u8) -> bool) -> usize {
    let rest = from(input, start);
    let len = rest.iter().position(|byte| !is_in(*byte)).unwrap_or(rest.len());
    steps::add(len);
    start + len
}

/// Counts the bytes looked at, in tests only.
pub(super) mod steps {
    #[cfg(test)]
    thread_local! {
        static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[cfg(not(test))]
    pub(in super::super) const fn add(_: usize) {}

    /// Adds the bytes of a walk and one for the walk itself.
    #[cfg(test)]
    pub(in super::super) fn add(bytes: usize) {
        STEPS.set(STEPS.get() + bytes + 1);
    }

    /// How many steps the function takes.
    #[cfg(test)]
    pub(in super::super) fn of(function: impl FnOnce()) -> usize {
        let before = STEPS.get();
        function();
        STEPS.get() - before
    }
}
