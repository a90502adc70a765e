//! From Envoy's `CheckRequest` to the client's request.
//!
//! Knows no gRPC and no socket. Envoy describes a request in two ways: with `encode_raw_headers` as it arrived, without
//! as a map of joined values in which each byte that is not UTF-8 became `!`. The raw form is preferred wherever there is one.

use std::net::IpAddr;

use super::wire::{CheckRequest, Peer};
use crate::config::IpNet;
use crate::model::{Body, Header};
use crate::service::FailureKind;
use crate::transport::body::{self, CHUNKED, PARTIAL_BODY};
use crate::transport::client::{self, Forwarded};
use crate::transport::original::{self, Original, Refusal};

/// Reads a `CheckRequest`.
pub fn decode(message: &[u8]) -> Result<CheckRequest<'_>, Refusal> {
    CheckRequest::read(message).map_err(|_| Refusal::Failure(FailureKind::Undecodable))
}

/// The policy a `CheckRequest` names; a name that is not UTF-8 is that of no policy.
pub fn policy<'m>(check: &CheckRequest<'m>) -> Result<Option<&'m str>, Refusal> {
    let unknown = Refusal::Failure(FailureKind::UnknownPolicy);
    check.policy.map(|name| std::str::from_utf8(name).map_err(|_| unknown)).transpose()
}

/// The client's request. `limit` tells the largest body its policy inspects.
pub fn original<'m>(
    mut check: CheckRequest<'m>,
    trusted: &[IpNet],
    limit: impl FnOnce() -> usize,
) -> Result<Original<'m>, Refusal> {
    let policy = policy(&check)?;
    let http = check.http.as_mut().ok_or(Refusal::Failure(FailureKind::Undecodable))?;
    let lines = Lines::of(std::mem::take(&mut http.header_map), &http.headers);
    let method = lines.method.unwrap_or(http.method);
    let host = [lines.authority, Some(http.host), lines.host].into_iter().flatten().find(|host| !host.is_empty());
    let host = host.unwrap_or_default();
    let target = target(method, lines.path.unwrap_or(http.path), host)?;
    let protocol = protocol(http.protocol);
    let bytes = if http.raw_body.is_empty() { http.body } else { http.raw_body };
    let body = body::forwarded(bytes, lines.cut, lines.length, limit, method);
    Ok(Original {
        policy,
        method,
        target,
        protocol,
        scheme: original::scheme(http.scheme),
        host,
        client: client(&check.source, &lines.headers, trusted),
        server: address(&check.destination),
        headers: lines.finish(protocol, host, body),
        body,
    })
}

/// A CONNECT has no path, its target is the authority. Nothing else is without one, and no proxy passes a fragment on.
fn target<'m>(method: &[u8], path: &'m [u8], host: &'m [u8]) -> Result<&'m [u8], Refusal> {
    match path {
        _ if method.is_empty() => Err(Refusal::Failure(FailureKind::Undecodable)),
        [] if method == b"CONNECT" => Ok(host),
        [] => Err(Refusal::Failure(FailureKind::Undecodable)),
        path if path.contains(&b'#') => Err(Refusal::Malformed),
        path => Ok(path),
    }
}

/// Rules know `HTTP/2.0` and `HTTP/3.0`, as web servers write it.
fn protocol(sent: &[u8]) -> &[u8] {
    match sent {
        b"" => b"HTTP/1.1",
        b"HTTP/2" => b"HTTP/2.0",
        b"HTTP/3" => b"HTTP/3.0",
        other => other,
    }
}

/// Header lines, with what is not the client's taken out.
#[derive(Default)]
struct Lines<'m> {
    headers: Vec<Header<'m>>,
    method: Option<&'m [u8]>,
    path: Option<&'m [u8]>,
    authority: Option<&'m [u8]>,
    host: Option<&'m [u8]>,
    length: Option<u64>,
    framed: bool,
    cut: Option<bool>,
}

impl<'m> Lines<'m> {
    /// Lines as they arrived, or, where there are none, the map of joined values.
    fn of(mut raw: Vec<Header<'m>>, joined: &[Header<'m>]) -> Self {
        let mut lines = Self::default();
        if raw.is_empty() {
            joined.iter().for_each(|entry| lines.add_joined(entry));
        } else {
            raw.retain(|line| lines.shows(line));
            lines.headers = raw;
        }
        lines
    }

    /// Takes note of a line; whether it is one of the client's.
    fn shows(&mut self, line: &Header<'m>) -> bool {
        let &Header { name, value } = line;
        match name {
            b":method" => self.method = Some(value),
            b":path" => self.path = Some(value),
            b":authority" => self.authority = Some(value),
            [b':', ..] => {}
            _ if name.eq_ignore_ascii_case(PARTIAL_BODY.as_bytes()) => {
                self.cut = Some(self.cut == Some(true) || value != b"false")
            }
            _ => {
                self.note(name, value);
                return true;
            }
        }
        false
    }

    fn note(&mut self, name: &[u8], value: &'m [u8]) {
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = body::length(value);
            self.framed = true;
        } else if name.eq_ignore_ascii_case(b"host") {
            self.host = self.host.or(Some(value));
        } else if name.eq_ignore_ascii_case(CHUNKED.name) {
            self.framed = true;
        }
    }

    /// In the map form `a=1,b=2` is one cookie or two `Cookie` lines: rules get both readings.
    fn add_joined(&mut self, entry: &Header<'m>) {
        if self.shows(entry) {
            self.headers.push(*entry);
        }
        if entry.name.eq_ignore_ascii_case(b"cookie") && entry.value.contains(&b',') {
            let parts = entry.value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
            let parts = parts.filter(|part| !part.is_empty());
            self.headers.extend(parts.map(|part| Header { name: entry.name, value: part }));
        }
    }

    /// The lines as the client sent them: with a `host`, and with the framing that Envoy takes off.
    fn finish(mut self, protocol: &[u8], host: &'m [u8], body: Body<'_>) -> Vec<Header<'m>> {
        // An authority that is there and empty is an empty Host line, which rules tell from a missing one.
        if self.host.is_none() && (!host.is_empty() || self.authority.is_some()) {
            self.headers.insert(0, Header { name: b"host", value: host });
        }
        let has_body = self.cut.is_some() || body != Body::Complete(b"");
        if protocol.starts_with(b"HTTP/1") && has_body && !self.framed {
            self.headers.push(CHUNKED);
        }
        self.headers
    }
}

/// The peer of Envoy, or, if that is a trusted proxy, the client it names.
fn client(source: &Peer<'_>, headers: &[Header<'_>], trusted: &[IpNet]) -> (Option<IpAddr>, u16) {
    let peer = address(source);
    if !peer.0.is_some_and(|peer| client::is_trusted(peer, trusted)) {
        return peer;
    }
    let is_list = |header: &&Header<'_>| header.name.eq_ignore_ascii_case(b"x-forwarded-for");
    match client::forwarded_for(headers.iter().filter(is_list).map(|header| header.value), trusted) {
        Forwarded::Client(address) => (Some(address), 0),
        Forwarded::Unknown => (None, 0),
        Forwarded::Nobody => peer,
    }
}

/// A pipe or an address inside Envoy has no text.
fn address(peer: &Peer<'_>) -> (Option<IpAddr>, u16) {
    (client::address(peer.address), u16::try_from(peer.port).unwrap_or_default())
}
