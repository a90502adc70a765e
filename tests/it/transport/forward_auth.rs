//! The HTTP door in detail: Traefik, nginx, Caddy, and Envoy's HTTP flavour.

use portcullis::config::Expose;
use portcullis::service::{Answer, Door, FailureKind};

use super::double::{Doors, LIMIT, SeenBody};
use super::wire::{call, exchange, http};

type Headers<'h> = Vec<(&'h [u8], &'h [u8])>;

fn described<'h>(method: &'h str, more: &[(&'h [u8], &'h [u8])]) -> Headers<'h> {
    let mut headers: Headers<'h> = vec![
        (b"X-Forwarded-Method", method.as_bytes()),
        (b"X-Forwarded-Uri", b"/p?q=1"),
        (b"X-Forwarded-Host", b"shop.example"),
        (b"X-Forwarded-Proto", b"http"),
    ];
    headers.extend(more);
    headers
}

fn chunks(body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in body.chunks(100) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[tokio::test]
async fn paths_are_exact_and_name_the_policy() {
    let doors = Doors::open().await;
    let headers = described("GET", &[]);
    for (path, policy) in [
        ("/verify", Some(None)),
        ("/verify?policy=other", Some(None)),
        ("/verify/shop", Some(Some("shop"))),
        ("/verify/shop?_", Some(Some("shop"))),
        ("/verify/", None),
        ("/verify/shop/", None),
        ("/verify/a/b", None),
        ("/verifyx", None),
        ("/Verify", None),
        ("/", None),
        ("/check", None),
        ("/check/", None),
        ("/check/shop", None),
        ("/check//x", None),
        ("/check/shop?/x", None),
    ] {
        let answer = http(&doors.http, &call(&format!("GET {path}"), &headers, b"")).await;
        match policy {
            Some(policy) => {
                assert_eq!(answer.status, 200, "{path}");
                assert_eq!(doors.judge.take().policy.as_deref(), policy, "{path}");
            }
            None => assert_eq!((answer.status, doors.judge.count()), (404, 0), "{path}"),
        }
    }
    let answer = http(&doors.http, &call("GET /verify/nobody", &headers, b"")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(doors.judge.take_failures(), [(Some("nobody".to_owned()), FailureKind::UnknownPolicy)]);
}

#[tokio::test]
async fn bodies_of_verify() {
    let doors = Doors::open().await;
    let (small, full, over) = (b"a=1&b=2".to_vec(), vec![b'x'; LIMIT], vec![b'x'; LIMIT + 1]);
    let huge = vec![b'x'; 1 << 20];
    let length = |body: &[u8]| body.len().to_string();
    let complete = |body: &[u8]| SeenBody::Complete(body.to_vec());
    let cut = SeenBody::Partial(full.clone());
    // name, method, body of the call, chunked, original length; seen body, seen length, seen chunked
    for (name, method, body, chunked, original, seen_body, seen_length, seen_chunked) in [
        ("a length", "POST", &small[..], false, None, complete(&small), Some("7"), false),
        ("chunks", "POST", &small, true, None, complete(&small), None, true),
        ("a length, GET", "GET", &small, false, None, complete(&small), Some("7"), false),
        ("chunks, GET", "GET", &small, true, None, complete(&small), None, true),
        ("as long as the limit", "POST", &full, false, None, complete(&full), Some("1000"), false),
        ("as long as the limit, chunks", "POST", &full, true, None, complete(&full), None, true),
        ("over the limit", "POST", &over, false, None, cut.clone(), Some("1001"), false),
        ("over the limit, chunks", "POST", &over, true, None, cut.clone(), None, true),
        ("far over the limit", "POST", &huge, false, None, cut, Some("1048576"), false),
        ("empty chunks, POST", "POST", b"", true, None, complete(b""), Some("0"), false),
        ("empty chunks, GET", "GET", b"", true, None, complete(b""), None, false),
        ("kept at the proxy", "POST", b"", false, Some("42"), SeenBody::NotSent, Some("42"), false),
        ("kept at the proxy, GET", "GET", b"", false, Some("42"), SeenBody::NotSent, Some("42"), false),
        ("a length of nothing proves nothing", "POST", b"", false, Some("0"), SeenBody::NotSent, None, true),
        ("nonsense as length", "POST", b"", false, Some("x"), SeenBody::NotSent, None, true),
        ("nothing known, POST", "POST", b"", false, None, SeenBody::NotSent, None, true),
        ("nothing known, PUT", "PUT", b"", false, None, SeenBody::NotSent, None, true),
        ("nothing known, GET", "GET", b"", false, None, complete(b""), None, false),
        ("nothing known, HEAD", "HEAD", b"", false, None, complete(b""), None, false),
    ] {
        let mut headers = described(method, &[]);
        let own_length = length(body);
        if chunked {
            headers.push((b"Transfer-Encoding", b"chunked"));
        } else if !body.is_empty() {
            headers.push((b"Content-Length", own_length.as_bytes()));
        }
        headers.extend(original.map(|value| (&b"X-Original-Content-Length"[..], value.as_bytes())));
        let body = if chunked { chunks(body) } else { body.to_vec() };
        assert_eq!(http(&doors.http, &call("POST /verify", &headers, &body)).await.status, 200, "{name}");
        let seen = doors.judge.take();
        assert_eq!(seen.body, seen_body, "{name}");
        assert_eq!(
            seen.values("content-length"),
            seen_length.map(str::as_bytes).into_iter().collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(seen.values("transfer-encoding").len(), usize::from(seen_chunked), "{name}");
        assert!(seen.values("x-original-content-length").is_empty(), "{name}");
    }
}

#[tokio::test]
async fn the_client_is_the_right_most_entry_that_no_trusted_proxy_wrote() {
    let doors = Doors::open().await;
    for (name, lines, client) in [
        ("one", vec!["198.51.100.1"], Some("198.51.100.1")),
        ("a list", vec!["6.6.6.6, 198.51.100.1, 10.0.0.2"], Some("198.51.100.1")),
        ("lines", vec!["6.6.6.6", "198.51.100.1", "10.0.0.2"], Some("198.51.100.1")),
        ("none", vec![], None),
        ("proxies only", vec!["10.0.0.2"], None),
        ("nonsense", vec!["198.51.100.1, nobody"], None),
    ] {
        let lines: Headers<'_> = lines.iter().map(|line| (&b"X-Forwarded-For"[..], line.as_bytes())).collect();
        assert_eq!(http(&doors.http, &call("GET /verify", &described("GET", &lines), b"")).await.status, 200);
        let seen = doors.judge.take();
        assert_eq!(seen.client, (client.map(|ip| ip.parse().unwrap()), 0), "{name}");
        // A list is content too: what a client put into it reaches the backend.
        assert_eq!(seen.values("x-forwarded-for").len(), lines.len(), "{name}");
    }
}

#[tokio::test]
async fn repeats_and_other_spellings_reach_the_rules() {
    let doors = Doors::open().await;
    let headers = described(
        "GET",
        &[
            (b"X-Twice", b"1"),
            (b"Cookie", b"a=1"),
            (b"X-Twice", b"2"),
            (b"X_Forwarded_Uri", b"/spoof"),
            (b"X.Forwarded.Method", b"POST"),
            (b"Forwarded", b"for=6.6.6.6"),
            (b"X-Forwarded-Prefix", b"/admin"),
            (b"Upgrade", b"websocket"),
            (b"X-Empty", b""),
        ],
    );
    assert_eq!(http(&doors.http, &call("GET /verify", &headers, b"")).await.status, 200);
    let seen = doors.judge.take();
    assert_eq!((&seen.method[..], &seen.target[..]), (&b"GET"[..], &b"/p?q=1"[..]));
    assert_eq!(seen.values("x-twice"), [b"1", b"2"]);
    for (name, value) in [
        ("cookie", "a=1"),
        ("x_forwarded_uri", "/spoof"),
        ("x.forwarded.method", "POST"),
        ("forwarded", "for=6.6.6.6"),
        ("x-forwarded-prefix", "/admin"),
        ("upgrade", "websocket"),
        ("x-empty", ""),
    ] {
        assert_eq!(seen.values(name), [value.as_bytes()], "{name}");
    }
    for name in ["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto", "connection"] {
        assert!(seen.values(name).is_empty(), "{name}");
    }
}

#[tokio::test]
async fn http_1_0_as_nginx_speaks_it() {
    let doors = Doors::open().await;
    let bytes = b"GET /verify HTTP/1.0\r\nConnection: close\r\nX-Forwarded-Method: POST\r\nX-Forwarded-Uri: /login\r\n\
        X-Forwarded-Host: h\r\nX-Forwarded-For: 198.51.100.1\r\nX-Original-Content-Length: 12\r\nContent-Type: text/plain\r\n\r\n";
    assert_eq!(http(&doors.http, bytes).await.status, 200);
    let seen = doors.judge.take();
    assert_eq!((&seen.method[..], &seen.protocol[..], seen.body), (&b"POST"[..], &b"HTTP/1.1"[..], SeenBody::NotSent));
}

#[tokio::test]
async fn the_http_flavour_of_envoy_takes_the_request_line() {
    let doors = Doors::open().await;
    let mark = |value: &'static [u8]| (&b"X-Envoy-Auth-Partial-Body"[..], value);
    let host: (&[u8], &[u8]) = (b"Host", b"shop.example");
    let full = vec![b'x'; LIMIT];
    let (small_length, full_length) = ((&b"Content-Length"[..], &b"3"[..]), (&b"Content-Length"[..], &b"1000"[..]));
    for (name, line, headers, body, target, seen_body, framing) in [
        (
            "plain",
            "GET /check/shop/a/b?q=1&x=%2e",
            vec![host],
            &b""[..],
            "/a/b?q=1&x=%2e",
            SeenBody::Complete(vec![]),
            ("", ""),
        ),
        ("root", "GET /check/shop/", vec![host], b"", "/", SeenBody::Complete(vec![]), ("", "")),
        (
            "a path like ours",
            "GET /check/shop/verify",
            vec![host],
            b"",
            "/verify",
            SeenBody::Complete(vec![]),
            ("", ""),
        ),
        (
            "body kept",
            "POST /check/shop/p",
            vec![host, (b"Content-Length", b"0")],
            b"",
            "/p",
            SeenBody::NotSent,
            ("", "chunked"),
        ),
        (
            "body",
            "POST /check/shop/p",
            vec![host, small_length, mark(b"false")],
            b"a=1",
            "/p",
            SeenBody::Complete(b"a=1".to_vec()),
            ("3", ""),
        ),
        (
            "body cut",
            "POST /check/shop/p",
            vec![host, small_length, mark(b"true")],
            b"a=1",
            "/p",
            SeenBody::Partial(b"a=1".to_vec()),
            ("3", ""),
        ),
        (
            "at the limit: more may follow",
            "POST /check/shop/p",
            vec![host, full_length, mark(b"false")],
            &full,
            "/p",
            SeenBody::Partial(full.clone()),
            ("1000", ""),
        ),
    ] {
        let answer = http(&doors.http, &call(line, &headers, body)).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, ""), "{name}");
        let seen = doors.judge.take();
        assert_eq!((seen.door, seen.policy.as_deref()), (Door::Check, Some("shop")), "{name}");
        assert_eq!(
            (&seen.method[..], &seen.target[..]),
            (line.split(' ').next().unwrap().as_bytes(), target.as_bytes()),
            "{name}"
        );
        assert_eq!((&seen.host[..], seen.values("host")), (host.1, vec![host.1]), "{name}");
        assert_eq!(seen.body, seen_body, "{name}");
        let values = |value: &'static str| {
            Some(value.as_bytes()).filter(|value| !value.is_empty()).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(seen.values("content-length"), values(framing.0), "{name}");
        assert_eq!(seen.values("transfer-encoding"), values(framing.1), "{name}");
        assert!(seen.values("x-envoy-auth-partial-body").is_empty(), "{name}");
    }
}

#[tokio::test]
async fn the_http_flavour_refuses_two_hosts() {
    let doors = Doors::open().await;
    for twice in [&b"Host"[..], b"X-Forwarded-Proto"] {
        let headers: Headers<'_> = vec![(b"Host", b"h"), (twice, b"https"), (twice, b"http")];
        assert_eq!(http(&doors.http, &call("GET /check/shop/", &headers, b"")).await.status, 403);
    }
    assert_eq!(doors.judge.count(), 0);
}

#[tokio::test]
async fn answers_are_plain_and_complete() {
    let doors = Doors::open().await;
    let ask = || async { http(&doors.http, &call("GET /verify", &described("GET", &[]), b"")).await };
    let allowed = ask().await;
    assert_eq!((allowed.status, allowed.body.as_str()), (200, ""));
    for (name, value) in [("x-waf-verdict", "allow"), ("x-waf-score", "5"), ("x-waf-request-id", "req-1")] {
        assert_eq!(allowed.header(name), Some(value));
    }
    doors.judge.answers(Answer::Deny { status: 403, close: false });
    let denied = ask().await;
    assert_eq!((denied.status, denied.body.as_str()), (403, "request blocked; request id req-1"));
    assert_eq!(denied.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!((denied.header("x-waf-request-id"), denied.header("x-waf-verdict")), (Some("req-1"), None));
    *doors.judge.expose.lock().unwrap() = Expose::Id;
    assert_eq!(ask().await.header("x-waf-verdict"), Some("deny"));
    doors.judge.answers(Answer::Redirect { status: 303, location: "https://h/blocked".to_owned() });
    let redirected = ask().await;
    assert_eq!((redirected.status, redirected.header("location")), (303, Some("https://h/blocked")));
}

#[tokio::test]
async fn a_connection_serves_one_call_after_another() {
    let doors = Doors::open().await;
    let one = b"POST /verify HTTP/1.1\r\nHost: waf\r\nX-Forwarded-Method: POST\r\nX-Forwarded-Uri: /1\r\nContent-Length: 3\r\n\r\na=1";
    let two = b"GET /verify HTTP/1.1\r\nHost: waf\r\nConnection: close\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: /2\r\n\r\n";
    let answers = exchange(&doors.http, &[&one[..], two].concat()).await;
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 2, "{answers}");
    assert_eq!(doors.judge.count(), 2);
}
