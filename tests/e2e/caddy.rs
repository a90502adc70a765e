//! Caddy with forward_auth: `deploy/caddy/Caddyfile`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::cases::{self, Bodies, Front};
use crate::support::backend::Backend;
use crate::support::deploy::{self, Changes};
use crate::support::http::Ask;
use crate::support::process::{self, Process};
use crate::support::sidecar::{Setup, Sidecar};
use crate::support::suite::Suite;

const INSTALL: &str = "Debian's package `caddy`";
const READY: Duration = Duration::from_secs(30);
/// An unoptimised binary on a busy machine; the slow case keeps the file's own.
const PATIENT: (&str, &str) = ("response_header_timeout 1s", "response_header_timeout 5s");

struct Caddy {
    _process: Process,
    port: u16,
    _dir: TempDir,
}

fn start(program: &Path, sidecar: &Sidecar, backend: &Backend, more: Changes<'_>) -> Caddy {
    let dir = TempDir::new().unwrap();
    let port = process::free_port();
    let mut changes = vec![
        ("127.0.0.1:8000", format!("127.0.0.1:{}", backend.port)),
        ("forward_auth 127.0.0.1:9292", format!("forward_auth 127.0.0.1:{}", sidecar.forward_auth)),
        (":8083 {", format!(":{port} {{")),
        ("bind 0.0.0.0", "bind 127.0.0.1".to_owned()),
    ];
    changes.extend(more.iter().cloned());
    let file = deploy::write(dir.path(), "caddy/Caddyfile", &changes);
    let mut command = caddy(program, dir.path());
    let mut process =
        Process::start("caddy", dir.path(), command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file));
    process.wait_until(READY, || process::listening(port));
    Caddy { _process: process, port, _dir: dir }
}

/// Caddy, keeping its files to itself.
fn caddy(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("HOME", dir).env("XDG_DATA_HOME", dir).env("XDG_CONFIG_HOME", dir);
    command
}

fn front<'f>(caddy: &Caddy, sidecar: &'f Sidecar, backend: &'f Backend) -> Front<'f> {
    let bodies = Bodies::Withheld;
    Front {
        port: caddy.port,
        sidecar,
        backend,
        bodies,
        raw_targets: true,
        forwards: true,
        client: "127.0.0.1",
        failed: 503,
    }
}

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    let Some(program) = process::find("caddy") else { return suite.missing("caddy", INSTALL) };
    suite.case("the file is valid", || {
        let dir = TempDir::new().unwrap();
        let file = deploy::path("caddy/Caddyfile");
        process::succeed(caddy(&program, dir.path()).args(["validate", "--adapter", "caddyfile", "--config"]).arg(file))
    });
    let backend = Backend::start();
    let patient = [(PATIENT.0, PATIENT.1.to_owned())];
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level));
        let caddy = start(&program, &sidecar, &backend, &patient);
        let front = front(&caddy, &sidecar, &backend);
        cases::searches(suite, &front);
        if level == 1 {
            cases::bytes(suite, &front);
            cases::bodies(suite, &front);
            cases::withheld(suite, &front);
            cases::spoofing(suite, &front);
            cases::crowd(suite, &front);
        }
    }
    let dir = TempDir::new().unwrap();
    let sidecar = cases::with_own_rules(dir.path());
    let caddy = start(&program, &sidecar, &backend, &patient);
    cases::own_rules(suite, &front(&caddy, &sidecar, &backend));
    gone(suite, &program, &backend);
}

/// Caddy always fails closed.
fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let caddy = start(program, &sidecar, backend, &[]);
    let nowhere = start(program, &sidecar, backend, &[("/verify?_", "/verify/nowhere?_".to_owned())]);
    cases::unknown_policy(suite, &front(&nowhere, &sidecar, backend));
    let failed = |port: u16| {
        let reply = Ask::get("/").send(port)?;
        cases::refused(&reply, reply.status.clamp(502, 504))
    };
    sidecar.process.signal("STOP");
    suite.case("too slow", || failed(caddy.port));
    sidecar.process.signal("CONT");
    sidecar.kill();
    suite.case("killed", || failed(caddy.port));
    sidecar.revive();
    suite.case("back again", || cases::recovers(caddy.port));
}
