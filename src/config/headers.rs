//! Header names with a meaning of their own to cache and audit log.
//!
//! Knows no request: only which names carry secrets, and which change on every request.

/// Headers whose values are secrets or stand for a person: a request that carries one is neither looked up in the cache
/// nor stored, and the value is redacted in the audit log. Configuration can add to this list and never takes away.
/// Lower case, sorted; names are compared by [`canonical`].
pub const NEVER_CACHEABLE: &[&str] = &[
    "apikey",
    "authentication",
    "authorization",
    "cf-access-client-id",
    "cf-access-client-secret",
    "cf-access-jwt-assertion",
    "cookie",
    "cookie2",
    "dpop",
    "private-token",
    "proxy-authorization",
    "sec-websocket-key",
    "set-cookie",
    "set-cookie2",
    "signature",
    "signature-input",
    "ssl-client-cert",
    "token",
    "x-access-token",
    "x-amz-security-token",
    "x-amzn-oidc-accesstoken",
    "x-amzn-oidc-data",
    "x-amzn-oidc-identity",
    "x-api-key",
    "x-apikey",
    "x-arr-clientcert",
    "x-auth-email",
    "x-auth-key",
    "x-auth-request-access-token",
    "x-auth-request-email",
    "x-auth-request-user",
    "x-auth-token",
    "x-aws-ec2-metadata-token",
    "x-client-cert",
    "x-csrf-token",
    "x-csrftoken",
    "x-forwarded-access-token",
    "x-forwarded-client-cert",
    "x-forwarded-email",
    "x-forwarded-tls-client-cert",
    "x-forwarded-tls-client-cert-info",
    "x-forwarded-user",
    "x-goog-authenticated-user-email",
    "x-goog-authenticated-user-id",
    "x-goog-iap-jwt-assertion",
    "x-google-oauth-access-token",
    "x-ms-client-principal",
    "x-ms-token-aad-access-token",
    "x-ms-token-aad-id-token",
    "x-original-authorization",
    "x-session-id",
    "x-session-token",
    "x-ssl-client-cert",
    "x-user-token",
    "x-vault-token",
    "x-xsrf-token",
];

/// Endings of names that are never cacheable either: makers of gateways and applications name their own secrets so.
pub const NEVER_CACHEABLE_ENDINGS: &[&str] =
    &["-access-key", "-api-key", "-apikey", "-assertion", "-authorization", "-jwt", "-password", "-secret", "-token"];

/// Headers that a proxy or client fills anew on each request, by default: their values are screened, not keyed.
/// Lower case, sorted.
pub const VOLATILE: &[&str] = &[
    "b3",
    "baggage",
    "cf-connecting-ip",
    "cf-ray",
    "fastly-client-ip",
    "if-modified-since",
    "if-none-match",
    "sentry-trace",
    "traceparent",
    "tracestate",
    "true-client-ip",
    "uber-trace-id",
    "x-amz-cf-id",
    "x-amzn-trace-id",
    "x-azure-ref",
    "x-b3-flags",
    "x-b3-parentspanid",
    "x-b3-sampled",
    "x-b3-spanid",
    "x-b3-traceid",
    "x-client-trace-id",
    "x-cloud-trace-context",
    "x-correlation-id",
    "x-datadog-parent-id",
    "x-datadog-sampling-priority",
    "x-datadog-trace-id",
    "x-envoy-attempt-count",
    "x-envoy-expected-rq-timeout-ms",
    "x-envoy-external-address",
    "x-forwarded-for",
    "x-ot-span-context",
    "x-real-ip",
    "x-request-id",
    "x-request-start",
];

/// One byte of a name in the form in which names are compared: lower case, `_` as `-`, since CGI-style servers take both
/// for the same header.
pub const fn canonical_byte(byte: u8) -> u8 {
    match byte {
        b'_' => b'-',
        _ => byte.to_ascii_lowercase(),
    }
}

/// A name in the form in which names are compared; see [`canonical_byte`].
pub fn canonical(name: &[u8]) -> Vec<u8> {
    name.iter().copied().map(canonical_byte).collect()
}

/// Whether this header is on the compiled-in list, in any case, with `_` taken as `-`.
pub fn never_cacheable(name: &[u8]) -> bool {
    let mut buffer = [0; 64];
    let Some(short) = buffer.get_mut(..name.len()) else { return never_cacheable_canonical(&canonical(name)) };
    for (to, from) in short.iter_mut().zip(name) {
        *to = canonical_byte(*from);
    }
    never_cacheable_canonical(short)
}

fn never_cacheable_canonical(name: &[u8]) -> bool {
    NEVER_CACHEABLE.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
        || NEVER_CACHEABLE_ENDINGS.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_canonical_and_apart() {
        for list in [NEVER_CACHEABLE, VOLATILE, NEVER_CACHEABLE_ENDINGS] {
            assert!(list.is_sorted_by(|a, b| a < b), "not sorted or a name twice: {list:?}");
            assert!(list.iter().all(|name| canonical(name.as_bytes()) == name.as_bytes()), "{list:?}");
        }
        assert!(VOLATILE.iter().all(|name| !never_cacheable(name.as_bytes())));
    }

    #[test]
    fn never_cacheable_in_any_spelling() {
        let yes =
            ["Cookie", "AUTHORIZATION", "x_api_key", "X-Api_Key", "Sec-WebSocket-Key", "x-acme-token", "My_Secret"];
        let no = ["accept", "x-request-id", "user-agent", "cookies", "tokens", "x-forwarded-for", ""];
        for name in yes {
            assert!(never_cacheable(name.as_bytes()), "{name}");
        }
        for name in no {
            assert!(!never_cacheable(name.as_bytes()), "{name}");
        }
        assert!(never_cacheable(&[&[b'a'; 100][..], b"-TOKEN"].concat()));
    }
}
