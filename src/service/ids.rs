//! Ids of requests: sortable by time, not to be guessed, cheap.
//!
//! An id is 26 characters of Crockford's base 32 (the shape of a ULID): 48 bits of milliseconds, 24 bits of a counter,
//! 56 bits of a keyed hash of both. No system call per id: the key is drawn once per process.

use std::sync::atomic::{AtomicU32, Ordering};

use siphasher::sip::SipHasher24;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Makes ids.
#[derive(Debug)]
pub(super) struct Ids {
    hasher: SipHasher24,
    counter: AtomicU32,
}

impl Ids {
    /// A maker with this secret key.
    pub(super) fn new(key: &[u8; 16]) -> Self {
        Self { hasher: SipHasher24::new_with_key(key), counter: AtomicU32::new(0) }
    }

    /// An id for a request that began at this time.
    pub(super) fn next(&self, now_micros: i64) -> String {
        let millis = u64::try_from(now_micros / 1000).unwrap_or_default() & 0xffff_ffff_ffff;
        let count = self.counter.fetch_add(1, Ordering::Relaxed) & 0xff_ffff;
        let ordered = u128::from(millis) << 24 | u128::from(count);
        let hash = self.hasher.hash(&ordered.to_le_bytes()) & 0xff_ffff_ffff_ffff;
        encode(ordered << 56 | u128::from(hash))
    }
}

/// Every pair of digits.
static PAIRS: [[u8; 2]; 1024] = pairs();

#[expect(clippy::indexing_slicing, reason = "a digit is below 32, and a pair of them below 1024")]
const fn pairs() -> [[u8; 2]; 1024] {
    let mut pairs = [[0; 2]; 1024];
    let mut number = 0;
    while number < 1024 {
        pairs[number] = [ALPHABET[number >> 5], ALPHABET[number & 31]];
        number += 1;
    }
    pairs
}

/// Two digits are ten bits, so that all but the first pair come out of two machine words.
fn encode(number: u128) -> String {
    let (high, middle, low) = ((number >> 120) as u64, (number >> 60) as u64, number as u64);
    let mut text = Vec::with_capacity(26);
    text.extend_from_slice(digits::<1>(high).as_flattened());
    text.extend_from_slice(digits::<6>(middle).as_flattened());
    text.extend_from_slice(digits::<6>(low).as_flattened());
    // Only letters and digits are in it.
    String::from_utf8(text).unwrap_or_default()
}

/// The last digits of a number.
fn digits<const N: usize>(mut number: u64) -> [[u8; 2]; N] {
    let mut digits = [[b'0'; 2]; N];
    for pair in digits.iter_mut().rev() {
        *pair = PAIRS.get((number & 1023) as usize).copied().unwrap_or_default();
        number >>= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_sorted_unique_and_well_formed() {
        let ids = Ids::new(&[7; 16]);
        let made: Vec<String> = (0..10_000).map(|i| ids.next(1_800_000_000_000_000 + i * 300)).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        assert!(made.iter().all(|id| id.len() == 26 && id.bytes().all(|byte| ALPHABET.contains(&byte))));
    }

    #[test]
    fn digits_are_those_of_base_32() {
        for (number, text) in [
            (0, "00000000000000000000000000"),
            (u128::MAX, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
            (31 << 60 | 1 << 120, "0100000000000Z000000000000"),
        ] {
            assert_eq!(encode(number), text, "{number:x}");
        }
    }

    #[test]
    fn other_key_other_tail() {
        let (a, b) = (Ids::new(&[1; 16]).next(5_000), Ids::new(&[2; 16]).next(5_000));
        assert_eq!(a[..14], b[..14], "time and counter come first");
        assert_ne!(a, b);
    }
}
