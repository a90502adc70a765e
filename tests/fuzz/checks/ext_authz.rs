//! Any bytes as a `CheckRequest`: a request or a refusal, and nothing of Envoy's own before the rules.

use portcullis::config::IpNet;
use portcullis::model::Body;
use portcullis::transport::ext_authz::request;

/// Checks a message; the first byte is the body limit.
pub(crate) fn run(data: &[u8]) {
    let Some((limit, message)) = data.split_first() else { return };
    let limit = usize::from(*limit);
    let trusted = [IpNet { addr: [10, 0, 0, 0].into(), prefix: 8 }];
    let Ok(check) = request::decode(message) else { return };
    let Ok(original) = request::original(check, &trusted, || limit) else { return };
    assert!(!original.method.is_empty(), "a request has a method");
    let has = |name: &[u8]| original.headers.iter().any(|line| line.name.eq_ignore_ascii_case(name));
    for line in &original.headers {
        assert!(!line.name.starts_with(b":"), "no pseudo header is shown");
    }
    assert!(!has(b"x-envoy-auth-partial-body"), "the mark is consumed");
    let whole = matches!(original.body, Body::Complete(bytes) if !bytes.is_empty());
    let full = original.body.bytes().len() >= limit;
    assert!(!(whole && full && !has(b"content-length")), "a body at the limit is whole only when a length says so");
}
