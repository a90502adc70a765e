//! From a decision to Envoy's `CheckResponse`.
//!
//! Knows no gRPC: what cannot be said in a `CheckResponse` (we could not judge) is left to the caller.

use std::collections::HashMap;

use envoy_types::ext_authz::v3::pb::{
    CheckResponse, DeniedHttpResponse, HeaderAppendAction, HeaderValue, HeaderValueOption, HttpResponse, HttpStatus,
    OkHttpResponse,
};
use envoy_types::pb::google::protobuf::{ListValue, Struct, Value, value::Kind};
use envoy_types::pb::google::rpc::Status;

use crate::model::NotInspected;
use crate::service::Decision;
use crate::transport::answer::{self, Reply};

/// A `CheckResponse` that says what it means.
///
/// INVARIANT: has a status, zero with an `ok_response` and not zero with a `denied_response`. Envoy lets a request pass
/// whenever the status is missing or zero, whatever else the message says, so there is no other way to make one.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked(CheckResponse);

impl Checked {
    fn allow(ok: OkHttpResponse, metadata: Struct) -> Self {
        Self::with(0, HttpResponse::OkResponse(ok), metadata)
    }

    fn deny(denied: DeniedHttpResponse, metadata: Struct) -> Self {
        const PERMISSION_DENIED: i32 = 7;
        Self::with(PERMISSION_DENIED, HttpResponse::DeniedResponse(denied), metadata)
    }

    fn with(code: i32, http: HttpResponse, metadata: Struct) -> Self {
        let status = Status { code, ..Status::default() };
        Self(CheckResponse { status: Some(status), dynamic_metadata: Some(metadata), http_response: Some(http) })
    }

    /// The message.
    pub fn message(&self) -> &CheckResponse {
        &self.0
    }
}

/// The answer to Envoy; `None` when the request could not be judged and the policy is to fail closed.
pub fn response(decision: &Decision) -> Option<Checked> {
    match answer::reply(decision) {
        Reply::Pass => Some(Checked::allow(pass(decision), metadata(decision))),
        Reply::Refuse { status, location } => {
            Some(Checked::deny(refuse(decision, status, location), metadata(decision)))
        }
        Reply::Unavailable => None,
    }
}

fn pass(decision: &Decision) -> OkHttpResponse {
    let headers = answer::upstream_headers(decision).into_iter().map(|(name, value)| header(name, value)).collect();
    OkHttpResponse { headers, ..OkHttpResponse::default() }
}

fn refuse(decision: &Decision, status: u16, location: Option<&str>) -> DeniedHttpResponse {
    let location = location.map(|location| ("location", location.to_owned()));
    let headers = answer::client_headers(decision).into_iter().chain(location);
    DeniedHttpResponse {
        status: Some(HttpStatus { code: status.into() }),
        headers: headers.map(|(name, value)| header(name, value)).collect(),
        body: answer::body(decision),
    }
}

/// A header that replaces any of its name: a client must not be able to speak for us.
fn header(name: &str, value: String) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue { key: name.to_owned(), value, raw_value: Vec::new() }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..HeaderValueOption::default()
    }
}

/// What Envoy's access log and later filters may know, on allow and on deny.
fn metadata(decision: &Decision) -> Struct {
    let list = |values: Vec<Kind>| Kind::ListValue(ListValue { values: values.into_iter().map(value).collect() });
    let number = |number: f64| Kind::NumberValue(number);
    let outcome = decision.outcome.as_deref();
    let rules = outcome.map(|outcome| outcome.logged_ids().map(|id| number(id.get().into())).collect());
    let not_inspected: &[NotInspected] = outcome.map(|outcome| &outcome.not_inspected[..]).unwrap_or_default();
    let not_inspected = not_inspected.iter().map(|reason| Kind::StringValue(reason.name().to_owned())).collect();
    let mut fields = vec![
        ("verdict", Kind::StringValue(answer::verdict(decision).to_owned())),
        ("score", number(answer::score(decision) as f64)),
        ("rules", list(rules.unwrap_or_default())),
        ("policy", Kind::StringValue(decision.policy.to_string())),
        ("generation", number(decision.generation as f64)),
        ("request_id", Kind::StringValue(answer::request_id(decision))),
        ("cached", Kind::BoolValue(decision.cached)),
        ("not_inspected", list(not_inspected)),
        ("eval_us", number(decision.evaluation.as_micros() as f64)),
    ];
    if let Some(would) = outcome.and_then(|outcome| outcome.would.as_ref()) {
        fields.push(("would", Kind::StringValue(would.name().to_owned())));
    }
    let fields: HashMap<String, Value> =
        fields.into_iter().map(|(name, kind)| (name.to_owned(), value(kind))).collect();
    Struct { fields }
}

fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}
