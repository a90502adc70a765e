//! What the doors share: who decides, whom to trust, and what is answered for a call that never became a request.
//!
//! Knows no wire format.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Judge;
use super::original::Refusal;
use crate::config::{Annotate, Expose, IpNet};
use crate::service::{Answer, Decision, FailureKind};

/// Messages up to this size are judged where they were read.
const LARGE: usize = 16 << 10;

/// What is behind a door.
#[derive(Debug)]
pub struct Front<J> {
    /// Who decides.
    pub judge: Arc<J>,
    /// Proxies whose `X-Forwarded-For` entries are believed.
    pub trusted: Vec<IpNet>,
}

impl<J: Judge> Front<J> {
    /// A front.
    pub fn new(judge: Arc<J>, trusted: Vec<IpNet>) -> Self {
        Self { judge, trusted }
    }

    /// The largest body a policy inspects; 0 when there is no such policy, whose calls fail anyway.
    pub fn body_limit(&self, policy: Option<&str>) -> usize {
        self.judge.body_policy(policy).map_or(0, |body| body.limit)
    }

    /// Runs `work`, which reads a message and asks the judge, and answers for it if it refuses or panics.
    ///
    /// The one place for that: a panic that left the handler would be a gRPC error or a cut connection.
    pub fn decide(&self, policy: Option<&str>, work: impl FnOnce() -> Result<Decision, Refusal>) -> Decision {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(decision)) => decision,
            Ok(Err(Refusal::Failure(kind))) => self.fail(policy, kind),
            Ok(Err(Refusal::Malformed)) => {
                let answer = Answer::Deny { status: 403, close: false };
                let decision = Decision { answer, ..self.fail(policy, FailureKind::Undecodable) };
                tracing::debug!(
                    request_id = decision.request_id,
                    "the call describes no request that a proxy had let in"
                );
                decision
            }
            Err(_) => self.fail(policy, FailureKind::Panic),
        }
    }

    /// Whether a message of this size may be judged where it was read.
    pub fn is_small(size: usize) -> bool {
        size <= LARGE
    }

    /// Runs the `work` of judging a message of this size: here, or, if it may take long, on a thread of its own, so that
    /// the other calls of this thread need not wait for it.
    pub async fn judging(
        self: &Arc<Self>,
        size: usize,
        work: impl FnOnce(&Self) -> Decision + Send + 'static,
    ) -> Decision {
        if Self::is_small(size) {
            return work(self);
        }
        let front = Arc::clone(self);
        let judged = tokio::task::spawn_blocking(move || work(&front)).await;
        judged.unwrap_or_else(|_panicked| self.fail(None, FailureKind::Panic))
    }

    /// The failure policy's answer, and if even that panics, the closed one.
    pub fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        catch_unwind(AssertUnwindSafe(|| self.judge.fail(policy, kind))).unwrap_or_else(|_| Decision {
            answer: Answer::Failure { kind, open: false },
            policy: policy.unwrap_or("default").into(),
            generation: 0,
            request_id: String::new(),
            cached: false,
            evaluation: Duration::ZERO,
            outcome: None,
            expose: Expose::None,
            metadata: Annotate::All,
            upstream_headers: Annotate::All,
        })
    }
}
