//! Body processors: bytes in, [`Parsed`] out. Each keeps what it read before an error, so that rules still see it.

use super::fields::Fields;

/// Limits of the body processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyLimits {
    /// `SecArgumentsLimit`: arguments beyond this number (query arguments included) are dropped and flagged.
    pub arguments: usize,
    /// `SecRequestBodyJsonDepthLimit`: nesting of arrays and objects.
    pub json_depth: usize,
    /// `SecArgumentSeparator`.
    pub separator: u8,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { arguments: 1000, json_depth: 512, separator: b'&' }
    }
}

/// What a body processor found. One value serves all processors and is reused from request to request.
#[derive(Clone, Default, Debug)]
pub struct Parsed {
    /// Arguments of the body (`ARGS_POST`, part of `ARGS`).
    pub arguments: Fields,
    /// Files: name = form field, value = file name as the client sent it (`FILES`, `FILES_NAMES`).
    pub files: Fields,
    /// Bytes of each file's content, in the order of `files` (`FILES_SIZES`).
    pub file_sizes: Vec<usize>,
    /// Part headers: name = part name, value = the whole line, folds joined by a blank (`MULTIPART_PART_HEADERS`).
    pub part_headers: Fields,
    /// `XML:/*`: the text of the whole document.
    pub xml_text: Option<Vec<u8>>,
    /// `XML://@*`: attributes, name and value.
    pub xml_attributes: Fields,
    /// The flags of the multipart processor.
    pub multipart: MultipartFlags,
    /// `REQBODY_ERROR` with its message; `None` when the body was read without one.
    pub error: Option<String>,
    /// More arguments than allowed; the rest was dropped.
    pub arguments_over_limit: bool,
    /// `URLENCODED_ERROR`: a `%` that two hexadecimal digits do not follow.
    pub urlencoded_error: bool,
}

impl Parsed {
    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.arguments.clear();
        self.files.clear();
        self.file_sizes.clear();
        self.part_headers.clear();
        self.xml_text = None;
        self.xml_attributes.clear();
        self.multipart = MultipartFlags::default();
        self.error = None;
        self.arguments_over_limit = false;
        self.urlencoded_error = false;
    }
}

/// The `MULTIPART_*` flags of ModSecurity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[allow(missing_docs, reason = "each field is the ModSecurity variable MULTIPART_<NAME>")]
pub struct MultipartFlags {
    pub boundary_quoted: bool,
    pub boundary_whitespace: bool,
    pub data_before: bool,
    pub data_after: bool,
    pub header_folding: bool,
    pub invalid_header_folding: bool,
    pub lf_line: bool,
    pub crlf_lf_lines: bool,
    pub missing_semicolon: bool,
    pub invalid_quoting: bool,
    pub invalid_part: bool,
    pub file_limit_exceeded: bool,
    /// 0, 1 (a line looks like a boundary and is not) or 2 (such lines, but all real boundaries were fine).
    pub unmatched_boundary: u8,
    /// A parse error or any of the flags that ModSecurity counts as strict errors.
    pub strict_error: bool,
}
