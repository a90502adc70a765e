//! Traefik with forwardAuth: `deploy/traefik/traefik.yaml` and `dynamic.yaml`.

use std::path::Path;

use tempfile::TempDir;

use crate::cases::{self, Bodies, Front};
use crate::support::backend::Backend;
use crate::support::http::Ask;
use crate::support::process;
use crate::support::sidecar::{Setup, Sidecar};
use crate::support::suite::Suite;
use crate::support::traefik::{self, Traefik};

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
    let Some(program) = process::find("traefik") else { return suite.missing("traefik", traefik::INSTALL) };
    let backend = Backend::start();
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level));
        let traefik = Traefik::guarding(&program, &sidecar, backend.port, &[]);
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
    let traefik = Traefik::guarding(&program, &sidecar, backend.port, &[]);
    cases::own_rules(suite, &front(&traefik, &sidecar, &backend));
    gone(suite, &program, &backend);
}

/// Traefik always fails closed. (Its time-out is fixed at 30 s, so the slow case is left to the proxies where it is ours.)
fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let traefik = Traefik::guarding(program, &sidecar, backend.port, &[]);
    let nowhere = Traefik::guarding(program, &sidecar, backend.port, &[("/verify\"", "/verify/nowhere\"".to_owned())]);
    cases::unknown_policy(suite, &front(&nowhere, &sidecar, backend));
    sidecar.kill();
    suite.case("killed", || cases::refused(&Ask::get("/").send(traefik.port)?, 500));
    sidecar.revive();
    suite.case("back again", || cases::recovers(traefik.port));
}
