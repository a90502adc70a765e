//! The same original request through both doors is the same request to the rules.

use super::double::{Doors, Seen, SeenBody, Setup};
use super::wire::{Check, call, check, http};

struct Case {
    name: &'static str,
    method: &'static str,
    target: &'static [u8],
    host: &'static str,
    https: bool,
    headers: &'static [(&'static [u8], &'static [u8])],
    length: Option<&'static str>,
    body: &'static [u8],
}

const PLAIN: Case = Case {
    name: "",
    method: "GET",
    target: b"/",
    host: "shop.example",
    https: false,
    headers: &[],
    length: None,
    body: b"",
};

const CASES: &[Case] = &[
    Case { name: "a plain GET", headers: &[(b"user-agent", b"curl/8"), (b"accept", b"*/*")], ..PLAIN },
    Case { name: "a query with odd bytes", target: b"/p?q=\xff%zz<'\"`|{}^\\", ..PLAIN },
    Case { name: "a path with odd bytes", target: b"/a;b=c/../%2e%2e//\xc3\xa9/%00", ..PLAIN },
    Case { name: "https and a port", https: true, host: "shop.example:8443", ..PLAIN },
    Case { name: "a numeric host", host: "192.0.2.1", ..PLAIN },
    Case { name: "repeated headers", headers: &[(b"x-a", b"1"), (b"x-a", b"2"), (b"x-b", b"")], ..PLAIN },
    Case { name: "repeated cookies", headers: &[(b"cookie", b"a=1"), (b"cookie", b"b=' or 1=1")], ..PLAIN },
    Case {
        name: "values that are no text",
        headers: &[(b"referer", b"\xff\x80"), (b"x-jndi", b"${jndi:ldap://x}")],
        ..PLAIN
    },
    Case {
        name: "a form",
        method: "POST",
        headers: &[(b"content-type", b"application/x-www-form-urlencoded")],
        length: Some("7"),
        body: b"a=1&b=2",
        ..PLAIN
    },
    Case {
        name: "a form in chunks",
        method: "POST",
        headers: &[(b"content-type", b"application/x-www-form-urlencoded")],
        body: b"a=1&b=2",
        ..PLAIN
    },
    Case { name: "a body that is no text", method: "PUT", length: Some("4"), body: b"\x00\xff\r\n", ..PLAIN },
    Case { name: "a GET with a body", length: Some("3"), body: b"a=1", ..PLAIN },
    Case { name: "a DELETE without a body", method: "DELETE", ..PLAIN },
    Case { name: "a method nobody knows", method: "BREW", length: Some("1"), body: b"x", ..PLAIN },
    Case {
        name: "a websocket",
        headers: &[(b"upgrade", b"websocket"), (b"sec-websocket-key", b"x3JJHMbDL1EzLkh9GBhXDw==")],
        ..PLAIN
    },
    Case { name: "a proxy in between", headers: &[(b"x-forwarded-for", b"203.0.113.9, 10.0.0.7")], ..PLAIN },
    Case { name: "a client that plays proxy", headers: &[(b"x-forwarded-for", b"${jndi:x}, 203.0.113.9")], ..PLAIN },
];

impl Case {
    fn has_list(&self) -> bool {
        self.headers.iter().any(|(name, _)| *name == b"x-forwarded-for")
    }

    /// As Envoy describes it. The peer is the client itself unless there is a proxy in between.
    fn by_envoy(&self) -> Check {
        let source = if self.has_list() { ("10.0.0.8", 0) } else { ("203.0.113.9", 0) };
        let request = Check {
            method: self.method.into(),
            path: self.target.to_vec(),
            host: self.host.into(),
            scheme: if self.https { b"https".to_vec() } else { b"http".to_vec() },
            raw_body: self.body.to_vec(),
            source: Some(source),
            destination: None,
            ..Check::default()
        };
        let mut headers = self.headers.to_vec();
        headers.extend(self.length.map(|length| (&b"content-length"[..], length.as_bytes())));
        if !self.body.is_empty() {
            headers.push((b"x-envoy-auth-partial-body", b"false"));
        }
        request.raw(&headers)
    }

    /// As Traefik describes it, with bodies forwarded.
    fn by_traefik(&self) -> Vec<u8> {
        let proto: &[u8] = if self.https { b"https" } else { b"http" };
        let mut headers: Vec<(&[u8], &[u8])> = vec![(b"Host", b"waf:9292"), (b"Accept-Encoding", b"gzip")];
        headers.extend(self.headers);
        headers.extend::<[(&[u8], &[u8]); 4]>([
            (b"X-Forwarded-Method", self.method.as_bytes()),
            (b"X-Forwarded-Uri", self.target),
            (b"X-Forwarded-Host", self.host.as_bytes()),
            (b"X-Forwarded-Proto", proto),
        ]);
        if !self.has_list() {
            headers.push((b"X-Forwarded-For", b"203.0.113.9"));
        }
        let mut body = self.body.to_vec();
        match self.length {
            Some(length) => headers.push((b"Content-Length", length.as_bytes())),
            None if !body.is_empty() => {
                headers.push((b"Transfer-Encoding", b"chunked"));
                body = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
            }
            None => {}
        }
        call("GET /verify", &headers, &body)
    }
}

/// What rules can tell apart: all but the order of header lines with different names, of which HTTP says it has no
/// meaning, and the list that each proxy writes in its own way.
fn comparable(mut seen: Seen, has_list: bool) -> (Vec<(Vec<u8>, Vec<u8>)>, impl PartialEq + std::fmt::Debug) {
    seen.headers.retain(|(name, _)| has_list || name != b"x-forwarded-for");
    seen.headers.sort_by(|left, right| left.0.cmp(&right.0));
    (seen.headers, (seen.method, seen.target, seen.protocol, seen.scheme, seen.host, seen.body, seen.client))
}

#[tokio::test]
async fn both_doors_show_the_same_request() {
    let doors = Setup::default().start().await;
    for case in CASES {
        assert!(check(&doors.grpc, &case.by_envoy()).await.allowed(), "{}", case.name);
        let through_envoy = doors.judge.take();
        assert_eq!(http(&doors.http, &case.by_traefik()).await.status, 200, "{}", case.name);
        let through_traefik = doors.judge.take();
        assert_eq!(through_envoy.body, SeenBody::Complete(case.body.to_vec()), "{}", case.name);
        assert_eq!(through_envoy.client.0, Some("203.0.113.9".parse().unwrap()), "{}", case.name);
        let (envoy, traefik) =
            (comparable(through_envoy, case.has_list()), comparable(through_traefik, case.has_list()));
        assert_eq!(envoy.0, traefik.0, "{}", case.name);
        assert!(envoy.1 == traefik.1, "{}: {:?} {:?}", case.name, envoy.1, traefik.1);
    }
    assert_eq!(CASES.len(), 17, "cases that ran");
}

#[tokio::test]
async fn both_doors_give_the_same_answer() {
    use portcullis::service::Answer;
    let doors = Doors::open().await;
    for status in [401, 403, 404, 413, 429, 500] {
        doors.judge.answers(Answer::Deny { status, close: false });
        let (grpc, http) =
            (check(&doors.grpc, &CASES[0].by_envoy()).await, http(&doors.http, &CASES[0].by_traefik()).await);
        assert_eq!((grpc.http_status(), grpc.body()), (i32::from(http.status), http.body.as_str()));
        for name in ["content-type", "cache-control", "x-waf-request-id", "x-waf-verdict", "x-waf-score", "location"] {
            assert_eq!(grpc.header(name), http.header(name), "{name}");
        }
    }
}
