//! Unary gRPC over HTTP/2: one framed message in, one out.
//!
//! Knows no message type. Written out rather than left to a framework, because here an unreadable message must get the
//! failure policy's answer and not an error of the framework's choosing.

use std::cmp::Ordering;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use hyper::body::{Body, Frame};

use crate::service::{FailureKind, Pass};

/// A flag and the size of the message.
const PREFIX: usize = 5;

/// Room for the prefix in front of a message.
pub const NO_PREFIX: [u8; PREFIX] = [0; PREFIX];

/// The one message of a unary call, on its way.
#[derive(Debug)]
pub struct Receiving<B> {
    body: B,
    buffer: Buffer,
    /// As the prefix says, once it is there.
    size: Option<usize>,
}

impl<B: Body<Data = Bytes> + Unpin> Receiving<B> {
    /// Nothing is there yet of this body.
    pub fn new(body: B) -> Self {
        Self { body, buffer: Buffer::default(), size: None }
    }

    /// The message, once all of it is there; it may have no size that is `too_large`, and there must be room for it.
    pub fn poll(
        &mut self,
        context: &mut Context<'_>,
        too_large: impl Fn(usize) -> bool,
        pass: &mut Pass,
    ) -> Poll<Result<Bytes, FailureKind>> {
        // The end of the stream is awaited, else the answer would be followed by a reset.
        while !self.is_whole(&too_large, pass)? || !self.body.is_end_stream() {
            match ready!(self.poll_data(context))? {
                Some(bytes) => self.buffer.push(bytes),
                None if self.is_whole(&too_large, pass)? => break,
                None => return Poll::Ready(Err(FailureKind::Undecodable)),
            }
        }
        Poll::Ready(Ok(std::mem::take(&mut self.buffer).into_message()))
    }

    /// Whether the message is there, and nothing behind it, which is an error.
    fn is_whole(&mut self, too_large: impl Fn(usize) -> bool, pass: &mut Pass) -> Result<bool, FailureKind> {
        if self.size.is_none() {
            self.size = self.buffer.message_size()?;
            match self.size {
                Some(size) if too_large(size) => return Err(FailureKind::Undecodable),
                Some(size) if !pass.hold(size) => return Err(FailureKind::Overload),
                Some(_) => {}
                None => return Ok(false),
            }
        }
        match self.size.map(|size| self.buffer.len().cmp(&(PREFIX + size))) {
            Some(Ordering::Greater) => Err(FailureKind::Undecodable),
            there => Ok(there == Some(Ordering::Equal)),
        }
    }

    /// The next bytes of the body; `None` at its end.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, FailureKind>> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(Ok(None)),
                Some(Err(_)) => return Poll::Ready(Err(FailureKind::Undecodable)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => return Poll::Ready(Ok(Some(bytes))),
                    Err(_trailers) => {}
                },
            }
        }
    }
}

/// Received bytes; the first piece is kept as it is, since mostly it is all there will be.
#[derive(Default, Debug)]
struct Buffer {
    first: Bytes,
    more: BytesMut,
}

impl Buffer {
    fn push(&mut self, bytes: Bytes) {
        if self.len() == 0 {
            self.first = bytes;
        } else if !bytes.is_empty() {
            if self.more.is_empty() {
                self.more.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.more.extend_from_slice(&bytes);
        }
    }

    fn len(&self) -> usize {
        self.first.len() + self.more.len()
    }

    /// The size the prefix announces, once it is there. A compressed message is refused: we never said we take them.
    fn message_size(&self) -> Result<Option<usize>, FailureKind> {
        let bytes: &[u8] = if self.more.is_empty() { &self.first } else { &self.more };
        match *bytes {
            [0, a, b, c, d, ..] => Ok(usize::try_from(u32::from_be_bytes([a, b, c, d])).ok()),
            [1..=u8::MAX, ..] => Err(FailureKind::Undecodable),
            _ => Ok(None),
        }
    }

    fn into_message(self) -> Bytes {
        let mut bytes = if self.more.is_empty() { self.first } else { self.more.freeze() };
        bytes.advance(PREFIX.min(bytes.len()));
        bytes
    }
}

static TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
static STATUS: HeaderName = HeaderName::from_static("grpc-status");
static MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// The time a caller gives us, from its `grpc-timeout` header.
pub fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let (unit, digits) = headers.get(&TIMEOUT)?.as_bytes().split_last()?;
    let amount = super::body::length(digits).filter(|_| digits.len() <= 8)?;
    match unit {
        b'H' => Some(Duration::from_secs(amount * 3600)),
        b'M' => Some(Duration::from_secs(amount * 60)),
        b'S' => Some(Duration::from_secs(amount)),
        b'm' => Some(Duration::from_millis(amount)),
        b'u' => Some(Duration::from_micros(amount)),
        b'n' => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// An answer's body: one message and the trailers that say it is all, or nothing. It does not tell its size, else each
/// answer would carry a `content-length`, which gRPC has no use for.
#[derive(Debug, Default)]
pub struct Unary {
    message: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Body for Unary {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = self.message.take().map(Frame::data).or_else(|| self.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_none() && self.trailers.is_none()
    }
}

/// An answer with the message that stands behind a [`NO_PREFIX`], whose place the prefix takes.
pub fn reply(mut framed: Vec<u8>) -> Response<Unary> {
    let size = framed.len().checked_sub(PREFIX).and_then(|size| u32::try_from(size).ok());
    let (Some(size), Some(prefix)) = (size, framed.first_chunk_mut::<PREFIX>()) else {
        return unavailable("the answer could not be written");
    };
    let [a, b, c, d] = size.to_be_bytes();
    *prefix = [0, a, b, c, d];
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(&STATUS, HeaderValue::from_static("0"));
    response(Unary { message: Some(framed.into()), trailers: Some(trailers) })
}

/// gRPC's UNAVAILABLE: the call failed, the proxy's own failure mode has the last word.
pub fn unavailable(message: &str) -> Response<Unary> {
    const UNAVAILABLE: &str = "14";
    error(UNAVAILABLE, message)
}

/// gRPC's UNIMPLEMENTED: there is no such method.
pub fn unimplemented() -> Response<Unary> {
    const UNIMPLEMENTED: &str = "12";
    error(UNIMPLEMENTED, "no such method")
}

fn error(status: &'static str, message: &str) -> Response<Unary> {
    let mut response = response(Unary::default());
    response.headers_mut().insert(&STATUS, HeaderValue::from_static(status));
    if let Ok(message) = HeaderValue::from_str(message) {
        response.headers_mut().insert(&MESSAGE, message);
    }
    response
}

fn response(body: Unary) -> Response<Unary> {
    let mut headers = HeaderMap::with_capacity(1);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts() {
        for (text, expected) in [
            ("200m", Some(Duration::from_millis(200))),
            ("1S", Some(Duration::from_secs(1))),
            ("2M", Some(Duration::from_secs(120))),
            ("1H", Some(Duration::from_secs(3600))),
            ("99999999n", Some(Duration::from_nanos(99_999_999))),
            ("5u", Some(Duration::from_micros(5))),
            ("", None),
            ("m", None),
            ("200", None),
            ("200x", None),
            ("-1m", None),
            ("999999999m", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("grpc-timeout", HeaderValue::from_static(text));
            assert_eq!(timeout(&headers), expected, "{text}");
        }
        assert_eq!(timeout(&HeaderMap::new()), None);
    }
}
