//! `portcullis serve` with `deploy/portcullis.yaml`, and what can be learned from it: audit records, metrics, status.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::Checked;
use super::deploy::{self, Changes};
use super::http::{Ask, Reply};
use super::process::{self, Process};

/// An unoptimised binary on a busy machine compiles the CRS in a few seconds.
const READY: Duration = Duration::from_secs(60);
/// The audit log is written behind the answer's back.
const WRITTEN: Duration = Duration::from_secs(5);

/// The header that tells one request's audit record from the others'.
pub(crate) const MARK: &str = "X-Case";

/// The rules that the sidecar runs, which decides how much can be expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rules {
    /// CRS 4: verdicts and rule ids are known.
    Crs4,
    /// Another CRS: verdicts are.
    OtherCrs,
    /// No CRS at hand: the verdicts on plain attacks are.
    Baseline,
}

/// How a sidecar is started.
pub(crate) struct Setup {
    pub(crate) paranoia: u8,
    /// The rules, as in the file; else the CRS, or the baseline where it is not here.
    pub(crate) rules: Option<String>,
    /// A Unix socket in place of the gRPC port.
    pub(crate) socket: Option<PathBuf>,
    /// Further changes to `deploy/portcullis.yaml`.
    pub(crate) changes: Vec<(&'static str, String)>,
}

impl Setup {
    /// As deployed, at a paranoia level.
    pub(crate) fn at(paranoia: u8) -> Self {
        Self { paranoia, rules: None, socket: None, changes: Vec::new() }
    }

    /// Another change to the file.
    pub(crate) fn with(mut self, from: &'static str, to: &str) -> Self {
        self.changes.push((from, to.to_owned()));
        self
    }
}

/// A running sidecar.
pub(crate) struct Sidecar {
    pub(crate) process: Process,
    pub(crate) ext_authz: u16,
    pub(crate) forward_auth: u16,
    pub(crate) admin: u16,
    pub(crate) rules: Rules,
    pub(crate) paranoia: u8,
    config: PathBuf,
    dir: TempDir,
    marks: AtomicUsize,
}

/// What the audit log says about one request.
pub(crate) struct Record {
    pub(crate) rules: Vec<u32>,
    pub(crate) client: String,
}

/// The binary under test; `PORTCULLIS_E2E_PORTCULLIS` names another one.
pub(crate) fn binary() -> PathBuf {
    process::find("portcullis")
        .filter(|_| std::env::var_os("PORTCULLIS_E2E_PORTCULLIS").is_some())
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_portcullis").into())
}

/// The binary with an environment that sets nothing.
pub(crate) fn command() -> Command {
    let mut command = Command::new(binary());
    command.current_dir(deploy::root()).env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| ["PATH", "HOME", "TMPDIR"].iter().any(|kept| name == kept)));
    command
}

fn crs_here() -> bool {
    deploy::root().join("rules/crs/rules").is_dir()
}

impl Sidecar {
    /// Starts one and waits until it is ready.
    pub(crate) fn start(setup: Setup) -> Self {
        let dir = TempDir::new().unwrap();
        let [ext_authz, forward_auth, admin] = std::array::from_fn(|_| process::free_port());
        let config = write_config(dir.path(), setup, [ext_authz, forward_auth, admin]);
        let process = serve(dir.path(), &config.0);
        let mut sidecar = Self {
            process,
            ext_authz,
            forward_auth,
            admin,
            rules: Rules::Baseline,
            paranoia: config.1,
            config: config.0,
            dir,
            marks: AtomicUsize::new(1),
        };
        sidecar.wait_ready();
        sidecar.rules = rules_of(&sidecar.status());
        sidecar
    }

    /// Starts it again after [`Self::kill`], on the same ports.
    pub(crate) fn revive(&mut self) {
        self.process = serve(self.dir.path(), &self.config);
        self.wait_ready();
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        self.process.signal("KILL");
        self.process.wait(Duration::from_secs(5)).expect("KILL ends a process");
    }

    fn wait_ready(&mut self) {
        let admin = self.admin;
        self.process.wait_until(READY, || Ask::get("/readyz").send(admin).is_ok_and(|reply| reply.status == 200));
    }

    /// `/metrics` as text.
    pub(crate) fn metrics(&self) -> String {
        self.admin("/metrics").text()
    }

    /// The sum of the metric's lines that hold all of these texts.
    pub(crate) fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let metrics = self.metrics();
        let lines =
            metrics.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        let chosen = lines.filter(|line| labels.iter().all(|label| line.contains(label)));
        chosen.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// `/status`.
    pub(crate) fn status(&self) -> Value {
        serde_json::from_slice(&self.admin("/status").body).expect("/status is JSON")
    }

    fn admin(&self, path: &str) -> Reply {
        let reply = Ask::get(path).send(self.admin).unwrap();
        assert_eq!(reply.status, 200, "{path}");
        reply
    }

    /// A request with a mark of its own, and the mark.
    pub(crate) fn mark(&self, ask: Ask) -> (Ask, String) {
        // Letters and digits, which no rule minds at any level.
        let mark = format!("case{}x", self.marks.fetch_add(1, Ordering::Relaxed));
        (ask.header(MARK, &mark), mark)
    }

    /// The whole audit log so far.
    pub(crate) fn audit(&self) -> Vec<u8> {
        fs::read(self.dir.path().join("audit.json")).unwrap_or_default()
    }

    /// The audit record of the request with this mark.
    pub(crate) fn record(&self, mark: &str) -> Checked<Record> {
        let start = Instant::now();
        while start.elapsed() < WRITTEN {
            let log = self.audit();
            let log = String::from_utf8_lossy(&log);
            // The last line may be half written.
            let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if let Some(line) = whole.lines().find(|line| line.contains(mark)) {
                return read_record(line);
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("no audit record with `{mark}`"))
    }
}

fn serve(dir: &Path, config: &Path) -> Process {
    Process::start("portcullis", dir, command().arg("serve").arg("--config").arg(config))
}

/// Everything in the file stays as it is but addresses, level, audit target (all requests, to a file) and deadline (an
/// unoptimised binary on a busy machine).
fn write_config(dir: &Path, setup: Setup, [ext_authz, forward_auth, admin]: [u16; 3]) -> (PathBuf, u8) {
    let door = match setup.socket {
        Some(path) => format!("unix:{}", path.display()),
        None => format!("127.0.0.1:{ext_authz}"),
    };
    let audit = dir.join("audit.json");
    let mut changes = vec![
        ("127.0.0.1:9191", door),
        ("127.0.0.1:9292", format!("127.0.0.1:{forward_auth}")),
        ("127.0.0.1:9393", format!("127.0.0.1:{admin}")),
        (" paranoia: 1 ", format!(" paranoia: {} ", setup.paranoia)),
        ("detection_paranoia: 1 ", format!("detection_paranoia: {} ", setup.paranoia)),
        ("deadline: 200ms", "deadline: 5s".to_owned()),
        ("when: relevant", "when: all".to_owned()),
        ("to: stdout", format!("to: {}", audit.display())),
    ];
    let fallback = || (!crs_here()).then(|| "baseline".to_owned());
    if let Some(rules) = setup.rules.or_else(fallback) {
        changes.push(("rules: crs", format!("rules: {rules}")));
    }
    changes.extend(setup.changes);
    (deploy::write(dir, "portcullis.yaml", changes.as_slice() as Changes<'_>), setup.paranoia)
}

fn rules_of(status: &Value) -> Rules {
    let set = &status["policies"]["default"]["rules"];
    match set["version"].as_str() {
        Some(version) if version.starts_with('4') => Rules::Crs4,
        Some(_) => Rules::OtherCrs,
        None => Rules::Baseline,
    }
}

/// ModSecurity's JSON layout.
fn read_record(line: &str) -> Checked<Record> {
    let record: Value = serde_json::from_str(line).map_err(|error| format!("audit record: {error}: {line}"))?;
    let transaction = &record["transaction"];
    let messages = transaction["messages"].as_array().ok_or_else(|| format!("no messages in {line}"))?;
    let id = |message: &Value| match &message["details"]["ruleId"] {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|id| u32::try_from(id).ok()),
    };
    let rules = messages.iter().map(|message| id(message).ok_or_else(|| format!("no rule id in {message}")));
    Ok(Record {
        rules: rules.collect::<Checked<_>>()?,
        client: transaction["client_ip"].as_str().unwrap_or_default().to_owned(),
    })
}
