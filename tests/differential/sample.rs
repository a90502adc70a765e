//! The requests that are compared: those of the regression tests, the benign corpus, and seeded mutations of the former.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis::input::RequestBuf;

use super::mutate::{Change, Coding};
use super::payloads::Payload;
use super::place::Place;
use super::random::Random;

/// A request, and how it was made.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The rule whose test the text is from; 0 for the benign corpus.
    pub(crate) rule: u32,
    pub(crate) place: Place,
    pub(crate) change: Change,
    pub(crate) coding: Coding,
    pub(crate) request: RequestBuf,
}

impl Sample {
    pub(crate) fn as_is(rule: u32, request: RequestBuf) -> Self {
        let request = addressed(request);
        Self { rule, place: Place::AsIs, change: Change::None, coding: Coding::Plain, request }
    }

    /// How it was made, in a word each.
    pub(crate) fn describe(&self) -> String {
        format!("{}/{:?}/{:?}/{:?}", self.rule, self.place, self.change, self.coding)
    }
}

/// The benign corpus: JSON lines with the body in base64.
pub(crate) fn benign(lines: &str) -> Result<Vec<Sample>, String> {
    lines
        .lines()
        .map(|line| benign_line(line).ok_or_else(|| format!("not a line of the benign corpus: {line}")))
        .collect()
}

fn benign_line(line: &str) -> Option<Sample> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| Some(value.get(name)?.as_str()?.as_bytes().to_vec());
    let header = |pair: &serde_json::Value| {
        Some((pair.get(0)?.as_str()?.as_bytes().to_vec(), pair.get(1)?.as_str()?.as_bytes().to_vec()))
    };
    let headers = value.get("headers")?.as_array()?.iter().map(header).collect::<Option<_>>()?;
    let body = STANDARD.decode(text("body")?).ok()?;
    let (method, target, protocol) = (text("method")?, text("uri")?, text("version")?);
    Some(Sample::as_is(0, RequestBuf { method, target, protocol, headers, body, ..RequestBuf::default() }))
}

/// `count` mutations of the payloads.
pub(crate) fn mutations(payloads: &[Payload], count: usize, seed: u64) -> Vec<Sample> {
    let mut random = Random::new(seed);
    (0..count).map(|_| mutation(payloads, &mut random)).collect()
}

fn mutation(payloads: &[Payload], random: &mut Random) -> Sample {
    let payload = &payloads[random.below(payloads.len())];
    let (place, change, coding) = (random.pick(&Place::ALL), Change::any(random), Coding::any(random));
    let changed = change.apply(&payload.text, payloads, random);
    let coded = coding.apply(&changed, random);
    let request = addressed(place.request(&coded, coding != Coding::Plain, random));
    Sample { rule: payload.rule, place, change, coding, request }
}

/// The client is not on the loopback: the CRS trusts that (905100) and would switch itself off.
fn addressed(request: RequestBuf) -> RequestBuf {
    RequestBuf {
        remote_addr: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))),
        remote_port: 40_000,
        server_addr: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        server_port: 80,
        ..request
    }
}
