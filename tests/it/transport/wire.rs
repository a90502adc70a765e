//! A proxy's side of the wire, written by hand so that nothing between a test and the bytes is polite.

use std::time::Duration;

use bytes::Bytes;
use envoy_types::ext_authz::v3::pb::{CheckResponse, HttpResponse};
use envoy_types::pb::google::protobuf::value::Kind;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use portcullis::config::Address;
use prost::Message;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

/// Appends a length-delimited protobuf field.
pub(crate) fn field(into: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(into, u64::from(number << 3 | 2));
    varint(into, bytes.len() as u64);
    into.extend_from_slice(bytes);
}

/// Appends a varint protobuf field.
pub(crate) fn number(into: &mut Vec<u8>, number: u32, value: u64) {
    varint(into, u64::from(number << 3));
    varint(into, value);
}

fn varint(into: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    fields.iter().for_each(|(number, value)| field(&mut bytes, *number, value));
    bytes
}

/// A `CheckRequest` as Envoy writes it.
#[derive(Clone, Debug)]
pub(crate) struct Check {
    pub(crate) method: Vec<u8>,
    pub(crate) path: Vec<u8>,
    pub(crate) host: Vec<u8>,
    pub(crate) scheme: Vec<u8>,
    pub(crate) protocol: Vec<u8>,
    pub(crate) raw_headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) map_headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) raw_body: Vec<u8>,
    pub(crate) source: Option<(&'static str, u16)>,
    pub(crate) destination: Option<(&'static str, u16)>,
    pub(crate) extensions: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            method: b"GET".to_vec(),
            path: b"/".to_vec(),
            host: b"shop.example".to_vec(),
            scheme: b"http".to_vec(),
            protocol: b"HTTP/1.1".to_vec(),
            raw_headers: Vec::new(),
            map_headers: Vec::new(),
            body: Vec::new(),
            raw_body: Vec::new(),
            source: Some(("203.0.113.9", 40_000)),
            destination: Some(("192.0.2.1", 8080)),
            extensions: Vec::new(),
        }
    }
}

impl Check {
    /// Adds headers in raw form, behind the pseudo headers that Envoy puts there.
    pub(crate) fn raw(mut self, headers: &[(&[u8], &[u8])]) -> Self {
        if self.raw_headers.is_empty() {
            let pseudo: [(&[u8], &[u8]); 4] = [
                (b":authority", &self.host),
                (b":path", &self.path),
                (b":method", &self.method),
                (b":scheme", &self.scheme),
            ];
            self.raw_headers = pseudo.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        }
        self.raw_headers.extend(headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())));
        self
    }

    /// Adds headers in map form.
    pub(crate) fn map(mut self, headers: &[(&[u8], &[u8])]) -> Self {
        self.map_headers.extend(headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())));
        self
    }

    /// Names a policy.
    pub(crate) fn policy(mut self, name: &[u8]) -> Self {
        self.extensions.push((b"portcullis.policy".to_vec(), name.to_vec()));
        self
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut http = message(&[(1, b"1234"), (2, &self.method)]);
        for (name, value) in &self.map_headers {
            field(&mut http, 3, &message(&[(1, name), (2, value)]));
        }
        for (number, value) in [(4, &self.path), (5, &self.host), (6, &self.scheme)] {
            field(&mut http, number, value);
        }
        number(&mut http, 9, (self.body.len() + self.raw_body.len()) as u64);
        for (number, value) in [(10, &self.protocol), (11, &self.body), (12, &self.raw_body)] {
            field(&mut http, number, value);
        }
        let mut raw = Vec::new();
        for (name, value) in &self.raw_headers {
            field(&mut raw, 1, &message(&[(1, name), (3, value)]));
        }
        if !raw.is_empty() {
            field(&mut http, 13, &raw);
        }
        let time = [8, 1];
        let request = message(&[(1, &time), (2, &http)]);
        let mut attributes = Vec::new();
        for (number, peer) in [(1, self.source), (2, self.destination)] {
            peer.iter().for_each(|peer| field(&mut attributes, number, &address(*peer)));
        }
        field(&mut attributes, 4, &request);
        for (name, value) in &self.extensions {
            field(&mut attributes, 10, &message(&[(1, name), (2, value)]));
        }
        field(&mut attributes, 11, b"");
        message(&[(1, &attributes)])
    }
}

fn address((address, port): (&str, u16)) -> Vec<u8> {
    let mut socket = message(&[(2, address.as_bytes())]);
    number(&mut socket, 3, port.into());
    message(&[(1, &message(&[(1, &socket)]))])
}

/// What a gRPC client got.
#[derive(Debug)]
pub(crate) struct GrpcAnswer {
    pub(crate) status: String,
    pub(crate) message: String,
    pub(crate) bytes: Bytes,
}

impl GrpcAnswer {
    /// The `CheckResponse`, of a call that succeeded.
    pub(crate) fn check(&self) -> Checked {
        assert_eq!(self.status, "0", "{self:?}");
        Checked(CheckResponse::decode(self.bytes.clone()).expect("a CheckResponse"))
    }
}

/// An answer in the words of a test.
#[derive(Debug)]
pub(crate) struct Checked(pub CheckResponse);

impl Checked {
    /// The code of `status`; a missing status would be an allow.
    pub(crate) fn code(&self) -> i32 {
        self.0.status.as_ref().expect("a response without a status lets requests pass").code
    }

    pub(crate) fn allowed(&self) -> bool {
        let allowed = self.code() == 0;
        assert_eq!(allowed, matches!(self.0.http_response, Some(HttpResponse::OkResponse(_))), "{self:?}");
        assert_eq!(!allowed, matches!(self.0.http_response, Some(HttpResponse::DeniedResponse(_))), "{self:?}");
        allowed
    }

    pub(crate) fn http_status(&self) -> i32 {
        match &self.0.http_response {
            Some(HttpResponse::DeniedResponse(denied)) => denied.status.as_ref().expect("a status").code,
            other => panic!("not a denial: {other:?}"),
        }
    }

    pub(crate) fn body(&self) -> &str {
        match &self.0.http_response {
            Some(HttpResponse::DeniedResponse(denied)) => &denied.body,
            other => panic!("not a denial: {other:?}"),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let headers = match &self.0.http_response {
            Some(HttpResponse::DeniedResponse(denied)) => &denied.headers,
            Some(HttpResponse::OkResponse(ok)) => &ok.headers,
            other => panic!("neither yes nor no: {other:?}"),
        };
        let mut found = headers.iter().filter(|option| option.header.as_ref().is_some_and(|header| header.key == name));
        let option = found.next()?;
        assert_eq!(option.append_action, 2, "{name} must overwrite");
        assert!(found.next().is_none(), "{name} twice");
        option.header.as_ref().map(|header| header.value.as_str())
    }

    pub(crate) fn metadata(&self, name: &str) -> Option<&Kind> {
        self.0.dynamic_metadata.as_ref()?.fields.get(name)?.kind.as_ref()
    }
}

/// Puts a message into gRPC's frame.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0];
    frame.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(message);
    frame
}

/// Calls `Check` with these bytes as body.
pub(crate) async fn grpc(to: &Address, body: Vec<u8>, timeout: Option<&str>) -> GrpcAnswer {
    grpc_call(to, "/envoy.service.auth.v3.Authorization/Check", Full::from(body), timeout).await
}

/// Calls `Check` with this message.
pub(crate) async fn check(to: &Address, check: &Check) -> Checked {
    grpc(to, framed(&check.encode()), None).await.check()
}

/// Calls any method.
pub(crate) async fn grpc_call<B>(to: &Address, path: &str, body: B, timeout: Option<&str>) -> GrpcAnswer
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(connect(to).await)).await.unwrap();
    tokio::spawn(connection);
    let mut request = http::Request::post(format!("http://waf{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    if let Some(timeout) = timeout {
        request = request.header("grpc-timeout", timeout);
    }
    let response = sender.send_request(request.body(body).unwrap()).await.expect("an answer");
    assert_eq!(response.status(), 200);
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a body");
    let empty = http::HeaderMap::new();
    let trailers = body.trailers().unwrap_or(&empty);
    let text = |name: &str| {
        let value = trailers.get(name).or_else(|| parts.headers.get(name));
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    let (status, message) = (text("grpc-status").expect("a status"), text("grpc-message").unwrap_or_default());
    let bytes = body.to_bytes();
    GrpcAnswer { status, message, bytes: if bytes.is_empty() { bytes } else { bytes.slice(5..) } }
}

/// What an HTTP client got.
#[derive(Clone, Debug)]
pub(crate) struct HttpAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(header, _)| header == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} twice");
        value
    }

    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8(bytes.to_vec()).expect("answers are plain text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok()).expect("a status");
        let headers = lines.map(|line| line.split_once(": ").expect("a header"));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: body.to_owned() }
    }
}

/// Sends raw bytes and reads until the server closes; the bytes should ask for that.
pub(crate) async fn http(to: &Address, bytes: &[u8]) -> HttpAnswer {
    HttpAnswer::parse(&exchange(to, bytes).await)
}

/// Sends raw bytes and gives back the raw answer.
pub(crate) async fn exchange(to: &Address, bytes: &[u8]) -> Vec<u8> {
    let mut stream = connect(to).await;
    let (mut read, mut write) = tokio::io::split(&mut stream);
    let mut answer = Vec::new();
    let send = async {
        // The server may answer and close before everything is sent.
        let _closed = write.write_all(bytes).await;
    };
    let receive = async {
        let _reset = read.read_to_end(&mut answer).await;
    };
    tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(send, receive) })
        .await
        .expect("an answer in time");
    answer
}

/// A forward-auth call: a request line, header lines, a body, and the wish to close.
pub(crate) fn call(line: &str, headers: &[(&[u8], &[u8])], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{line} HTTP/1.1\r\nConnection: close\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(&[name, &b": "[..], value, b"\r\n"].concat());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Bytes both ways.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Opens a connection.
pub(crate) async fn connect(to: &Address) -> Box<dyn Stream> {
    match to {
        Address::Tcp(address) => Box::new(TcpStream::connect(address).await.expect("a connection")),
        Address::Unix(path) => Box::new(UnixStream::connect(path).await.expect("a connection")),
    }
}
