//! One decision: limits, cache, evaluation, mode, failure policy; then audit and metrics.
//!
//! Knows no protobuf and no proxy's HTTP. Nothing here waits: `decide` is CPU work on the caller's thread, and a door
//! that must not block runs it where blocking is allowed.

mod audit;
mod cache;
mod counts;
mod failure;
mod ids;
mod limits;
mod metrics;
mod notices;
pub mod policy;
mod reload;
mod scratch;
mod snapshot;
mod status;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;

use crate::config::{Annotate, BodyPolicy, Config, DEFAULT_POLICY, Expose, Mode};
use crate::engine::{self, Inputs, Scratch};
use crate::model::{Outcome, Request};

use self::audit::Audit;
use self::cache::{Cache, FingerprintKey, Lookup};
use self::ids::Ids;
use self::metrics::Metrics;
use self::reload::History;
use self::snapshot::{Active, Snapshot};

pub use self::limits::{Gate, Limits, Pass, work_limit};
pub use self::reload::Watch;
pub use self::snapshot::LoadRules;

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

impl Answer {
    /// The status of a refusal by rules or policy.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Allow | Self::Failure { .. } => None,
            Self::Deny { status, .. } | Self::Redirect { status, .. } => Some(*status),
        }
    }

    /// The name in logs: `allow`, `deny`, `redirect`, `error`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny { .. } => "deny",
            Self::Redirect { .. } => "redirect",
            Self::Failure { .. } => "error",
        }
    }
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
    /// Whether Envoy is told even that nothing was found.
    pub metadata: Annotate,
    /// Whether the application behind Envoy is.
    pub upstream_headers: Annotate,
}

/// The service: policies, caches, counters. Shared by all doors.
pub struct Service {
    snapshot: ArcSwap<Snapshot>,
    parts: Parts,
    gate: Gate,
    draining: AtomicBool,
    history: History,
    started: Instant,
}

/// What outlives a generation.
struct Parts {
    sources: Sources,
    ids: Ids,
    fingerprints: FingerprintKey,
    /// Tells this process from others in the audit log.
    server_id: String,
    metrics: Metrics,
    audit: Audit,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("generation", &self.snapshot.load().generation).finish_non_exhaustive()
    }
}

/// Where configuration and rules come from, at the start and on each reload.
pub struct Sources {
    /// Reads the configuration anew.
    pub config: ReadConfig,
    /// Loads the rules of a policy.
    pub rules: LoadRules,
}

/// Reads the configuration anew; every error, rendered.
pub type ReadConfig = Box<dyn Fn() -> Result<Config, Vec<String>> + Send + Sync>;

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

/// Why a service could not start or reload: every message, rendered, with file and line where there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartError {
    /// The messages.
    pub messages: Vec<String>,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages.join("\n"))
    }
}

impl std::error::Error for StartError {}

/// What became of a request under a policy.
enum Judged {
    /// The policy is switched off.
    Off,
    /// The rules have spoken, now or earlier.
    Spoken { outcome: Arc<Outcome>, cached: bool, evaluation: Duration },
    /// We could not judge.
    Failed(FailureKind),
}

/// What an evaluation came to, and how long it took.
struct Fresh(Arc<Outcome>, Duration);

impl From<Fresh> for Judged {
    fn from(Fresh(outcome, evaluation): Fresh) -> Self {
        Self::Spoken { outcome, cached: false, evaluation }
    }
}

impl Service {
    /// A service with this configuration and the rule sets it names.
    ///
    /// # Errors
    /// Every error in the rules of every policy.
    pub fn new(config: Config) -> Result<Self, StartError> {
        Self::start(Sources { config: Box::new(move || Ok(config.clone())), rules: Box::new(crate::sets::load) })
    }

    /// A service whose configuration and rules are read from `sources`, now and on each reload.
    ///
    /// # Errors
    /// Every error in the configuration, or in the rules of every policy.
    pub fn start(sources: Sources) -> Result<Self, StartError> {
        let failed = |messages| StartError { messages };
        let parts = Parts::new(sources).map_err(|error| failed(vec![format!("no random numbers: {error}")]))?;
        let config = (parts.sources.config)().map_err(failed)?;
        let snapshot = Snapshot::load(config, 1, &parts).map_err(failed)?;
        Ok(Self {
            snapshot: ArcSwap::from_pointee(snapshot),
            parts,
            gate: Gate::default(),
            draining: AtomicBool::new(false),
            history: History::default(),
            started: Instant::now(),
        })
    }

    /// Decides about one request. CPU work, no I/O, never panics (panics inside are caught and decided by policy).
    pub fn decide(&self, call: &Call<'_>) -> Decision {
        let snapshot = self.snapshot.load();
        let Some(active) = snapshot.policy(call.policy) else {
            return self.failed(Some(call), call.policy, FailureKind::UnknownPolicy);
        };
        let now_micros = now_micros();
        let request_id = self.parts.ids.next(now_micros);
        let judged = match active.policy.mode {
            Mode::Off => Judged::Off,
            Mode::Block | Mode::Detect => active.judge(call, now_micros, &request_id),
        };
        let decision = active.decision(judged, request_id);
        self.count_failure(&decision);
        active.note(call, &decision, now_micros, &self.parts.server_id);
        decision
    }

    /// A decision for a call that could not be turned into a request, or that was shed: the failure policy's answer.
    /// Counts the failure, and writes it to the audit log with what little is known.
    pub fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        self.failed(None, policy, kind)
    }

    fn failed(&self, call: Option<&Call<'_>>, policy: Option<&str>, kind: FailureKind) -> Decision {
        let snapshot = self.snapshot.load();
        let now_micros = now_micros();
        let request_id = self.parts.ids.next(now_micros);
        let decision = match snapshot.policy(policy).or_else(|| snapshot.policy(None)) {
            Some(active) => {
                let decision = active.decision(Judged::Failed(kind), request_id);
                active.record(call, &decision, now_micros, &self.parts.server_id);
                decision
            }
            None => Decision::closed(kind, request_id),
        };
        self.count_failure(&decision);
        decision
    }

    fn count_failure(&self, decision: &Decision) {
        if let Answer::Failure { kind, open } = decision.answer {
            self.parts.metrics.failure(kind, open);
        }
    }

    /// Lets a call in, or sheds it: then [`Service::fail`] with [`FailureKind::Overload`] is the answer. Hold the pass
    /// until the call has been answered, and ask it for room before a body is read.
    pub fn admit(&self) -> Option<Pass> {
        self.gate.enter()
    }

    /// The body policy of a policy (its limit tells the doors how much to read).
    pub fn body_policy(&self, policy: Option<&str>) -> Option<BodyPolicy> {
        self.snapshot.load().policy(policy).map(|active| active.policy.body)
    }

    /// Whether requests may be sent here: the rules are loaded and nobody asked for a shutdown.
    pub fn ready(&self) -> bool {
        !self.draining.load(Ordering::Relaxed)
    }

    /// Shutdown is near: no longer ready, so that the proxy goes elsewhere; calls are still answered.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Waits until all audit records are with the operating system; for the end of a shutdown. Blocks.
    pub fn flush(&self) {
        self.parts.audit.flush();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.flush();
    }
}

impl Parts {
    fn new(sources: Sources) -> Result<Self, getrandom::Error> {
        Ok(Self {
            sources,
            ids: Ids::new(&random()?),
            fingerprints: FingerprintKey::new(random()?),
            server_id: format!("{:032x}", u128::from_le_bytes(random()?)),
            metrics: Metrics::default(),
            audit: Audit::default(),
        })
    }
}

impl Active {
    /// Puts a request before the rules.
    fn judge(&self, call: &Call<'_>, now_micros: i64, request_id: &str) -> Judged {
        let deadline = limits::deadline(call.received + self.policy.deadline, call.deadline);
        let expired = || Instant::now() >= deadline;
        let now = Instant::now();
        if now >= deadline {
            return Judged::Failed(FailureKind::Deadline);
        }
        let waited = now.saturating_duration_since(call.received);
        let inputs = Inputs {
            now_micros,
            duration_micros: u64::try_from(waited.as_micros()).unwrap_or(u64::MAX),
            unique_id: request_id,
            work_limit: work_limit(self.policy.body.limit),
            expired: &expired,
        };
        guarded(&self.name, request_id, || self.remembered_or_fresh(call, &inputs))
    }

    /// A panic loses the scratch, whose state is then unknown.
    fn remembered_or_fresh(&self, call: &Call<'_>, inputs: &Inputs<'_>) -> Judged {
        let mut scratch = self.scratches.take();
        let judged = match &self.cache {
            Some(cache) => self.with_cache(cache, call, inputs, &mut scratch),
            None => self.evaluate(&call.request, inputs, &mut scratch).into(),
        };
        self.scratches.put(scratch);
        judged
    }

    fn with_cache(&self, cache: &Cache, call: &Call<'_>, inputs: &Inputs<'_>, scratch: &mut Scratch) -> Judged {
        let place = match cache.look_up(call, &self.set.rules, scratch) {
            Lookup::Hit(outcome) => return Judged::Spoken { outcome, cached: true, evaluation: Duration::ZERO },
            Lookup::Miss(place) => Some(place),
            Lookup::Bypass => None,
        };
        let fresh = self.evaluate(&call.request, inputs, scratch);
        if let Some(place) = place {
            cache.store(place, call, &self.set.rules, &fresh.0, scratch);
        }
        fresh.into()
    }

    fn evaluate(&self, request: &Request<'_>, inputs: &Inputs<'_>, scratch: &mut Scratch) -> Fresh {
        let began = Instant::now();
        let mut outcome = engine::evaluate(&self.set.rules, request, inputs, scratch);
        policy::settle(&mut outcome, &self.policy);
        Fresh(Arc::new(outcome), began.elapsed())
    }

    /// Counts a decision and writes it to the audit log.
    fn note(&self, call: &Call<'_>, decision: &Decision, now_micros: i64, server_id: &str) {
        self.metrics.decided(call.door, &call.request, decision, self.policy.body.limit);
        if let Some(outcome) = &decision.outcome {
            self.body_warnings.look(&self.name, call.door, outcome);
        }
        self.record(Some(call), decision, now_micros, server_id);
    }

    /// Writes a decision to the audit log, if it is to stand there.
    fn record(&self, call: Option<&Call<'_>>, decision: &Decision, now_micros: i64, server_id: &str) {
        let Some(writer) = &self.audit else { return };
        let statuses = self.set.rules.settings().audit_relevant_status.as_ref();
        if !audit::wanted(self.policy.audit.when, decision, statuses) {
            return;
        }
        let entry = audit::Entry { call, decision, policy: &self.policy, rules: &self.set.name, server_id, now_micros };
        // The verdict stands whatever happens to its record.
        match catch_unwind(AssertUnwindSafe(|| entry.to_json())) {
            Ok(record) => writer.write(record),
            Err(panic) => tracing::error!(panic = panic_text(&*panic), "panic while writing an audit record"),
        }
    }

    /// Verdicts remembered, and the memory they take.
    fn cache_size(&self) -> (u64, u64) {
        self.cache.as_ref().map(Cache::size).unwrap_or_default()
    }

    fn decision(&self, judged: Judged, request_id: String) -> Decision {
        let answer = match &judged {
            Judged::Off => Answer::Allow,
            Judged::Spoken { outcome, .. } => policy::answer(outcome, &self.policy),
            Judged::Failed(kind) => failure::answer(&self.policy, *kind),
        };
        let (outcome, cached, evaluation) = match judged {
            Judged::Spoken { outcome, cached, evaluation } => (Some(outcome), cached, evaluation),
            Judged::Off | Judged::Failed(_) => (None, false, Duration::ZERO),
        };
        Decision {
            answer,
            policy: Arc::clone(&self.name),
            generation: self.generation,
            request_id,
            cached,
            evaluation,
            outcome,
            expose: self.policy.expose,
            metadata: self.policy.metadata,
            upstream_headers: self.policy.upstream_headers,
        }
    }
}

impl Decision {
    /// The answer where there is no policy at all: closed.
    fn closed(kind: FailureKind, request_id: String) -> Self {
        Self {
            answer: Answer::Failure { kind, open: false },
            policy: DEFAULT_POLICY.into(),
            generation: 0,
            request_id,
            cached: false,
            evaluation: Duration::ZERO,
            outcome: None,
            expose: Expose::None,
            metadata: Annotate::All,
            upstream_headers: Annotate::All,
        }
    }
}

/// Runs `work`; a panic in it is a failure like others.
fn guarded(policy: &str, request_id: &str, work: impl FnOnce() -> Judged) -> Judged {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        tracing::error!(request_id, policy, panic = panic_text(&*panic), "panic while evaluating");
        Judged::Failed(FailureKind::Panic)
    })
}

fn random() -> Result<[u8; 16], getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

fn now_micros() -> i64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}
