//! Forms decode to no more bytes than they have, and a bad escape needs a percent sign.

use portcullis::engine::body::{Processor, cookies};
use portcullis::engine::fields::Fields;

use super::body;

/// Checks one form, and the same bytes as a `Cookie` header.
pub(crate) fn run(data: &[u8]) {
    let parsed = body::read(Processor::UrlEncoded, b"", data);
    assert!(parsed.arguments.combined_size() <= data.len(), "grew");
    assert!(!parsed.urlencoded_error || data.contains(&b'%'), "an error out of nothing");
    let mut jar = Fields::default();
    cookies::parse(data, &mut jar);
    assert!(jar.combined_size() <= data.len(), "cookies grew");
    assert!(jar.iter().all(|(name, _)| !name.is_empty()), "a cookie without a name");
}
