//! JSON names all begin with `json`, and what was read before an error stays within bounds.

use portcullis::engine::body::Processor;

use super::body;

/// Checks one document.
pub(crate) fn run(data: &[u8]) {
    let parsed = body::read(Processor::Json, b"application/json", data);
    assert!(parsed.arguments.iter().all(|(name, _)| name.starts_with(b"json")), "a name without its prefix");
    let error = parsed.error.as_deref().unwrap_or("JSON parsing error: ");
    assert!(error.starts_with("JSON parsing error: "), "{error}");
}
