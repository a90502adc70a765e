//! Any header lines and body as a forward-auth call: a request or a refusal, and nothing of the call's own before the rules.

use http::{HeaderName, HeaderValue, Request};
use portcullis::config::IpNet;
use portcullis::model::Body;
use portcullis::transport::forward_auth::request::{self, Read, Route};

/// Checks a call: the path, `name: value` lines, an empty line, and a line of body (a `+` says that there was more).
pub(crate) fn run(data: &[u8]) {
    let mut lines = data.split(|&byte| byte == b'\n');
    let Ok(mut call) = Request::get(lines.next().unwrap_or_default()).body(()) else { return };
    for line in lines.by_ref().take_while(|line| !line.is_empty()) {
        let mut parts = line.splitn(2, |&byte| byte == b':');
        let (name, value) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value.trim_ascii())) {
            call.headers_mut().append(name, value);
        }
    }
    let body = lines.next().unwrap_or_default();
    let (call, ()) = call.into_parts();
    let Some(route) = Route::of(&call.uri) else { return };
    let more = body.first() == Some(&b'+');
    let trusted = [IpNet { addr: [10, 0, 0, 0].into(), prefix: 8 }];
    let Ok(original) = request::original(route, &call, Read { bytes: body, more }, || 20, &trusted) else { return };
    assert_eq!(original.target.first(), Some(&b'/'), "a target is a path");
    assert!(!more || !matches!(original.body, Body::Complete(_)), "what was cut is not whole");
    let count = |names: &[&[u8]]| original.headers.iter().filter(|line| names.contains(&line.name)).count();
    assert!(count(&[b"host"]) <= 1, "one host");
    assert!(count(&[b"content-length", b"transfer-encoding"]) <= 1, "one framing");
}
