//! What the CRS's own regression tests send, and the attack texts in it.

use std::collections::BTreeSet;

use portcullis::ftw::Suite;
use portcullis::input::{RequestBuf, parse_raw};

/// A text of a regression test, and the rule whose test it is of.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Payload {
    pub(crate) text: Vec<u8>,
    pub(crate) rule: u32,
}

/// Longer texts are left out: the pattern engine of the other side is quadratic in them.
const MAX: usize = 600;

/// The requests of the tests as they are sent, those left out that no front end lets through to the rules.
pub(crate) fn requests(suite: &Suite) -> Vec<(u32, RequestBuf)> {
    let stages = suite.tests.iter().flat_map(|test| test.stages.iter().map(move |stage| (test.name.rule_id, stage)));
    let parsed = stages.filter_map(|(rule, stage)| Some((rule, parse_raw(&stage.input.bytes()).ok()?)));
    parsed.filter(|(_, request)| request.body.len() < 4096 && request.target.len() < 4096).collect()
}

/// The distinct texts in the requests, sorted: decoded parameters, cookies, headers that tests are about, paths.
pub(crate) fn payloads(requests: &[(u32, RequestBuf)]) -> Vec<Payload> {
    let mut found = BTreeSet::new();
    for (rule, request) in requests {
        let mut keep = |text: Vec<u8>| {
            if (2..=MAX).contains(&text.len()) {
                found.insert(Payload { text, rule: *rule });
            }
        };
        let (path, query) = split_at(&request.target, b'?');
        keep(decode(path.strip_prefix(b"/").unwrap_or(path)));
        pairs(query, &mut keep);
        if is_form(request) {
            pairs(&request.body, &mut keep);
        } else {
            keep(request.body.clone());
        }
        for (name, value) in &request.headers {
            if name.eq_ignore_ascii_case(b"cookie") {
                value.split(|byte| *byte == b';').for_each(|cookie| keep(decode(split_at(cookie, b'=').1)));
            } else if !is_ordinary(name) {
                keep(value.clone());
            }
        }
    }
    found.into_iter().collect()
}

fn pairs(text: &[u8], keep: &mut impl FnMut(Vec<u8>)) {
    for pair in text.split(|byte| *byte == b'&') {
        let (name, value) = split_at(pair, b'=');
        keep(decode(name));
        keep(decode(value));
    }
}

fn split_at(text: &[u8], mark: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == mark) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

fn is_form(request: &RequestBuf) -> bool {
    let types = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"content-type"));
    types.clone().any(|(_, value)| value.starts_with(b"application/x-www-form-urlencoded"))
}

/// Headers that nearly every test sends, always with the same values.
fn is_ordinary(name: &[u8]) -> bool {
    const NAMES: [&str; 7] =
        ["host", "accept", "connection", "content-length", "content-type", "accept-encoding", "cache-control"];
    NAMES.iter().any(|ordinary| name.eq_ignore_ascii_case(ordinary.as_bytes()))
}

/// Undoes one percent-encoding.
pub(crate) fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        match (first, digits) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &tail[2..];
                continue;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(*first),
        }
        rest = tail;
    }
    out
}
