//! What is known of a body, from what the proxy handed over and what the headers say.
//!
//! Knows no policy: it says what happened, the service decides what follows.

use crate::model::{Body, Header};

/// The header Envoy marks buffered bodies with: `true` when it is cut, `false` when not, missing when nothing was buffered.
pub const PARTIAL_BODY: &str = "x-envoy-auth-partial-body";

/// The body of a request as Envoy hands it over.
///
/// `cut` is Envoy's own mark, `length` the request's `content-length`, `limit` tells the largest body the policy inspects
/// and is asked only where that matters. Envoy asks as soon as its buffer is full and then says "not cut" though more may
/// follow, so a body of at least `limit` bytes is whole only when the length says so; and a length above the bytes at hand
/// means that some are missing.
pub fn forwarded<'m>(
    bytes: &'m [u8],
    cut: Option<bool>,
    length: Option<u64>,
    limit: impl FnOnce() -> usize,
    method: &[u8],
) -> Body<'m> {
    if cut.is_none() && bytes.is_empty() {
        return withheld(length, method);
    }
    let size = bytes.len() as u64;
    let unfinished = length.is_some_and(|length| length > size) || (length != Some(size) && bytes.len() >= limit());
    if cut == Some(true) || unfinished { Body::Partial(bytes) } else { Body::Complete(bytes) }
}

/// The body of a request whose proxy handed over nothing: none if the length or the method says so.
pub fn withheld(length: Option<u64>, method: &[u8]) -> Body<'static> {
    match length {
        Some(0) => Body::Complete(b""),
        Some(_) => Body::NotSent,
        None if usually_has_body(method) => Body::NotSent,
        None => Body::Complete(b""),
    }
}

/// Methods that come with a body as a rule. For others a missing length is taken to mean that there is none: to take
/// each GET for a request with an unseen body would drown the ones that matter.
pub fn usually_has_body(method: &[u8]) -> bool {
    !matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE" | b"DELETE" | b"CONNECT")
}

/// The value of a `content-length`, if it is a number.
pub fn length(value: &[u8]) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let length = value.iter().try_fold(0_u64, |number, byte| number.checked_mul(10)?.checked_add(digit(*byte)?));
    length.filter(|_| !value.is_empty())
}

/// Stands for the framing that proxies take off: a request of HTTP/1 that has a body and no length was sent in chunks.
pub const CHUNKED: Header<'static> = Header { name: b"transfer-encoding", value: b"chunked" };

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: &[u8] = b"0123456789";

    #[test]
    fn envoy_bodies() {
        use Body::{Complete, NotSent, Partial};
        let (yes, no) = (Some(true), Some(false));
        for (name, bytes, cut, length, limit, method, expected) in [
            ("whole", TEN, no, Some(10), 100, "POST", Complete(TEN)),
            ("whole, chunked", TEN, no, None, 100, "POST", Complete(TEN)),
            ("cut by Envoy", TEN, yes, Some(20), 10, "POST", Partial(TEN)),
            ("cut by Envoy, chunked", TEN, yes, None, 10, "POST", Partial(TEN)),
            ("as long as the limit and the length says so", TEN, no, Some(10), 10, "POST", Complete(TEN)),
            ("as long as the limit, more may follow", TEN, no, None, 10, "POST", Partial(TEN)),
            ("as long as the limit, more will follow", TEN, no, Some(11), 10, "POST", Partial(TEN)),
            ("over our limit, whole", TEN, no, Some(10), 5, "POST", Complete(TEN)),
            ("over our limit, chunked", TEN, no, None, 5, "POST", Partial(TEN)),
            ("shorter than its length", TEN, no, Some(11), 100, "POST", Partial(TEN)),
            ("longer than its length", TEN, no, Some(9), 100, "POST", Complete(TEN)),
            ("no mark, but bytes", TEN, None, Some(10), 100, "POST", Complete(TEN)),
            ("no mark, bytes at the limit", TEN, None, None, 10, "POST", Partial(TEN)),
            ("mark without bytes", b"", no, Some(4), 100, "POST", Partial(b"")),
            ("mark without bytes or length", b"", no, None, 100, "POST", Complete(b"")),
            ("length only", b"", None, Some(4), 100, "POST", NotSent),
            ("length only, GET", b"", None, Some(4), 100, "GET", NotSent),
            ("length zero", b"", None, Some(0), 100, "POST", Complete(b"")),
            ("nothing, POST", b"", None, None, 100, "POST", NotSent),
            ("nothing, unknown method", b"", None, None, 100, "BREW", NotSent),
            ("nothing, GET", b"", None, None, 100, "GET", Complete(b"")),
        ] {
            assert_eq!(forwarded(bytes, cut, length, || limit, method.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn lengths() {
        for (text, expected) in [
            ("0", Some(0)),
            ("131072", Some(131_072)),
            ("", None),
            ("+3", None),
            ("3, 3", None),
            ("-1", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("0000000000000000000000007", Some(7)),
        ] {
            assert_eq!(length(text.as_bytes()), expected, "{text}");
        }
    }
}
