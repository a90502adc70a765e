//! What a server behind these proxies must do, one test per line of the list.

use envoy_types::ext_authz::v3::pb::HttpResponse;
use portcullis::service::{Answer, FailureKind};

use super::double::{Doors, LIMIT, SeenBody};
use super::wire::{Check, call, check, framed, grpc, http};

type Headers<'h> = Vec<(&'h [u8], &'h [u8])>;

const DENY: Answer = Answer::Deny { status: 403, close: false };

fn verify(headers: &[(&[u8], &[u8])]) -> Vec<u8> {
    let described: [(&[u8], &[u8]); 3] =
        [(b"X-Forwarded-Method", b"GET"), (b"X-Forwarded-Uri", b"/p?q=1"), (b"X-Forwarded-Host", b"shop.example")];
    call("GET /verify", &[&described, headers].concat(), b"")
}

#[tokio::test]
async fn line_1_a_denial_has_a_status_that_is_not_zero_and_a_denied_response() {
    let doors = Doors::open().await;
    for status in [401, 403, 404, 429, 503] {
        doors.judge.answers(Answer::Deny { status, close: false });
        let answer = check(&doors.grpc, &Check::default()).await;
        assert!(!answer.allowed());
        assert_eq!((answer.code(), answer.http_status()), (7, i32::from(status)));
    }
    doors.judge.answers(Answer::Allow);
    assert!(check(&doors.grpc, &Check::default()).await.allowed());
}

#[tokio::test]
async fn line_2_a_denial_is_a_check_response_and_never_a_grpc_error() {
    let doors = Doors::open().await;
    doors.judge.answers(DENY);
    let answer = grpc(&doors.grpc, framed(&Check::default().encode()), None).await;
    assert_eq!(answer.status, "0");
    assert!(matches!(answer.check().0.http_response, Some(HttpResponse::DeniedResponse(_))));
}

#[tokio::test]
async fn line_3_messages_of_the_body_limit_and_a_full_head_are_taken() {
    let doors = Doors::open().await;
    let long = vec![b'a'; 60 << 10];
    let full = Check { path: [b"/", &long[..]].concat(), raw_body: vec![b'x'; LIMIT], ..Check::default() };
    let length = LIMIT.to_string();
    let full = full.raw(&[
        (b"x-long", &long),
        (b"content-length", length.as_bytes()),
        (b"x-envoy-auth-partial-body", b"false"),
    ]);
    assert!(check(&doors.grpc, &full).await.allowed());
    assert_eq!(doors.judge.take().body, SeenBody::Complete(vec![b'x'; LIMIT]));
    // Far over every limit: our own answer, by the failure policy.
    let over = Check { raw_body: vec![b'x'; 5 << 20], ..Check::default() };
    assert_eq!(grpc(&doors.grpc, framed(&over.encode()), None).await.status, "14");
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Undecodable)]);
}

#[tokio::test]
async fn line_4_bytes_that_are_not_utf_8_are_judged_wherever_they_stand() {
    let doors = Doors::open().await;
    let odd = b"\xff\xfe\xc3(";
    let request = Check {
        method: [b"M", &odd[..]].concat(),
        path: [b"/", &odd[..]].concat(),
        host: odd.to_vec(),
        scheme: odd.to_vec(),
        protocol: odd.to_vec(),
        body: odd.to_vec(),
        ..Check::default()
    };
    let request = request.map(&[
        (odd, b"1"),
        (b"x-odd", odd),
        (b"content-length", b"4"),
        (b"x-envoy-auth-partial-body", b"false"),
    ]);
    assert!(check(&doors.grpc, &request).await.allowed());
    let seen = doors.judge.take();
    assert_eq!((seen.method, seen.target), (request.method.clone(), request.path.clone()));
    assert_eq!((&seen.host[..], &seen.protocol[..], &seen.scheme[..]), (&odd[..], &odd[..], &b"http"[..]));
    assert_eq!(seen.body, SeenBody::Complete(odd.to_vec()));
    assert!(seen.headers.contains(&(odd.to_vec(), b"1".to_vec())));
    assert!(seen.headers.contains(&(b"x-odd".to_vec(), odd.to_vec())));
    // In context extensions too, where it is nobody's name.
    assert_eq!(grpc(&doors.grpc, framed(&Check::default().policy(odd).encode()), None).await.status, "14");
    assert_eq!(doors.judge.take_failures(), [(None, FailureKind::UnknownPolicy)]);
}

#[tokio::test]
async fn line_5_raw_forms_are_preferred() {
    let doors = Doors::open().await;
    let mut request =
        Check { path: b"/!".to_vec(), body: b"!".to_vec(), raw_body: b"\xff".to_vec(), ..Check::default() };
    request.raw_headers = vec![(b":path".to_vec(), b"/\xff".to_vec()), (b"x-a".to_vec(), b"\xff".to_vec())];
    let request = request.map(&[(b"x-a", b"!"), (b":path", b"/!")]);
    assert!(check(&doors.grpc, &request).await.allowed());
    let seen = doors.judge.take();
    assert_eq!((&seen.target[..], seen.values("x-a")), (&b"/\xff"[..], vec![&b"\xff"[..]]));
    assert_eq!(seen.body, SeenBody::Complete(b"\xff".to_vec()));
}

#[tokio::test]
async fn line_6_a_body_as_long_as_the_limit_is_whole_only_when_its_length_says_so() {
    let doors = Doors::open().await;
    let bytes = vec![b'x'; LIMIT];
    let (whole, cut) = (SeenBody::Complete(bytes.clone()), SeenBody::Partial(bytes.clone()));
    for (length, expected) in [(None, &cut), (Some("1000"), &whole), (Some("1001"), &cut), (Some("99999"), &cut)] {
        for protocol in ["HTTP/1.1", "HTTP/2"] {
            let request = Check {
                method: b"POST".to_vec(),
                raw_body: bytes.clone(),
                protocol: protocol.into(),
                ..Check::default()
            };
            let mut headers: Vec<(&[u8], &[u8])> = vec![(b"x-envoy-auth-partial-body", b"false")];
            headers.extend(length.map(|length| (&b"content-length"[..], length.as_bytes())));
            assert!(check(&doors.grpc, &request.raw(&headers)).await.allowed());
            let seen = doors.judge.take();
            assert_eq!(&seen.body, expected, "{length:?} {protocol}");
            assert!(seen.values("x-envoy-auth-partial-body").is_empty());
        }
    }
}

#[tokio::test]
async fn line_7_pseudo_headers_are_not_shown_to_the_rules() {
    let doors = Doors::open().await;
    let pseudo: [(&[u8], &[u8]); 5] =
        [(b":authority", b"h"), (b":path", b"/"), (b":method", b"GET"), (b":scheme", b"http"), (b":unknown", b"x")];
    for request in [Check::default().raw(&pseudo), Check::default().map(&pseudo)] {
        assert!(check(&doors.grpc, &request).await.allowed());
        let seen = doors.judge.take();
        assert_eq!(seen.headers, [(b"host".to_vec(), b"h".to_vec())]);
    }
}

#[tokio::test]
async fn line_8_forward_auth_takes_nothing_from_the_call_itself() {
    let doors = Doors::open().await;
    let headers: [(&[u8], &[u8]); 9] = [
        (b"X-Forwarded-Method", b"DELETE"),
        (b"X-Forwarded-Uri", b"/the?q=1"),
        (b"X-Forwarded-Host", b"shop.example:81"),
        (b"X-Forwarded-Proto", b"https"),
        (b"Host", b"waf:9292"),
        (b"Accept-Encoding", b"gzip"),
        (b"Expect", b"100-continue"),
        (b"TE", b"trailers"),
        (b"X-Other", b"1"),
    ];
    let answer = http(&doors.http, &call("PUT /verify?policy=other&x=/other", &headers, b"")).await;
    assert_eq!(answer.status, 200);
    let seen = doors.judge.take();
    assert_eq!((&seen.method[..], &seen.target[..]), (&b"DELETE"[..], &b"/the?q=1"[..]));
    assert_eq!((&seen.host[..], &seen.scheme[..]), (&b"shop.example:81"[..], &b"https"[..]));
    assert_eq!((seen.policy, &seen.protocol[..]), (None, &b"HTTP/1.1"[..]));
    assert_eq!(seen.headers, [(b"host".to_vec(), b"shop.example:81".to_vec()), (b"x-other".to_vec(), b"1".to_vec())]);
}

#[tokio::test]
async fn line_8_values_that_no_proxy_adds_are_the_clients_and_shown() {
    let doors = Doors::open().await;
    let odd: [(&[u8], &[u8]); 2] = [(b"Accept-Encoding", b"${jndi:ldap://x}"), (b"Expect", b"' or 1=1--")];
    assert_eq!(http(&doors.http, &verify(&odd)).await.status, 200);
    let seen = doors.judge.take();
    assert_eq!(seen.values("accept-encoding"), [odd[0].1]);
    assert_eq!(seen.values("expect"), [odd[1].1]);
}

#[tokio::test]
async fn line_9_repeated_missing_or_malformed_headers_are_refused_whatever_the_failure_policy() {
    let method: (&[u8], &[u8]) = (b"X-Forwarded-Method", b"GET");
    let uri: (&[u8], &[u8]) = (b"X-Forwarded-Uri", b"/");
    let host: (&[u8], &[u8]) = (b"X-Forwarded-Host", b"h");
    let proto: (&[u8], &[u8]) = (b"X-Forwarded-Proto", b"https");
    let cases: [(&str, Headers<'_>); 17] = [
        ("no Method", vec![uri, host]),
        ("no Uri", vec![method, host]),
        ("nothing", vec![]),
        ("two Methods", vec![method, uri, method]),
        ("two Uris", vec![method, uri, (b"X-Forwarded-Uri", b"/other")]),
        ("two equal Uris", vec![method, uri, uri]),
        ("two Hosts", vec![method, uri, host, host]),
        ("two Protos", vec![method, uri, proto, proto]),
        ("empty Method", vec![(b"X-Forwarded-Method", b""), uri]),
        ("a Method that is no token", vec![(b"X-Forwarded-Method", b"GET /x"), uri]),
        ("a Method of other bytes", vec![(b"X-Forwarded-Method", b"G\xc3\xa9T"), uri]),
        ("empty Uri", vec![method, (b"X-Forwarded-Uri", b"")]),
        ("a Uri without a slash", vec![method, (b"X-Forwarded-Uri", b"admin")]),
        ("an absolute Uri", vec![method, (b"X-Forwarded-Uri", b"http://h/")]),
        ("a Uri with a fragment", vec![method, (b"X-Forwarded-Uri", b"/a#/../b")]),
        ("other spellings, underscores", vec![(b"X_Forwarded_Method", b"GET"), (b"X_Forwarded_Uri", b"/")]),
        ("other spellings, dots", vec![(b"X.Forwarded.Method", b"GET"), (b"X.Forwarded.Uri", b"/")]),
    ];
    for open in [false, true] {
        let doors = super::double::Setup { open, ..Default::default() }.start().await;
        for (name, headers) in &cases {
            let answer = http(&doors.http, &call("GET /verify", headers, b"")).await;
            assert_eq!(answer.status, 403, "{name}, open: {open}");
            assert_eq!(answer.body, "request blocked; request id req-1", "{name}");
            assert_eq!(doors.judge.take_failures(), [(None, FailureKind::Undecodable)], "{name}");
        }
        assert_eq!(doors.judge.count(), 0);
        // Nor does a fragment pass the other door.
        let answer = check(&doors.grpc, &Check { path: b"/a#b".to_vec(), ..Check::default() }).await;
        assert_eq!((answer.allowed(), answer.http_status()), (false, 403));
    }
}

#[tokio::test]
async fn line_10_paths_and_values_are_bytes() {
    let doors = Doors::open().await;
    let target = b"/\xff\xfe<>\"^|`{}\\%zz%00;a=b?q=\xe9 x&<script>";
    let headers: [(&[u8], &[u8]); 4] = [
        (b"X-Forwarded-Method", b"GET"),
        (b"X-Forwarded-Uri", target),
        (b"X-Forwarded-Host", b"\xe9.example"),
        (b"Cookie", b"a=\xff; b=\x80"),
    ];
    assert_eq!(http(&doors.http, &call("GET /verify", &headers, b"")).await.status, 200);
    let seen = doors.judge.take();
    assert_eq!((&seen.target[..], &seen.host[..]), (&target[..], &b"\xe9.example"[..]));
    assert_eq!(seen.values("cookie"), [headers[3].1]);
    assert!(check(&doors.grpc, &Check { path: target.to_vec(), ..Check::default() }).await.allowed());
    assert_eq!(doors.judge.take().target, target);
}

#[tokio::test]
async fn line_11_a_denial_keeps_the_status_it_was_given() {
    let doors = Doors::open().await;
    for status in [401, 403, 429] {
        doors.judge.answers(Answer::Deny { status, close: true });
        assert_eq!(http(&doors.http, &verify(&[])).await.status, status);
    }
    // Below 300 a proxy would take it for a yes.
    for status in [200, 204, 0] {
        doors.judge.answers(Answer::Deny { status, close: false });
        assert_eq!(http(&doors.http, &verify(&[])).await.status, 403);
        assert_eq!(check(&doors.grpc, &Check::default()).await.http_status(), 403);
    }
}

#[tokio::test]
async fn line_12_no_byte_of_the_request_comes_back() {
    let doors = Doors::open().await;
    let marker = "MARKER";
    let location = format!("https://h/?next={marker}\r\nset-cookie: {marker}");
    for answer in [DENY, Answer::Redirect { status: 302, location }] {
        doors.judge.answers(answer);
        let target = format!("/{marker}?{marker}");
        let headers: [(&[u8], &[u8]); 4] = [
            (b"X-Forwarded-Method", b"GET"),
            (b"X-Forwarded-Uri", target.as_bytes()),
            (b"X-Forwarded-Host", marker.as_bytes()),
            (b"X-Any", marker.as_bytes()),
        ];
        let got = http(&doors.http, &call("GET /verify", &headers, b"")).await;
        assert_eq!(got.status, 403);
        assert!(!format!("{got:?}").contains(marker), "{got:?}");
        let request = Check { path: target.into_bytes(), host: marker.into(), ..Check::default() };
        let got = check(&doors.grpc, &request.raw(&[(b"x-any", marker.as_bytes())])).await;
        assert!(!got.allowed() && !format!("{got:?}").contains(marker), "{got:?}");
    }
}
