//! `md5` and `sha1`: the raw bytes of the digest, hence `t:sha1,t:hexEncode`.

use sha1::Digest as _;

use super::TransformationContext;

/// The MD5 digest.
pub(super) fn md5(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend_from_slice(&md5::Md5::digest(input));
    output != input
}

/// The SHA-1 digest.
pub(super) fn sha1(input: &[u8], output: &mut Vec<u8>, _: &TransformationContext) -> bool {
    output.extend_from_slice(&sha1::Sha1::digest(input));
    output != input
}
