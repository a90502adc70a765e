//! What we read of Envoy's `envoy.service.auth.v3.CheckRequest`, as slices of the message.
//!
//! `proto/check_request.proto` describes it. Where a message of ours is said twice, the parts are merged as protobuf
//! wants it: the last word on each field holds, lists grow.

use super::protobuf::{self, Malformed, Value, each};
use crate::model::Header;

/// The key of `context_extensions` that names the policy.
pub const POLICY: &[u8] = b"portcullis.policy";

/// Most browsers send fewer headers than this; with the two that may be added they fit in a power of two, which is what
/// the allocator is quickest with.
const USUAL_HEADERS: usize = 32;

/// A `CheckRequest`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CheckRequest<'m> {
    /// Who is connected to Envoy.
    pub source: Peer<'m>,
    /// Where they are connected to.
    pub destination: Peer<'m>,
    /// The request, if there is one.
    pub http: Option<HttpRequest<'m>>,
    /// The policy that is named.
    pub policy: Option<&'m [u8]>,
}

/// The address of a peer, if it has one in the sense of TCP.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Peer<'m> {
    /// The IP address in text.
    pub address: &'m [u8],
    /// The port.
    pub port: u32,
}

/// The client's request.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[expect(missing_docs, reason = "named as Envoy names them")]
pub struct HttpRequest<'m> {
    pub method: &'m [u8],
    /// As a map of joined values; empty when `header_map` is set.
    pub headers: Vec<Header<'m>>,
    pub path: &'m [u8],
    pub host: &'m [u8],
    pub scheme: &'m [u8],
    pub protocol: &'m [u8],
    pub body: &'m [u8],
    pub raw_body: &'m [u8],
    /// As they arrived, with `encode_raw_headers`.
    pub header_map: Vec<Header<'m>>,
}

impl<'m> CheckRequest<'m> {
    /// Reads a message.
    pub fn read(message: &'m [u8]) -> Result<Self, Malformed> {
        let mut check = Self::default();
        each(message, |number, value| if number == 1 { check.attributes(value.bytes()?) } else { Ok(()) })?;
        Ok(check)
    }

    fn attributes(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| match number {
            1 => self.source.peer(value.bytes()?),
            2 => self.destination.peer(value.bytes()?),
            4 => self.request(value.bytes()?),
            10 => self.extension(value.bytes()?),
            _ => Ok(()),
        })
    }

    fn request(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| match number {
            2 => self.http.get_or_insert_default().merge(value.bytes()?),
            _ => Ok(()),
        })
    }

    /// In a map, the last entry of a key counts.
    fn extension(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        let entry = header(message, None)?;
        if entry.name == POLICY {
            self.policy = Some(entry.value);
        }
        Ok(())
    }
}

impl<'m> Peer<'m> {
    fn peer(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| if number == 1 { self.address(value.bytes()?) } else { Ok(()) })
    }

    fn address(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| if number == 1 { self.socket_address(value.bytes()?) } else { Ok(()) })
    }

    fn socket_address(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| {
            match number {
                2 => self.address = value.bytes()?,
                3 => self.port = value.number()?,
                _ => {}
            }
            Ok(())
        })
    }
}

impl<'m> HttpRequest<'m> {
    fn merge(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        each(message, |number, value| self.field(number, value))
    }

    fn field(&mut self, number: u32, value: Value<'m>) -> Result<(), Malformed> {
        let field = match number {
            2 => &mut self.method,
            3 => {
                self.headers.push(header(value.bytes()?, None)?);
                return Ok(());
            }
            4 => &mut self.path,
            5 => &mut self.host,
            6 => &mut self.scheme,
            10 => &mut self.protocol,
            11 => &mut self.body,
            12 => &mut self.raw_body,
            13 => return self.header_map(value.bytes()?),
            _ => return Ok(()),
        };
        *field = value.bytes()?;
        Ok(())
    }

    fn header_map(&mut self, message: &'m [u8]) -> Result<(), Malformed> {
        const RAW: u32 = 3;
        self.header_map.reserve(USUAL_HEADERS);
        each(message, |number, value| {
            if number == 1 {
                self.header_map.push(header(value.bytes()?, Some(RAW))?);
            }
            Ok(())
        })
    }
}

/// A key and a value; the value in the field `raw` is preferred, if there is one.
fn header(message: &[u8], raw: Option<u32>) -> Result<Header<'_>, Malformed> {
    if let Some(header) = plain_header(message, raw) {
        return Ok(header);
    }
    let (mut name, mut text, mut bytes) = (&b""[..], &b""[..], &b""[..]);
    each(message, |number, value| {
        match number {
            1 => name = value.bytes()?,
            2 => text = value.bytes()?,
            _ if Some(number) == raw => bytes = value.bytes()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Header { name, value: if bytes.is_empty() { text } else { bytes } })
}

/// A header as Envoy writes it: one key, one value, and nothing else.
fn plain_header(message: &[u8], raw: Option<u32>) -> Option<Header<'_>> {
    const KEY: u32 = 1;
    const TEXT: u32 = 2;
    let mut rest = message;
    let ((key, name), (number, value)) = (protobuf::usual(&mut rest)?, protobuf::usual(&mut rest)?);
    let as_usual = rest.is_empty() && key == KEY && (number == TEXT || Some(number) == raw);
    as_usual.then_some(Header { name, value })
}
