//! Many headers, long heads, slow peers.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use portcullis::service::FailureKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::double::{Doors, Setup};
use super::wire::{Check, call, connect, framed, grpc_call, http};

#[tokio::test]
async fn as_many_and_as_long_headers_as_traefik_lets_through() {
    let doors = Doors::open().await;
    let names: Vec<String> = (0..900).map(|number| format!("X-Own-{number}")).collect();
    let mut headers: Vec<(&[u8], &[u8])> = vec![(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", b"/")];
    headers.extend(names.iter().map(|name| (name.as_bytes(), &b"1"[..])));
    assert_eq!(http(&doors.http, &call("GET /verify", &headers, b"")).await.status, 200);
    assert_eq!(doors.judge.take().headers.len(), 900);
    let long = vec![b'a'; 1 << 20];
    let headers: [(&[u8], &[u8]); 3] =
        [(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", b"/"), (b"X-Long", &long)];
    assert_eq!(http(&doors.http, &call("GET /verify", &headers, b"")).await.status, 200);
    assert_eq!(doors.judge.take().values("x-long"), [&long[..]]);
    // Beyond that: refused, which is a denial to every proxy.
    let names: Vec<String> = (0..1100).map(|number| format!("X-Own-{number}")).collect();
    let headers: Vec<(&[u8], &[u8])> = names.iter().map(|name| (name.as_bytes(), &b"1"[..])).collect();
    assert_eq!(http(&doors.http, &call("GET /verify", &headers, b"")).await.status, 431);
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let doors = Setup { head_timeout: Duration::from_millis(100), ..Setup::default() }.start().await;
    let mut stream = connect(&doors.http).await;
    stream.write_all(b"GET /verify HTTP/1.1\r\nX-Forwarded-").await.unwrap();
    let mut rest = Vec::new();
    let start = Instant::now();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest))
        .await
        .expect("the connection ends")
        .unwrap();
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert!(!rest.starts_with(b"HTTP/1.1 200"), "{rest:?}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_failure() {
    let doors = Setup { body_timeout: Duration::from_millis(100), ..Setup::default() }.start().await;
    let headers: [(&[u8], &[u8]); 3] =
        [(b"X-Forwarded-Method", b"POST"), (b"X-Forwarded-Uri", b"/"), (b"Content-Length", b"10")];
    assert_eq!(http(&doors.http, &call("POST /verify", &headers, b"half")).await.status, 503);
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Deadline)]);
}

#[tokio::test]
async fn a_message_that_does_not_come_is_a_failure_before_the_caller_gives_up() {
    let doors = Doors::open().await;
    let half = Bytes::from(framed(&Check::default().encode())).slice(..20);
    let half = tokio_stream::iter([Ok::<_, std::io::Error>(Frame::data(half))]);
    let body = StreamBody::new(tokio_stream::StreamExt::chain(half, tokio_stream::pending()));
    let start = Instant::now();
    let answer =
        grpc_call(&doors.grpc, "/envoy.service.auth.v3.Authorization/Check", Box::pin(body), Some("300m")).await;
    assert_eq!(answer.status, "14");
    assert!(start.elapsed() >= Duration::from_millis(250), "{:?}", start.elapsed());
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Deadline)]);
}

#[tokio::test]
async fn a_body_with_broken_chunks_is_a_failure() {
    let doors = Doors::open().await;
    let headers: [(&[u8], &[u8]); 3] =
        [(b"X-Forwarded-Method", b"POST"), (b"X-Forwarded-Uri", b"/"), (b"Transfer-Encoding", b"chunked")];
    let answer = http(&doors.http, &call("POST /verify", &headers, b"zz\r\nno chunk\r\n")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Undecodable)]);
}
