//! Child processes that end with the test: dropped, panicked, or out of time.
//!
//! They stay in the test's process group, so that Ctrl-C and the gate's time-out reach them, too.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::Checked;

/// The process ids that are to be ended when time is out.
static LIVE: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Ends all children and the test itself after this time.
pub(crate) fn end_all_after(limit: Duration) {
    thread::spawn(move || {
        thread::sleep(limit);
        eprintln!("FAILED: e2e: not done after {limit:?}");
        for pid in LIVE.lock().unwrap().iter() {
            signal(*pid, "KILL");
        }
        std::process::exit(1);
    });
}

/// A child process with its output in files.
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts it; standard output goes to `DIR/NAME.out`, standard error to `DIR/NAME.err`.
    pub(crate) fn start(name: &str, dir: &Path, command: &mut Command) -> Self {
        let log = dir.join(name);
        let output = |end: &str| Stdio::from(File::create(log.with_extension(end)).unwrap());
        command.stdin(Stdio::null()).stdout(output("out")).stderr(output("err"));
        let child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        LIVE.lock().unwrap().push(child.id());
        Self { name: name.to_owned(), child, log }
    }

    /// Waits until it is ready. Panics with the end of its log when it ended or never was.
    pub(crate) fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut() -> bool) {
        let start = Instant::now();
        while !ready() {
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() || start.elapsed() > limit {
                let state = ended.map_or("is not ready".to_owned(), |status| format!("ended with {status}"));
                panic!("{} {state}\n{}", self.name, self.tail());
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends a signal by name: `TERM`, `KILL`, `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Waits until it ends by itself; `None` when it does not in time.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// What it wrote to standard output so far.
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log.with_extension("out")).unwrap()).into_owned()
    }

    /// What it wrote to standard error so far.
    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log.with_extension("err")).unwrap()).into_owned()
    }

    fn tail(&self) -> String {
        let text = self.output() + &self.errors();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A stopped process takes KILL as well. Both calls fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let id = self.child.id();
        if let Ok(mut live) = LIVE.lock() {
            live.retain(|pid| *pid != id);
        }
    }
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}: {status}");
}

/// Runs a command to its end; the error is its output.
pub(crate) fn succeed(command: &mut Command) -> Checked {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    super::ensure(output.status.success(), || {
        format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&text))
    })
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// Whether somebody listens there.
pub(crate) fn listening(port: u16) -> bool {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// Where a program is: an environment variable's word, the virtual environment, PATH, or Debian's sbin.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let variable = format!("PORTCULLIS_E2E_{}", program.to_uppercase());
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let venv = super::deploy::root().join(".venv/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(venv).chain(std::env::split_paths(&path)).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}
