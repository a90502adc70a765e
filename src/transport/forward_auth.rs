//! The HTTP door: `/verify` for Traefik, nginx and Caddy, `/check` for Envoy's HTTP flavour.
//!
//! Knows no rules. Exactly 200 lets a request pass, with an empty body and every `X-Waf-*` header, so that the proxy can
//! copy them over whatever the client sent.

pub mod request;

use std::borrow::Cow;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};

use self::request::{Read, Route};
use super::Judge;
use super::answer::{self, Reply};
use super::front::Front;
use crate::service::{Decision, Door, FailureKind, Pass};

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of a body over the limit is read and thrown away, so that a proxy that writes first and reads later gets the
/// answer and not a reset.
const DISCARD_AT_MOST: usize = 4 << 20;

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
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let pass = self.front.judge.admit();
        let door = self.clone();
        Box::pin(async move {
            let (call, body) = request.into_parts();
            Ok(door.answer(call, body, pass).await)
        })
    }
}

impl<J: Judge> ForwardAuth<J> {
    async fn answer(&self, call: Parts, body: Incoming, pass: Option<Pass>) -> Response<Full<Bytes>> {
        let Some(route) = Route::of(&call.uri) else {
            return plain(StatusCode::NOT_FOUND, "no such path: ask /verify, /verify/{policy} or /check/{policy}/...");
        };
        let policy = route.policy();
        let Some(mut pass) = pass else {
            return response(&self.front.fail(policy, FailureKind::Overload));
        };
        let limit = self.front.body_limit(policy);
        let body = match self.receive(body, limit, &mut pass).await {
            Ok(body) => body,
            Err(kind) => return response(&self.front.fail(policy, kind)),
        };
        let (size, received) = (body.bytes.len(), Instant::now());
        let judge = move |front: &Front<J>| {
            let _held_until_then = pass;
            decide(front, &call, &body, limit, received)
        };
        response(&self.front.judging(size, judge).await)
    }

    async fn receive(&self, body: Incoming, limit: usize, pass: &mut Pass) -> Result<Collected, FailureKind> {
        // Most calls have none, and so need no clock.
        if body.is_end_stream() {
            return Ok(Collected::default());
        }
        let read = tokio::time::timeout(self.body_timeout, read(body, limit, pass)).await;
        read.unwrap_or(Err(FailureKind::Deadline))
    }
}

fn decide<J: Judge>(front: &Front<J>, call: &Parts, body: &Collected, limit: usize, received: Instant) -> Decision {
    let Some(route) = Route::of(&call.uri) else { return front.fail(None, FailureKind::Internal) };
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

/// A decision in HTTP.
fn response(decision: &Decision) -> Response<Full<Bytes>> {
    let (status, location) = match answer::reply(decision) {
        Reply::Pass => return headed(Response::new(Full::default()), answer::upstream_headers(decision)),
        Reply::Refuse { status, location } => (StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN), location),
        Reply::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, None),
    };
    let mut response = Response::new(Full::from(answer::body(decision)));
    *response.status_mut() = status;
    let location = location.map(|location| ("location", location.into()));
    headed(response, answer::client_headers(decision).into_iter().chain(location))
}

fn headed<'d>(
    mut response: Response<Full<Bytes>>,
    headers: impl IntoIterator<Item = (&'static str, Cow<'d, str>)>,
) -> Response<Full<Bytes>> {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
