//! From a decision to Envoy's `CheckResponse`.
//!
//! Knows no gRPC: what cannot be said in a `CheckResponse` (we could not judge) is left to the caller. Written straight
//! into the bytes to send; the numbers are those of the fields in Envoy's and Google's `.proto` files.

mod usual;

use super::protobuf::Writer;
use crate::config::Annotate;
use crate::model::{Header, NotInspected};
use crate::service::Decision;
use crate::transport::answer::{self, Reply};

/// Fields of `envoy.service.auth.v3.CheckResponse`.
mod check_response {
    pub(super) const STATUS: u32 = 1;
    pub(super) const DENIED_RESPONSE: u32 = 2;
    pub(super) const OK_RESPONSE: u32 = 3;
    pub(super) const DYNAMIC_METADATA: u32 = 4;
}

/// An answer with all that is usually in it.
const USUAL_BYTES: usize = 512;

/// A `CheckResponse` that says what it means, behind the bytes it was begun with.
///
/// INVARIANT: has a status, zero with an `ok_response` and not zero with a `denied_response`. Envoy lets a request pass
/// whenever the status is missing or zero, whatever else the message says, so there is no other way to make one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked(Vec<u8>);

impl Checked {
    fn allow(start: Vec<u8>, ok: impl FnOnce(&mut Writer), metadata: Option<&Decision>) -> Self {
        Self::with(start, |_| {}, check_response::OK_RESPONSE, ok, metadata)
    }

    fn deny(start: Vec<u8>, denied: impl FnOnce(&mut Writer), metadata: Option<&Decision>) -> Self {
        const CODE: u32 = 1;
        const PERMISSION_DENIED: u64 = 7;
        let status = |status: &mut Writer| status.number(CODE, PERMISSION_DENIED);
        Self::with(start, status, check_response::DENIED_RESPONSE, denied, metadata)
    }

    fn with(
        start: Vec<u8>,
        status: impl FnOnce(&mut Writer),
        number: u32,
        http: impl FnOnce(&mut Writer),
        metadata: Option<&Decision>,
    ) -> Self {
        let mut message = Writer::behind(start);
        message.message(check_response::STATUS, status);
        message.message(number, http);
        if let Some(decision) = metadata {
            message.message(check_response::DYNAMIC_METADATA, |data| fields(data, decision));
        }
        Self(message.finish())
    }

    /// The bytes it was begun with, and the message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The answer to Envoy, written behind `start`; `None` when the request could not be judged and the policy is to fail
/// closed.
pub fn response(decision: &Decision, start: &[u8]) -> Option<Checked> {
    if !usual::is_usual(decision) {
        return written(decision, start);
    }
    usual::response(decision, start, || written(decision, start))
}

fn written(decision: &Decision, start: &[u8]) -> Option<Checked> {
    let mut bytes = Vec::with_capacity(start.len() + USUAL_BYTES);
    bytes.extend_from_slice(start);
    let metadata = is_wanted(decision.metadata, decision).then_some(decision);
    match answer::reply(decision) {
        Reply::Pass if is_wanted(decision.upstream_headers, decision) => {
            Some(Checked::allow(bytes, |ok| pass(ok, decision), metadata))
        }
        Reply::Pass => Some(Checked::allow(bytes, |_| {}, metadata)),
        Reply::Refuse { status, location } => {
            Some(Checked::deny(bytes, |denied| refuse(denied, decision, status, location), metadata))
        }
        Reply::Unavailable => None,
    }
}

/// Whether what is wanted so belongs into the answer to this decision.
fn is_wanted(annotate: Annotate, decision: &Decision) -> bool {
    annotate == Annotate::All || !usual::is_usual(decision)
}

/// The decision, with our headers for the application if the client made up some: they have to be replaced.
pub fn overwriting(decision: Decision, headers: &[Header<'_>]) -> Decision {
    const OURS: &[u8] = b"x-waf-";
    let is_ours =
        |header: &Header<'_>| header.name.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS));
    match decision.upstream_headers {
        Annotate::Relevant if headers.iter().any(is_ours) => Decision { upstream_headers: Annotate::All, ..decision },
        _ => decision,
    }
}

/// An `OkHttpResponse`.
fn pass(ok: &mut Writer, decision: &Decision) {
    const HEADERS: u32 = 2;
    answer::upstream_headers(decision).iter().for_each(|(name, value)| header(ok, HEADERS, name.as_str(), value));
}

/// A `DeniedHttpResponse`.
fn refuse(denied: &mut Writer, decision: &Decision, status: u16, location: Option<&str>) {
    const STATUS: u32 = 1;
    const HEADERS: u32 = 2;
    const BODY: u32 = 3;
    denied.message(STATUS, |http_status| http_status.number(1, status.into()));
    answer::client_headers(decision).iter().for_each(|(name, value)| header(denied, HEADERS, name.as_str(), value));
    location.iter().for_each(|location| header(denied, HEADERS, "location", location));
    denied.bytes(BODY, answer::body(decision).as_bytes());
}

/// A `HeaderValueOption` that replaces any header of its name: a client must not be able to speak for us.
fn header(into: &mut Writer, number: u32, name: &str, value: &str) {
    const HEADER: u32 = 1;
    const APPEND_ACTION: u32 = 3;
    const OVERWRITE_IF_EXISTS_OR_ADD: u64 = 2;
    into.message(number, |option| {
        option.message(HEADER, |header| {
            header.bytes(1, name.as_bytes());
            header.bytes(2, value.as_bytes());
        });
        option.number(APPEND_ACTION, OVERWRITE_IF_EXISTS_OR_ADD);
    });
}

/// What Envoy's access log and later filters may know, on allow and on deny: a `google.protobuf.Struct`.
fn fields(data: &mut Writer, decision: &Decision) {
    let outcome = decision.outcome.as_deref();
    let not_inspected: &[NotInspected] = outcome.map(|outcome| &outcome.not_inspected[..]).unwrap_or_default();
    let rules = outcome.iter().flat_map(|outcome| outcome.logged_ids());
    field(data, "verdict", |value| text(value, answer::verdict(decision)));
    field(data, "score", |value| number(value, answer::score(decision) as f64));
    field(data, "rules", |value| list(value, rules, |value, id| number(value, id.get().into())));
    field(data, "policy", |value| text(value, &decision.policy));
    field(data, "generation", |value| number(value, decision.generation as f64));
    field(data, "request_id", |value| text(value, &answer::request_id(decision)));
    field(data, "cached", |value| value.number(BOOL_VALUE, decision.cached.into()));
    field(data, "not_inspected", |value| list(value, not_inspected, |value, reason| text(value, reason.name())));
    field(data, "eval_us", |value| number(value, decision.evaluation.as_micros() as f64));
    if let Some(would) = outcome.and_then(|outcome| outcome.would.as_ref()) {
        field(data, "would", |value| text(value, would.name()));
    }
}

/// An entry of a `Struct`.
fn field(data: &mut Writer, name: &str, value: impl FnOnce(&mut Writer)) {
    const FIELDS: u32 = 1;
    data.message(FIELDS, |entry| {
        entry.bytes(1, name.as_bytes());
        entry.message(2, value);
    });
}

/// A `google.protobuf.Value` is one of these. A truth value is written even if it is not true, for a value must be one.
const BOOL_VALUE: u32 = 4;

fn number(value: &mut Writer, number: f64) {
    const NUMBER_VALUE: u32 = 2;
    value.double(NUMBER_VALUE, number);
}

fn text(value: &mut Writer, text: &str) {
    const STRING_VALUE: u32 = 3;
    value.bytes(STRING_VALUE, text.as_bytes());
}

fn list<T>(value: &mut Writer, items: impl IntoIterator<Item = T>, write: impl Fn(&mut Writer, T)) {
    const LIST_VALUE: u32 = 6;
    const VALUES: u32 = 1;
    value.message(LIST_VALUE, |list| {
        items.into_iter().for_each(|item| list.message(VALUES, |value| write(value, item)))
    });
}
