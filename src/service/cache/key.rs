//! The key of a request: what is compared byte for byte, and a fingerprint of the rest.

use std::net::IpAddr;

use siphasher::sip128::SipHasher24;

use crate::model::Request;
use crate::ruleset::Footprint;
use crate::service::Call;

/// The secret of this process's fingerprints: nobody outside can make two requests share one.
#[derive(Clone, Copy)]
pub(in crate::service) struct FingerprintKey([u8; 16]);

impl FingerprintKey {
    pub(in crate::service) const fn new(key: [u8; 16]) -> Self {
        Self(key)
    }

    /// The key of a request; `by_value` says of each header whether it counts by value and not by name alone.
    pub(super) fn key(self, call: &Call<'_>, footprint: &Footprint, by_value: impl Iterator<Item = bool>) -> Box<[u8]> {
        let request = &call.request;
        let fingerprint = self.fingerprint(request, footprint, by_value);
        let parts = [request.method, call.scheme, call.host];
        let length = parts.iter().map(|part| part.len() + 4).sum::<usize>() + fingerprint.len() + request.target.len();
        let mut key = Vec::with_capacity(length);
        key.extend_from_slice(&fingerprint);
        for part in parts {
            key.extend_from_slice(&length_of(part));
            key.extend_from_slice(part);
        }
        key.extend_from_slice(request.target);
        key.into()
    }

    fn fingerprint(
        self,
        request: &Request<'_>,
        footprint: &Footprint,
        by_value: impl Iterator<Item = bool>,
    ) -> [u8; 16] {
        let headers = request.headers.iter().map(|header| header.name.len() + header.value.len() + 16).sum::<usize>();
        let mut inputs = Inputs(Vec::with_capacity(headers + 128));
        inputs.bytes(request.protocol);
        inputs.number(request.headers.len() as u64);
        for (header, by_value) in request.headers.iter().zip(by_value) {
            inputs.bytes(header.name);
            match by_value {
                true => inputs.bytes(header.value),
                // No length of a value is this large, so a value left out cannot be taken for one that is there.
                false => inputs.number(u64::MAX),
            }
        }
        if footprint.remote_addr {
            inputs.address(request.remote_addr);
        }
        if footprint.remote_port {
            inputs.number(request.remote_port.into());
        }
        inputs.address(request.server_addr);
        inputs.number(request.server_port.into());
        SipHasher24::new_with_key(&self.0).hash(&inputs.0).as_bytes()
    }
}

/// The inputs, one after the other, each so that its end is known; hashed at once, since the hasher makes much ado about
/// each piece.
struct Inputs(Vec<u8>);

impl Inputs {
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
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
