//! What must hold for every body processor and every body; shared by the four `body_*` checks.

use portcullis::engine::body::{BodyLimits, Input, Parsed, Processor, parse};

/// Reads a body whole and cut, into a fresh result and into a used one, and gives what the whole one held.
pub(crate) fn read(processor: Processor, content_type: &[u8], body: &[u8]) -> Parsed {
    let limits = BodyLimits { xml_into_arguments: body.len().is_multiple_of(2), ..BodyLimits::default() };
    let input = Input { body, content_type, partial: false, already: body.len() % 7 };
    let mut used = Parsed::default();
    parse(processor, &Input { partial: true, ..input }, &limits, &mut used);
    let error_when_cut = used.error.clone();
    parse(processor, &input, &limits, &mut used);
    let mut fresh = Parsed::default();
    parse(processor, &input, &limits, &mut fresh);
    assert_eq!(shown(&used), shown(&fresh), "a used result differs from a fresh one");
    assert!(error_when_cut.is_none() || fresh.error.is_some(), "only an error when cut: {error_when_cut:?}");
    assert!(fresh.arguments.len() + input.already <= limits.arguments, "more arguments than allowed");
    assert_eq!(fresh.files.len(), fresh.file_sizes.len(), "files and sizes");
    let bytes = fresh.arguments.combined_size() + fresh.xml_text.as_ref().map_or(0, Vec::len);
    assert!(bytes <= 0x1_0000 + 20 * body.len(), "{bytes} bytes out of {}", body.len());
    fresh
}

fn shown(parsed: &Parsed) -> String {
    let fields = [&parsed.arguments, &parsed.array_names, &parsed.files, &parsed.part_headers, &parsed.xml_attributes];
    let fields = fields.map(|fields| fields.iter().map(|(n, v)| (n.to_vec(), v.to_vec())).collect::<Vec<_>>());
    let Parsed { file_sizes, xml_text, multipart, error, arguments_over_limit, urlencoded_error, .. } = parsed;
    format!("{fields:?} {file_sizes:?} {xml_text:?} {multipart:?} {error:?} {arguments_over_limit} {urlencoded_error}")
}
