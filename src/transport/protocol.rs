//! HTTP/2 for gRPC and HTTP/1.1 for the rest, with the limits a proxy in front needs.
//!
//! Knows no door: any hyper service can be served.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use super::aside::{First, first};
use super::listen::{Protocol, stopped};

/// How long a request head may take to arrive, which is also how long an idle connection may stay: longer than the idle
/// time of the proxies (nginx 60 s, Traefik 90 s, Caddy 120 s), so that none of them meets a closed connection. Far
/// longer than any answer takes.
const HEAD_TIMEOUT: Duration = Duration::from_secs(150);

/// How often in a head's time it is looked whether one has come; it may take longer by one such part.
const LOOKS: u32 = 4;

/// Traefik has no limit on the number of headers, and 1 MiB on their size.
const MAX_HEADERS: usize = 1000;
const MAX_HEAD_BYTES: usize = (1 << 20) + (64 << 10);

/// Envoy opens one connection per worker and sends everything over it.
const MAX_STREAMS: u32 = 2048;

/// Streams that Envoy may reset before we saw them: it resets each check that timed out, so a slow moment makes many.
const MAX_PENDING_RESETS: usize = 2048;

/// HTTP/1.1.
#[derive(Clone, Debug)]
pub struct Http1<S> {
    service: S,
    head_timeout: Duration,
}

impl<S> Http1<S> {
    /// Serves this service.
    pub fn new(service: S) -> Self {
        Self { service, head_timeout: HEAD_TIMEOUT }
    }

    /// The same with another patience for slow heads.
    pub fn with_head_timeout(self, head_timeout: Duration) -> Self {
        Self { head_timeout, ..self }
    }
}

/// HTTP/2 with prior knowledge, as gRPC speaks it.
#[derive(Clone, Debug)]
pub struct Http2<S>(pub S);

/// What ends a connection that could go on.
enum End {
    /// A stop was asked for: it may finish what it is at.
    Stop,
    /// No head came for too long.
    Idle,
}

/// Serves a connection until its end, or the one that `$early` tells of. The type of connection differs by protocol, the
/// steps do not.
macro_rules! serve {
    ($connection:expr, $early:expr) => {{
        let mut connection = pin!($connection);
        let mut early = pin!($early);
        let ended = match first(connection.as_mut(), early.as_mut()).await {
            First::Main(ended) => ended,
            First::Aside(End::Stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            First::Aside(End::Idle) => return tracing::debug!("a connection without a call was closed"),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }};
}

/// Counts the calls of a connection.
#[derive(Clone, Debug)]
struct Counted<S> {
    service: S,
    calls: Arc<AtomicUsize>,
}

impl<S: Service<R>, R> Service<R> for Counted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: R) -> Self::Future {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.service.call(request)
    }
}

/// Ends when no call has come for this long. hyper's own timer would be set anew for each call, and the clock be read.
async fn no_call_for(patience: Duration, calls: Arc<AtomicUsize>) {
    let (mut seen, mut in_vain) = (0, 0);
    while in_vain < LOOKS {
        tokio::time::sleep(patience / LOOKS).await;
        let now = calls.load(Ordering::Relaxed);
        in_vain = if now == seen { in_vain + 1 } else { 0 };
        seen = now;
    }
}

/// A stream that says it cannot write several pieces at once.
///
/// For h2: it takes pieces of 256 bytes, such as our answers, out of its buffer to write them on their own, and has to
/// write all before the next one. Told this, it copies them into the buffer and writes many answers at a time.
struct InOnePiece<I>(I);

impl<I: AsyncRead + Unpin> AsyncRead for InOnePiece<I> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for InOnePiece<I> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl<S, B> Protocol for Http1<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn connection<I>(&self, io: TokioIo<I>, mut stop: watch::Receiver<bool>) -> impl Future<Output = ()> + Send
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = http1::Builder::new();
        builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
        let calls = Arc::new(AtomicUsize::new(0));
        let service = Counted { service: self.service.clone(), calls: Arc::clone(&calls) };
        let connection = builder.serve_connection(io, service);
        let patience = self.head_timeout;
        async move {
            let early = async {
                tokio::select! {
                    biased;
                    () = stopped(&mut stop) => End::Stop,
                    () = no_call_for(patience, calls) => End::Idle,
                }
            };
            serve!(connection, early);
        }
    }
}

impl<S, B> Protocol for Http2<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn connection<I>(&self, io: TokioIo<I>, mut stop: watch::Receiver<bool>) -> impl Future<Output = ()> + Send
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.max_concurrent_streams(MAX_STREAMS).max_pending_accept_reset_streams(MAX_PENDING_RESETS);
        // gRPC has no use for the date.
        builder.auto_date_header(false);
        let io = TokioIo::new(InOnePiece(io.into_inner()));
        let connection = builder.serve_connection(io, self.0.clone());
        async move {
            let early = async {
                stopped(&mut stop).await;
                End::Stop
            };
            serve!(connection, early);
        }
    }
}
