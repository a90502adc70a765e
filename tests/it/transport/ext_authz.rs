//! Envoy's gRPC door in detail.

use std::time::Duration;

use bytes::Bytes;
use envoy_types::pb::google::protobuf::value::Kind;
use http_body_util::Full;
use portcullis::config::{Annotate, Expose};
use portcullis::service::{Answer, Door, FailureKind};
use tonic_health::ServingStatus;

use super::double::{Doors, SeenBody, Setup};
use super::wire::{Check, check, framed, grpc, grpc_call};

#[tokio::test]
async fn a_request_as_envoy_describes_it() {
    let doors = Doors::open().await;
    let request = Check {
        method: b"POST".to_vec(),
        path: b"/p?q=1".to_vec(),
        scheme: b"https".to_vec(),
        protocol: b"HTTP/2".to_vec(),
        raw_body: b"a=1".to_vec(),
        ..Check::default()
    };
    let request = request.policy(b"shop").raw(&[
        (b"cookie", b"a=1"),
        (b"x-repeat", b"1"),
        (b"cookie", b"b=2"),
        (b"x-empty", b""),
        (b"content-length", b"3"),
        (b"x-envoy-auth-partial-body", b"false"),
        (b"x-repeat", b"2"),
    ]);
    assert!(check(&doors.grpc, &request).await.allowed());
    let seen = doors.judge.take();
    assert_eq!((seen.door, seen.policy.as_deref()), (Door::ExtAuthz, Some("shop")));
    assert_eq!((&seen.protocol[..], &seen.scheme[..]), (&b"HTTP/2.0"[..], &b"https"[..]));
    assert_eq!(seen.client, (Some("203.0.113.9".parse().unwrap()), 40_000));
    assert_eq!(seen.server, (Some("192.0.2.1".parse().unwrap()), 8080));
    assert_eq!(seen.body, SeenBody::Complete(b"a=1".to_vec()));
    let headers: [(&[u8], &[u8]); 7] = [
        (b"host", b"shop.example"),
        (b"cookie", b"a=1"),
        (b"x-repeat", b"1"),
        (b"cookie", b"b=2"),
        (b"x-empty", b""),
        (b"content-length", b"3"),
        (b"x-repeat", b"2"),
    ];
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    assert_eq!(seen.headers, headers);
}

#[tokio::test]
async fn protocols_are_written_as_rules_expect_them() {
    let doors = Doors::open().await;
    for (sent, seen) in [
        ("HTTP/1.0", "HTTP/1.0"),
        ("HTTP/1.1", "HTTP/1.1"),
        ("HTTP/2", "HTTP/2.0"),
        ("HTTP/3", "HTTP/3.0"),
        ("", "HTTP/1.1"),
    ] {
        check(&doors.grpc, &Check { protocol: sent.into(), ..Check::default() }).await;
        assert_eq!(doors.judge.take().protocol, seen.as_bytes(), "{sent}");
    }
}

#[tokio::test]
async fn the_host_is_that_of_the_authority() {
    let doors = Doors::open().await;
    let plain = Check { host: b"a:81".to_vec(), ..Check::default() };
    for (name, request, host, lines) in [
        ("field alone", plain.clone(), "a:81", vec!["a:81"]),
        (
            "pseudo header over field",
            Check { raw_headers: vec![(b":authority".to_vec(), b"b".to_vec())], ..plain.clone() },
            "b",
            vec!["b"],
        ),
        ("host line kept, authority wins", plain.clone().raw(&[(b"host", b"c")]), "a:81", vec!["c"]),
        ("host line alone", Check { host: Vec::new(), ..Check::default() }.map(&[(b"host", b"c")]), "c", vec!["c"]),
        ("none", Check { host: Vec::new(), ..Check::default() }, "", vec![]),
        ("an empty one", Check { host: Vec::new(), ..Check::default() }.raw(&[]), "", vec![""]),
    ] {
        check(&doors.grpc, &request).await;
        let seen = doors.judge.take();
        let lines: Vec<&[u8]> = lines.into_iter().map(str::as_bytes).collect();
        assert_eq!((&seen.host[..], seen.values("host")), (host.as_bytes(), lines), "{name}");
    }
}

#[tokio::test]
async fn chunked_requests_get_the_framing_back_that_envoy_took_off() {
    let doors = Doors::open().await;
    let post = Check { method: b"POST".to_vec(), ..Check::default() };
    let with_body = Check { raw_body: b"a=1".to_vec(), ..post.clone() };
    let mark: (&[u8], &[u8]) = (b"x-envoy-auth-partial-body", b"false");
    let length: (&[u8], &[u8]) = (b"content-length", b"3");
    let cases: [(&str, Check, bool, SeenBody); 8] = [
        ("chunked", with_body.clone().raw(&[mark]), true, SeenBody::Complete(b"a=1".to_vec())),
        ("chunked, map form", with_body.clone().map(&[mark]), true, SeenBody::Complete(b"a=1".to_vec())),
        ("with a length", with_body.clone().raw(&[mark, length]), false, SeenBody::Complete(b"a=1".to_vec())),
        (
            "HTTP/2",
            Check { protocol: b"HTTP/2".to_vec(), ..with_body.clone() }.raw(&[mark]),
            false,
            SeenBody::Complete(b"a=1".to_vec()),
        ),
        (
            "chunked GET",
            Check { method: b"GET".to_vec(), ..with_body }.raw(&[mark]),
            true,
            SeenBody::Complete(b"a=1".to_vec()),
        ),
        ("no body forwarded, length", post.clone().raw(&[length]), false, SeenBody::NotSent),
        ("no body forwarded, perhaps chunked", post.clone().raw(&[]), true, SeenBody::NotSent),
        ("no body", Check::default().raw(&[]), false, SeenBody::Complete(Vec::new())),
    ];
    for (name, request, chunked, body) in cases {
        check(&doors.grpc, &request).await;
        let seen = doors.judge.take();
        assert_eq!(seen.body, body, "{name}");
        assert_eq!(seen.values("transfer-encoding"), if chunked { vec![&b"chunked"[..]] } else { vec![] }, "{name}");
        assert!(seen.values("x-envoy-auth-partial-body").is_empty(), "{name}");
    }
}

#[tokio::test]
async fn joined_cookies_are_judged_both_ways() {
    let doors = Doors::open().await;
    for (sent, seen) in [
        ("a=1; b=2", vec!["a=1; b=2"]),
        ("a=1,b=2", vec!["a=1,b=2", "a=1", "b=2"]),
        ("a=1; c=3, b=2; d=4", vec!["a=1; c=3, b=2; d=4", "a=1; c=3", "b=2; d=4"]),
        (",", vec![","]),
    ] {
        check(&doors.grpc, &Check::default().map(&[(b"cookie", sent.as_bytes())])).await;
        assert_eq!(doors.judge.take().values("cookie"), seen.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
        // In raw form repeats are apart, and a comma is a comma.
        check(&doors.grpc, &Check::default().raw(&[(b"cookie", sent.as_bytes())])).await;
        assert_eq!(doors.judge.take().values("cookie"), [sent.as_bytes()]);
    }
}

#[tokio::test]
async fn the_client_is_the_peer_of_envoy_or_whom_a_trusted_proxy_names() {
    let doors = Doors::open().await;
    for (name, peer, lines, client, port) in [
        ("not trusted: the list is the client's own", "203.0.113.9", vec!["6.6.6.6"], Some("203.0.113.9"), 40_000),
        ("trusted", "10.0.0.1", vec!["6.6.6.6, 198.51.100.1, 10.0.0.2"], Some("198.51.100.1"), 0),
        ("trusted, two lines", "10.0.0.1", vec!["6.6.6.6", "198.51.100.1"], Some("198.51.100.1"), 0),
        ("trusted, IPv4 in IPv6", "::ffff:10.0.0.1", vec!["198.51.100.1"], Some("198.51.100.1"), 0),
        ("trusted, no list", "10.0.0.1", vec![], Some("10.0.0.1"), 40_000),
        ("trusted, nonsense", "10.0.0.1", vec!["198.51.100.1, nobody"], None, 0),
        ("not an address", "@pipe", vec!["6.6.6.6"], None, 40_000),
    ] {
        let headers: Vec<(&[u8], &[u8])> =
            lines.iter().map(|line| (&b"x-forwarded-for"[..], line.as_bytes())).collect();
        let request = Check { source: Some((peer, 40_000)), ..Check::default() };
        for request in [request.clone().raw(&headers), request.map(&headers)] {
            check(&doors.grpc, &request).await;
            assert_eq!(doors.judge.take().client, (client.map(|ip| ip.parse().unwrap()), port), "{name}");
        }
    }
    check(&doors.grpc, &Check { source: None, destination: None, ..Check::default() }).await;
    let seen = doors.judge.take();
    assert_eq!((seen.client, seen.server), ((None, 0), (None, 0)));
}

#[tokio::test]
async fn connect_has_no_path_and_nothing_else_is_without() {
    let doors = Doors::open().await;
    let request = Check { method: b"CONNECT".to_vec(), path: Vec::new(), host: b"h:443".to_vec(), ..Check::default() };
    assert!(check(&doors.grpc, &request).await.allowed());
    assert_eq!(doors.judge.take().target, b"h:443");
    for request in [Check { path: Vec::new(), ..Check::default() }, Check { method: Vec::new(), ..Check::default() }] {
        assert_eq!(grpc(&doors.grpc, framed(&request.encode()), None).await.status, "14");
        assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Undecodable)]);
    }
}

#[tokio::test]
async fn a_plain_pass_carries_no_metadata_where_only_relevant_ones_are_wanted() {
    let doors = Doors::open().await;
    *doors.judge.metadata.lock().unwrap() = Annotate::Relevant;
    let has_metadata = async || {
        let answer = check(&doors.grpc, &Check::default()).await;
        assert_eq!(answer.header("x-waf-request-id"), Some("req-1"));
        answer.metadata("verdict").is_some()
    };
    assert!(has_metadata().await, "a score, a part not inspected");
    *doors.judge.finds.lock().unwrap() = false;
    // The first answer is written, later ones are made after it.
    for _ in 0..3 {
        assert!(!has_metadata().await);
    }
    doors.judge.answers(Answer::Deny { status: 403, close: false });
    assert!(has_metadata().await, "a denial");
    doors.judge.answers(Answer::Allow);
    *doors.judge.metadata.lock().unwrap() = Annotate::All;
    assert!(has_metadata().await, "all are wanted");
}

#[tokio::test]
async fn a_plain_pass_carries_no_headers_where_only_relevant_ones_are_wanted_and_the_client_sent_none() {
    let doors = Doors::open().await;
    *doors.judge.upstream_headers.lock().unwrap() = Annotate::Relevant;
    let headers = async |name: &[u8]| {
        let answer = check(&doors.grpc, &Check::default().raw(&[(name, b"allow")])).await;
        assert!(answer.metadata("verdict").is_some());
        ["x-waf-verdict", "x-waf-score", "x-waf-request-id"].map(|name| answer.header(name).is_some())
    };
    assert_eq!(headers(b"accept").await, [true; 3], "a score, a part not inspected");
    *doors.judge.finds.lock().unwrap() = false;
    for _ in 0..3 {
        assert_eq!(headers(b"accept").await, [false; 3]);
        // What a client made up is replaced, all of it.
        assert_eq!(headers(b"x-waf-verdict").await, [true; 3]);
        assert_eq!(headers(b"X-WAF-Score").await, [true; 3]);
    }
    for (name, wanted) in [(&b"x-waf"[..], false), (b"x-waf-score", true)] {
        let joined = check(&doors.grpc, &Check::default().map(&[(name, b"1")])).await;
        assert_eq!(joined.header("x-waf-score").is_some(), wanted, "{}", name.escape_ascii());
    }
    *doors.judge.upstream_headers.lock().unwrap() = Annotate::All;
    assert_eq!(headers(b"accept").await, [true; 3], "all are wanted");
}

#[tokio::test]
async fn answers_carry_metadata_and_headers() {
    let doors = Doors::open().await;
    let allowed = check(&doors.grpc, &Check::default()).await;
    assert_eq!(allowed.header("x-waf-verdict"), Some("allow"));
    assert_eq!(allowed.header("x-waf-score"), Some("5"));
    assert_eq!(allowed.header("x-waf-request-id"), Some("req-1"));
    doors.judge.answers(Answer::Deny { status: 403, close: false });
    let denied = check(&doors.grpc, &Check::default().policy(b"shop")).await;
    assert_eq!(denied.body(), "request blocked; request id req-1");
    assert_eq!((denied.header("x-waf-verdict"), denied.header("x-waf-request-id")), (None, Some("req-1")));
    assert_eq!(denied.header("content-type"), Some("text/plain; charset=utf-8"));
    let text = |text: &str| Kind::StringValue(text.to_owned());
    for (answer, verdict, policy) in [(&allowed, "allow", "default"), (&denied, "deny", "shop")] {
        assert_eq!(answer.metadata("verdict"), Some(&text(verdict)));
        assert_eq!(answer.metadata("policy"), Some(&text(policy)));
        assert_eq!(answer.metadata("request_id"), Some(&text("req-1")));
        assert_eq!(answer.metadata("score"), Some(&Kind::NumberValue(5.0)));
        assert_eq!(answer.metadata("generation"), Some(&Kind::NumberValue(7.0)));
        assert_eq!(answer.metadata("eval_us"), Some(&Kind::NumberValue(12.0)));
        assert_eq!(answer.metadata("cached"), Some(&Kind::BoolValue(false)));
        for (name, length) in [("rules", 0), ("not_inspected", 1)] {
            let Some(Kind::ListValue(list)) = answer.metadata(name) else { panic!("{name} is no list") };
            assert_eq!(list.values.len(), length, "{name}");
        }
    }
    *doors.judge.expose.lock().unwrap() = Expose::Rules;
    let denied = check(&doors.grpc, &Check::default()).await;
    assert_eq!((denied.header("x-waf-verdict"), denied.header("x-waf-score")), (Some("deny"), Some("5")));
    assert_eq!(denied.body(), "request blocked; request id req-1; rules ");
}

#[tokio::test]
async fn redirects_have_a_location() {
    let doors = Doors::open().await;
    doors.judge.answers(Answer::Redirect { status: 302, location: "https://h/blocked".to_owned() });
    let answer = check(&doors.grpc, &Check::default()).await;
    assert!(!answer.allowed());
    assert_eq!((answer.http_status(), answer.header("location")), (302, Some("https://h/blocked")));
}

#[tokio::test]
async fn the_callers_timeout_is_the_deadline_less_a_margin() {
    let doors = Doors::open().await;
    for (timeout, left) in [("1S", 980), ("600S", 599_980)] {
        assert!(grpc(&doors.grpc, framed(&Check::default().encode()), Some(timeout)).await.check().allowed());
        assert_eq!(doors.judge.take().time_left, Some(Duration::from_millis(left)), "{timeout}");
    }
    assert!(grpc(&doors.grpc, framed(&Check::default().encode()), None).await.check().allowed());
    assert_eq!(doors.judge.take().time_left, None);
}

#[tokio::test]
async fn frames_may_arrive_in_pieces_and_must_be_whole() {
    let doors = Doors::open().await;
    let frame = framed(&Check::default().encode());
    let pieces: Vec<Result<_, std::io::Error>> =
        frame.chunks(3).map(|piece| Ok(hyper::body::Frame::data(Bytes::copy_from_slice(piece)))).collect();
    let body = http_body_util::StreamBody::new(tokio_stream::iter(pieces));
    let answer = grpc_call(&doors.grpc, "/envoy.service.auth.v3.Authorization/Check", body, None).await;
    assert!(answer.check().allowed());
    let mut twice = frame.clone();
    twice.extend_from_slice(&frame);
    let mut compressed = frame.clone();
    compressed[0] = 1;
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("prefix only", frame[..5].to_vec()),
        ("half", frame[..frame.len() / 2].to_vec()),
        ("two messages", twice),
        ("compressed", compressed),
        ("no protobuf", framed(b"\xff\xff\xff\xff")),
        ("an empty message", framed(b"")),
        ("a length of 4 GiB", vec![0, 255, 255, 255, 255, 1]),
    ] {
        let answer = grpc(&doors.grpc, bytes, None).await;
        assert_eq!(
            (answer.status.as_str(), answer.message.as_str()),
            ("14", "request could not be checked; request id req-1"),
            "{name}"
        );
        assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Undecodable)], "{name}");
    }
}

#[tokio::test]
async fn fields_we_do_not_read_are_skipped() {
    let doors = Doors::open().await;
    let mut message = Check::default().encode();
    super::wire::field(&mut message, 900, b"from a later Envoy");
    super::wire::number(&mut message, 901, 7);
    assert!(grpc(&doors.grpc, framed(&message), None).await.check().allowed());
}

#[tokio::test]
async fn health_is_served_beside_the_checks() {
    let doors = Setup::default().start().await;
    doors.health.set_service_status("", ServingStatus::Serving).await;
    let health = |path: &'static str| grpc_call(&doors.grpc, path, Full::from(framed(b"")), None);
    let serving = health("/grpc.health.v1.Health/Check").await;
    assert_eq!((serving.status.as_str(), &serving.bytes[..]), ("0", &[8, 1][..]));
    doors.health.set_service_status("", ServingStatus::NotServing).await;
    assert_eq!(&health("/grpc.health.v1.Health/Check").await.bytes[..], [8, 2]);
    assert_eq!(health("/envoy.service.auth.v2.Authorization/Check").await.status, "12");
}
