//! `base64Decode`, `base64DecodeExt` and `base64Encode`.

use super::TransformationContext;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes the longest valid prefix and stops at the first byte outside the alphabet, padding included (as
/// ModSecurity 2 does and CRS tests 934131-5 and -7 expect; version 3 returns nothing). Of an unfinished group of
/// four the whole bytes count.
pub(super) fn decode(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    let end = input.iter().position(|byte| sextet(*byte).is_none()).unwrap_or(input.len());
    let valid = input.get(..end).unwrap_or_default();
    output.reserve(valid.len());
    let (groups, rest) = valid.as_chunks::<4>();
    for group in groups {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(SEXTETS.of(*byte)));
        let [_, bytes @ ..] = bits.to_be_bytes();
        output.extend_from_slice(&bytes);
    }
    decode_sextets(rest.iter().filter_map(|byte| sextet(*byte)), output);
    output != input
}

/// Decodes all bytes of the alphabet and passes over every other.
pub(super) fn decode_ext(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    decode_sextets(input.iter().filter_map(|byte| sextet(*byte)), output);
    output != input
}

/// Encodes with padding.
pub(super) fn encode(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    for chunk in input.chunks(3) {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = bits >> (18 - 6 * place) & 63;
            let letter = ALPHABET.get(sextet as usize).copied().unwrap_or_default();
            output.push(if place <= chunk.len() { letter } else { b'=' });
        }
    }
    !input.is_empty()
}

fn decode_sextets(sextets: impl Iterator<Item = u8>, output: &mut Vec<u8>) {
    let mut bits = 0u32;
    let mut pending = 0;
    for sextet in sextets {
        bits = bits << 6 | u32::from(sextet);
        pending += 6;
        if pending >= 8 {
            pending -= 8;
            output.push((bits >> pending) as u8);
        }
    }
}

fn sextet(byte: u8) -> Option<u8> {
    Some(SEXTETS.of(byte)).filter(|sextet| *sextet < 64)
}

/// The place of each byte in the alphabet, 64 for bytes outside.
struct Sextets([u8; 256]);

static SEXTETS: Sextets = Sextets::read();

#[expect(clippy::indexing_slicing, reason = "a byte is below 256")]
impl Sextets {
    const fn read() -> Self {
        let mut places = [64; 256];
        let mut place = 0;
        while place < 64 {
            places[ALPHABET[place] as usize] = place as u8;
            place += 1;
        }
        Self(places)
    }

    fn of(&self, byte: u8) -> u8 {
        self.0[usize::from(byte)]
    }
}
