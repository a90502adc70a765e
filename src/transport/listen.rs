//! Sockets: where connections come from, and how they end.
//!
//! Knows no protocol: a [`Protocol`] serves each connection. A stopped listener takes no more connections and lets the
//! open ones finish what they are at, for a while.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use super::workers::{Desks, Worker};
use crate::config::Address;

/// Connections at once per listener; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 8192;

/// A peer that has been silent for so long is asked whether it is still there, again and again.
const SILENT_AFTER: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_secs(10);

/// The mode of Unix sockets: whoever shares our user or group may connect.
const SOCKET_MODE: u32 = 0o660;

/// A socket that is bound.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket; its file goes when this does.
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket, removed when dropped.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.0);
    }
}

/// A way to serve one connection until its end. When `stop` changes it finishes what it is at and ends.
pub trait Protocol: Clone + Send + Sync + 'static {
    /// Serves one connection.
    fn connection<I>(&self, io: TokioIo<I>, stop: watch::Receiver<bool>) -> impl Future<Output = ()> + Send
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static;
}

impl Listener {
    /// Binds an address. A Unix socket's file that nobody listens at any more is removed first.
    pub async fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).await?;
                prepare(&listener)?;
                Ok(Self::Tcp(listener))
            }
            Address::Unix(path) => {
                remove_stale(path).await?;
                let listener = UnixListener::bind(path)?;
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(SOCKET_MODE))?;
                Ok(Self::Unix(listener, SocketFile(path.clone())))
            }
        }
    }

    /// The address that was bound, ports filled in, in the form of the configuration.
    pub fn address(&self) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Self::Unix(_, file) => Ok(Address::Unix(file.0.clone())),
        }
    }

    /// Serves connections on this thread's runtime until `stop` turns true, then waits at most `grace` for those that are
    /// open.
    pub async fn serve<P: Protocol>(self, protocol: P, stop: watch::Receiver<bool>, grace: Duration) {
        self.serve_on(Vec::new(), protocol, stop, grace).await;
    }

    /// The same with connections spread over `workers`, the first of which has to be where this runs.
    pub async fn serve_on<P: Protocol>(
        self,
        workers: Vec<Handle>,
        protocol: P,
        stop: watch::Receiver<bool>,
        grace: Duration,
    ) {
        let mut connections = JoinSet::new();
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let desks = Desks::new(workers);
        let mut stopping = stop.clone();
        let mut stopped = pin!(stopped(&mut stopping));
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut stopped => break,
                accepted = self.accept(&room) => accepted,
            };
            // Reaped here and not as they end: each end would wake this thread.
            while connections.try_join_next().is_some() {}
            if let Err(error) =
                accepted.and_then(|accepted| accepted.start(&desks, &mut connections, protocol.clone(), stop.clone()))
            {
                // No descriptors left, mostly: take a breath rather than spin.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        drop(self);
        let drained = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, drained).await.is_err() {
            tracing::warn!("connections were still open at the end of the grace period");
        }
    }

    async fn accept(&self, room: &Arc<Semaphore>) -> io::Result<Accepted> {
        let room = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
        let stream = match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                if cfg!(not(target_os = "linux")) {
                    let _gone_already = stream.set_nodelay(true);
                }
                Stream::Tcp(stream)
            }
            Self::Unix(listener, _) => Stream::Unix(listener.accept().await?.0),
        };
        Ok(Accepted { stream, room })
    }
}

/// A connection that was accepted.
struct Accepted {
    stream: Stream,
    room: OwnedSemaphorePermit,
}

impl Accepted {
    /// Serves the connection where there is most room.
    fn start<P: Protocol>(
        self,
        desks: &Desks,
        connections: &mut JoinSet<()>,
        protocol: P,
        stop: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let Self { stream, room } = self;
        let (worker, seat) = desks.seat();
        let held = (room, seat);
        match worker {
            // What serves a connection is some kilobytes: in a box of its own it is not moved with the task around it.
            Worker::Here => connections.spawn(async move {
                Box::pin(stream.serve(protocol, stop)).await;
                drop(held);
            }),
            Worker::There(handle) => {
                let stream = stream.leave()?;
                connections.spawn_on(
                    async move {
                        match stream.arrive() {
                            Ok(stream) => Box::pin(stream.serve(protocol, stop)).await,
                            Err(error) => tracing::warn!(%error, "cannot hand over a connection"),
                        }
                        drop(held);
                    },
                    handle,
                )
            }
        };
        Ok(())
    }
}

/// A connection that this thread's event loop watches.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A connection between two event loops.
enum Moving {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl Stream {
    async fn serve<P: Protocol>(self, protocol: P, stop: watch::Receiver<bool>) {
        match self {
            Self::Tcp(stream) => protocol.connection(TokioIo::new(stream), stop).await,
            Self::Unix(stream) => protocol.connection(TokioIo::new(stream), stop).await,
        }
    }

    fn leave(self) -> io::Result<Moving> {
        match self {
            Self::Tcp(stream) => stream.into_std().map(Moving::Tcp),
            Self::Unix(stream) => stream.into_std().map(Moving::Unix),
        }
    }
}

impl Moving {
    fn arrive(self) -> io::Result<Stream> {
        match self {
            Self::Tcp(stream) => TcpStream::from_std(stream).map(Stream::Tcp),
            Self::Unix(stream) => UnixStream::from_std(stream).map(Stream::Unix),
        }
    }
}

/// Sets on a listener what its connections are to have: on Linux they inherit it, which costs nothing for each.
///
/// Peers that have vanished without a word are found by the kernel. HTTP/2 has pings for that, but hyper then reads the
/// clock for each frame.
fn prepare(listener: &TcpListener) -> io::Result<()> {
    let socket = SockRef::from(listener);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENT_AFTER).with_interval(ASK_EVERY))
}

/// Waits until a stop is asked for; whoever could ask being gone counts too.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _gone = stop.wait_for(|&stop| stop).await;
}

async fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            Err(io::Error::new(ErrorKind::AlreadyExists, "there is a file that is no socket"))
        }
        Ok(_) => match UnixStream::connect(path).await {
            Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "somebody listens at this socket")),
            Err(_) => std::fs::remove_file(path),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_have_what_was_set_on_their_listener() {
        let address = Address::Tcp("127.0.0.1:0".parse().unwrap());
        let listener = Listener::bind(&address).await.unwrap();
        let Address::Tcp(address) = listener.address().unwrap() else { panic!("bound to TCP") };
        let _client = TcpStream::connect(address).await.unwrap();
        let accepted = listener.accept(&Arc::new(Semaphore::new(1))).await.unwrap();
        let Stream::Tcp(stream) = accepted.stream else { panic!("accepted from TCP") };
        let socket = SockRef::from(&stream);
        assert!(socket.tcp_nodelay().unwrap(), "answers are not held back");
        if cfg!(target_os = "linux") {
            assert!(socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), SILENT_AFTER);
            assert_eq!(socket.tcp_keepalive_interval().unwrap(), ASK_EVERY);
        }
    }
}
