//! Whatever arrives, there is a request or a refusal, and never a panic.

use http::{HeaderMap, HeaderName, HeaderValue};
use portcullis::config::IpNet;
use portcullis::model::Body;
use portcullis::transport::ext_authz::request as envoy;
use portcullis::transport::forward_auth::request::{self as forward, Read, Route};
use proptest::prelude::*;

use super::wire::Check;

fn trusted() -> Vec<IpNet> {
    vec![IpNet { addr: "10.0.0.0".parse().unwrap(), prefix: 8 }]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..40)
}

/// Headers among which those that mean something are frequent.
fn headers() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let name = prop_oneof![
        proptest::sample::select(vec![
            "host",
            "cookie",
            "content-length",
            "transfer-encoding",
            "x-envoy-auth-partial-body",
            "x-forwarded-for",
            ":path",
            ":method",
            ":authority",
            "x-forwarded-method",
            "x-forwarded-uri",
            "x-forwarded-host",
            "x-forwarded-proto",
            "x-original-content-length",
            "expect",
            "accept-encoding",
        ])
        .prop_map(|name| name.as_bytes().to_vec()),
        bytes(),
    ];
    let value = prop_oneof![
        proptest::sample::select(vec![
            "GET", "POST", "/", "/a?b", "0", "10", "true", "false", "10.0.0.1", "a=1,b=2", "gzip"
        ])
        .prop_map(|value| value.as_bytes().to_vec()),
        bytes(),
    ];
    proptest::collection::vec((name, value), 0..12)
}

fn through_envoy(message: &[u8], limit: usize) {
    super::reference::same(message);
    let Ok(check) = envoy::decode(message) else { return };
    let Ok(original) = envoy::original(check, &trusted(), || limit) else { return };
    assert!(!original.method.is_empty() && !original.target.contains(&b'#'));
    for header in &original.headers {
        assert!(!header.name.starts_with(b":") && !header.name.eq_ignore_ascii_case(b"x-envoy-auth-partial-body"));
    }
}

proptest! {
    #[test]
    fn any_bytes_as_a_message(message in proptest::collection::vec(any::<u8>(), 0..400)) {
        through_envoy(&message, 100);
    }

    #[test]
    fn any_damage_to_a_message(raw in headers(), map in headers(), at in any::<usize>(), byte in any::<u8>(), cut in any::<usize>()) {
        let check = Check { raw_headers: raw, map_headers: map, ..Check::default() };
        let mut message = check.encode();
        let length = message.len();
        message[at % length] = byte;
        through_envoy(&message, 5);
        message.truncate(cut % length);
        through_envoy(&message, 5);
        // A message may come in pieces, which are then merged.
        through_envoy(&[check.encode(), message].concat(), 5);
    }

    #[test]
    fn any_fields(method in bytes(), path in bytes(), host in bytes(), raw in headers(), map in headers(), body in bytes(), limit in 0_usize..50) {
        let check = Check { method, path, host, raw_headers: raw, map_headers: map, raw_body: body.clone(), ..Check::default() };
        let message = check.encode();
        let check = envoy::decode(&message).expect("what we write can be read");
        if let Ok(original) = envoy::original(check, &trusted(), || limit) {
            prop_assert_eq!(original.body.bytes(), &body[..]);
            // A body as long as the limit is whole only when a length says so.
            let length = original.headers.iter().rfind(|header| header.name.eq_ignore_ascii_case(b"content-length"));
            let said = length.is_some_and(|header| header.value == body.len().to_string().as_bytes());
            let whole = matches!(original.body, Body::Complete(_));
            prop_assert!(body.is_empty() || body.len() < limit || !whole || said || length.is_some());
        }
        through_envoy(&Check::default().encode(), limit);
    }

    #[test]
    fn any_headers_of_a_call(lines in headers(), path in "/(verify|check)(/[a-z]{0,3}){0,3}[?]?[a-z/?]{0,4}", body in bytes(), more in any::<bool>()) {
        let mut map = HeaderMap::new();
        for (name, value) in &lines {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
                map.append(name, value);
            }
        }
        let mut request = http::Request::get(path).body(()).expect("a URI");
        *request.headers_mut() = map;
        let (call, ()) = request.into_parts();
        let Some(route) = Route::of(&call.uri) else { return Ok(()) };
        let Ok(original) = forward::original(route, &call, Read { bytes: &body, more }, || 20, &trusted()) else { return Ok(()) };
        prop_assert_eq!(original.target.first(), Some(&b'/'));
        prop_assert!(!more || !matches!(original.body, Body::Complete(_)));
        prop_assert!(original.headers.iter().filter(|header| header.name == b"host").count() <= 1);
        let framing = |header: &&portcullis::model::Header<'_>| {
            header.name == b"content-length" || header.name == b"transfer-encoding"
        };
        prop_assert!(original.headers.iter().filter(framing).count() <= 1);
    }
}
