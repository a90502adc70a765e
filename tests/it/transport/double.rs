//! A judge that answers as it was told and writes down what it was asked, and the doors in front of it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portcullis::config::{Address, Annotate, BodyPolicy, Expose, IpNet, OnFailure};
use portcullis::model::{AuditParts, Body, Outcome, Score, Verdict};
use portcullis::service::{Answer, Call, Decision, Door, FailureKind, Gate, Limits, Pass};
use portcullis::transport::Judge;
use portcullis::transport::ext_authz::ExtAuthz;
use portcullis::transport::forward_auth::ForwardAuth;
use portcullis::transport::front::Front;
use portcullis::transport::listen::Listener;
use portcullis::transport::protocol::{Http1, Http2};
use tokio::sync::watch;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

/// The body limit of the policies `default` and `shop`; no other exists.
pub(crate) const LIMIT: usize = 1000;

/// What a judge saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) door: Door,
    pub(crate) policy: Option<String>,
    pub(crate) method: Vec<u8>,
    pub(crate) target: Vec<u8>,
    pub(crate) protocol: Vec<u8>,
    pub(crate) scheme: Vec<u8>,
    pub(crate) host: Vec<u8>,
    pub(crate) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: SeenBody,
    pub(crate) client: (Option<IpAddr>, u16),
    pub(crate) server: (Option<IpAddr>, u16),
    pub(crate) time_left: Option<Duration>,
}

/// A body that outlives the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SeenBody {
    NotSent,
    Complete(Vec<u8>),
    Partial(Vec<u8>),
}

impl Seen {
    fn of(call: &Call<'_>) -> Self {
        let request = &call.request;
        Self {
            door: call.door,
            policy: call.policy.map(str::to_owned),
            method: request.method.to_vec(),
            target: request.target.to_vec(),
            protocol: request.protocol.to_vec(),
            scheme: call.scheme.to_vec(),
            host: call.host.to_vec(),
            headers: request.headers.iter().map(|header| (header.name.to_vec(), header.value.to_vec())).collect(),
            body: match request.body {
                Body::NotSent => SeenBody::NotSent,
                Body::Complete(bytes) => SeenBody::Complete(bytes.to_vec()),
                Body::Partial(bytes) => SeenBody::Partial(bytes.to_vec()),
            },
            client: (request.remote_addr, request.remote_port),
            server: (request.server_addr, request.server_port),
            time_left: call.deadline.map(|deadline| deadline.saturating_duration_since(call.received)),
        }
    }

    /// The values of a header, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<&[u8]> {
        let named = self.headers.iter().filter(|(header, _)| header.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| value.as_slice()).collect()
    }
}

/// What a judge does when asked.
#[derive(Clone, Debug)]
pub(crate) enum Script {
    Answer(Answer),
    Panic,
    Sleep(Duration),
}

/// The judge.
#[derive(Debug)]
pub(crate) struct Double {
    pub(crate) script: Mutex<Script>,
    pub(crate) expose: Mutex<Expose>,
    pub(crate) metadata: Mutex<Annotate>,
    pub(crate) upstream_headers: Mutex<Annotate>,
    /// Whether outcomes tell of a score and of a part not inspected.
    pub(crate) finds: Mutex<bool>,
    pub(crate) open: bool,
    gate: Gate,
    seen: Mutex<Vec<Seen>>,
    pub(crate) failures: Mutex<Vec<(Option<String>, FailureKind)>>,
}

impl Double {
    fn decision(&self, answer: Answer, policy: Option<&str>) -> Decision {
        let verdict = match &answer {
            Answer::Deny { status, close } => Some(Verdict::Deny { status: *status, rule: None, close: *close }),
            Answer::Allow | Answer::Redirect { .. } => Some(Verdict::Allow),
            Answer::Failure { .. } => None,
        };
        Decision {
            answer,
            policy: policy.unwrap_or("default").into(),
            generation: 7,
            request_id: "req-1".to_owned(),
            cached: false,
            evaluation: Duration::from_micros(12),
            outcome: verdict.map(|verdict| Arc::new(outcome(verdict, *self.finds.lock().unwrap()))),
            expose: *self.expose.lock().unwrap(),
            metadata: *self.metadata.lock().unwrap(),
            upstream_headers: *self.upstream_headers.lock().unwrap(),
        }
    }

    /// The one request that was seen, and forgets it.
    pub(crate) fn take(&self) -> Seen {
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }

    /// The failures that were counted, and forgets them.
    pub(crate) fn take_failures(&self) -> Vec<(Option<String>, FailureKind)> {
        std::mem::take(&mut *self.failures.lock().unwrap())
    }

    /// How many requests were seen.
    pub(crate) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn answers(&self, answer: Answer) {
        *self.script.lock().unwrap() = Script::Answer(answer);
    }
}

fn outcome(verdict: Verdict, finds: bool) -> Outcome {
    let inbound = if finds { 5 } else { 0 };
    let not_inspected = finds.then_some(portcullis::model::NotInspected::BodyAbsent);
    Outcome {
        verdict,
        would: None,
        score: Score { inbound, threshold: 5, per_pl: [inbound, 0, 0, 0] },
        rules: Vec::new(),
        not_inspected: not_inspected.into_iter().collect(),
        faults: Vec::new(),
        deterministic: true,
        audit_engine: Default::default(),
        audit_parts: AuditParts::default(),
        work: 0,
    }
}

impl Judge for Double {
    fn admit(&self) -> Option<Pass> {
        self.gate.enter()
    }

    fn decide(&self, call: &Call<'_>) -> Decision {
        self.seen.lock().unwrap().push(Seen::of(call));
        if self.body_policy(call.policy).is_none() {
            return self.fail(call.policy, FailureKind::UnknownPolicy);
        }
        let script = self.script.lock().unwrap().clone();
        match script {
            Script::Answer(answer) => self.decision(answer, call.policy),
            Script::Panic => panic!("a panic that the doors must survive"),
            Script::Sleep(time) => {
                std::thread::sleep(time);
                self.decision(Answer::Allow, call.policy)
            }
        }
    }

    fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        self.failures.lock().unwrap().push((policy.map(str::to_owned), kind));
        self.decision(Answer::Failure { kind, open: self.open }, policy)
    }

    fn body_policy(&self, policy: Option<&str>) -> Option<BodyPolicy> {
        let deny = OnFailure::Deny;
        let body = BodyPolicy {
            limit: LIMIT,
            over_limit: deny,
            partial: deny,
            undecodable: deny,
            absent: deny,
            doctype: deny,
        };
        matches!(policy, None | Some("default" | "shop")).then_some(body)
    }
}

/// Both doors, listening.
pub(crate) struct Doors {
    pub(crate) judge: Arc<Double>,
    pub(crate) grpc: Address,
    pub(crate) http: Address,
    pub(crate) health: HealthReporter,
    stop: watch::Sender<bool>,
    served: Vec<tokio::task::JoinHandle<()>>,
}

/// How to open them.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) open: bool,
    pub(crate) trusted: Vec<IpNet>,
    pub(crate) limits: Limits,
    pub(crate) grpc: Address,
    pub(crate) http: Address,
    pub(crate) body_timeout: Duration,
    pub(crate) head_timeout: Duration,
    pub(crate) grace: Duration,
}

impl Default for Setup {
    fn default() -> Self {
        let free = Address::Tcp("127.0.0.1:0".parse().unwrap());
        Self {
            open: false,
            trusted: vec![IpNet { addr: "10.0.0.0".parse().unwrap(), prefix: 8 }],
            limits: Limits::default(),
            grpc: free.clone(),
            http: free,
            body_timeout: Duration::from_secs(5),
            head_timeout: Duration::from_secs(10),
            grace: Duration::from_secs(5),
        }
    }
}

impl Setup {
    pub(crate) async fn start(self) -> Doors {
        let judge = Arc::new(Double {
            script: Mutex::new(Script::Answer(Answer::Allow)),
            expose: Mutex::new(Expose::None),
            metadata: Mutex::new(Annotate::All),
            upstream_headers: Mutex::new(Annotate::All),
            finds: Mutex::new(true),
            open: self.open,
            gate: Gate::new(self.limits),
            seen: Mutex::default(),
            failures: Mutex::default(),
        });
        let front = Arc::new(Front::new(Arc::clone(&judge), self.trusted));
        let reporter = HealthReporter::new();
        let health = HealthServer::new(HealthService::from_health_reporter(reporter.clone()));
        let (stop, stopped) = watch::channel(false);
        let grpc = Listener::bind(&self.grpc).await.unwrap();
        let http = Listener::bind(&self.http).await.unwrap();
        let (grpc_address, http_address) = (grpc.address().unwrap(), http.address().unwrap());
        let ext_authz = Http2(ExtAuthz::new(Arc::clone(&front), health));
        let forward_auth = Http1::new(ForwardAuth::new(front).with_body_timeout(self.body_timeout))
            .with_head_timeout(self.head_timeout);
        let served = vec![
            tokio::spawn(grpc.serve(ext_authz, stopped.clone(), self.grace)),
            tokio::spawn(http.serve(forward_auth, stopped, self.grace)),
        ];
        Doors { judge, grpc: grpc_address, http: http_address, health: reporter, stop, served }
    }
}

impl Doors {
    pub(crate) async fn open() -> Self {
        Setup::default().start().await
    }

    /// Asks the doors to stop.
    pub(crate) fn stop(&self) {
        self.stop.send(true).unwrap();
    }

    /// Waits until they have stopped, and tells how long that took.
    pub(crate) async fn stopped(self) -> Duration {
        let start = Instant::now();
        for served in self.served {
            served.await.unwrap();
        }
        start.elapsed()
    }
}
