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

fn encode(number: u128) -> String {
    (0..26).rev().map(|digit| char::from(digit_of(number, digit))).collect()
}

fn digit_of(number: u128, digit: u32) -> u8 {
    let index = (number >> (digit * 5)) as usize & 31;
    ALPHABET.get(index).copied().unwrap_or(b'0')
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
    fn other_key_other_tail() {
        let (a, b) = (Ids::new(&[1; 16]).next(5_000), Ids::new(&[2; 16]).next(5_000));
        assert_eq!(a[..14], b[..14], "time and counter come first");
        assert_ne!(a, b);
    }
}
