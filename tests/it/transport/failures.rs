//! Our own failures: each kind against both policies, through both doors.

use std::time::Duration;

use portcullis::service::{Answer, FailureKind, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::double::{Doors, Script, Setup};
use super::wire::{Check, GrpcAnswer, HttpAnswer, call, connect, framed, grpc, http};

fn verify() -> Vec<u8> {
    call("GET /verify", &[(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", b"/")], b"")
}

async fn ask(doors: &Doors) -> (GrpcAnswer, HttpAnswer) {
    (grpc(&doors.grpc, framed(&Check::default().encode()), None).await, http(&doors.http, &verify()).await)
}

/// Closed: gRPC UNAVAILABLE and HTTP 503. Open: a yes that says why.
fn assert_policy(open: bool, (grpc, http): &(GrpcAnswer, HttpAnswer), what: &str) {
    if open {
        let check = grpc.check();
        assert!(check.allowed(), "{what}");
        assert_eq!(check.header("x-waf-verdict"), Some("error"), "{what}");
        assert_eq!((http.status, http.body.as_str(), http.header("x-waf-verdict")), (200, "", Some("error")), "{what}");
    } else {
        let text = "request could not be checked; request id req-1";
        assert_eq!((grpc.status.as_str(), grpc.message.as_str()), ("14", text), "{what}");
        assert!(grpc.bytes.is_empty(), "{what}");
        assert_eq!((http.status, http.body.as_str()), (503, text), "{what}");
    }
}

#[tokio::test]
async fn each_kind_of_failure_follows_the_policy() {
    let kinds = [
        FailureKind::Panic,
        FailureKind::Deadline,
        FailureKind::Overload,
        FailureKind::Budget,
        FailureKind::MatchLimit,
        FailureKind::Undecodable,
        FailureKind::UnknownPolicy,
        FailureKind::Internal,
    ];
    for open in [false, true] {
        let doors = Setup { open, ..Setup::default() }.start().await;
        for kind in kinds {
            doors.judge.answers(Answer::Failure { kind, open });
            assert_policy(open, &ask(&doors).await, kind.name());
        }
    }
}

#[tokio::test]
async fn a_panic_becomes_an_answer() {
    for open in [false, true] {
        let doors = Setup { open, ..Setup::default() }.start().await;
        *doors.judge.script.lock().unwrap() = Script::Panic;
        assert_policy(open, &ask(&doors).await, "panic");
        assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Panic), (None, FailureKind::Panic)]);
        // And the doors are still there. (The double's locks are poisoned only if it panics while holding one.)
        doors.judge.answers(Answer::Allow);
        let (grpc, http) = ask(&doors).await;
        assert!(grpc.check().allowed());
        assert_eq!(http.status, 200);
    }
}

#[tokio::test]
async fn more_calls_than_allowed_are_shed_at_once() {
    for open in [false, true] {
        let doors = Setup { open, limits: Limits { calls: 0, bytes: 1 << 20 }, ..Setup::default() }.start().await;
        assert_policy(open, &ask(&doors).await, "no calls");
        assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Overload), (None, FailureKind::Overload)]);
        assert_eq!(doors.judge.count(), 0);
    }
}

#[tokio::test]
async fn more_bytes_than_allowed_are_shed_before_they_are_read() {
    let doors = Setup { limits: Limits { calls: 10, bytes: 150 }, ..Setup::default() }.start().await;
    let post = |length: &'static [u8], body: &[u8]| {
        let headers: [(&[u8], &[u8]); 3] =
            [(b"X-Forwarded-Method", b"POST"), (b"X-Forwarded-Uri", b"/"), (b"Content-Length", length)];
        call("POST /verify", &headers, body)
    };
    // One call announces 100 bytes and sends half of them.
    let mut first = connect(&doors.http).await;
    first.write_all(&post(b"100", &[b'x'; 50])).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(http(&doors.http, &post(b"51", &[b'x'; 51])).await.status, 503);
    let big = Check { raw_body: vec![b'x'; 200], ..Check::default() };
    assert_eq!(grpc(&doors.grpc, framed(&big.encode()), None).await.status, "14");
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Overload), (None, FailureKind::Overload)]);
    assert_eq!(http(&doors.http, &post(b"50", &[b'x'; 50])).await.status, 200);
    // Once it is answered there is room again.
    first.write_all(&[b'x'; 50]).await.unwrap();
    let mut answer = Vec::new();
    first.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    assert_eq!(http(&doors.http, &post(b"51", &[b'x'; 51])).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_decision_does_not_stop_the_others() {
    let doors = Doors::open().await;
    *doors.judge.script.lock().unwrap() = Script::Sleep(Duration::from_millis(100));
    let (first, second) = tokio::join!(ask(&doors), ask(&doors));
    for (grpc, http) in [first, second] {
        assert!(grpc.check().allowed());
        assert_eq!(http.status, 200);
    }
}
