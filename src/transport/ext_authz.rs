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
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;

use super::Judge;
use super::answer;
use super::front::Front;
use super::grpc::{self, Receiving};
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
    type Future = Answering<J>;

    /// Runs when the headers are there, before the call is queued for a worker: the clock starts and the gate counts here.
    fn call(&self, request: Request<Incoming>) -> Self::Future {
        match request.uri().path() {
            CHECK => {
                let times = Times::of(request.headers());
                let pass = self.front.judge.admit();
                let front = Arc::clone(&self.front);
                Answering::Check(Some(Check { front, message: Receiving::new(request.into_body()), times, pass }))
            }
            path if path.starts_with(HEALTH) => {
                let answer = tower::Service::call(&mut self.health.clone(), request);
                Answering::Later(Box::pin(async move { answer.await.map(|answer| answer.map(Answer::Health)) }))
            }
            _ => Answering::Later(Box::pin(std::future::ready(Ok(grpc::unimplemented().map(Answer::Ours))))),
        }
    }
}

/// An answer that takes its time.
type Later = Pin<Box<dyn Future<Output = Result<Response<Answer>, Infallible>> + Send>>;

/// An answer in the making.
pub enum Answering<J> {
    /// A check that nobody has looked at yet. As a rule it can be answered at the first look, and needs no box.
    Check(Option<Check<J>>),
    /// Takes its time.
    Later(Later),
}

impl<J> std::fmt::Debug for Answering<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Check(_)) { "Check" } else { "Later" })
    }
}

impl<J: Judge> Future for Answering<J> {
    type Output = Result<Response<Answer>, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answering = self.get_mut();
        if let Self::Check(check) = answering {
            let Some(check) = check.take() else { return Poll::Pending };
            match check.at_once(context) {
                Ok(answer) => return Poll::Ready(Ok(answer.map(Answer::Ours))),
                Err(later) => *answering = Self::Later(later),
            }
        }
        match answering {
            Self::Check(_) => Poll::Pending,
            Self::Later(answer) => answer.as_mut().poll(context),
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

/// A call to be answered.
#[derive(Debug)]
pub struct Check<J> {
    front: Arc<Front<J>>,
    message: Receiving<Incoming>,
    times: Times,
    pass: Option<Pass>,
}

impl<J: Judge> Check<J> {
    /// The answer, if the message is all there, which needs no clock then, and small; else what will give it.
    fn at_once(mut self, context: &mut Context<'_>) -> Result<Response<grpc::Unary>, Later> {
        let Some(mut pass) = self.pass.take() else {
            return Ok(in_grpc(&self.front.fail(None, FailureKind::Overload)));
        };
        match self.poll_message(context, &mut pass) {
            Poll::Ready(Ok(message)) if Front::<J>::is_small(message.len()) => {
                let decision = decide(&self.front, &message, self.times);
                // Until here: the message is held that long.
                drop(pass);
                Ok(in_grpc(&decision))
            }
            Poll::Ready(message) => Err(self.later(Some(message), pass)),
            Poll::Pending => Err(self.later(None, pass)),
        }
    }

    fn later(mut self, message: Option<Result<Bytes, FailureKind>>, mut pass: Pass) -> Later {
        Box::pin(async move {
            let message = match message {
                Some(message) => message,
                None => self.receive(&mut pass).await,
            };
            let decision = match message {
                Ok(message) => self.judge(message, pass).await,
                Err(kind) => self.front.fail(None, kind),
            };
            Ok(in_grpc(&decision).map(Answer::Ours))
        })
    }

    async fn receive(&mut self, pass: &mut Pass) -> Result<Bytes, FailureKind> {
        let patience = self.times.patience();
        let message = poll_fn(|context| self.poll_message(context, pass));
        tokio::time::timeout_at(patience, message).await.unwrap_or(Err(FailureKind::Deadline))
    }

    fn poll_message(&mut self, context: &mut Context<'_>, pass: &mut Pass) -> Poll<Result<Bytes, FailureKind>> {
        let front = &self.front;
        // Most are so small that no policy has to be asked.
        let too_large =
            |size: usize| size > MESSAGE_OVERHEAD && size > front.body_limit(None).saturating_add(MESSAGE_OVERHEAD);
        self.message.poll(context, too_large, pass)
    }

    async fn judge(&self, message: Bytes, pass: Pass) -> Decision {
        let (size, times) = (message.len(), self.times);
        let judge = move |front: &Front<J>| {
            // The pass lives until the decision is made: the message is held that long.
            let _pass = pass;
            decide(front, &message, times)
        };
        self.front.judging(size, judge).await
    }
}

/// A decision in gRPC.
fn in_grpc(decision: &Decision) -> Response<grpc::Unary> {
    match response::response(decision, &grpc::NO_PREFIX) {
        Some(checked) => grpc::reply(checked.into_bytes()),
        None => grpc::unavailable(&answer::body(decision)),
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
        let policy = policy?;
        let original = request::original(check, &front.trusted, || front.body_limit(policy))?;
        let decision = front.judge.decide(&original.call(Door::ExtAuthz, times.received, times.deadline));
        Ok(response::overwriting(decision, &original.headers))
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
