//! Which of some chosen sets of bytes a value holds a byte of: one bit each, read in one pass.

use crate::vocab::byte_set::ByteSet;

/// A bit for each set.
pub(crate) type Signature = u128;

/// The bit of the first set, which is always that of the upper case letters.
pub(crate) const UPPER: Signature = 1;

/// The chosen sets, as a table from byte to bits.
#[derive(Debug)]
pub(crate) struct Signatures {
    of_byte: Box<[Signature; 256]>,
}

impl Default for Signatures {
    fn default() -> Self {
        Self { of_byte: Box::new([0; 256]) }
    }
}

impl Signatures {
    /// How many sets can be chosen.
    pub(crate) const MAX: usize = Signature::BITS as usize;

    /// Makes bit `n` that of the `n`th set; sets beyond [`Signatures::MAX`] have none.
    pub(crate) fn new(sets: &[ByteSet]) -> Self {
        let mut signatures = Self::default();
        for (byte, bits) in (0..=u8::MAX).zip(signatures.of_byte.iter_mut()) {
            let members = sets.iter().take(Self::MAX).enumerate().filter(|(_, set)| set.contains(byte));
            *bits = members.fold(0, |bits, (bit, _)| bits | 1 << bit);
        }
        signatures
    }

    /// The signature of a value.
    pub(crate) fn of(&self, value: &[u8]) -> Signature {
        value.iter().fold(0, |bits, byte| bits | self.of_byte.get(usize::from(*byte)).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_says_whether_a_byte_of_its_set_is_there() {
        let sets: Vec<ByteSet> = (0..130).map(|byte| ByteSet::of(&[byte, b'a'])).collect();
        let signatures = Signatures::new(&sets);
        assert_eq!(signatures.of(b""), 0);
        assert_eq!(signatures.of(b"\x05\x07\x05"), 1 << 5 | 1 << 7);
        assert_eq!(signatures.of(b"xa"), u128::MAX);
        assert_eq!(signatures.of(&[129, 200]), 0);
    }
}
