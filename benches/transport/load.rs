//! A proxy's side: calls that are made once and sent many times, so that the client costs little.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::server::{Door, Place, Stream};

const CHECK: &str = "http://waf/envoy.service.auth.v3.Authorization/Check";

/// The end of each `x-request-id`, overwritten with a number.
const NUMBER: &[u8] = b"000000000000";

/// Bytes to send, and where in them the number stands.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    bytes: Vec<u8>,
    number_at: usize,
}

impl Call {
    fn new(bytes: Vec<u8>) -> Self {
        let number_at = bytes.windows(NUMBER.len()).position(|window| window == NUMBER).unwrap();
        Self { bytes, number_at }
    }

    fn numbered(&self, number: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.number_at..][..NUMBER.len()].copy_from_slice(format!("{number:012}").as_bytes());
        bytes
    }

    /// A browser's request in the words of this door's proxy.
    pub(crate) fn of(door: Door, path: &str, body: &str) -> Self {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let mut headers = vec![
            ("user-agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36".to_owned()),
            ("accept", "text/html,application/xhtml+xml".to_owned()),
            ("accept-language", "en-GB,en;q=0.9".to_owned()),
            ("x-request-id", "5d1a6b0e-3c8f-4b52-9f0e-000000000000".to_owned()),
        ];
        if !body.is_empty() {
            headers.push(("content-type", "application/json".to_owned()));
            headers.push(("content-length", body.len().to_string()));
        }
        match door {
            Door::Grpc => Self::new(grpc(method, path, &headers, body)),
            Door::Http => Self::new(http(method, path, &headers)),
        }
    }
}

/// A `CheckRequest` in gRPC's frame; `proto/check_request.proto` says what the numbers mean.
fn grpc(method: &str, path: &str, headers: &[(&str, String)], body: &str) -> Vec<u8> {
    let own = [(":authority", "shop.example.com"), (":path", path), (":method", method), ("x-forwarded-proto", "http")];
    let mark = (!body.is_empty()).then_some(("x-envoy-auth-partial-body", "false"));
    let all = own.into_iter().chain(headers.iter().map(|(key, value)| (*key, value.as_str()))).chain(mark);
    let lines: Vec<Vec<u8>> = all.map(|(key, value)| message(&[(1, key.as_bytes()), (3, value.as_bytes())])).collect();
    let lines: Vec<(u32, &[u8])> = lines.iter().map(|line| (1, &line[..])).collect();
    let http = message(&[
        (2, method.as_bytes()),
        (4, path.as_bytes()),
        (5, b"shop.example.com"),
        (6, b"http"),
        (10, b"HTTP/1.1"),
        (12, body.as_bytes()),
        (13, &message(&lines)),
    ]);
    let check = message(&[(1, &message(&[(4, &message(&[(2, &http)]))]))]);
    let size = u32::try_from(check.len()).unwrap();
    [&[0], &size.to_be_bytes()[..], &check].concat()
}

/// A protobuf message with these fields.
fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, value) in fields {
        bytes.push(u8::try_from(number << 3 | 2).unwrap());
        let mut length = value.len();
        while length >= 0x80 {
            bytes.push((length & 0x7f | 0x80) as u8);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(value);
    }
    bytes
}

fn http(method: &str, path: &str, headers: &[(&str, String)]) -> Vec<u8> {
    let mut text = format!(
        "GET /verify HTTP/1.1\r\nHost: waf\r\nX-Forwarded-Method: {method}\r\nX-Forwarded-Uri: {path}\r\n\
         X-Forwarded-Host: shop.example.com\r\nX-Forwarded-Proto: http\r\nX-Forwarded-For: 203.0.113.9\r\n"
    );
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    text.push_str("\r\n");
    text.into_bytes()
}

/// How a load is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// gRPC: so many connections with so many calls at once each.
    Streams(usize, u32),
    /// HTTP: so many connections, one call at a time each.
    Reused(u32),
    /// HTTP: so many clients that open a connection for each call.
    Fresh(u32),
}

/// Connections that stay open from load to load.
pub(crate) enum Clients {
    Grpc(Vec<SendRequest<Full<Bytes>>>, u32),
    Reused(Vec<Box<dyn Stream>>),
    Fresh(Place, u32),
}

impl Clients {
    pub(crate) async fn connect(place: &Place, shape: Shape) -> Self {
        match shape {
            Shape::Streams(connections, streams) => {
                let mut senders = Vec::new();
                for _ in 0..connections {
                    let io = TokioIo::new(place.connect().await);
                    let (sender, connection) =
                        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
                    tokio::spawn(connection);
                    senders.push(sender);
                }
                Self::Grpc(senders, streams)
            }
            Shape::Reused(connections) => {
                let mut streams = Vec::new();
                for _ in 0..connections {
                    streams.push(place.connect().await);
                }
                Self::Reused(streams)
            }
            Shape::Fresh(clients) => {
                drop(place.connect().await);
                Self::Fresh(place.clone(), clients)
            }
        }
    }

    /// Sends `count` calls; each answer must be of this kind.
    pub(crate) async fn load(&mut self, call: &Arc<Call>, count: u32, allowed: bool) {
        let mut running = JoinSet::new();
        match self {
            Self::Grpc(senders, streams) => {
                let tasks = u32::try_from(senders.len()).unwrap() * *streams;
                for (task, sender) in (0..tasks).zip(senders.iter().cycle()) {
                    let (mut sender, call) = (sender.clone(), Arc::clone(call));
                    running.spawn(async move {
                        for number in (task..count).step_by(tasks as usize) {
                            check(&mut sender, call.numbered(number), allowed).await;
                        }
                        None
                    });
                }
            }
            Self::Reused(connections) => {
                let tasks = connections.len();
                for (task, mut stream) in (0_u32..).zip(connections.drain(..)) {
                    let call = Arc::clone(call);
                    running.spawn(async move {
                        for number in (task..count).step_by(tasks) {
                            verify(&mut *stream, &call.numbered(number), allowed).await;
                        }
                        Some(stream)
                    });
                }
            }
            Self::Fresh(place, clients) => {
                let tasks = *clients;
                for task in 0..tasks {
                    let (place, call) = (place.clone(), Arc::clone(call));
                    running.spawn(async move {
                        for number in (task..count).step_by(tasks as usize) {
                            let mut stream = place.try_connect().await.unwrap();
                            verify(&mut *stream, &call.numbered(number), allowed).await;
                        }
                        None
                    });
                }
            }
        }
        let back: Vec<_> = running.join_all().await.into_iter().flatten().collect();
        if let Self::Reused(connections) = self {
            *connections = back;
        }
    }
}

/// The status comes first in the answer: nothing in it for an OK, or a code that is not zero.
async fn check(sender: &mut SendRequest<Full<Bytes>>, message: Vec<u8>, allowed: bool) {
    let request = http::Request::post(CHECK).header("content-type", "application/grpc").header("te", "trailers");
    let request = request.header("grpc-timeout", "10S").body(Full::from(message)).unwrap();
    sender.ready().await.unwrap();
    let answer = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(answer.trailers().unwrap()["grpc-status"], "0");
    let message = answer.to_bytes();
    assert!(matches!((&message[5..7], allowed), ([0x0a, 0], true) | ([0x0a, 2], false)), "{message:?}");
}

async fn verify(stream: &mut dyn Stream, call: &[u8], allowed: bool) {
    stream.write_all(call).await.unwrap();
    let (mut answer, mut size) = ([0; 2048], 0);
    while !answer[..size].windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut answer[size..]).await.unwrap();
        assert!(read > 0, "closed after {:?}", answer[..size].escape_ascii());
        size += read;
    }
    assert_eq!(answer.starts_with(b"HTTP/1.1 200 "), allowed, "{}", answer[..size].escape_ascii());
}
