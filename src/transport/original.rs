//! The client's request as a proxy described it: the one form both doors produce.
//!
//! Knows no wire format. Holds what has to be put together (the header list); all else is borrowed from the message.

use std::net::IpAddr;
use std::time::Instant;

use crate::model::{Body, Header, Request};
use crate::service::{Call, Door, FailureKind};

/// A described request, ready to be asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Original<'m> {
    /// The policy named by the proxy's configuration.
    pub policy: Option<&'m str>,
    /// The method.
    pub method: &'m [u8],
    /// Path and query, undecoded.
    pub target: &'m [u8],
    /// The protocol in the form rules expect.
    pub protocol: &'m [u8],
    /// `http` or `https`.
    pub scheme: &'static [u8],
    /// The authority, with its port when it was sent.
    pub host: &'m [u8],
    /// Header lines, `host` first.
    pub headers: Vec<Header<'m>>,
    /// The body, or what is known of it.
    pub body: Body<'m>,
    /// The client's address and port, 0 when unknown.
    pub client: (Option<IpAddr>, u16),
    /// The address and port the client connected to, 0 when unknown.
    pub server: (Option<IpAddr>, u16),
}

/// Why a message is not a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It says something no proxy says of an honest request: refused with 403, whatever the failure policy.
    Malformed,
    /// It cannot be judged: the failure policy decides.
    Failure(FailureKind),
}

impl<'m> Original<'m> {
    /// The question to ask about this request.
    pub fn call(&self, door: Door, received: Instant, deadline: Option<Instant>) -> Call<'_> {
        Call {
            door,
            policy: self.policy,
            request: self.request(),
            scheme: self.scheme,
            host: self.host,
            received,
            deadline,
        }
    }

    /// The request as the rules see it.
    pub fn request(&self) -> Request<'_> {
        Request {
            method: self.method,
            target: self.target,
            protocol: self.protocol,
            headers: &self.headers,
            body: self.body,
            remote_addr: self.client.0,
            remote_port: self.client.1,
            server_addr: self.server.0,
            server_port: self.server.1,
        }
    }
}

/// `https` for `https`, else `http`: clients of HTTP/2 can send any scheme.
pub fn scheme(sent: &[u8]) -> &'static [u8] {
    if sent.eq_ignore_ascii_case(b"https") { b"https" } else { b"http" }
}

/// Whether the bytes are an HTTP token (RFC 9110, 5.6.2), as every method is.
pub fn is_token(bytes: &[u8]) -> bool {
    let special = |byte| b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || special(byte))
}

/// Whether a target may stand before an origin server: a path, and no fragment, which no proxy passes on.
pub fn is_path(target: &[u8]) -> bool {
    target.first() == Some(&b'/') && !target.contains(&b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_http_or_https() {
        for (sent, expected) in
            [("http", "http"), ("https", "https"), ("HTTPS", "https"), ("foo", "http"), ("", "http")]
        {
            assert_eq!(scheme(sent.as_bytes()), expected.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn tokens_and_paths() {
        for (text, token, path) in [
            ("GET", true, false),
            ("M-SEARCH", true, false),
            ("", false, false),
            ("G T", false, false),
            ("/", false, true),
            ("/a?b", false, true),
            ("/a#b", false, false),
            ("*", true, false),
            ("http://h/", false, false),
        ] {
            assert_eq!((is_token(text.as_bytes()), is_path(text.as_bytes())), (token, path), "{text}");
        }
    }
}
