//! Which of some chosen sets of bytes a value holds a byte of: one bit each, read in one pass.

use crate::vocab::byte_set::ByteSet;

/// A bit for each set.
pub(crate) type Signature = u128;

/// The bit of the first set, which is always that of the upper case letters.
pub(crate) const UPPER: Signature = 1;

/// The chosen sets, as a table from byte to bits.
#[derive(Debug)]
pub(crate) struct Signatures {
    /// The lower and the upper half.
    of_byte: Box<[[u64; 2]; 256]>,
}

impl Default for Signatures {
    fn default() -> Self {
        Self { of_byte: Box::new([[0; 2]; 256]) }
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
            let signature: Signature = members.fold(0, |bits, (bit, _)| bits | 1 << bit);
            *bits = [signature as u64, (signature >> 64) as u64];
        }
        signatures
    }

    /// The signature of a value.
    pub(crate) fn of(&self, value: &[u8]) -> Signature {
        let mut bits = [0; 2];
        let mut add = |byte: &u8| {
            let [lower, upper] = self.of_byte.get(usize::from(*byte)).copied().unwrap_or_default();
            bits = [bits[0] | lower, bits[1] | upper];
        };
        // Four by four, since counting the bytes would cost as much again.
        let (fours, rest) = value.as_chunks::<4>();
        fours.iter().for_each(|[a, b, c, d]| [a, b, c, d].into_iter().for_each(&mut add));
        rest.iter().for_each(add);
        Signature::from(bits[0]) | Signature::from(bits[1]) << 64
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
