//! Envoy over plain HTTP (`http_service`, our `/check` door): `deploy/envoy/envoy-http.yaml`.

use std::path::Path;

use tempfile::TempDir;

use crate::cases::{self, Bodies, Front};
use crate::envoy;
use crate::support::backend::Backend;
use crate::support::deploy::{self, Changes};
use crate::support::envoy::{Envoy, PATIENT};
use crate::support::http::Ask;
use crate::support::sidecar::{Setup, Sidecar};
use crate::support::suite::Suite;

fn start(program: &Path, sidecar: &Sidecar, backend: &Backend, more: Changes<'_>) -> Envoy {
    let changes = [
        ("port_value: 8000}", format!("port_value: {}}}", backend.port)),
        ("port_value: 9292}", format!("port_value: {}}}", sidecar.forward_auth)),
    ];
    let text = deploy::adapted("envoy/envoy-http.yaml", &changes);
    Envoy::start(program, &text, [10001, 9902], more)
}

fn front<'f>(envoy: &Envoy, sidecar: &'f Sidecar, backend: &'f Backend) -> Front<'f> {
    // Envoy gives the call a length of its own, so that of the request is not known.
    let bodies = Bodies::Judged { over: 413, exact: false };
    Front { port: envoy.port, sidecar, backend, bodies, raw_targets: false, forwards: false, client: "", failed: 503 }
}

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    let Some(program) = envoy::program(suite) else { return };
    suite.case("the file is valid", || envoy::validate(&program, &deploy::path("envoy/envoy-http.yaml")));
    let backend = Backend::start();
    let patient = [(PATIENT.0, PATIENT.1.to_owned())];
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level));
        let envoy = start(&program, &sidecar, &backend, &patient);
        let front = front(&envoy, &sidecar, &backend);
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
    let envoy = start(&program, &sidecar, &backend, &patient);
    cases::own_rules(suite, &front(&envoy, &sidecar, &backend));
    gone(suite, &program, &backend);
}

fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let closed = start(program, &sidecar, backend, &[]);
    let open =
        start(program, &sidecar, backend, &[("failure_mode_allow: false", "failure_mode_allow: true".to_owned())]);
    let nowhere = start(program, &sidecar, backend, &[("/check/default", "/check/nowhere".to_owned())]);
    cases::unknown_policy(suite, &front(&nowhere, &sidecar, backend));
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
