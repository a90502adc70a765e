//! The request that arrived: what the sidecar says it was given, held against what the application got.
//!
//! The audit record is cut, redacted, and shows odd bytes in words; the application's copy has every byte, but also
//! what proxies add for it alone. Together they are the request as the adapter made it, and a proof that the sidecar
//! judged what the application got: a header line that only one of the two saw is an error unless [`Seen`] names it.

use portcullis::input::{BodyState, RequestBuf};

use crate::record::{REDACTED, Record, shown};
use crate::support::{Checked, ensure, http};

/// As much of a target and of a header's value is recorded.
const MAX_TARGET: usize = 8 << 10;
const MAX_HEADER_VALUE: usize = 4 << 10;

/// Header lines that by their nature only one side sees: names, or whole lines, which may end in `*`.
pub(crate) struct Seen {
    /// By the sidecar alone: framing that the proxy does anew towards the application.
    pub(crate) by_sidecar: &'static [&'static str],
    /// By the application alone: what the proxy adds after the decision, framing again, and the proxy's own words.
    pub(crate) by_backend: &'static [&'static str],
}

/// The request that arrived.
pub(crate) fn request(record: &Record, bytes: &[u8], seen: &Seen) -> Checked<RequestBuf> {
    let (start, headers, end) = http::head(bytes).ok_or("the application got no whole head")?;
    let body = http::body(&headers, &bytes[end..]).ok_or("the application got no whole body")?.unwrap_or_default();
    let mut words = start.split(|byte| *byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    same("method", &record.request.method, method)?;
    same("target", &record.request.uri, cut(target, MAX_TARGET))?;
    let not_inspected = |name: &str| record.portcullis.not_inspected.iter().any(|reason| reason == name);
    ensure(!not_inspected("body_partial"), || "the sidecar got a part of the body".to_owned())?;
    let absent = not_inspected("body_absent");
    ensure(!absent || body.is_empty(), || "the sidecar got no body, the application did".to_owned())?;
    Ok(RequestBuf {
        method: method.to_vec(),
        target: target.to_vec(),
        protocol: record.protocol().into_bytes(),
        headers: lines(record, headers, seen)?,
        body,
        body_state: if absent { BodyState::Absent } else { BodyState::Complete },
        remote_addr: record.client(),
        remote_port: record.client_port,
        server_addr: record.host(),
        server_port: record.host_port,
        ..RequestBuf::default()
    })
}

fn same(what: &str, recorded: &str, got: &[u8]) -> Checked {
    let got = shown(got);
    ensure(recorded == got, || format!("{what}: the sidecar saw {recorded:?}, the application got {got:?}"))
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

type Line = (Vec<u8>, Vec<u8>);

/// The recorded lines with the application's bytes.
fn lines(record: &Record, mut got: Vec<(String, Vec<u8>)>, seen: &Seen) -> Checked<Vec<Line>> {
    let mut lines = Vec::with_capacity(record.request.headers.0.len());
    for (name, value) in &record.request.headers.0 {
        let is_it = |(other, bytes): &(String, Vec<u8>)| {
            other.eq_ignore_ascii_case(name) && (value == REDACTED || *value == shown(cut(bytes, MAX_HEADER_VALUE)))
        };
        let bytes = match got.iter().position(is_it) {
            Some(at) => got.remove(at).1,
            None if is_listed(seen.by_sidecar, name, value) => value.clone().into_bytes(),
            None => {
                return Err(format!("the application did not get the header that the sidecar saw: {name}: {value:?}"));
            }
        };
        lines.push((name.clone().into_bytes(), bytes));
    }
    match got.iter().find(|(name, value)| !is_listed(seen.by_backend, name, &shown(value))) {
        Some((name, value)) => {
            Err(format!("the sidecar did not see a header of the application: {name}: {:?}", shown(value)))
        }
        None => Ok(lines),
    }
}

fn is_listed(lines: &[&str], name: &str, value: &str) -> bool {
    lines.iter().any(|line| match line.split_once(": ") {
        Some((listed, only)) => {
            let is_it = only.strip_suffix('*').map_or(only == value, |start| value.starts_with(start));
            listed.eq_ignore_ascii_case(name) && is_it
        }
        None => line.eq_ignore_ascii_case(name),
    })
}
