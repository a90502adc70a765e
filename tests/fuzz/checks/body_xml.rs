//! XML text never outgrows its document twice over: nothing is expanded.

use portcullis::engine::body::Processor;

use super::body;

/// Checks one document.
pub(crate) fn run(data: &[u8]) {
    let parsed = body::read(Processor::Xml, b"text/xml", data);
    let text = parsed.xml_text.as_ref().map_or(0, Vec::len);
    assert!(text <= 2 * data.len(), "{text} bytes of text");
    assert!(parsed.xml_attributes.combined_size() <= 2 * data.len(), "attributes grew");
    let error = parsed.error.as_deref().unwrap_or("XML parsing error: ");
    assert!(error.starts_with("XML parsing error: "), "{error}");
}
