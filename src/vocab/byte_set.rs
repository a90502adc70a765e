//! Sets of bytes.

use std::fmt;
use std::ops::RangeInclusive;

/// A set of byte values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ByteSet([u128; 2]);

impl ByteSet {
    /// The set without a byte.
    pub const EMPTY: Self = Self([0; 2]);

    /// The set of all 256 bytes.
    pub const ALL: Self = Self([u128::MAX; 2]);

    /// The set of these bytes.
    pub const fn of(bytes: &[u8]) -> Self {
        let mut set = Self::EMPTY;
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            set = set.with(*byte);
            rest = tail;
        }
        set
    }

    /// The set of all bytes from `first` to `last`.
    pub const fn of_range(first: u8, last: u8) -> Self {
        let (mut set, mut byte) = (Self::EMPTY, first);
        while byte < last {
            set = set.with(byte);
            byte += 1;
        }
        if first <= last { set.with(last) } else { set }
    }

    /// The set and one byte more.
    #[must_use]
    pub const fn with(self, byte: u8) -> Self {
        let bit = 1 << (byte & 127);
        let [low, high] = self.0;
        if byte < 128 { Self([low | bit, high]) } else { Self([low, high | bit]) }
    }

    /// Adds a byte.
    pub const fn insert(&mut self, byte: u8) {
        *self = self.with(byte);
    }

    /// Adds every byte of the range.
    pub fn insert_range(&mut self, range: RangeInclusive<u8>) {
        for byte in range {
            self.insert(byte);
        }
    }

    /// Whether the byte is in the set.
    pub const fn contains(&self, byte: u8) -> bool {
        let [low, high] = self.0;
        let half = if byte < 128 { low } else { high };
        half >> (byte & 127) & 1 == 1
    }

    /// All bytes that are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a | c, b | d])
    }

    /// All bytes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a & c, b & d])
    }

    /// All bytes that are not in the set.
    #[must_use]
    pub const fn complement(self) -> Self {
        let [low, high] = self.0;
        Self([!low, !high])
    }

    /// The set without the bytes of the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        self.intersection(other.complement())
    }

    /// Whether there is no byte in the set.
    pub const fn is_empty(&self) -> bool {
        matches!(self.0, [0, 0])
    }

    /// How many bytes there are.
    pub const fn len(&self) -> u32 {
        let [low, high] = self.0;
        low.count_ones() + high.count_ones()
    }

    /// The bytes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        let [low, high] = self.0;
        bits(low).chain(bits(high).map(|bit| bit | 0x80))
    }

    /// The set as ranges of neighbouring bytes, in ascending order.
    pub fn ranges(&self) -> Vec<(u8, u8)> {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for byte in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if byte.checked_sub(1) == Some(*last) => *last = byte,
                _ => ranges.push((byte, byte)),
            }
        }
        ranges
    }

    /// The set with the other case of every ASCII letter in it.
    #[must_use]
    pub fn fold_case(self) -> Self {
        self.iter().fold(self, |set, byte| set.with(byte.to_ascii_lowercase()).with(byte.to_ascii_uppercase()))
    }
}

/// The numbers of the bits that are set.
fn bits(mut half: u128) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let bit = (half != 0).then(|| half.trailing_zeros() as u8)?;
        half &= half - 1;
        Some(bit)
    })
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (first, last) in self.ranges() {
            match first == last {
                true => write!(f, "{}", first.escape_ascii())?,
                false => write!(f, "{}-{}", first.escape_ascii(), last.escape_ascii())?,
            }
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_hold_at_the_seams() {
        let mut set = ByteSet::of(b"a\x7f\x80\xff\0");
        assert_eq!(set.iter().collect::<Vec<_>>(), b"\0a\x7f\x80\xff");
        assert_eq!(set.ranges(), [(0, 0), (b'a', b'a'), (0x7f, 0x80), (0xff, 0xff)]);
        assert_eq!(set.complement().len(), 251);
        assert_eq!(set.union(set.complement()), ByteSet::ALL);
        assert!(set.minus(set).is_empty());
        set.insert_range(b'0'..=b'9');
        assert_eq!(set.len(), 15);
        assert_eq!(ByteSet::of(b"a{[").fold_case(), ByteSet::of(b"aA{["));
        assert_eq!(ByteSet::ALL.ranges(), [(0, 255)]);
    }
}
