//! The decoder of `CheckRequest` held to a generated one: the same fields from the same bytes, and the same bytes refused.
//!
//! The messages are those of `proto/check_request.proto`.

use portcullis::model::Header;
use portcullis::transport::ext_authz::wire;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct CheckRequest {
    #[prost(message, optional, tag = "1")]
    attributes: Option<AttributeContext>,
}

#[derive(Clone, PartialEq, Message)]
struct AttributeContext {
    #[prost(message, optional, tag = "1")]
    source: Option<Peer>,
    #[prost(message, optional, tag = "2")]
    destination: Option<Peer>,
    #[prost(message, optional, tag = "4")]
    request: Option<Request>,
    #[prost(message, repeated, tag = "10")]
    context_extensions: Vec<Entry>,
}

#[derive(Clone, PartialEq, Message)]
struct Peer {
    #[prost(message, optional, tag = "1")]
    address: Option<Address>,
}

#[derive(Clone, PartialEq, Message)]
struct Address {
    #[prost(message, optional, tag = "1")]
    socket_address: Option<SocketAddress>,
}

#[derive(Clone, PartialEq, Message)]
struct SocketAddress {
    #[prost(bytes = "vec", tag = "2")]
    address: Vec<u8>,
    #[prost(uint32, tag = "3")]
    port_value: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(message, optional, tag = "2")]
    http: Option<HttpRequest>,
}

#[derive(Clone, PartialEq, Message)]
struct HttpRequest {
    #[prost(bytes = "vec", tag = "2")]
    method: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    headers: Vec<Entry>,
    #[prost(bytes = "vec", tag = "4")]
    path: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    host: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    scheme: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    protocol: Vec<u8>,
    #[prost(bytes = "vec", tag = "11")]
    body: Vec<u8>,
    #[prost(bytes = "vec", tag = "12")]
    raw_body: Vec<u8>,
    #[prost(message, optional, tag = "13")]
    header_map: Option<HeaderMap>,
}

#[derive(Clone, PartialEq, Message)]
struct Entry {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderMap {
    #[prost(message, repeated, tag = "1")]
    headers: Vec<HeaderValue>,
}

#[derive(Clone, PartialEq, Message)]
struct HeaderValue {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    raw_value: Vec<u8>,
}

/// The message of the generated decoder in the form of ours.
fn borrowed(check: &CheckRequest) -> wire::CheckRequest<'_> {
    let Some(attributes) = &check.attributes else { return wire::CheckRequest::default() };
    let extensions = attributes.context_extensions.iter();
    wire::CheckRequest {
        source: attributes.source.as_ref().map(peer).unwrap_or_default(),
        destination: attributes.destination.as_ref().map(peer).unwrap_or_default(),
        http: attributes.request.as_ref().and_then(|request| request.http.as_ref()).map(http),
        policy: extensions.rev().find(|entry| entry.key == wire::POLICY).map(|entry| &entry.value[..]),
    }
}

fn peer(peer: &Peer) -> wire::Peer<'_> {
    let socket = peer.address.as_ref().and_then(|address| address.socket_address.as_ref());
    socket.map(|socket| wire::Peer { address: &socket.address, port: socket.port_value }).unwrap_or_default()
}

fn http(http: &HttpRequest) -> wire::HttpRequest<'_> {
    let lines = http.header_map.iter().flat_map(|map| &map.headers);
    wire::HttpRequest {
        method: &http.method,
        headers: http.headers.iter().map(|entry| Header { name: &entry.key, value: &entry.value }).collect(),
        path: &http.path,
        host: &http.host,
        scheme: &http.scheme,
        protocol: &http.protocol,
        body: &http.body,
        raw_body: &http.raw_body,
        header_map: lines.map(header).collect(),
    }
}

fn header(line: &HeaderValue) -> Header<'_> {
    Header { name: &line.key, value: if line.raw_value.is_empty() { &line.value } else { &line.raw_value } }
}

/// Both decoders read the same from these bytes, or both refuse them. Whether they read.
pub(crate) fn same(message: &[u8]) -> bool {
    let generated = CheckRequest::decode(message);
    let ours = wire::CheckRequest::read(message);
    match (&generated, &ours) {
        (Ok(generated), Ok(ours)) => assert_eq!(&borrowed(generated), ours, "{}", message.escape_ascii()),
        (Err(_), Err(_)) => {}
        _ => panic!("{}: {generated:?} but {ours:?}", message.escape_ascii()),
    }
    ours.is_ok()
}

#[test]
fn what_protobuf_allows_and_few_encoders_write() {
    for (what, message, read) in [
        ("nothing", &b""[..], true),
        ("an address in two pieces", b"\x0a\x0f\x0a\x06\x0a\x04\x0a\x02\x12\x00\x0a\x05\x0a\x03\x0a\x01\x18", false),
        ("a peer twice", b"\x0a\x14\x0a\x09\x0a\x07\x0a\x05\x12\x03abc\x0a\x07\x0a\x05\x0a\x03\x18\xac\x02", true),
        ("attributes twice", b"\x0a\x06\x22\x04\x12\x02\x12\x00\x0a\x0a\x22\x08\x12\x06\x22\x01/\x2a\x01h", true),
        ("an unknown group", b"\x0a\x06\x7b\x08\x01\x7c\x52\x00", true),
        ("a group that does not end", b"\x0a\x03\x7b\x08\x01", false),
        ("a number where a message belongs", b"\x08\x01", false),
        ("a method that is a number", b"\x0a\x06\x22\x04\x12\x02\x10\x01", false),
        ("a port that is text", b"\x0a\x09\x0a\x07\x0a\x05\x0a\x03\x1a\x01x", false),
        ("a port beyond 32 bits", b"\x0a\x0e\x0a\x0c\x0a\x0a\x0a\x08\x18\xff\xff\xff\xff\xff\xff\x01", true),
        (
            "the policy twice",
            b"\x0a\x30\x52\x16\x0a\x11portcullis.policy\x12\x01a\x52\x16\x0a\x11portcullis.policy\x12\x01b",
            true,
        ),
        (
            "a header's value in two forms",
            b"\x0a\x13\x22\x11\x12\x0f\x6a\x0d\x0a\x0b\x0a\x01k\x12\x02v1\x1a\x02v2",
            true,
        ),
    ] {
        assert_eq!(same(message), read, "{what}");
    }
}
