//! Multipart flags agree with one another, and parts hold no more than the body.
//!
//! The content type goes up to the first line end, the rest is the body.

use portcullis::engine::body::Processor;

use super::body;

/// Checks one body under one content type.
pub(crate) fn run(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (content_type, body) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let parsed = body::read(Processor::Multipart, content_type, body);
    let flags = parsed.multipart;
    assert!(parsed.error.is_none() || flags.strict_error, "an error that is not strict");
    assert!(!flags.crlf_lf_lines || flags.lf_line, "mixed line ends without LF");
    assert!(flags.unmatched_boundary <= 2, "{}", flags.unmatched_boundary);
    let sizes: usize = parsed.file_sizes.iter().sum();
    assert!(sizes + parsed.arguments.combined_size() <= body.len(), "parts larger than the body");
}
