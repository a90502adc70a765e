//! The doors: each turns a proxy's words into a [`Call`] and a [`Decision`] back into the proxy's words.
//!
//! Knows no rules and no cache, and nothing of how a verdict comes about: it asks a [`Judge`].
//!
//! ```text
//! listen ── connection ──► ext_authz    ── ext_authz/request ────┐
//!                      └─► forward_auth ── forward_auth/request ─┴► Original ─► Judge ─► Decision ─► answer ─► wire
//! ```

pub mod admin;
pub mod answer;
mod aside;
pub mod body;
pub mod client;
pub mod ext_authz;
pub mod forward_auth;
pub mod front;
pub mod grpc;
pub mod listen;
pub mod original;
pub mod protocol;
pub mod workers;

use crate::config::BodyPolicy;
use crate::service::{Call, Decision, FailureKind, Pass, Service};

/// Who decides. The doors are generic over it, so that their tests see what reaches the rules.
pub trait Judge: Send + Sync + 'static {
    /// Lets a call in; `None` when there are too many. The pass is held until the call is answered.
    fn admit(&self) -> Option<Pass>;
    /// Decides about one request; CPU work without I/O.
    fn decide(&self, call: &Call<'_>) -> Decision;
    /// The failure policy's answer for a call that never became a request; counts it.
    fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision;
    /// How bodies are treated under a policy; `None` when there is no such policy.
    fn body_policy(&self, policy: Option<&str>) -> Option<BodyPolicy>;
}

impl Judge for Service {
    fn admit(&self) -> Option<Pass> {
        self.admit()
    }

    fn decide(&self, call: &Call<'_>) -> Decision {
        self.decide(call)
    }

    fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        self.fail(policy, kind)
    }

    fn body_policy(&self, policy: Option<&str>) -> Option<BodyPolicy> {
        self.body_policy(policy)
    }
}
