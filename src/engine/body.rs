//! Body processors: bytes in, [`Parsed`] out. Each keeps what it read before an error, so that rules still see it.

pub mod cookies;
pub mod form;
mod json;
mod multipart;
mod xml;

use super::fields::Fields;

/// A body processor, named as in `ctl:requestBodyProcessor` and `REQBODY_PROCESSOR`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Processor {
    /// `application/x-www-form-urlencoded`.
    UrlEncoded,
    /// `multipart/form-data`.
    Multipart,
    /// JSON; chosen by a rule only.
    Json,
    /// XML; chosen by a rule only.
    Xml,
}

impl Processor {
    const NAMES: [(Self, &'static str); 4] =
        [(Self::UrlEncoded, "URLENCODED"), (Self::Multipart, "MULTIPART"), (Self::Json, "JSON"), (Self::Xml, "XML")];

    /// The processor with this name, any case.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let of_name = |(_, known): &(Self, &str)| known.as_bytes().eq_ignore_ascii_case(name);
        Self::NAMES.into_iter().find(of_name).map(|(processor, _)| processor)
    }

    /// The name in `REQBODY_PROCESSOR`.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(processor, _)| *processor == self).map_or("", |(_, name)| name)
    }
}

/// The processor that the content type alone asks for. JSON and XML are never among them: those are a rule's choice
/// (`ctl:requestBodyProcessor`). Prefixes without regard to case, as in ModSecurity; Coraza wants the exact text, so
/// that a `; charset=` switches its form parser off.
pub fn processor_for(content_type: Option<&[u8]>) -> Option<Processor> {
    const PREFIXES: [(&[u8], Processor); 2] =
        [(b"application/x-www-form-urlencoded", Processor::UrlEncoded), (b"multipart/form-data", Processor::Multipart)];
    let content_type = content_type?;
    let starts = |prefix: &[u8]| content_type.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix));
    PREFIXES.into_iter().find(|(prefix, _)| starts(prefix)).map(|(_, processor)| processor)
}

/// A body and what the engine knows about it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The bytes at hand.
    pub body: &'a [u8],
    /// The value of the `Content-Type` header, empty when there is none.
    pub content_type: &'a [u8],
    /// The body was cut (by the proxy or at a limit): what only the cut made wrong is no error.
    pub partial: bool,
    /// The number of arguments there are already (those of the query), counted towards the limit.
    pub already: usize,
}

/// Runs one processor over a body. `parsed` is cleared first. An empty body is never an error.
pub fn parse(processor: Processor, input: &Input<'_>, limits: &BodyLimits, parsed: &mut Parsed) {
    parsed.clear();
    if input.body.is_empty() {
        return;
    }
    match processor {
        Processor::UrlEncoded => form::parse_body(input, limits, parsed),
        Processor::Json => json::parse_body(input, limits, parsed),
        Processor::Multipart => multipart::parse_body(input, limits, parsed),
        Processor::Xml => xml::parse_body(input, limits, parsed),
    }
}

/// How many bytes the names of arguments may take together, where the name of each value holds the names of all that
/// encloses it: enough for any real document, and a bound on what a hostile one can make of its size.
const fn name_room(body_bytes: usize) -> usize {
    body_bytes.saturating_mul(4).saturating_add(0x1_0000)
}

/// Limits of the body processors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyLimits {
    /// `SecArgumentsLimit`: arguments beyond this number (query arguments included) are dropped and flagged.
    pub arguments: usize,
    /// `SecRequestBodyJsonDepthLimit`: nesting of arrays and objects.
    pub json_depth: usize,
    /// `SecArgumentSeparator`.
    pub separator: u8,
    /// `SecParseXmlIntoArgs`: the elements of an XML body become arguments too.
    pub xml_into_arguments: bool,
    /// `SecXmlDoctype Refuse`: an XML body with a DOCTYPE is an error.
    pub refuse_doctype: bool,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { arguments: 1000, json_depth: 512, separator: b'&', xml_into_arguments: false, refuse_doctype: false }
    }
}

/// What a body processor found. One value serves all processors and is reused from request to request.
#[derive(Clone, Default, Debug)]
pub struct Parsed {
    /// Arguments of the body (`ARGS_POST`, part of `ARGS`).
    pub arguments: Fields,
    /// Names of JSON arrays that hold something (part of `ARGS_NAMES`); the values are empty.
    pub array_names: Fields,
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
        self.array_names.clear();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_choose_by_prefix() {
        let cases: [(Option<&[u8]>, Option<Processor>); 9] = [
            (None, None),
            (Some(b""), None),
            (Some(b"application/x-www-form-urlencoded"), Some(Processor::UrlEncoded)),
            (Some(b"Application/X-WWW-Form-Urlencoded; charset=utf-8"), Some(Processor::UrlEncoded)),
            (Some(b"application/x-www-form-urlencode"), None),
            (Some(b"MULTIPART/form-data; boundary=x"), Some(Processor::Multipart)),
            (Some(b"multipart/mixed; boundary=x"), None),
            (Some(b"application/json"), None),
            (Some(b"text/xml"), None),
        ];
        for (content_type, expected) in cases {
            assert_eq!(processor_for(content_type), expected, "{content_type:?}");
        }
    }

    #[test]
    fn processor_names_read_back() {
        for (processor, name) in Processor::NAMES {
            assert_eq!(Processor::parse(processor.name().as_bytes()), Some(processor));
            assert_eq!(Processor::parse(name.to_lowercase().as_bytes()), Some(processor));
        }
        assert_eq!(Processor::parse(b"RAW"), None);
    }

    #[test]
    fn an_empty_body_is_never_an_error() {
        let mut parsed = Parsed::default();
        for (processor, _) in Processor::NAMES {
            let input = Input { body: b"", content_type: b"", partial: false, already: 0 };
            parse(processor, &input, &BodyLimits::default(), &mut parsed);
            assert_eq!((parsed.error.as_deref(), parsed.arguments.len()), (None, 0), "{processor:?}");
        }
    }

    #[test]
    fn hostile_shapes_take_linear_time() {
        const BYTES: usize = 1_000_000;
        let pieces: [(Processor, &str, &str); 12] = [
            (Processor::UrlEncoded, "", "&"),
            (Processor::UrlEncoded, "", "%"),
            (Processor::UrlEncoded, "", "="),
            (Processor::Json, "", "[\""),
            (Processor::Json, "\"", "\\ud83d"),
            (Processor::Json, "[", "1,"),
            (Processor::Json, "", " "),
            (Processor::Multipart, "--b\n", "--\n"),
            (Processor::Multipart, "--b\n", "-----b"),
            (Processor::Multipart, "", "--b\n"),
            (Processor::Multipart, "--b\nContent-Disposition: form-data; name=\"", "\\\""),
            (Processor::Multipart, "--b\nContent-Disposition: form-data; name=a\n\n", "\n"),
        ];
        let mut parsed = Parsed::default();
        for (processor, head, piece) in pieces {
            let body = format!("{head}{}", piece.repeat(BYTES / piece.len()));
            let input = Input {
                body: body.as_bytes(),
                content_type: b"multipart/form-data; boundary=b",
                partial: false,
                already: 0,
            };
            let start = std::time::Instant::now();
            parse(processor, &input, &BodyLimits::default(), &mut parsed);
            let seconds = start.elapsed().as_secs_f64();
            assert!(seconds < 3.0, "{seconds} s for {processor:?} {piece:?}");
        }
    }
}
