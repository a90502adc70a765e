//! One decision: limits, cache, evaluation, mode, failure policy; then audit and metrics.
//!
//! Knows no protobuf and no proxy's HTTP. (Skeleton of the contract between the doors and the service.)

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{BodyPolicy, Expose};
use crate::model::{Outcome, Request};

/// The door a request came through; a label in logs and metrics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Door {
    /// gRPC `ext_authz`.
    ExtAuthz,
    /// `/verify`: Traefik, nginx, Caddy.
    ForwardAuth,
    /// `/check`: Envoy's HTTP flavour.
    Check,
}

/// A question from a door.
#[derive(Clone, Copy, Debug)]
pub struct Call<'r> {
    /// The door.
    pub door: Door,
    /// The policy asked for by name; `None` means `default`.
    pub policy: Option<&'r str>,
    /// The request.
    pub request: Request<'r>,
    /// The scheme as the proxy tells it (part of the cache key), `http` or `https`.
    pub scheme: &'r [u8],
    /// The host with its port, as sent (part of the cache key).
    pub host: &'r [u8],
    /// When the call arrived.
    pub received: Instant,
    /// When the proxy stops waiting; the policy's own deadline applies too, the earlier wins.
    pub deadline: Option<Instant>,
}

/// Our own failures, by kind; labels in logs and metrics.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FailureKind {
    /// A panic was caught.
    Panic,
    /// The deadline passed.
    Deadline,
    /// Too much work at once.
    Overload,
    /// The work budget of one request was spent.
    Budget,
    /// A backtracking pattern ran into its limit.
    MatchLimit,
    /// The call itself could not be decoded (a CheckRequest that is no protobuf, a broken HTTP message).
    Undecodable,
    /// No policy with that name.
    UnknownPolicy,
    /// Anything else inside.
    Internal,
}

impl FailureKind {
    /// The name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Deadline => "deadline",
            Self::Overload => "overload",
            Self::Budget => "budget",
            Self::MatchLimit => "match_limit",
            Self::Undecodable => "undecodable",
            Self::UnknownPolicy => "unknown_policy",
            Self::Internal => "internal",
        }
    }
}

/// What the door is to answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Let the request pass.
    Allow,
    /// Refuse it with this status.
    Deny {
        /// The HTTP status.
        status: u16,
        /// Close the client's connection where the proxy can.
        close: bool,
    },
    /// Send the client elsewhere.
    Redirect {
        /// 301, 302, 303 or 307.
        status: u16,
        /// A URL without control bytes.
        location: String,
    },
    /// We could not judge. `open`: let it pass (`on_error: allow`), else gRPC UNAVAILABLE or HTTP 503.
    Failure {
        /// What happened.
        kind: FailureKind,
        /// Fail open.
        open: bool,
    },
}

/// A decision, ready to be put into a proxy's words.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What to answer.
    pub answer: Answer,
    /// The policy that decided.
    pub policy: Arc<str>,
    /// The generation of the rule set that decided.
    pub generation: u64,
    /// Our id for this request (also `UNIQUE_ID` and the audit record's id).
    pub request_id: String,
    /// The outcome came from the cache.
    pub cached: bool,
    /// How long the evaluation took; zero when cached.
    pub evaluation: Duration,
    /// What the rules said; `None` when they did not run (mode `off`, a failure).
    pub outcome: Option<Arc<Outcome>>,
    /// What the client may be told.
    pub expose: Expose,
}

/// The service: policies, caches, counters. Shared by all doors.
#[derive(Debug)]
pub struct Service {}

impl Service {
    /// Decides about one request. CPU work, no I/O, never panics (panics inside are caught and decided by policy).
    pub fn decide(&self, _call: &Call<'_>) -> Decision {
        self.fail(None, FailureKind::Internal)
    }

    /// A decision for a call that could not be turned into a request, or that was shed: the failure policy's answer.
    /// Counts the failure.
    pub fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        Decision {
            answer: Answer::Failure { kind, open: false },
            policy: policy.unwrap_or("default").into(),
            generation: 0,
            request_id: String::new(),
            cached: false,
            evaluation: Duration::ZERO,
            outcome: None,
            expose: Expose::None,
        }
    }

    /// The body policy of a policy (its limit tells the doors how much to read).
    pub fn body_policy(&self, _policy: Option<&str>) -> Option<BodyPolicy> {
        None
    }
}
