//! Envoy over gRPC: `deploy/envoy/envoy.yaml`, and the pod's variant of it in `deploy/kubernetes/sidecar.yaml`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::cases::{self, Bodies, Front, Want};
use crate::manifests;
use crate::support::backend::Backend;
use crate::support::deploy;
use crate::support::envoy::{self, Envoy, PATIENT};
use crate::support::http::Ask;
use crate::support::process;
use crate::support::sidecar::{Rules, Setup, Sidecar};
use crate::support::suite::Suite;
use crate::support::{Checked, ensure, h2};

/// The program, or a counted skip.
pub(crate) fn program(suite: &mut Suite) -> Option<PathBuf> {
    let found = process::find("envoy");
    if found.is_none() {
        suite.missing("envoy", envoy::INSTALL);
    }
    found
}

/// `envoy --mode validate` on a file.
pub(crate) fn validate(program: &Path, file: &Path) -> Checked {
    process::succeed(Command::new(program).args(["--mode", "validate", "-l", "error", "-c"]).arg(file))
}

fn front<'f>(envoy: &Envoy, sidecar: &'f Sidecar, backend: &'f Backend) -> Front<'f> {
    let bodies = Bodies::Judged { over: 413, exact: true };
    // On loopback Envoy names an address of its own, or the client's.
    Front { port: envoy.port, sidecar, backend, bodies, raw_targets: false, forwards: false, client: "", failed: 503 }
}

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    let Some(program) = program(suite) else { return };
    suite.case("the file is valid", || validate(&program, &deploy::path("envoy/envoy.yaml")));
    let backend = Backend::start();
    let patient = [(PATIENT.0, PATIENT.1.to_owned())];
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level));
        let envoy = Envoy::guarding(&program, &sidecar, backend.port, &patient);
        let front = front(&envoy, &sidecar, &backend);
        cases::searches(suite, &front);
        if level == 1 {
            cases::bytes(suite, &front);
            cases::bodies(suite, &front);
            cases::spoofing(suite, &front);
            cases::crowd(suite, &front);
            http2(suite, &front);
            suite.case("dynamic metadata in the access log", || access_log(&front, &envoy));
            suite.case("verdicts from the cache", || cached(&front));
        }
    }
    let dir = TempDir::new().unwrap();
    let sidecar = cases::with_own_rules(dir.path());
    let envoy = Envoy::guarding(&program, &sidecar, backend.port, &patient);
    cases::own_rules(suite, &front(&envoy, &sidecar, &backend));
    suite.case("a Unix socket, as in the pod", || unix_socket(&program, &backend));
    suite.case("relevant metadata and headers only", || relevant_only(&program, &backend));
    gone(suite, &program, &backend);
}

/// HTTP/2, where bytes reach the path that HTTP/1 refuses.
fn http2(suite: &mut Suite, front: &Front<'_>) {
    let form = "application/x-www-form-urlencoded";
    let script = "%3Cscript%3Ealert(1)%3C/script%3E";
    let rows: [(&str, Vec<u8>, &str, u16); 6] = [
        ("HTTP/2", b"/search?q=apple".into(), "", 200),
        ("HTTP/2, an attack", format!("/search?q={script}").into(), "", 403),
        ("HTTP/2, a harmless byte in the path", b"/caf\xe9".into(), "", 200),
        ("HTTP/2, an attack after a byte", [b"/\xff?q=\xff", script.as_bytes()].concat(), "", 403),
        ("HTTP/2, a form", b"/profile".into(), "name=Jane", 200),
        ("HTTP/2, an attack in a form", b"/profile".into(), "name=%3Cscript%3Ealert(1)%3C/script%3E", 403),
    ];
    for (name, path, body, want) in rows {
        let method: &[u8] = if body.is_empty() { b"GET" } else { b"POST" };
        let length = body.len().to_string();
        let mut headers: Vec<(&[u8], &[u8])> = vec![(b":method", method), (b":scheme", b"http"), (b":path", &path)];
        headers.extend([
            (&b":authority"[..], &b"shop.example"[..]),
            (b"user-agent", b"Mozilla/5.0"),
            (b"accept", b"*/*"),
        ]);
        if !body.is_empty() {
            headers.extend([(&b"content-type"[..], form.as_bytes()), (b"content-length", length.as_bytes())]);
        }
        suite.case(name, || {
            let status = h2::status(front.port, &headers, body.as_bytes())?;
            ensure(status == want, || format!("{want} expected, got {status}"))
        });
    }
}

/// Verdict, score and rules of a denial and of a pass, as an operator finds them.
fn access_log(front: &Front<'_>, envoy: &Envoy) -> Checked {
    let script = "/log?q=%3Cscript%3Ealert(1)%3C/script%3E";
    let refusal = Ask::get(script).send(front.port)?;
    cases::refused(&refusal, 403)?;
    cases::passed(&Ask::get("/log?q=apple").send(front.port)?)?;
    let denied = logged(envoy, script)?;
    let id = denied["waf_request_id"].as_str().unwrap_or("none");
    ensure(refusal.text().contains(id), || format!("the client got {}, the log {id}", refusal.summary()))?;
    ensure(denied["waf_verdict"] == "deny" && denied["details"] == "ext_authz_denied", || denied.to_string())?;
    ensure(front.sidecar.rules != Rules::Crs4 || denied["waf_rules"].to_string().contains("941100"), || {
        denied.to_string()
    })?;
    let passed = logged(envoy, "/log?q=apple")?;
    ensure(passed["waf_verdict"] == "allow" && passed["waf_score"].as_f64() == Some(0.0), || passed.to_string())?;
    ensure(passed["waf_request_id"].as_str().is_some_and(|id| !id.is_empty()), || passed.to_string())
}

/// A plain pass then leaves the fields of the access log empty, and a denial does not; the application gets our headers
/// where the client had some of its own.
fn relevant_only(program: &Path, backend: &Backend) -> Checked {
    let setup = Setup::at(1).with("metadata: all ", "metadata: relevant ");
    let sidecar = Sidecar::start(setup.with("upstream_headers: all ", "upstream_headers: relevant "));
    let envoy = Envoy::guarding(program, &sidecar, backend.port, &[(PATIENT.0, PATIENT.1.to_owned())]);
    let front = front(&envoy, &sidecar, backend);
    let script = "/log?q=%3Cscript%3Ealert(1)%3C/script%3E";
    cases::refused(&Ask::get(script).send(front.port)?, 403)?;
    let denied = logged(&envoy, script)?;
    ensure(denied["waf_verdict"] == "deny" && denied["waf_rules"].is_array(), || denied.to_string())?;
    let reply = Ask::get("/log?q=apple").send(front.port)?;
    cases::passed(&reply)?;
    ensure(!reply.text().to_ascii_lowercase().contains("x-waf-"), || reply.summary())?;
    cases::own_verdict(&front)?;
    let passed = logged(&envoy, "/log?q=apple")?;
    ensure(passed["status"] == 200 && passed["waf_verdict"].is_null(), || passed.to_string())
}

/// The access log's line for a path.
fn logged(envoy: &Envoy, path: &str) -> Checked<Value> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        let log = envoy.process.output();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        if let Some(line) = lines.into_iter().find(|line| line["path"] == path) {
            return Ok(line);
        }
        thread::sleep(Duration::from_millis(50));
    }
    Err(format!("no line for {path} in the access log"))
}

/// Envoy gives every request an `x-request-id` of its own; the verdict comes from the cache all the same. An attack in
/// another header that changes all the time is found.
fn cached(front: &Front<'_>) -> Checked {
    let ask = Ask::get("/cached?q=apple");
    let before = cases::cache_hits(front.sidecar);
    let mut ids = Vec::new();
    for _ in 0..5 {
        let reply = ask.clone().send(front.port)?;
        cases::passed(&reply)?;
        let text = reply.text().to_ascii_lowercase();
        ids.extend(text.lines().find(|line| line.starts_with("x-request-id:")).map(str::to_owned));
    }
    ids.sort();
    ids.dedup();
    ensure(ids.len() == 5, || format!("request ids {ids:?}"))?;
    let hits = cases::cache_hits(front.sidecar) - before;
    ensure(hits >= 4.0, || {
        let metrics = front.sidecar.metrics();
        let cache: Vec<&str> = metrics.lines().filter(|line| line.starts_with("portcullis_cache_")).collect();
        format!("{hits} hits in five equal requests\n{}", cache.join("\n"))
    })?;
    let attack = ask.header("Traceparent", cases::JAVA);
    cases::refused(&attack.send(front.port)?, 403)
}

/// The configuration out of the pod's ConfigMap, with the sidecar's door on a Unix socket.
fn unix_socket(program: &Path, backend: &Backend) -> Checked {
    let dir = TempDir::new().unwrap();
    let socket = dir.path().join("authz.sock");
    let sidecar = Sidecar::start(Setup { socket: Some(socket.clone()), ..Setup::at(1) });
    let changes = [
        ("port_value: 8000}", format!("port_value: {}}}", backend.port)),
        ("/run/portcullis/authz.sock", socket.display().to_string()),
        (PATIENT.0, PATIENT.1.to_owned()),
    ];
    let envoy = Envoy::start(program, &manifests::pod_file("envoy.yaml"), [10000, 9901], &changes);
    let front = front(&envoy, &sidecar, backend);
    cases::judged(&front, Ask::get("/search?q=apple"), Want::Pass)?;
    cases::judged(&front, Ask::get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E"), Want::DenyFamily(941))
}

/// The sidecar dead, back again, and stopped in mid-flight; Envoy failing closed and open.
fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let closed = Envoy::guarding(program, &sidecar, backend.port, &[]);
    let open = Envoy::guarding(
        program,
        &sidecar,
        backend.port,
        &[("failure_mode_allow: false", "failure_mode_allow: true".to_owned())],
    );
    let ask = |port: u16| Ask::get("/").send(port);
    sidecar.process.signal("STOP");
    suite.case("too slow, fail closed", || cases::refused(&ask(closed.port)?, 503));
    suite.case("too slow, fail open", || cases::passed(&ask(open.port)?));
    sidecar.process.signal("CONT");
    sidecar.kill();
    suite.case("killed, fail closed", || cases::refused(&ask(closed.port)?, 503));
    suite.case("killed, fail open", || cases::passed(&ask(open.port)?));
    sidecar.revive();
    suite.case("back again", || cases::recovers(closed.port));
}
