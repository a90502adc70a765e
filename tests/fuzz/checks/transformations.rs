//! Every transformation takes any bytes, says truly whether it changed them, and is not longer than it may be.

use std::sync::Arc;

use portcullis::vocab::transformations::{TRANSFORMATIONS, TransformationContext, UnicodeMap};

/// The most bytes an input byte may become: `utf8toUnicode` makes two bytes six, `urlEncode` one byte three,
/// `base64Encode` three bytes four (and one byte four).
const MOST_GROWTH: usize = 4;

/// Checks all transformations on `data`.
pub(crate) fn run(data: &[u8]) {
    let with_map = TransformationContext { unicode_map: Some(Arc::new(UnicodeMap::code_page_20127())) };
    for context in [TransformationContext::default(), with_map] {
        for entry in TRANSFORMATIONS {
            let mut output = Vec::new();
            let changed = (entry.apply)(data, &mut output, &context);
            assert!(!changed || output != data, "{} says that it changed the value", entry.name);
            let fixed = matches!(entry.name, "length" | "md5" | "sha1");
            assert!(fixed || output.len() <= MOST_GROWTH * data.len(), "{} grows too much", entry.name);
        }
    }
}
