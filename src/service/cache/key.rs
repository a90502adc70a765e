//! The key of a request: what is compared byte for byte, and a fingerprint of that and the rest.

use std::hash::{BuildHasherDefault, Hasher};
use std::net::IpAddr;

use siphasher::sip128::SipHasher24;

use crate::model::Request;
use crate::ruleset::Footprint;
use crate::service::Call;

/// The secret of this process's fingerprints: nobody outside can make two requests share one.
#[derive(Clone, Copy)]
pub(in crate::service) struct FingerprintKey([u8; 16]);

/// The bytes of a fingerprint, with which a key begins.
const FINGERPRINT: usize = 16;

impl FingerprintKey {
    pub(in crate::service) const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// The key of a request; `by_value` says of each header whether it counts by value and not by name alone.
    pub(super) fn key(self, call: &Call<'_>, footprint: &Footprint, by_value: impl Iterator<Item = bool>) -> Vec<u8> {
        let request = &call.request;
        let mut inputs = Inputs::with_room_for(call);
        for part in [request.method, call.scheme, call.host, request.target] {
            inputs.bytes(part);
        }
        let compared = inputs.0.len();
        inputs.rest(request, footprint, by_value);
        let mut key = inputs.0;
        if let Some((fingerprint, inputs)) = key.split_first_chunk_mut::<FINGERPRINT>() {
            *fingerprint = self.fingerprint(inputs);
        }
        key.truncate(compared);
        key
    }

    fn fingerprint(self, inputs: &[u8]) -> [u8; FINGERPRINT] {
        SipHasher24::new_with_key(&self.0).hash(inputs).as_bytes()
    }
}

/// The inputs behind room for their fingerprint, one after the other, each so that its end is known; hashed at once, since
/// the hasher makes much ado about each piece.
struct Inputs(Vec<u8>);

impl Inputs {
    /// A power of two, which is what the allocator is quickest with.
    fn with_room_for(call: &Call<'_>) -> Self {
        let request = &call.request;
        let headers = request.headers.iter().map(|header| header.name.len() + header.value.len() + 8).sum::<usize>();
        let room = FINGERPRINT + request.target.len() + call.host.len() + headers + 128;
        let mut inputs = Vec::with_capacity(room.next_power_of_two());
        inputs.extend_from_slice(&[0; FINGERPRINT]);
        Self(inputs)
    }

    /// What is not compared byte for byte.
    fn rest(&mut self, request: &Request<'_>, footprint: &Footprint, by_value: impl Iterator<Item = bool>) {
        self.bytes(request.protocol);
        self.number(request.headers.len() as u64);
        for (header, by_value) in request.headers.iter().zip(by_value) {
            self.bytes(header.name);
            match by_value {
                true => self.bytes(header.value),
                false => self.no_bytes(),
            }
        }
        if footprint.remote_addr {
            self.address(request.remote_addr);
        }
        if footprint.remote_port {
            self.number(request.remote_port.into());
        }
        self.address(request.server_addr);
        self.number(request.server_port.into());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(&length_of(bytes));
        self.0.extend_from_slice(bytes);
    }

    /// No value is as long as this, so one that is left out cannot be taken for one that is there.
    fn no_bytes(&mut self) {
        self.0.extend_from_slice(&u32::MAX.to_le_bytes());
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn address(&mut self, address: Option<IpAddr>) {
        match address {
            None => self.bytes(&[]),
            Some(IpAddr::V4(address)) => self.bytes(&address.octets()),
            Some(IpAddr::V6(address)) => self.bytes(&address.octets()),
        }
    }
}

/// A part longer than this does not exist: no door takes gigabytes of headers.
fn length_of(part: &[u8]) -> [u8; 4] {
    u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes()
}

/// Finds keys by the beginning of their fingerprint: it is a keyed hash of all of them already.
pub(super) type ByFingerprint = BuildHasherDefault<FirstBytes>;

/// The first bytes of what is hashed.
#[derive(Default, Debug)]
pub(super) struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    /// The length of a key: nothing to tell keys apart with.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn keys_are_found_by_their_fingerprint() {
        let hash = |key: Box<[u8]>| ByFingerprint::default().hash_one(key);
        let key: Box<[u8]> = (1..=40).collect();
        assert_eq!(hash(key.clone()), 0x0807_0605_0403_0201);
        assert_eq!(hash(key.iter().copied().take(30).collect()), hash(key));
    }
}
