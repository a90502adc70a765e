//! The HTTP door: `/verify` for Traefik, nginx and Caddy, `/check` for Envoy's HTTP flavour.
//!
//! Knows no rules. Exactly 200 lets a request pass, with an empty body and every `X-Waf-*` header, so that the proxy can
//! copy them over whatever the client sent.

pub mod request;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};

use self::request::{Read, Route};
use super::Judge;
use super::answer::{self, AnswerHeader, Reply};
use super::front::Front;
use crate::service::{Decision, Door, FailureKind, Pass};

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of a body over the limit is read and thrown away, so that a proxy that writes first and reads later gets the
/// answer and not a reset.
const DISCARD_AT_MOST: usize = 4 << 20;

/// More headers than this are not worth keeping memory for with each connection.
const USUAL_HEADERS: usize = 64;

/// The forward-auth service of one listener.
#[derive(Debug)]
pub struct ForwardAuth<J> {
    front: Arc<Front<J>>,
    body_timeout: Duration,
}

impl<J> Clone for ForwardAuth<J> {
    fn clone(&self) -> Self {
        Self { front: Arc::clone(&self.front), body_timeout: self.body_timeout }
    }
}

impl<J: Judge> ForwardAuth<J> {
    /// The door to this front.
    pub fn new(front: Arc<Front<J>>) -> Self {
        Self { front, body_timeout: BODY_TIMEOUT }
    }

    /// The same door with another patience for slow bodies.
    pub fn with_body_timeout(self, body_timeout: Duration) -> Self {
        Self { body_timeout, ..self }
    }
}

impl<J: Judge> hyper::service::Service<Request<Incoming>> for ForwardAuth<J> {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let pass = self.front.judge.admit();
        let (call, body) = request.into_parts();
        // Most calls have no body, and so nothing to wait for.
        if body.is_end_stream() {
            return Answering::Now(Some(self.without_body(call, pass)));
        }
        let door = self.clone();
        Answering::Later(Box::pin(async move { door.with_body(call, body, pass).await }))
    }
}

/// An answer that is there, or will be.
pub enum Answering {
    /// It is there, until it is taken.
    Now(Option<Response<Full<Bytes>>>),
    /// A body has to be read first.
    Later(Pin<Box<dyn Future<Output = Response<Full<Bytes>>> + Send>>),
}

impl std::fmt::Debug for Answering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Now(_)) { "Now" } else { "Later" })
    }
}

impl Future for Answering {
    type Output = Result<Response<Full<Bytes>>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            Self::Now(answer) => answer.take().map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer))),
            Self::Later(answer) => answer.as_mut().poll(context).map(Ok),
        }
    }
}

impl<J: Judge> ForwardAuth<J> {
    fn without_body(&self, mut call: Parts, pass: Option<Pass>) -> Response<Full<Bytes>> {
        let Some(route) = Route::of(&call.uri) else { return no_such_path() };
        let policy = route.policy();
        let decision = match pass {
            None => self.front.fail(policy, FailureKind::Overload),
            Some(_held_until_then) => {
                let limit = || self.front.body_limit(policy);
                decide(&self.front, route, &call, &Collected::default(), limit, Instant::now())
            }
        };
        // The memory of the call's headers does for those of the answer, and hyper keeps it for the next call.
        let reused = call.headers.capacity() <= USUAL_HEADERS;
        response(&decision, if reused { std::mem::take(&mut call.headers) } else { HeaderMap::new() })
    }

    async fn with_body(&self, call: Parts, body: Incoming, pass: Option<Pass>) -> Response<Full<Bytes>> {
        let Some(route) = Route::of(&call.uri) else { return no_such_path() };
        let policy = route.policy();
        let Some(mut pass) = pass else {
            return response(&self.front.fail(policy, FailureKind::Overload), HeaderMap::new());
        };
        let limit = self.front.body_limit(policy);
        let body = match self.receive(body, limit, &mut pass).await {
            Ok(body) => body,
            Err(kind) => return response(&self.front.fail(policy, kind), HeaderMap::new()),
        };
        let (size, received) = (body.bytes.len(), Instant::now());
        let judge = move |front: &Front<J>| {
            let _held_until_then = pass;
            match Route::of(&call.uri) {
                Some(route) => decide(front, route, &call, &body, || limit, received),
                None => front.fail(None, FailureKind::Internal),
            }
        };
        response(&self.front.judging(size, judge).await, HeaderMap::new())
    }

    async fn receive(&self, body: Incoming, limit: usize, pass: &mut Pass) -> Result<Collected, FailureKind> {
        let read = tokio::time::timeout(self.body_timeout, read(body, limit, pass)).await;
        read.unwrap_or(Err(FailureKind::Deadline))
    }
}

fn decide<J: Judge>(
    front: &Front<J>,
    route: Route<'_>,
    call: &Parts,
    body: &Collected,
    limit: impl FnOnce() -> usize,
    received: Instant,
) -> Decision {
    front.decide(route.policy(), || {
        let read = Read { bytes: &body.bytes, more: body.more };
        let original = request::original(route, call, read, limit, &front.trusted)?;
        let door = if matches!(route, Route::Verify(_)) { Door::ForwardAuth } else { Door::Check };
        Ok(front.judge.decide(&original.call(door, received, None)))
    })
}

/// A body as far as it was read.
#[derive(Debug, Default)]
struct Collected {
    bytes: Bytes,
    more: bool,
}

/// Reads a body up to the limit, for which there must be room.
async fn read(mut body: Incoming, limit: usize, pass: &mut Pass) -> Result<Collected, FailureKind> {
    let announced = body.size_hint().upper().and_then(|size| usize::try_from(size).ok());
    if !pass.hold(announced.unwrap_or(limit).min(limit)) {
        return Err(FailureKind::Overload);
    }
    let (mut kept, mut size) = (BytesMut::new(), 0_usize);
    while size <= limit.saturating_add(DISCARD_AT_MOST) {
        let Some(frame) = body.frame().await else { break };
        let Ok(data) = frame.map_err(|_| FailureKind::Undecodable)?.into_data() else { continue };
        size = size.saturating_add(data.len());
        kept.extend_from_slice(data.get(..limit.saturating_sub(kept.len())).unwrap_or(&data));
    }
    Ok(Collected { more: size > limit, bytes: kept.freeze() })
}

/// A decision in HTTP, with its headers in the place of others.
fn response(decision: &Decision, headers: HeaderMap) -> Response<Full<Bytes>> {
    let (status, location) = match answer::reply(decision) {
        Reply::Pass => return headed(Response::new(Full::default()), headers, answer::upstream_headers(decision)),
        Reply::Refuse { status, location } => (StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN), location),
        Reply::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, None),
    };
    let mut response = Response::new(Full::from(answer::body(decision)));
    *response.status_mut() = status;
    let location = location.map(|location| (&header::LOCATION, location.into()));
    headed(response, headers, answer::client_headers(decision).into_iter().chain(location))
}

fn headed<'d>(
    mut response: Response<Full<Bytes>>,
    mut headers: HeaderMap,
    ours: impl IntoIterator<Item = AnswerHeader<'d>>,
) -> Response<Full<Bytes>> {
    headers.clear();
    for (name, value) in ours {
        if let Some(value) = header_value(&value) {
            headers.insert(name, value);
        }
    }
    *response.headers_mut() = headers;
    response
}

/// A value without memory of its own, where it is one of the usual.
fn header_value(text: &str) -> Option<HeaderValue> {
    match text {
        "allow" => Some(HeaderValue::from_static("allow")),
        "0" => Some(HeaderValue::from_static("0")),
        text => HeaderValue::from_str(text).ok(),
    }
}

fn no_such_path() -> Response<Full<Bytes>> {
    plain(StatusCode::NOT_FOUND, "no such path: ask /verify, /verify/{policy} or /check/{policy}/...")
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
