//! HTTP/2 for gRPC and HTTP/1.1 for the rest, with the limits a proxy in front needs.
//!
//! Knows no door: any hyper service can be served.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::listen::{Protocol, stopped};

/// How long a request head may take to arrive, which is also how long an idle connection may stay: longer than the idle
/// time of the proxies (nginx 60 s, Traefik 90 s, Caddy 120 s), so that none of them meets a closed connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(150);

/// Traefik has no limit on the number of headers, and 1 MiB on their size.
const MAX_HEADERS: usize = 1000;
const MAX_HEAD_BYTES: usize = (1 << 20) + (64 << 10);

/// Envoy opens one connection per worker and sends everything over it.
const MAX_STREAMS: u32 = 2048;

/// How often a silent peer is asked whether it is still there.
const PING_EVERY: Duration = Duration::from_secs(60);

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

/// Serves a connection, and tells it to finish when a stop is asked for. The type of connection differs by protocol, the
/// steps do not.
macro_rules! finish_gracefully {
    ($connection:expr, $stop:ident) => {{
        let mut connection = pin!($connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stopped(&mut $stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }};
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
        builder.timer(TokioTimer::new()).header_read_timeout(self.head_timeout);
        builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
        let connection = builder.serve_connection(io, self.service.clone());
        async move { finish_gracefully!(connection, stop) }
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
        builder.timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS);
        builder.max_pending_accept_reset_streams(MAX_PENDING_RESETS).keep_alive_interval(PING_EVERY);
        // gRPC has no use for the date.
        builder.auto_date_header(false);
        let connection = builder.serve_connection(io, self.0.clone());
        async move { finish_gracefully!(connection, stop) }
    }
}
