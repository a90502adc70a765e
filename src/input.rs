//! Requests from files: JSON lines, HAR and raw HTTP/1.1 messages become [`RequestBuf`]s.
//!
//! Bytes in, requests or errors out: opens nothing, knows no rules and no proxy.

pub mod har;
pub mod jsonl;
pub mod raw;

use std::fmt;
use std::net::IpAddr;

use crate::model::{Body, Header, Request};

pub use raw::{Refusal, parse_raw};

/// A request that owns its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestBuf {
    /// How output refers to the request.
    pub id: String,
    /// The method as sent.
    pub method: Vec<u8>,
    /// The request target as sent.
    pub target: Vec<u8>,
    /// The protocol, as in [`Request::protocol`].
    pub protocol: Vec<u8>,
    /// Names and values in order of arrival.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The bytes of the body at hand, any transfer coding undone.
    pub body: Vec<u8>,
    /// What the bytes of the body are.
    pub body_state: BodyState,
    /// The client's address.
    pub remote_addr: Option<IpAddr>,
    /// The client's port, 0 when unknown.
    pub remote_port: u16,
    /// The address the client connected to.
    pub server_addr: Option<IpAddr>,
    /// The port the client connected to, 0 when unknown.
    pub server_port: u16,
}

/// What the bytes of a body are; see [`Body`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BodyState {
    /// The whole body.
    #[default]
    Complete,
    /// The first bytes of it.
    Partial,
    /// There is a body that is not at hand.
    Absent,
}

impl Default for RequestBuf {
    /// `GET / HTTP/1.1` without headers or body.
    fn default() -> Self {
        Self {
            id: String::new(),
            method: b"GET".to_vec(),
            target: b"/".to_vec(),
            protocol: b"HTTP/1.1".to_vec(),
            headers: Vec::new(),
            body: Vec::new(),
            body_state: BodyState::Complete,
            remote_addr: None,
            remote_port: 0,
            server_addr: None,
            server_port: 0,
        }
    }
}

impl RequestBuf {
    /// Borrows the request for the engine.
    ///
    /// ```
    /// use portcullis::input::parse_raw;
    ///
    /// let request = parse_raw(b"GET /a?b=c HTTP/1.1\r\nHost: shop.example\r\n\r\n").unwrap();
    /// request.with_request(|request| {
    ///     assert_eq!(request.target, b"/a?b=c");
    ///     assert_eq!(request.header(b"host"), Some(&b"shop.example"[..]));
    /// });
    /// ```
    pub fn with_request<T>(&self, read: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<_> = self.headers.iter().map(|(name, value)| Header { name, value }).collect();
        let body = match self.body_state {
            BodyState::Complete => Body::Complete(&self.body),
            BodyState::Partial => Body::Partial(&self.body),
            BodyState::Absent => Body::NotSent,
        };
        read(&Request {
            method: &self.method,
            target: &self.target,
            protocol: &self.protocol,
            headers: &headers,
            body,
            remote_addr: self.remote_addr,
            remote_port: self.remote_port,
            server_addr: self.server_addr,
            server_port: self.server_port,
        })
    }
}

/// What a file of requests gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A request for the rules.
    Request(RequestBuf),
    /// A raw message that a front end refuses.
    Refused {
        /// How output refers to the message.
        id: String,
        /// Why it is refused.
        refusal: Refusal,
    },
}

/// Something wrong in a file of requests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputError {
    /// `file` or `file:line`.
    pub place: String,
    /// What is wrong and what to write.
    pub message: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for InputError {}

/// Reads a file of requests: JSON lines, a HAR archive, or one raw HTTP message. A name that ends in `.http` means a raw
/// message; else the content tells, JSON beginning with `{`.
///
/// # Errors
/// Everything that is wrong in the file. A raw message that a front end would refuse is no error but an [`Item`].
pub fn read(name: &str, content: &[u8]) -> Result<Vec<Item>, Vec<InputError>> {
    let is_json = content.trim_ascii_start().starts_with(b"{") || content.trim_ascii().is_empty();
    if has_extension(name, "http") || !is_json {
        return raw_message(name, content).map(|item| vec![item]).map_err(|error| vec![error]);
    }
    match serde_json::from_slice(content) {
        Ok(archive) if has_extension(name, "har") || har::is_har(&archive) => har_requests(name, &archive),
        _ => json_lines(name, content),
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

fn raw_message(name: &str, content: &[u8]) -> Result<Item, InputError> {
    let (mut request, rest) = match raw::parse_raw_prefix(content) {
        Ok(found) => found,
        Err(refusal) => return Ok(Item::Refused { id: name.to_owned(), refusal }),
    };
    // A front end would take these bytes for the next request; here they are far more likely a forgotten length.
    if !rest.trim_ascii().is_empty() {
        let length = request.body.len() + rest.len();
        let message = format!("{} bytes follow the message; write `Content-Length: {length}`", rest.len());
        return Err(InputError { place: name.to_owned(), message });
    }
    request.id = name.to_owned();
    Ok(Item::Request(request))
}

fn har_requests(name: &str, archive: &serde_json::Value) -> Result<Vec<Item>, Vec<InputError>> {
    let error = |message| InputError { place: name.to_owned(), message };
    match har::parse(archive, name) {
        Ok(requests) => Ok(requests.into_iter().map(Item::Request).collect()),
        Err(messages) => Err(messages.into_iter().map(error).collect()),
    }
}

fn json_lines(name: &str, content: &[u8]) -> Result<Vec<Item>, Vec<InputError>> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for (number, line) in (1..).zip(content.split(|byte| *byte == b'\n')) {
        let place = format!("{name}:{number}");
        match line.trim_ascii() {
            [] => {}
            line => match jsonl::parse_line(line, &place) {
                Ok(request) => items.push(Item::Request(request)),
                Err(message) => errors.push(InputError { place, message }),
            },
        }
    }
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(name: &str, content: &str) -> Vec<String> {
        let id = |item: Item| match item {
            Item::Request(request) => request.id,
            Item::Refused { id, refusal } => format!("{id}: {refusal}"),
        };
        read(name, content.as_bytes()).expect("no errors").into_iter().map(id).collect()
    }

    #[test]
    fn formats_are_told_apart() {
        let message = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        let lines = "{\"uri\":\"/\"}\r\n\n{\"id\":\"x\",\"uri\":\"/\"}";
        let archive = r#"{"log":{"entries":[{"request":{"method":"GET","url":"http://h/","headers":[]}}]}}"#;
        let cases = [
            ("-", message, vec!["-"]),
            ("a.http", message, vec!["a.http"]),
            (
                "a.HTTP",
                "{}\r\n\r\n",
                vec!["a.HTTP: 400 the request line is not method, target and version with one blank between them"],
            ),
            ("a.http", &format!("{message}\n\n"), vec!["a.http"]),
            ("a.jsonl", lines, vec!["a.jsonl:1", "x"]),
            ("-", lines, vec!["-:1", "x"]),
            ("a.har", archive, vec!["a.har#1"]),
            ("-", archive, vec!["-#1"]),
            ("a.jsonl", "", vec![]),
            ("a.jsonl", "\n", vec![]),
        ];
        for (name, content, expected) in cases {
            assert_eq!(ids(name, content), expected, "{name} {content}");
        }
    }

    #[test]
    fn errors_name_their_place() {
        let cases = [
            (
                "a.jsonl",
                "{\"uri\":\"/\"}\n{}\n{\"uri\":2}",
                vec!["a.jsonl:2: `uri` is missing", "a.jsonl:3: `uri` is neither"],
            ),
            ("a.har", r#"{"log":{"entries":[{}]}}"#, vec!["a.har: entry 1: no `request`"]),
            ("a.har", "{}", vec!["a.har: no `log.entries`"]),
            (
                "a.http",
                "POST / HTTP/1.1\nHost: h\nContent-Length: 1\n\nabc",
                vec!["a.http: 2 bytes follow the message; write `Content-Length: 3`"],
            ),
        ];
        for (name, content, expected) in cases {
            let errors: Vec<_> =
                read(name, content.as_bytes()).expect_err(name).iter().map(ToString::to_string).collect();
            assert_eq!(errors.len(), expected.len(), "{errors:?}");
            for (error, expected) in errors.iter().zip(expected) {
                assert!(error.starts_with(expected), "{error}");
            }
        }
    }
}
