//! Servers under measurement, each a process of its own, and the CPU time they have used.

use std::collections::HashMap;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// What is spoken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Door {
    /// gRPC `ext_authz`.
    Grpc,
    /// `/verify`.
    Http,
}

/// Where a server listens.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A port on loopback.
    Tcp(u16),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Place {
    /// A free port, or a path in this folder.
    pub(crate) fn free(unix: Option<PathBuf>) -> Self {
        unix.map_or_else(
            || Self::Tcp(TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()),
            Self::Unix,
        )
    }

    /// In the form of our configuration.
    fn written(&self) -> String {
        match self {
            Self::Tcp(port) => format!("127.0.0.1:{port}"),
            Self::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// The peer is told where to listen on its command line.
    pub(crate) fn read(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Unix(text.into()), Self::Tcp)
    }

    fn for_the_peer(&self) -> String {
        match self {
            Self::Tcp(port) => port.to_string(),
            Self::Unix(path) => path.display().to_string(),
        }
    }

    /// Connects, and waits for a server that is still starting.
    pub(crate) async fn connect(&self) -> Box<dyn Stream> {
        for _ in 0..400 {
            match self.try_connect().await {
                Ok(stream) => return stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
        panic!("the server did not come up within twenty seconds")
    }

    /// Connects.
    pub(crate) async fn try_connect(&self) -> std::io::Result<Box<dyn Stream>> {
        Ok(match self {
            Self::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port)).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Self::Unix(path) => Box::new(UnixStream::connect(path).await?),
        })
    }
}

/// Bytes both ways.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// A running server; stopped whatever happens.
pub(crate) struct Server {
    child: Child,
    pub(crate) place: Place,
}

/// CPU time by thread.
pub(crate) struct Cpu(HashMap<OsString, Duration>);

impl Cpu {
    /// What was used since `before`. Threads that have ended since are left out; those that serve do not end.
    pub(crate) fn since(&self, before: &Self) -> Duration {
        let used = self.0.iter().map(|(thread, now)| *now - before.0.get(thread).copied().unwrap_or_default());
        used.sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// The real binary with these settings.
    pub(crate) fn portcullis(door: Door, place: Place, settings: &[&str], counted: Option<&Path>) -> Self {
        let (open, shut) = match door {
            Door::Grpc => ("ext_authz", "forward_auth"),
            Door::Http => ("forward_auth", "ext_authz"),
        };
        let listen = [format!("listen.{open}={}", place.written()), format!("listen.{shut}=off")];
        // On a busy machine a queue of calls may outlast the usual deadline, and a failure is no check.
        let fixed = ["listen.admin=off", "audit.when=off", "deadline=10s"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.arg("serve");
        for setting in listen.iter().map(String::as_str).chain(fixed).chain(settings.iter().copied()) {
            command.args(["--set", setting]);
        }
        Self::start(command, place, counted)
    }

    /// This very program as the server that allows everything.
    pub(crate) fn allow_all(door: Door, place: Place, counted: Option<&Path>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["allow-all", if door == Door::Grpc { "grpc" } else { "http" }, &place.for_the_peer()]);
        Self::start(command, place, counted)
    }

    /// Starts a server, under callgrind if its instructions are to be counted, for which there must be a file to write to.
    fn start(command: Command, place: Place, counted: Option<&Path>) -> Self {
        let mut command = match counted {
            Some(file) => callgrind(&command, file),
            None => command,
        };
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, place }
    }

    /// User and system time so far of each thread, as the scheduler counts it.
    pub(crate) fn cpu(&self) -> Cpu {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanos = threads.filter_map(|thread| {
            let thread = thread.unwrap();
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            Some((thread.file_name(), Duration::from_nanos(text.split(' ').next()?.parse().ok()?)))
        });
        Cpu(nanos.collect())
    }

    /// Counts instructions from now on, or until now; what was counted so far is then in the file.
    pub(crate) fn count(&self, on: bool) {
        let words: &[&str] = if on { &["--instr=on"] } else { &["--instr=off", "--dump"] };
        for word in words {
            let mut control = Command::new("callgrind_control");
            let control = control.arg(word).arg(self.child.id().to_string()).stdout(Stdio::null()).status();
            assert!(control.unwrap().success(), "callgrind_control {word}");
        }
    }

    /// Resident memory in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    }
}

/// The same command under callgrind, not counting yet.
fn callgrind(command: &Command, file: &Path) -> Command {
    let mut under = Command::new("valgrind");
    under.args(["--tool=callgrind", "--instr-atstart=no"]).arg(format!("--callgrind-out-file={}", file.display()));
    under.arg(command.get_program()).args(command.get_args());
    under
}

/// The instructions that the files of a server hold, one for each time it was told to stop counting.
pub(crate) fn counted(file: &Path) -> u64 {
    let dump = file.with_extension("1");
    let text = std::fs::read_to_string(&dump).unwrap_or_else(|error| panic!("{}: {error}", dump.display()));
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals: ")).next_back();
    totals.and_then(|number| number.trim().parse().ok()).unwrap()
}
