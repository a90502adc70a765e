//! What our doors are compared with: a server that allows everything, as fast as these libraries let it.
//!
//! hyper without a framework, one single-threaded runtime per core, mimalloc (as our binary has it), a message that is
//! walked through and never copied, and an answer that is a constant. It reads what an authorizer cannot help reading.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::server::{Door, Place};

/// Allows everything for ever.
pub(crate) fn run(door: Door, place: &Place) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let runtimes: Vec<Runtime> =
        (0..cores).map(|_| Builder::new_current_thread().enable_all().build().unwrap()).collect();
    let workers: Vec<Handle> = runtimes.iter().map(|runtime| runtime.handle().clone()).collect();
    let listener = Listener::bind(place);
    for runtime in runtimes.into_iter().skip(1) {
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    }
    let first = Builder::new_current_thread().enable_all().build().unwrap();
    first.block_on(async move { listener.deal(door, &workers[1..]).await });
}

enum Listener {
    Tcp(std::net::TcpListener),
    Unix(std::os::unix::net::UnixListener),
}

impl Listener {
    fn bind(place: &Place) -> Self {
        match place {
            Place::Tcp(port) => Self::Tcp(std::net::TcpListener::bind(("127.0.0.1", *port)).unwrap()),
            Place::Unix(path) => Self::Unix(std::os::unix::net::UnixListener::bind(path).unwrap()),
        }
    }

    /// Deals connections to this thread and the others in turn.
    async fn deal(self, door: Door, others: &[Handle]) {
        let mut turn = 0;
        let mut next = || {
            turn = (turn + 1) % (others.len() + 1);
            others.get(turn)
        };
        match self {
            Self::Tcp(listener) => {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let stream = listener.accept().await.unwrap().0;
                    stream.set_nodelay(true).unwrap();
                    match next() {
                        None => drop(tokio::spawn(serve(door, stream))),
                        Some(other) => {
                            let stream = stream.into_std().unwrap();
                            other.spawn(async move {
                                serve(door, tokio::net::TcpStream::from_std(stream).unwrap()).await;
                            });
                        }
                    }
                }
            }
            Self::Unix(listener) => {
                listener.set_nonblocking(true).unwrap();
                let listener = tokio::net::UnixListener::from_std(listener).unwrap();
                loop {
                    let stream = listener.accept().await.unwrap().0;
                    match next() {
                        None => drop(tokio::spawn(serve(door, stream))),
                        Some(other) => {
                            let stream = stream.into_std().unwrap();
                            other.spawn(async move {
                                serve(door, tokio::net::UnixStream::from_std(stream).unwrap()).await;
                            });
                        }
                    }
                }
            }
        }
    }
}

async fn serve(door: Door, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    let io = TokioIo::new(stream);
    let _ended = match door {
        Door::Grpc => http2::Builder::new(TokioExecutor::new()).serve_connection(io, service_fn(check)).await,
        Door::Http => http1::Builder::new().serve_connection(io, service_fn(verify)).await,
    };
}

async fn check(request: Request<Incoming>) -> Result<Response<Allow>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    // What is found is not used, but has to be looked for.
    let fields = std::hint::black_box(walk(body.get(5..).unwrap_or_default(), 0));
    let mut response = Response::new(Allow { step: usize::from(fields == 0) });
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    Ok(response)
}

async fn verify(_: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
    Ok(Response::new(Empty::new()))
}

/// Visits every field of a message and of the messages in it, down to the headers; how many there are.
fn walk(mut message: &[u8], depth: u32) -> usize {
    let mut fields = 0;
    while let Some((tag, rest)) = varint(message) {
        message = rest;
        fields += 1;
        match tag & 7 {
            0 => message = varint(message).map_or(&[], |(_, rest)| rest),
            2 => {
                let (size, rest) = varint(message).unwrap_or((0, &[]));
                let (inside, rest) = rest.split_at_checked(size).unwrap_or((&[], &[]));
                // attributes.request.http.header_map.headers: a message in each step, and `fields 1, 2, 4, 13` only.
                if depth < 5 && matches!(tag >> 3, 1 | 2 | 4 | 13) && !(depth == 3 && tag >> 3 != 13) {
                    fields += walk(inside, depth + 1);
                }
                message = rest;
            }
            _ => return fields,
        }
    }
    fields
}

fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().position(|byte| *byte < 0x80)?;
    let (number, rest) = bytes.split_at(end + 1);
    Some((number.iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f)), rest))
}

/// One message: a status of zero and an `ok_response`, both empty. Then the trailers.
struct Allow {
    step: usize,
}

impl Body for Allow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.step += 1;
        Poll::Ready(match self.step {
            1 => Some(Ok(Frame::data(Bytes::from_static(&[0, 0, 0, 0, 4, 0x0a, 0, 0x1a, 0])))),
            2 => {
                let mut trailers = HeaderMap::with_capacity(1);
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                Some(Ok(Frame::trailers(trailers)))
            }
            _ => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.step >= 2
    }
}
