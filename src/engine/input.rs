//! The request as variables: the target split and decoded, arguments, cookies, body.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::body::{self, BodyLimits, Parsed, Processor};
use super::fields::Fields;
use crate::model::{Body, NotInspected, Request};
use crate::ruleset::settings::{Settings, XmlArguments};

/// Everything that rules read of a request, apart from what they compute themselves. Reused from request to request.
#[derive(Default, Debug)]
pub(crate) struct Input {
    pub(crate) request_line: Vec<u8>,
    /// Path and query without scheme, host and fragment.
    pub(crate) uri: Vec<u8>,
    /// The path, percent-decoded once.
    pub(crate) filename: Vec<u8>,
    pub(crate) query: Vec<u8>,
    pub(crate) query_arguments: Fields,
    pub(crate) query_error: bool,
    pub(crate) cookies: Fields,
    pub(crate) remote_addr: String,
    pub(crate) server_addr: String,
    pub(crate) body: BodyInput,
    pub(crate) not_inspected: Vec<NotInspected>,
}

/// What became of the body.
#[derive(Default, Debug)]
pub(crate) struct BodyInput {
    pub(crate) parsed: Parsed,
    /// How many leading bytes of the body `REQUEST_BODY` shows.
    pub(crate) visible: usize,
    /// `REQUEST_BODY_LENGTH`
    pub(crate) length: usize,
    /// `INBOUND_DATA_ERROR`
    pub(crate) data_error: bool,
    /// `REQBODY_ERROR_MSG`; there is an error when it is not empty.
    pub(crate) error: String,
}

/// How a body is to be read.
pub(crate) struct Reading<'a> {
    /// The bytes within the body limit.
    pub(crate) bytes: &'a [u8],
    /// More followed.
    pub(crate) cut: bool,
    /// `REQBODY_PROCESSOR`.
    pub(crate) processor: &'a str,
    /// `ctl:forceRequestBodyVariable`.
    pub(crate) force_variable: bool,
}

/// `REQBODY_ERROR_MSG` where arguments were dropped, of the query or of a body in whatever format: a rule on
/// `REQBODY_ERROR` hears of it, as in `ModSecurity` 2, also where none counts `&ARGS`.
const ARGUMENTS_OVER_LIMIT: &str = "SecArgumentsLimit exceeded";

impl Input {
    /// Fills in everything but the body.
    pub(crate) fn read_request(&mut self, request: &Request<'_>, settings: &Settings) {
        self.request_line.clear();
        for (index, part) in [request.method, request.target, request.protocol].into_iter().enumerate() {
            if index > 0 {
                self.request_line.push(b' ');
            }
            self.request_line.extend_from_slice(part);
        }
        self.read_target(request.target);
        self.query_arguments.clear();
        self.not_inspected.clear();
        let limits = limits(settings);
        let report = body::form::parse(&self.query, &limits, 0, &mut self.query_arguments);
        self.query_error = report.urlencoded_error;
        if report.arguments_over_limit {
            self.note(NotInspected::ArgumentsOverLimit);
        }
        self.cookies.clear();
        for header in request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(b"cookie")) {
            body::cookies::parse(header.value, &mut self.cookies);
        }
        write_addr(&mut self.remote_addr, request.remote_addr);
        write_addr(&mut self.server_addr, request.server_addr);
        self.body.reset();
        if report.arguments_over_limit {
            ARGUMENTS_OVER_LIMIT.clone_into(&mut self.body.error);
        }
    }

    /// Splits the target. A text that is no URI is inspected all the same: everything up to `?` is the path.
    fn read_target(&mut self, target: &[u8]) {
        let without_fragment = target.split(|byte| *byte == b'#').next().unwrap_or_default();
        let local = strip_authority(without_fragment);
        let (path, query) = match local.iter().position(|byte| *byte == b'?') {
            Some(mark) => (local.get(..mark).unwrap_or_default(), local.get(mark + 1..).unwrap_or_default()),
            None => (local, &[][..]),
        };
        self.uri.clear();
        self.uri.extend_from_slice(local);
        self.filename.clear();
        percent_decode(path, &mut self.filename);
        self.query.clear();
        self.query.extend_from_slice(query);
    }

    /// The part of the decoded path after the last `/` or `\`.
    pub(crate) fn basename(&self) -> &[u8] {
        self.filename.rsplit(|byte| matches!(byte, b'/' | b'\\')).next().unwrap_or_default()
    }

    /// Remembers that a part was not inspected.
    pub(crate) fn note(&mut self, part: NotInspected) {
        if let Err(place) = self.not_inspected.binary_search(&part) {
            self.not_inspected.insert(place, part);
        }
    }

    /// Reads the body with the processor that phase 1 left in place.
    pub(crate) fn read_body(&mut self, request: &Request<'_>, reading: &Reading<'_>, settings: &Settings) {
        let Reading { bytes, cut, processor: name, force_variable } = *reading;
        self.body.length = request.body.bytes().len();
        self.body.data_error = cut;
        if bytes.is_empty() {
            return;
        }
        let processor = Processor::parse(name.as_bytes());
        let raw = processor == Some(Processor::UrlEncoded) || force_variable;
        self.body.visible = if raw { bytes.len() } else { 0 };
        let multipart = processor == Some(Processor::Multipart);
        if !multipart && bytes.len() > settings.request_body_no_files_limit {
            self.fail_body(format!(
                "Request body (without files) is {} bytes, over the limit of {}",
                bytes.len(),
                settings.request_body_no_files_limit
            ));
            return;
        }
        match processor {
            Some(processor) => self.parse_body(processor, request, bytes, cut, settings),
            None if name.is_empty() && force_variable => {}
            // Nobody reads a body of this type, and no rule has asked for its raw bytes.
            None if name.is_empty() => self.note(NotInspected::BodySkipped),
            None => self.fail_body(format!("Unknown request body processor: {name}")),
        }
    }

    fn parse_body(
        &mut self,
        processor: Processor,
        request: &Request<'_>,
        bytes: &[u8],
        cut: bool,
        settings: &Settings,
    ) {
        let input = body::Input {
            body: bytes,
            content_type: request.header(b"content-type").unwrap_or_default(),
            partial: cut,
            already: self.query_arguments.len(),
        };
        body::parse(processor, &input, &limits(settings), &mut self.body.parsed);
        if settings.xml_arguments == XmlArguments::Only {
            self.body.parsed.xml_text = None;
            self.body.parsed.xml_attributes.clear();
        }
        self.check_no_files_limit(settings);
        if let Some(error) = self.body.parsed.error.take() {
            self.fail_body(error);
        }
        if self.body.parsed.arguments_over_limit {
            self.note(NotInspected::ArgumentsOverLimit);
            if self.body.error.is_empty() {
                ARGUMENTS_OVER_LIMIT.clone_into(&mut self.body.error);
            }
        }
    }

    /// Of a multipart body, what stands in files does not count towards `SecRequestBodyNoFilesLimit`; the headers of
    /// all parts do, as in ModSecurity.
    fn check_no_files_limit(&mut self, settings: &Settings) {
        let parsed = &self.body.parsed;
        let headers: usize = parsed.part_headers.iter().map(|(_, line)| line.len()).sum();
        let size = parsed.arguments.combined_size().saturating_add(headers);
        if size > settings.request_body_no_files_limit && self.body.parsed.error.is_none() {
            self.body.parsed.error = Some(format!(
                "Request body (without files) is {size} bytes, over the limit of {}",
                settings.request_body_no_files_limit
            ));
        }
    }

    fn fail_body(&mut self, message: String) {
        self.body.error = message;
        self.note(NotInspected::BodyUndecodable);
    }
}

impl BodyInput {
    /// The work of reading it: the bytes that came in, and those that were made of them.
    pub(crate) fn work(&self) -> usize {
        let Parsed { arguments, array_names, files, part_headers, xml_attributes, .. } = &self.parsed;
        let made = [arguments, array_names, files, part_headers, xml_attributes];
        made.iter().fold(self.length, |sum, fields| sum.saturating_add(fields.combined_size()))
    }

    fn reset(&mut self) {
        self.parsed.clear();
        self.visible = 0;
        self.length = 0;
        self.data_error = false;
        self.error.clear();
    }
}

/// What a body's kind means before any rule has looked at it.
pub(crate) fn body_gap(body: &Body<'_>) -> Option<NotInspected> {
    match body {
        Body::NotSent => Some(NotInspected::BodyAbsent),
        Body::Partial(_) => Some(NotInspected::BodyPartial),
        Body::Complete(_) => None,
    }
}

fn limits(settings: &Settings) -> BodyLimits {
    BodyLimits {
        arguments: settings.arguments_limit,
        json_depth: settings.json_depth_limit,
        separator: settings.argument_separator,
        xml_into_arguments: settings.xml_arguments != XmlArguments::Off,
        refuse_doctype: settings.refuse_doctype,
    }
}

fn write_addr(text: &mut String, addr: Option<IpAddr>) {
    text.clear();
    if let Some(addr) = addr {
        // Writing to a String cannot fail.
        let _ = write!(text, "{addr}");
    }
}

/// `http://host/path` becomes `/path`; everything else, `//host/x` among it, is a path already.
fn strip_authority(target: &[u8]) -> &[u8] {
    let scheme_len = target.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte)).count();
    let Some(rest) = target.get(scheme_len..).and_then(|rest| rest.strip_prefix(b"://")) else { return target };
    if scheme_len == 0 {
        return target;
    }
    let authority = rest.iter().take_while(|byte| !matches!(byte, b'/' | b'?')).count();
    rest.get(authority..).unwrap_or_default()
}

/// `%HH` only; `+` stays, a bad `%` stays. One pass.
pub(crate) fn percent_decode(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        let decoded = match (byte, tail) {
            (b'%', [high, low, ..]) => hex_byte(*high, *low),
            _ => None,
        };
        match decoded {
            Some(value) => {
                out.push(value);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => out.push(*byte),
        }
    }
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    Some(digit(high)? * 16 + digit(low)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_split_before_they_are_decoded() {
        let cases: [(&str, &str, &str, &str); 7] = [
            ("/a%3fb?c", "/a%3fb?c", "/a?b", "c"),
            ("//host/x?q=1", "//host/x?q=1", "//host/x", "q=1"),
            ("http://h:81/p?q#f", "/p?q", "/p", "q"),
            ("*", "*", "*", ""),
            ("example.com:443", "example.com:443", "example.com:443", ""),
            ("/%zz%2", "/%zz%2", "/%zz%2", ""),
            ("/a#b?c", "/a", "/a", ""),
        ];
        for (target, uri, filename, query) in cases {
            let mut input = Input::default();
            input.read_target(target.as_bytes());
            assert_eq!(String::from_utf8_lossy(&input.uri), uri, "uri of {target}");
            assert_eq!(String::from_utf8_lossy(&input.filename), filename, "filename of {target}");
            assert_eq!(String::from_utf8_lossy(&input.query), query, "query of {target}");
        }
    }

    #[test]
    fn the_basename_follows_the_last_slash_of_either_kind() {
        for (path, basename) in [("/a/b.php", "b.php"), ("/a/", ""), ("/a\\b", "b"), ("x", "x")] {
            let mut input = Input::default();
            input.read_target(path.as_bytes());
            assert_eq!(input.basename(), basename.as_bytes());
        }
    }
}
