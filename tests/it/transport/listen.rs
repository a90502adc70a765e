//! Sockets: Unix ones, stale ones, and how doors close.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::time::Duration;

use portcullis::config::Address;
use portcullis::transport::listen::Listener;
use tokio::io::AsyncWriteExt;

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
