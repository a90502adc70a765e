//! HTTP/1.1 by hand: bytes out, bytes in. A library would refuse to send half of what attackers send.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::Checked;

/// Longer than any time-out of a proxy that the tests wait for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Whether the echo backend answered, not the proxy.
    pub(crate) fn is_backends(&self) -> bool {
        self.header("x-backend").is_some()
    }

    /// The first header of this name (lower case).
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice())
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// For messages.
    pub(crate) fn summary(&self) -> String {
        let who = if self.is_backends() { "the backend" } else { "the proxy" };
        let text: String = self.text().chars().take(120).collect();
        format!("{} from {who}: {text:?}", self.status)
    }
}

/// A request, as bytes in parts.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) method: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    /// A request as a browser might send it: no rule objects to its headers, at any paranoia level.
    pub(crate) fn new(method: &str, target: impl AsRef<[u8]>) -> Self {
        let ask =
            Self { method: method.into(), target: target.as_ref().to_vec(), headers: Vec::new(), body: Vec::new() };
        ask.header("Host", "shop.example").header("User-Agent", "Mozilla/5.0").header("Accept", "text/html")
    }

    /// A GET request.
    pub(crate) fn get(target: impl AsRef<[u8]>) -> Self {
        Self::new("GET", target)
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.as_ref().to_vec(), value.as_ref().to_vec()));
        self
    }

    /// Puts a value in the place of a header's.
    pub(crate) fn replace(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name.as_bytes()));
        self.header(name, value)
    }

    /// Gives it a body with a length.
    pub(crate) fn body(mut self, content_type: &str, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        let length = self.body.len().to_string();
        self.header("Content-Type", content_type).header("Content-Length", length)
    }

    /// The request line and headers, with the blank line.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut bytes = [&self.method[..], b" ", &self.target[..], b" HTTP/1.1\r\n"].concat();
        for (name, value) in &self.headers {
            bytes.extend([&name[..], b": ", &value[..], b"\r\n"].concat());
        }
        bytes.extend(b"Connection: close\r\n\r\n");
        bytes
    }

    /// Sends it and reads the answer.
    pub(crate) fn send(&self, port: u16) -> Checked<Reply> {
        let mut connection = Connection::open(port)?;
        // A proxy may answer and close before it has read all of a body: the answer counts.
        let _ = connection.send(&[self.head(), self.body.clone()].concat());
        connection.reply()
    }
}

/// A connection that is written piece by piece.
pub(crate) struct Connection {
    stream: TcpStream,
}

impl Connection {
    /// Connects to a port on loopback.
    pub(crate) fn open(port: u16) -> Checked<Self> {
        let stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(|error| format!("port {port}: {error}"))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
        Ok(Self { stream })
    }

    /// Sends bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Checked {
        self.stream.write_all(bytes).map_err(|error| format!("sending: {error}"))
    }

    /// Reads until the peer has sent a whole response.
    pub(crate) fn reply(&mut self) -> Checked<Reply> {
        let mut bytes = Vec::new();
        loop {
            if let Some(reply) = parse(&bytes, false) {
                return Ok(reply);
            }
            let mut buffer = [0; 16 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return parse(&bytes, true).ok_or_else(|| format!("closed after {} bytes", bytes.len())),
                Ok(count) => bytes.extend(&buffer[..count]),
                // A reset after the response: what came before it counts.
                Err(error) => return parse(&bytes, true).ok_or_else(|| format!("reading: {error}")),
            }
        }
    }
}

/// A message's start line, headers (names in lower case), and where its body starts.
pub(crate) type Head<'b> = (&'b [u8], Vec<(String, Vec<u8>)>, usize);

/// Takes a message's head apart, if it is all there.
pub(crate) fn head(bytes: &[u8]) -> Option<Head<'_>> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let mut lines = bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let start = lines.next()?;
    let headers = lines.filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
        Some((name, line[colon + 1..].trim_ascii().to_vec()))
    });
    Some((start, headers.collect(), end + 4))
}

/// A message's body by its headers; `None` when there is more to come.
pub(crate) fn body(headers: &[(String, Vec<u8>)], rest: &[u8]) -> Option<Option<Vec<u8>>> {
    let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_slice());
    if value("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        return unchunk(rest).map(Some);
    }
    let Some(length) = value("content-length") else { return Some(None) };
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    rest.get(..length).map(|body| Some(body.to_vec()))
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?.split(';').next()?.trim(), 16).ok()?;
        rest = &rest[line + 2..];
        if size == 0 {
            return rest.windows(2).any(|window| window == b"\r\n").then_some(body);
        }
        body.extend(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

fn parse(bytes: &[u8], closed: bool) -> Option<Reply> {
    let (start, headers, end) = head(bytes)?;
    let status: u16 = std::str::from_utf8(start.get(9..12)?).ok()?.parse().ok()?;
    if status == 100 {
        return parse(&bytes[end..], closed);
    }
    let rest = &bytes[end..];
    let bodiless = status == 204 || status == 304;
    let body = match body(&headers, rest) {
        _ if bodiless => Vec::new(),
        Some(Some(body)) => body,
        // No length: the body ends with the connection.
        Some(None) if closed => rest.to_vec(),
        None if closed => rest.to_vec(),
        Some(None) | None => return None,
    };
    Some(Reply { status, headers, body })
}
