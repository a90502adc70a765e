//! From the HTTP call of a forward-auth proxy to the client's request.
//!
//! Knows no socket. Under `/verify` everything comes from `X-Forwarded-*` headers and nothing from the call itself, whose
//! method, target, framing and `Host` are the proxy's own. Under `/check` (Envoy's HTTP flavour) method, target and
//! `Host` are those of the call. Everything is read as bytes: values that are no text do arrive.

use std::net::IpAddr;

use http::header::{self, HeaderName};
use http::request::Parts;
use http::{HeaderMap, Uri};

use crate::config::IpNet;
use crate::model::{Body, Header};
use crate::transport::body::{self, CHUNKED, PARTIAL_BODY};
use crate::transport::client::{self, Forwarded};
use crate::transport::original::{self, Original, Refusal};

const METHOD: &str = "x-forwarded-method";
const URI: &str = "x-forwarded-uri";
const HOST: &str = "x-forwarded-host";
const PROTO: &str = "x-forwarded-proto";
const FOR: &str = "x-forwarded-for";

/// The length of a body that stayed at the proxy; our configuration for nginx sets it.
const LENGTH: &str = "x-original-content-length";

/// What is asked for. Nothing is ever read from the query: some proxies append the client's to the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route<'u> {
    /// `/verify` and `/verify/{policy}`.
    Verify(Option<&'u str>),
    /// `/check/{policy}` followed by the original path and query.
    Check(&'u str, &'u str),
}

impl<'u> Route<'u> {
    /// The route of a URI; `None` when there is none.
    pub fn of(uri: &'u Uri) -> Option<Self> {
        let name = |policy: &'u str| (!policy.is_empty() && !policy.contains('/')).then_some(policy);
        if uri.path() == "/verify" {
            Some(Self::Verify(None))
        } else if let Some(policy) = uri.path().strip_prefix("/verify/") {
            name(policy).map(|policy| Self::Verify(Some(policy)))
        } else {
            let rest = uri.path_and_query()?.as_str().strip_prefix("/check/")?;
            let (policy, target) = rest.split_at(rest.find('/')?);
            name(policy).filter(|policy| !policy.contains('?')).map(|policy| Self::Check(policy, target))
        }
    }

    /// The policy asked for.
    pub fn policy(&self) -> Option<&'u str> {
        match self {
            Self::Verify(policy) => *policy,
            Self::Check(policy, _) => Some(policy),
        }
    }
}

/// What was read of the call's own body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read<'b> {
    /// The bytes, at most as many as the policy inspects.
    pub bytes: &'b [u8],
    /// There was more.
    pub more: bool,
}

/// The client's request.
pub fn original<'m>(
    route: Route<'m>,
    call: &'m Parts,
    read: Read<'m>,
    limit: impl FnOnce() -> usize,
    trusted: &[IpNet],
) -> Result<Original<'m>, Refusal> {
    match route {
        Route::Verify(policy) => verify(policy, &call.headers, read, trusted),
        Route::Check(policy, target) => check(policy, target, call, read, limit, trusted),
    }
}

fn verify<'m>(
    policy: Option<&'m str>,
    headers: &'m HeaderMap,
    read: Read<'m>,
    trusted: &[IpNet],
) -> Result<Original<'m>, Refusal> {
    let mut told = Told::default();
    let mut lines = room(headers);
    lines.push(Header { name: b"host", value: b"" });
    for (name, value) in headers {
        if told.shows(name, value.as_bytes())? {
            lines.push(Header { name: name.as_str().as_bytes(), value: value.as_bytes() });
        }
    }
    let method = told.method.filter(|method| original::is_token(method)).ok_or(Refusal::Malformed)?;
    let target = told.target.filter(|target| original::is_path(target)).ok_or(Refusal::Malformed)?;
    let host = told.host.unwrap_or_default();
    match lines.first_mut() {
        Some(first) if !host.is_empty() => first.value = host,
        _ => drop(lines.remove(0)),
    }
    let scheme = original::scheme(told.scheme.unwrap_or_default());
    let (body, framing) = told.body(method, read);
    lines.extend(framing);
    let client = match told.lists {
        0 | 1 => client(told.list.into_iter(), trusted),
        _ => client(lists(&lines), trusted),
    };
    Ok(finish(policy, method, target, scheme, host, lines, body, client))
}

/// What a proxy's call says of the request besides its headers; the names are looked at in one pass over all headers.
#[derive(Default)]
struct Told<'m> {
    method: Option<&'m [u8]>,
    target: Option<&'m [u8]>,
    host: Option<&'m [u8]>,
    scheme: Option<&'m [u8]>,
    /// The length of a body that the proxy kept.
    kept: Option<&'m [u8]>,
    /// The length of the call's own body.
    length: Option<&'m [u8]>,
    /// The call's own body came in chunks.
    chunked: bool,
    /// How many `X-Forwarded-For` there are, and the last of them.
    lists: usize,
    list: Option<&'m [u8]>,
}

impl<'m> Told<'m> {
    /// Takes a header in; whether it is one that the client sent.
    fn shows(&mut self, name: &HeaderName, value: &'m [u8]) -> Result<bool, Refusal> {
        // These must not be repeated.
        let single = match name.as_str() {
            // Most names begin otherwise, and need not be compared with all of these.
            name if name.starts_with("x-") => match name {
                METHOD => &mut self.method,
                URI => &mut self.target,
                HOST => &mut self.host,
                PROTO => &mut self.scheme,
                LENGTH => {
                    self.kept = self.kept.or(Some(value));
                    return Ok(false);
                }
                FOR => {
                    self.lists += 1;
                    self.list = Some(value);
                    return Ok(true);
                }
                _ => return Ok(true),
            },
            "content-length" => {
                self.length = self.length.or(Some(value));
                return Ok(false);
            }
            "transfer-encoding" => {
                self.chunked = true;
                return Ok(false);
            }
            other => return Ok(!is_of_the_call(other, value)),
        };
        if single.replace(value).is_some() { Err(Refusal::Malformed) } else { Ok(false) }
    }

    /// The body under `/verify`, and the framing rules are to see: what the request had, not what the call has.
    ///
    /// A call with a body shows that the proxy hands bodies over (only Traefik can), so the body is all there is and has
    /// the framing of the request. A call without shows nothing: there is no body, or the proxy keeps it.
    fn body(&self, method: &[u8], read: Read<'m>) -> (Body<'m>, Option<Header<'m>>) {
        const EMPTY: Header<'static> = Header { name: b"content-length", value: b"0" };
        let framing = || framing(self.chunked, self.length);
        if read.more {
            return (Body::Partial(read.bytes), framing());
        }
        if !read.bytes.is_empty() {
            return (Body::Complete(read.bytes), framing());
        }
        if self.chunked {
            return (Body::Complete(b""), body::usually_has_body(method).then_some(EMPTY));
        }
        match self.kept.filter(|value| body::length(value).is_some_and(|length| length > 0)) {
            Some(value) => (Body::NotSent, Some(Header { name: b"content-length", value })),
            None => {
                let body = body::withheld(None, method);
                (body, (body == Body::NotSent).then_some(CHUNKED))
            }
        }
    }
}

/// `/check`: as `ext_authz` hands it over, but for the length, which is that of the call and not of the request.
fn check<'m>(
    policy: &'m str,
    target: &'m str,
    call: &'m Parts,
    read: Read<'m>,
    limit: impl FnOnce() -> usize,
    trusted: &[IpNet],
) -> Result<Original<'m>, Refusal> {
    let (method, headers) = (call.method.as_str().as_bytes(), &call.headers);
    let marks = headers.get_all(PARTIAL_BODY).iter();
    let cut = marks.map(|mark| mark.as_bytes() != b"false").reduce(|left, right| left || right);
    let cut = if read.more { Some(true) } else { cut };
    let body = body::forwarded(read.bytes, cut, None, limit, method);
    let framing = match body {
        Body::Complete(b"") => None,
        _ if cut.is_none() => Some(CHUNKED),
        _ => {
            let length = headers.get(header::CONTENT_LENGTH).map(header_value);
            framing(headers.contains_key(header::TRANSFER_ENCODING), length).or(Some(CHUNKED))
        }
    };
    let host = only(headers, header::HOST.as_str())?.unwrap_or_default();
    let scheme = original::scheme(only(headers, PROTO)?.unwrap_or_default());
    let hidden =
        |name: &HeaderName, _: &[u8]| is_framing(name) || name == header::HOST || name.as_str() == PARTIAL_BODY;
    let headers = lines(headers, host, framing, hidden);
    let client = client(lists(&headers), trusted);
    Ok(finish(Some(policy), method, target.as_bytes(), scheme, host, headers, body, client))
}

/// The values of all `X-Forwarded-For`.
fn lists<'m, 'h>(headers: &'h [Header<'m>]) -> impl DoubleEndedIterator<Item = &'m [u8]> + use<'m, 'h> {
    headers.iter().filter(|header| header.name == FOR.as_bytes()).map(|header| header.value)
}

fn client<'v>(lists: impl DoubleEndedIterator<Item = &'v [u8]>, trusted: &[IpNet]) -> Option<IpAddr> {
    match client::forwarded_for(lists, trusted) {
        Forwarded::Client(address) => Some(address),
        Forwarded::Unknown | Forwarded::Nobody => None,
    }
}

#[expect(clippy::too_many_arguments, reason = "the one place where both routes meet")]
fn finish<'m>(
    policy: Option<&'m str>,
    method: &'m [u8],
    target: &'m [u8],
    scheme: &'static [u8],
    host: &'m [u8],
    headers: Vec<Header<'m>>,
    body: Body<'m>,
    client: Option<IpAddr>,
) -> Original<'m> {
    Original {
        policy,
        method,
        target,
        protocol: b"HTTP/1.1",
        scheme,
        host,
        headers,
        body,
        client: (client, 0),
        server: (None, 0),
    }
}

/// The framing of the call itself; chunks win over a length, as in HTTP.
fn framing(chunked: bool, length: Option<&[u8]>) -> Option<Header<'_>> {
    if chunked {
        return Some(CHUNKED);
    }
    length.map(|value| Header { name: b"content-length", value })
}

/// The value of a header that must not be repeated.
fn only<'m>(headers: &'m HeaderMap, name: &str) -> Result<Option<&'m [u8]>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(header_value);
    if values.next().is_some() { Err(Refusal::Malformed) } else { Ok(first) }
}

/// Room for these headers, a `host` and a framing; a power of two, which is what the allocator is quickest with.
fn room<'m>(headers: &HeaderMap) -> Vec<Header<'m>> {
    Vec::with_capacity((headers.len() + 2).next_power_of_two())
}

/// All header lines but the hidden ones; `host` first, the framing last.
fn lines<'m>(
    headers: &'m HeaderMap,
    host: &'m [u8],
    framing: Option<Header<'m>>,
    hidden: impl Fn(&HeaderName, &[u8]) -> bool,
) -> Vec<Header<'m>> {
    let mut lines = room(headers);
    if !host.is_empty() {
        lines.push(Header { name: b"host", value: host });
    }
    let shown = headers.iter().filter(|(name, value)| !hidden(name, value.as_bytes()));
    lines.extend(shown.map(|(name, value)| Header { name: name.as_str().as_bytes(), value: value.as_bytes() }));
    lines.extend(framing);
    lines
}

fn is_framing(name: &HeaderName) -> bool {
    *name == header::CONTENT_LENGTH || *name == header::TRANSFER_ENCODING
}

/// Headers that belong to the proxy's call, beside its framing. `Accept-Encoding: gzip` and `Expect: 100-continue` are what
/// a proxy's HTTP client adds; any other value can only be the client's, and reaches the backend.
fn is_of_the_call(name: &str, value: &[u8]) -> bool {
    match name {
        "host" | "connection" | "keep-alive" | "te" | "trailer" => true,
        "accept-encoding" => value == b"gzip",
        "expect" => value.eq_ignore_ascii_case(b"100-continue"),
        _ => false,
    }
}

fn header_value(value: &http::HeaderValue) -> &[u8] {
    value.as_bytes()
}
