//! Sockets: Unix ones, stale ones, and how doors close.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use portcullis::config::Address;
use portcullis::transport::listen::{Listener, Protocol, stopped};
use portcullis::transport::workers::Workers;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

use super::double::{Script, Setup};
use super::wire::{Check, call, check, connect, framed, grpc, http};

fn verify() -> Vec<u8> {
    call("GET /verify", &[(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", b"/")], b"")
}

#[tokio::test]
async fn both_doors_can_be_unix_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let (grpc, forward) = (folder.path().join("grpc.sock"), folder.path().join("http.sock"));
    // What a killed server leaves behind.
    drop(std::os::unix::net::UnixListener::bind(&grpc).unwrap());
    assert!(grpc.exists());
    let setup = Setup { grpc: Address::Unix(grpc.clone()), http: Address::Unix(forward.clone()), ..Setup::default() };
    let doors = setup.start().await;
    for path in [&grpc, &forward] {
        let metadata = std::fs::metadata(path).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o660);
    }
    assert!(check(&doors.grpc, &Check::default()).await.allowed());
    assert_eq!(http(&doors.http, &verify()).await.status, 200);
    assert!(Listener::bind(&doors.grpc).await.is_err(), "somebody listens there");
    doors.stop();
    doors.stopped().await;
    assert!(!grpc.exists() && !forward.exists());
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "mine").unwrap();
    assert!(Listener::bind(&Address::Unix(path.clone())).await.is_err());
    assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_way_are_finished_and_no_new_ones_taken() {
    let doors = Setup::default().start().await;
    *doors.judge.script.lock().unwrap() = Script::Sleep(Duration::from_millis(300));
    let (grpc_address, http_address) = (doors.grpc.clone(), doors.http.clone());
    let slow_grpc = tokio::spawn(async move { grpc(&grpc_address, framed(&Check::default().encode()), None).await });
    let slow_http = tokio::spawn(async move { http(&http_address, &verify()).await });
    while doors.judge.count() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let Address::Tcp(address) = doors.http.clone() else { panic!("a TCP address") };
    doors.stop();
    let waited = doors.stopped().await;
    assert!(slow_grpc.await.unwrap().check().allowed());
    assert_eq!(slow_http.await.unwrap().status, 200);
    assert!(waited < Duration::from_secs(4), "{waited:?}");
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_call_that_never_ends_does_not_hold_the_doors_open_for_ever() {
    let doors = Setup { grace: Duration::from_millis(200), ..Setup::default() }.start().await;
    let mut stream = connect(&doors.http).await;
    stream.write_all(b"POST /verify HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf").await.unwrap();
    let mut idle = connect(&doors.grpc).await;
    idle.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    doors.stop();
    let waited = doors.stopped().await;
    assert!(waited < Duration::from_secs(3), "{waited:?}");
}

/// Tells each connection the name of the thread that serves it, in one byte, and keeps it open.
#[derive(Clone)]
struct WhoServes;

impl Protocol for WhoServes {
    async fn connection<I>(&self, io: TokioIo<I>, mut stop: watch::Receiver<bool>)
    where
        I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut io = io.into_inner();
        let name = std::thread::current().name().unwrap_or_default().trim_start_matches("door-").to_owned();
        io.write_all(&[name.parse().unwrap()]).await.unwrap();
        stopped(&mut stop).await;
    }
}

#[tokio::test]
async fn connections_are_spread_evenly_over_workers() {
    let folder = tempfile::tempdir().unwrap();
    let workers = Workers::start().unwrap();
    for address in ["127.0.0.1:0".parse().map(Address::Tcp).unwrap(), Address::Unix(folder.path().join("door.sock"))] {
        let all = workers.beginning_with(1);
        let first = all[0].clone();
        let listener = {
            let _there = first.enter();
            Listener::bind(&address).await.unwrap()
        };
        let address = listener.address().unwrap();
        let (stopper, stop) = watch::channel(false);
        let (count, grace) = (all.len(), Duration::from_secs(5));
        let serving = first.spawn(listener.serve_on(all, WhoServes, stop, grace));
        let (mut served, mut open) = (BTreeMap::new(), Vec::new());
        for _ in 0..count * 3 {
            let mut stream = connect(&address).await;
            *served.entry(stream.read_u8().await.unwrap()).or_insert(0) += 1;
            open.push(stream);
        }
        assert_eq!((served.len(), served.values().all(|each| *each == 3)), (count, true), "{served:?}");
        let asked = std::time::Instant::now();
        stopper.send_replace(true);
        serving.await.unwrap();
        assert!(asked.elapsed() < grace, "each connection was told");
    }
}
