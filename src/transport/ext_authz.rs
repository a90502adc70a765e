//! Envoy's gRPC door: `envoy.service.auth.v3.Authorization/Check`, and gRPC health beside it.
//!
//! Knows no rules. A request that could not be judged is answered with gRPC UNAVAILABLE, so that Envoy's
//! `failure_mode_allow` has the last word, or, if the policy fails open, with OK; a denial is never a gRPC error, and
//! neither is ever left to the framework.

pub mod protobuf;
pub mod request;
pub mod response;
pub mod wire;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;

use super::Judge;
use super::front::Front;
use super::{answer, grpc};
use crate::service::{Decision, Door, FailureKind, Pass};

const CHECK: &str = "/envoy.service.auth.v3.Authorization/Check";
const HEALTH: &str = "/grpc.health.v1.Health/";

/// What a `CheckRequest` may hold besides the body: Envoy takes up to 60 KiB of path and headers, and sends the path twice.
const MESSAGE_OVERHEAD: usize = 256 << 10;

/// How long a message may take to arrive when the caller says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The gRPC service of one listener.
#[derive(Debug)]
pub struct ExtAuthz<J> {
    front: Arc<Front<J>>,
    health: HealthServer<HealthService>,
}

impl<J> Clone for ExtAuthz<J> {
    fn clone(&self) -> Self {
        Self { front: Arc::clone(&self.front), health: self.health.clone() }
    }
}

impl<J: Judge> ExtAuthz<J> {
    /// The door to this front.
    pub fn new(front: Arc<Front<J>>, health: HealthServer<HealthService>) -> Self {
        Self { front, health }
    }
}

impl<J: Judge> hyper::service::Service<Request<Incoming>> for ExtAuthz<J> {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    /// Runs when the headers are there, before the call is queued for a worker: the clock starts and the gate counts here.
    fn call(&self, request: Request<Incoming>) -> Self::Future {
        match request.uri().path() {
            CHECK => {
                let times = Times::of(request.headers());
                let pass = self.front.judge.admit();
                let front = Arc::clone(&self.front);
                Box::pin(async move { Ok(check(&front, request.into_body(), times, pass).await.map(Answer::Ours)) })
            }
            path if path.starts_with(HEALTH) => {
                let answer = tower::Service::call(&mut self.health.clone(), request);
                Box::pin(async move { answer.await.map(|answer| answer.map(Answer::Health)) })
            }
            _ => Box::pin(std::future::ready(Ok(grpc::unimplemented().map(Answer::Ours)))),
        }
    }
}

/// The body of an answer: ours as it is, since a box around it would be one more allocation for each check.
#[derive(Debug)]
pub enum Answer {
    /// To a check.
    Ours(grpc::Unary),
    /// Of the health service.
    Health(tonic::body::Body),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Ours(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
            Self::Health(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Ours(body) => body.is_end_stream(),
            Self::Health(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Ours(body) => body.size_hint(),
            Self::Health(body) => body.size_hint(),
        }
    }
}

/// When a call came, and until when it has to be answered.
#[derive(Clone, Copy, Debug)]
struct Times {
    received: Instant,
    deadline: Option<Instant>,
}

impl Times {
    fn of(headers: &HeaderMap) -> Self {
        let received = Instant::now();
        let deadline = grpc::timeout(headers).and_then(|timeout| received.checked_add(timeout - margin(timeout)));
        Self { received, deadline }
    }

    fn patience(&self) -> tokio::time::Instant {
        self.deadline.unwrap_or(self.received + DEFAULT_TIMEOUT).into()
    }
}

/// What is left for the answer to get back before the caller gives up: a tenth, from 1 to 20 ms.
fn margin(timeout: Duration) -> Duration {
    (timeout / 10).clamp(Duration::from_millis(1), Duration::from_millis(20)).min(timeout)
}

async fn check<J: Judge>(
    front: &Arc<Front<J>>,
    body: Incoming,
    times: Times,
    pass: Option<Pass>,
) -> Response<grpc::Unary> {
    let decision = match pass {
        None => front.fail(None, FailureKind::Overload),
        Some(mut pass) => match receive(front, body, times, &mut pass).await {
            Ok(message) => {
                let size = message.len();
                let judge = move |front: &Front<J>| {
                    // The pass lives until the decision is made: the message is held that long.
                    let _pass = pass;
                    decide(front, &message, times)
                };
                front.judging(size, judge).await
            }
            Err(kind) => front.fail(None, kind),
        },
    };
    match response::response(&decision, &grpc::NO_PREFIX) {
        Some(checked) => grpc::reply(checked.into_bytes()),
        None => grpc::unavailable(&answer::body(&decision)),
    }
}

async fn receive<J: Judge>(
    front: &Front<J>,
    body: Incoming,
    times: Times,
    pass: &mut Pass,
) -> Result<Bytes, FailureKind> {
    let mut message = pin!(grpc::receive(body, front.body_limit(None) + MESSAGE_OVERHEAD, pass));
    // As a rule all of it is here already, and needs no clock.
    let here = poll_fn(|context| Poll::Ready(message.as_mut().poll(context))).await;
    match here {
        Poll::Ready(message) => message,
        Poll::Pending => {
            let late = tokio::time::timeout_at(times.patience(), message);
            late.await.unwrap_or(Err(FailureKind::Deadline))
        }
    }
}

/// Reads a message and asks about it; whatever the bytes are, there is a decision.
fn decide<J: Judge>(front: &Front<J>, message: &[u8], times: Times) -> Decision {
    let check = match request::decode(message) {
        Ok(check) => check,
        Err(refusal) => return front.decide(None, || Err(refusal)),
    };
    let policy = request::policy(&check);
    front.decide(policy.ok().flatten(), || {
        let limit = front.body_limit(policy?);
        let original = request::original(&check, &front.trusted, limit)?;
        Ok(front.judge.decide(&original.call(Door::ExtAuthz, times.received, times.deadline)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_a_tenth_within_bounds_and_never_more_than_there_is() {
        for (timeout, expected) in
            [(0, 0), (500, 500), (5_000, 1_000), (50_000, 5_000), (200_000, 20_000), (600_000_000, 20_000)]
        {
            assert_eq!(margin(Duration::from_micros(timeout)), Duration::from_micros(expected), "{timeout}");
        }
    }
}
