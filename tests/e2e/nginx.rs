//! nginx with auth_request: `deploy/nginx/nginx.conf`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::cases::{self, Bodies, Front};
use crate::support::backend::Backend;
use crate::support::deploy::{self, Changes};
use crate::support::ensure;
use crate::support::http::Ask;
use crate::support::process::{self, Process};
use crate::support::sidecar::{Setup, Sidecar};
use crate::support::suite::Suite;

const INSTALL: &str = "Debian's package `nginx-light`";
const READY: Duration = Duration::from_secs(30);
/// An unoptimised binary on a busy machine; the slow cases keep the file's own.
const PATIENT: (&str, &str) = ("proxy_read_timeout 1s", "proxy_read_timeout 5s");

struct Nginx {
    _process: Process,
    port: u16,
    _dir: TempDir,
}

fn start(program: &Path, sidecar: &Sidecar, backend: &Backend, more: Changes<'_>) -> Nginx {
    let dir = TempDir::new().unwrap();
    let port = process::free_port();
    let mut changes = vec![
        ("server 127.0.0.1:8000", format!("server 127.0.0.1:{}", backend.port)),
        ("server 127.0.0.1:9292", format!("server 127.0.0.1:{}", sidecar.forward_auth)),
        ("0.0.0.0:8082", format!("127.0.0.1:{port}")),
        // Its workers share one process with their master: ended together.
        ("worker_processes auto;", "daemon off; master_process off;".to_owned()),
    ];
    changes.extend(more.iter().cloned());
    let file = deploy::write(dir.path(), "nginx/nginx.conf", &changes);
    let mut process =
        Process::start("nginx", dir.path(), Command::new(program).arg("-p").arg(dir.path()).arg("-c").arg(file));
    process.wait_until(READY, || process::listening(port));
    Nginx { _process: process, port, _dir: dir }
}

fn front<'f>(nginx: &Nginx, sidecar: &'f Sidecar, backend: &'f Backend) -> Front<'f> {
    let bodies = Bodies::Withheld;
    Front {
        port: nginx.port,
        sidecar,
        backend,
        bodies,
        raw_targets: true,
        forwards: true,
        client: "127.0.0.1",
        failed: 500,
    }
}

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    let Some(program) = process::find("nginx") else { return suite.missing("nginx", INSTALL) };
    suite.case("the file is valid", || {
        let dir = TempDir::new().unwrap();
        let file = deploy::path("nginx/nginx.conf");
        process::succeed(Command::new(&program).arg("-t").arg("-p").arg(dir.path()).arg("-c").arg(file))
    });
    let backend = Backend::start();
    let patient = [(PATIENT.0, PATIENT.1.to_owned())];
    for level in [1, 4] {
        let sidecar = Sidecar::start(Setup::at(level).with("deny_status: as_is", "deny_status: 403"));
        let nginx = start(&program, &sidecar, &backend, &patient);
        let front = front(&nginx, &sidecar, &backend);
        cases::searches(suite, &front);
        if level == 1 {
            cases::bytes(suite, &front);
            cases::bodies(suite, &front);
            cases::withheld(suite, &front);
            cases::spoofing(suite, &front);
            cases::crowd(suite, &front);
        }
    }
    gone(suite, &program, &backend);
}

fn gone(suite: &mut Suite, program: &Path, backend: &Backend) {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let closed = start(program, &sidecar, backend, &[]);
    let open = start(program, &sidecar, backend, &[("#fail-open# ", String::new())]);
    let nowhere = start(program, &sidecar, backend, &[("portcullis/verify;", "portcullis/verify/nowhere;".to_owned())]);
    cases::unknown_policy(suite, &front(&nowhere, &sidecar, backend));
    let ask = |port: u16| Ask::get("/").send(port);
    suite.case("a refused client can quote the id", || {
        let reply = Ask::get("/?q=%3Cscript%3Ealert(1)%3C/script%3E").send(closed.port)?;
        cases::refused(&reply, 403)?;
        ensure(reply.header("x-waf-request-id").is_some_and(|id| !id.is_empty()), || "no id".to_owned())
    });
    suite.case("fail open still refuses attacks", || {
        cases::refused(&Ask::get("/?q=%3Cscript%3Ealert(1)%3C/script%3E").send(open.port)?, 403)
    });
    sidecar.process.signal("STOP");
    suite.case("too slow, fail closed", || cases::refused(&ask(closed.port)?, 500));
    suite.case("too slow, fail open", || cases::passed(&ask(open.port)?));
    sidecar.process.signal("CONT");
    sidecar.kill();
    suite.case("killed, fail closed", || cases::refused(&ask(closed.port)?, 500));
    suite.case("killed, fail open", || cases::passed(&ask(open.port)?));
    sidecar.revive();
    suite.case("back again", || cases::recovers(closed.port));
}
