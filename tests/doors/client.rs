//! The client: bytes out as they are, and who answered.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;
use tokio::runtime::Runtime;

use crate::backend::REQUEST_ID;
use crate::support::Checked;
use crate::support::http;

/// The client's address. Not 127.0.0.1: the CRS trusts that (905100) and would be switched off by its own tests.
const CLIENT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How long a proxy may take over a whole message.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long we wait for an answer to a message that goes on where the test ends it.
pub(crate) const LITTLE_PATIENCE: Duration = Duration::from_millis(700);

/// Who answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The backend: the request was let through. The id under which the sidecar judged it, as told to the backend.
    Passed(String),
    /// The sidecar, through the proxy.
    RefusedByUs(u16),
    /// The proxy.
    Refused(u16),
    /// Nobody: the proxy closed the connection, or waited for more.
    Nothing,
}

/// Sends messages, each over a connection of its own.
pub(crate) struct Client {
    runtime: Runtime,
    port: u16,
}

impl Client {
    /// A client of the proxy on this port.
    pub(crate) fn new(port: u16) -> Self {
        Self { runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(), port }
    }

    /// Sends a message and waits for the head of an answer.
    pub(crate) fn send(&self, message: &[u8], patience: Duration) -> Checked<Answer> {
        let mut stream = self.connect().map_err(|error| format!("connecting: {error}"))?;
        // A proxy may answer and close before it has read everything: the answer counts.
        let _ = stream.write_all(message);
        let answer = read(&mut stream, patience);
        let _ = stream.shutdown(Shutdown::Both);
        answer
    }

    /// The standard library cannot choose the near end of a connection.
    fn connect(&self) -> std::io::Result<TcpStream> {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let stream = self.runtime.block_on(async {
            let socket = TcpSocket::new_v4()?;
            socket.bind(SocketAddr::from((CLIENT, 0)))?;
            socket.connect(to).await?.into_std()
        })?;
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }
}

fn read(stream: &mut TcpStream, patience: Duration) -> Checked<Answer> {
    let until = Instant::now() + patience;
    let mut bytes = Vec::new();
    loop {
        if let Some(answer) = answer(&bytes) {
            return Ok(answer);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Answer::Nothing);
        }
        stream.set_read_timeout(Some(left)).map_err(|error| error.to_string())?;
        let mut buffer = [0; 4 << 10];
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(Answer::Nothing),
            Ok(count) => bytes.extend(&buffer[..count]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(Answer::Nothing),
            Err(error) => return Err(format!("reading: {error}")),
        }
    }
}

/// The answer, once its head is there. Bodies are of no interest, and one of a HEAD has none whatever its length says.
fn answer(bytes: &[u8]) -> Option<Answer> {
    let (start, headers, end) = http::head(bytes)?;
    let status: u16 = std::str::from_utf8(start.get(9..12)?).ok()?.parse().ok()?;
    if status < 200 {
        return answer(bytes.get(end..)?);
    }
    let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    Some(match (value("x-backend"), value(REQUEST_ID)) {
        (Some(id), _) => Answer::Passed(String::from_utf8_lossy(id).into_owned()),
        (None, Some(_)) => Answer::RefusedByUs(status),
        (None, None) => Answer::Refused(status),
    })
}
