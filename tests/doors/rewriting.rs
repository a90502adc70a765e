//! What a proxy made of a request, and which of it matters to a test.

use portcullis::input::RequestBuf;

/// A part of a request that a proxy may rewrite.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Method,
    Path,
    Query,
    Protocol,
    Body,
    /// All lines of this name, in lower case.
    Header(String),
}

/// The rewritings that are to blame: those without which the test's expectation would hold, and none besides. `None`
/// when the request as it was sent does not meet it either.
pub(crate) fn to_blame(
    sent: &RequestBuf,
    arrived: &RequestBuf,
    mut holds: impl FnMut(&RequestBuf) -> bool,
) -> Option<String> {
    let mut undone = rewritten(sent, arrived);
    if !holds(&undo(sent, arrived, &undone)) {
        return None;
    }
    for part in undone.clone() {
        let fewer: Vec<Part> = undone.iter().filter(|other| **other != part).cloned().collect();
        if holds(&undo(sent, arrived, &fewer)) {
            undone = fewer;
        }
    }
    if undone.is_empty() {
        // Nothing has to be undone but what `undo` does anyway.
        let mut reordered = undo(sent, arrived, &[]);
        reordered.headers.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase());
        let cause = if holds(&reordered) { "header lines reordered" } else { "header names in lower case" };
        return Some(cause.to_owned());
    }
    let names: Vec<String> = undone.iter().map(|part| name(part, sent, arrived)).collect();
    Some(names.join(" + "))
}

fn rewritten(sent: &RequestBuf, arrived: &RequestBuf) -> Vec<Part> {
    let ((path, query), (other_path, other_query)) = (split(&sent.target), split(&arrived.target));
    let mut parts = Vec::new();
    let mut note = |differs: bool, part: Part| differs.then(|| parts.push(part));
    note(sent.method != arrived.method, Part::Method);
    note(path != other_path, Part::Path);
    note(query != other_query, Part::Query);
    note(sent.protocol != arrived.protocol, Part::Protocol);
    note(sent.body != arrived.body || sent.body_state != arrived.body_state, Part::Body);
    for header in names(sent).into_iter().chain(names(arrived)) {
        let part = Part::Header(header.clone());
        if values(sent, &header) != values(arrived, &header) && !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts
}

/// The request as it arrived, but these parts as they were sent; header lines in the order and spelling in which they
/// were sent, those that were not sent last.
fn undo(sent: &RequestBuf, arrived: &RequestBuf, parts: &[Part]) -> RequestBuf {
    let is_undone = |part: Part| parts.contains(&part);
    let of = |part: Part| if is_undone(part) { sent } else { arrived };
    let mut headers = Vec::new();
    let mut done: Vec<String> = Vec::new();
    for header in names(sent).into_iter().chain(names(arrived)).filter(|header| header != "host") {
        if done.contains(&header) {
            continue;
        }
        let source =
            if values(sent, &header) == values(arrived, &header) { sent } else { of(Part::Header(header.clone())) };
        headers.extend(source.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(header.as_bytes())).cloned());
        done.push(header);
    }
    let host = of(Part::Header("host".to_owned()));
    let hosts = host.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"host")).cloned();
    let headers = hosts.chain(headers).collect();
    let ((path, _), (_, query)) = (split(&of(Part::Path).target), split(&of(Part::Query).target));
    RequestBuf {
        method: of(Part::Method).method.clone(),
        target: [path, query].concat(),
        protocol: of(Part::Protocol).protocol.clone(),
        body: of(Part::Body).body.clone(),
        body_state: of(Part::Body).body_state,
        headers,
        ..arrived.clone()
    }
}

/// Path, and query with its question mark.
fn split(target: &[u8]) -> (&[u8], &[u8]) {
    target.split_at(target.iter().position(|byte| *byte == b'?').unwrap_or(target.len()))
}

fn names(request: &RequestBuf) -> Vec<String> {
    request.headers.iter().map(|(name, _)| String::from_utf8_lossy(name).to_ascii_lowercase()).collect()
}

fn values<'r>(request: &'r RequestBuf, name: &str) -> Vec<&'r [u8]> {
    let lines = request.headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()));
    lines.map(|(_, value)| value.as_slice()).collect()
}

/// What was done to a part.
fn name(part: &Part, sent: &RequestBuf, arrived: &RequestBuf) -> String {
    match part {
        Part::Method => "method rewritten".to_owned(),
        Part::Path => "path normalised".to_owned(),
        Part::Query => "query rewritten".to_owned(),
        Part::Protocol => {
            let text = |request: &RequestBuf| String::from_utf8_lossy(&request.protocol).into_owned();
            format!("protocol {} shown as {}", text(sent), text(arrived))
        }
        Part::Body if arrived.body.is_empty() => "body not sent".to_owned(),
        Part::Body => "body rewritten".to_owned(),
        Part::Header(name) => {
            let (old, new) = (values(sent, name), values(arrived, name));
            let done = match (old.len(), new.len()) {
                (0, _) => "added",
                (_, 0) => "dropped",
                (old, new) if new < old => "lines merged",
                _ => "rewritten",
            };
            format!("header {name} {done}")
        }
    }
}
