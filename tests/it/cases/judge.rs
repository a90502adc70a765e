//! A service with the set-up of a case, and the ways into it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use portcullis::config::{Address, AuditPolicy, AuditWhen, BodyPolicy, CachePolicy, Config, CrsSettings};
use portcullis::config::{Mode as PolicyMode, OnFailure, Policy};
use portcullis::input::RequestBuf;
use portcullis::model::{Outcome, Verdict};
use portcullis::service::{Answer, Call, Decision, Door as CallDoor, FailureKind, Pass, Service, Sources};
use portcullis::sets::{self, LoadError, LoadedSet};
use portcullis::transport::Judge;
use portcullis::transport::ext_authz::ExtAuthz;
use portcullis::transport::forward_auth::ForwardAuth;
use portcullis::transport::front::Front;
use portcullis::transport::listen::Listener;
use portcullis::transport::protocol::{Http1, Http2};
use tokio::sync::watch;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use super::data::{Door, Mode, Sent, SetUp};
use crate::transport::wire::{self, Check};

/// What came out.
#[derive(Debug)]
pub(super) struct Got {
    pub(super) status: u16,
    /// `None` where the request was refused before the rules saw it.
    pub(super) outcome: Option<Arc<Outcome>>,
    pub(super) cached: bool,
    pub(super) took: Duration,
}

/// A service under a set-up.
pub(super) struct Running {
    judge: Arc<Recorder>,
    lines: Arc<Mutex<Vec<String>>>,
    warnings: Arc<Mutex<Vec<String>>>,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Starts; the messages where the rules do not load.
    pub(super) fn start(set: &SetUp, level: u8, crs: Option<&Path>) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("case.conf");
        let lines = Arc::new(Mutex::new(set.rules.clone()));
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let source = Source {
            file: file.clone(),
            alone: set.crs.as_deref() == Some(""),
            crs: crs.map(Path::to_owned),
            lines: Arc::clone(&lines),
            warnings: Arc::clone(&warnings),
        };
        let policy = policy(set, level, &source);
        let mut policies = std::collections::BTreeMap::from([("default".to_owned(), policy)]);
        if let Some(policy) = policies.get("default").filter(|_| set.second).cloned() {
            policies.insert("second".to_owned(), policy);
        }
        let config = Config { policies, ..Config::default() };
        let sources = Sources {
            config: Box::new(move || Ok(config.clone())),
            rules: Box::new(move |policy| source.load(policy)),
        };
        let service = Service::start(sources).map_err(|error| error.to_string())?;
        Ok(Self { judge: Arc::new(Recorder { service, last: Mutex::default() }), lines, warnings, _folder: folder })
    }

    /// Reloads with other lines.
    pub(super) fn reload(&self, lines: &[String]) -> Result<(), String> {
        *locked(&self.lines) = lines.to_vec();
        self.judge.service.reload().map(|_| ()).map_err(|error| error.to_string())
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        locked(&self.warnings).clone()
    }

    /// `/status`.
    pub(super) fn status(&self) -> String {
        self.judge.service.status_json()
    }

    /// What Prometheus reads.
    pub(super) fn metrics(&self) -> String {
        self.judge.service.metrics_text()
    }

    pub(super) fn send(&self, sent: &Sent) -> Got {
        let request = sent.request();
        match sent.door {
            Door::None => Got::of(&self.ask(sent, &request)),
            Door::Verify | Door::ExtAuthz => {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                let status = runtime.block_on(self.through_door(sent, &request));
                match locked(&self.judge.last).take() {
                    Some(decision) => Got { status, ..Got::of(&decision) },
                    None => Got { status, outcome: None, cached: false, took: Duration::ZERO },
                }
            }
        }
    }

    fn ask(&self, sent: &Sent, request: &RequestBuf) -> Decision {
        let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"host"));
        request.with_request(|request| {
            self.judge.service.decide(&Call {
                door: CallDoor::ExtAuthz,
                policy: sent.policy.as_deref(),
                request: *request,
                scheme: sent.scheme.as_deref().unwrap_or("http").as_bytes(),
                host: host.map_or(b"", |(_, value)| value),
                received: Instant::now(),
                deadline: None,
            })
        })
    }

    async fn through_door(&self, sent: &Sent, request: &RequestBuf) -> u16 {
        let front = Arc::new(Front::new(Arc::clone(&self.judge), Vec::new()));
        let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".parse().unwrap())).await.unwrap();
        let address = listener.address().unwrap();
        let (stop, stopped) = watch::channel(false);
        let health = HealthServer::new(HealthService::from_health_reporter(HealthReporter::new()));
        let grace = Duration::from_secs(1);
        if sent.door == Door::Verify {
            let served = tokio::spawn(listener.serve(Http1::new(ForwardAuth::new(front)), stopped, grace));
            let status = wire::http(&address, &by_traefik(request)).await.status;
            stop.send(true).unwrap();
            served.await.unwrap();
            return status;
        }
        let served = tokio::spawn(listener.serve(Http2(ExtAuthz::new(front, health)), stopped, grace));
        let answer = wire::grpc(&address, wire::framed(&by_envoy(sent, request).encode()), None).await;
        stop.send(true).unwrap();
        served.await.unwrap();
        match answer.status.as_str() {
            "0" if answer.check().allowed() => 200,
            "0" => u16::try_from(answer.check().http_status()).unwrap(),
            _ => 503,
        }
    }
}

/// The call Traefik makes about a request. A header of the description that the case itself brings stands as it is.
fn by_traefik(request: &RequestBuf) -> Vec<u8> {
    let described: [(&[u8], &[u8]); 5] = [
        (b"X-Forwarded-Method", &request.method),
        (b"X-Forwarded-Uri", &request.target),
        (b"X-Forwarded-Host", b"shop.example"),
        (b"X-Forwarded-Proto", b"http"),
        (b"X-Forwarded-For", b"203.0.113.9"),
    ];
    let own: Vec<(&[u8], &[u8])> = request.headers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let named = |name: &[u8]| own.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let described = described.into_iter().filter(|(name, _)| !named(name));
    let headers: Vec<_> = own.iter().copied().chain(described).collect();
    wire::call("GET /verify", &headers, &request.body)
}

fn by_envoy(sent: &Sent, request: &RequestBuf) -> Check {
    let check = Check {
        method: request.method.clone(),
        path: request.target.clone(),
        protocol: request.protocol.clone(),
        scheme: sent.scheme.as_deref().unwrap_or("http").into(),
        raw_body: request.body.clone(),
        ..Check::default()
    };
    let headers = request.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(b"host"));
    let mut headers: Vec<(&[u8], &[u8])> = headers.map(|(name, value)| (&name[..], &value[..])).collect();
    if !request.body.is_empty() {
        headers.push((b"x-envoy-auth-partial-body", b"false"));
    }
    check.raw(&headers)
}

const fn allowed(allowed: bool) -> OnFailure {
    if allowed { OnFailure::Allow } else { OnFailure::Deny }
}

fn policy(set: &SetUp, level: u8, source: &Source) -> Policy {
    let rules = match &source.crs {
        Some(folder) if !source.alone => format!("crs@{}", folder.display()),
        _ => source.file.display().to_string(),
    };
    Policy {
        rules: Some(rules),
        profiles: set.profiles.clone(),
        mode: if set.mode == Mode::Detect { PolicyMode::Detect } else { PolicyMode::Block },
        crs: CrsSettings { paranoia: (!source.alone).then_some(level), tx: set.tx.clone(), ..CrsSettings::default() },
        body: BodyPolicy {
            limit: set.limit.unwrap_or(BodyPolicy::default().limit),
            over_limit: allowed(set.over_limit_allowed),
            undecodable: allowed(set.undecodable_allowed),
            doctype: allowed(!set.no_doctype),
            ..BodyPolicy::default()
        },
        // The machine may be slow; what is measured is measured by itself.
        deadline: Duration::from_secs(60),
        cache: CachePolicy { enabled: set.cache, ..CachePolicy::default() },
        audit: AuditPolicy { when: AuditWhen::Off, ..AuditPolicy::default() },
        ..Policy::default()
    }
}

/// Where the rules come from.
struct Source {
    file: PathBuf,
    alone: bool,
    crs: Option<PathBuf>,
    lines: Arc<Mutex<Vec<String>>>,
    warnings: Arc<Mutex<Vec<String>>>,
}

impl Source {
    fn load(&self, policy: &Policy) -> Result<LoadedSet, LoadError> {
        let folder = self.crs.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let text = format!("{}\n", locked(&self.lines).join("\n")).replace("{crs}", &folder);
        let set = if self.alone {
            std::fs::write(&self.file, format!("Include \"<embedded>/portcullis.conf\"\n{text}")).unwrap();
            sets::load(policy)
        } else {
            sets::load_with(policy, "<case>", &text)
        }?;
        locked(&self.warnings).clone_from(&set.warnings);
        Ok(set)
    }
}

/// The service, with its last decision written down.
struct Recorder {
    service: Service,
    last: Mutex<Option<Decision>>,
}

impl Judge for Recorder {
    fn admit(&self) -> Option<Pass> {
        self.service.admit()
    }

    fn decide(&self, call: &Call<'_>) -> Decision {
        let decision = self.service.decide(call);
        *locked(&self.last) = Some(decision.clone());
        decision
    }

    fn fail(&self, policy: Option<&str>, kind: FailureKind) -> Decision {
        self.service.fail(policy, kind)
    }

    fn body_policy(&self, policy: Option<&str>) -> Option<BodyPolicy> {
        self.service.body_policy(policy)
    }
}

impl Got {
    fn of(decision: &Decision) -> Self {
        let status = match &decision.answer {
            Answer::Allow | Answer::Failure { open: true, .. } => 200,
            Answer::Deny { status, .. } | Answer::Redirect { status, .. } => *status,
            Answer::Failure { open: false, .. } => 503,
        };
        Self { status, outcome: decision.outcome.clone(), cached: decision.cached, took: decision.evaluation }
    }

    /// What blocking mode had answered.
    pub(super) fn would(&self) -> Option<u16> {
        match self.outcome.as_ref()?.would.as_ref()? {
            Verdict::Allow => None,
            Verdict::Deny { status, .. } | Verdict::Redirect { status, .. } => Some(*status),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
