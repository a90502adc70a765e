//! One record: the layout of ModSecurity 3, and our own facts under `portcullis`.
//!
//! Values of never-cacheable headers, and what rules matched in them, are redacted. What a stranger can make long is cut,
//! so that a record stays some kilobytes.

use std::net::IpAddr;

use super::json::Json;
use crate::config::headers::{canonical, never_cacheable};
use crate::config::{Mode, Policy};
use crate::model::{AuditParts, Fault, Outcome, Request, RuleMatch, Verdict};
use crate::service::{Answer, Call, Decision};

const REDACTED: &str = "[redacted]";
const MAX_TARGET: usize = 8 << 10;
const MAX_HEADER_VALUE: usize = 4 << 10;
const MAX_BODY: usize = 16 << 10;
const MAX_TEXT: usize = 2 << 10;
/// As many matched values of a rule are written.
const MAX_MATCHES: usize = 16;
/// The parts of a record of which the rules said nothing.
const DEFAULT_PARTS: &str = "ABHZ";

/// What a record is made of.
#[derive(Clone, Copy)]
pub(in crate::service) struct Entry<'e> {
    /// The call; `None` where it could not be read.
    pub(in crate::service) call: Option<&'e Call<'e>>,
    pub(in crate::service) decision: &'e Decision,
    pub(in crate::service) policy: &'e Policy,
    /// The rule set's name.
    pub(in crate::service) rules: &'e str,
    /// Tells this process from others.
    pub(in crate::service) server_id: &'e str,
    pub(in crate::service) now_micros: i64,
}

impl Entry<'_> {
    /// The record as one line of JSON, without the line end.
    pub(in crate::service) fn to_json(self) -> String {
        let mut text = String::with_capacity(2048);
        Json::new(&mut text).object(|json| {
            json.key(b"transaction").object(|json| self.transaction(json));
        });
        text
    }

    fn transaction(self, json: &mut Json<'_>) {
        let request = self.request_sent();
        json.key(b"client_ip").text(address(request.remote_addr));
        json.key(b"time_stamp").text(time_stamp(self.now_micros));
        json.key(b"server_id").text(self.server_id);
        json.key(b"client_port").plain(request.remote_port);
        json.key(b"host_ip").text(address(request.server_addr));
        json.key(b"host_port").plain(request.server_port);
        json.key(b"unique_id").text(&self.decision.request_id);
        json.key(b"request").object(|json| self.request(json));
        json.key(b"response").object(|json| {
            json.key(b"http_code").plain(self.status());
            json.key(b"headers").object(|_| {});
        });
        if self.has_part('H') {
            json.key(b"producer").object(|json| self.producer(json));
            json.key(b"messages").array(|json| self.messages(json));
        }
        json.key(b"portcullis").object(|json| self.ours(json));
    }

    fn request(self, json: &mut Json<'_>) {
        let request = self.request_sent();
        json.key(b"method").text(cut(request.method, MAX_TEXT));
        let version = request.protocol.strip_prefix(b"HTTP/").unwrap_or(request.protocol);
        match std::str::from_utf8(version).ok().and_then(|version| version.parse::<f64>().ok()) {
            Some(version) if version.is_finite() => json.key(b"http_version").plain(format_args!("{version:.1}")),
            _ => json.key(b"http_version").text(cut(version, MAX_TEXT)),
        }
        json.key(b"uri").text(cut(request.target, MAX_TARGET));
        if self.has_part('C') {
            json.key(b"body").text(cut(request.body.bytes(), MAX_BODY));
        }
        if self.has_part('B') {
            json.key(b"headers").object(|json| {
                for header in request.headers {
                    let secret = self.redaction().covers(header.name);
                    let value = if secret { REDACTED.as_bytes() } else { cut(header.value, MAX_HEADER_VALUE) };
                    json.key(cut(header.name, MAX_TEXT)).text(value);
                }
            });
        }
    }

    /// The request, empty where none could be read.
    fn request_sent(&self) -> Request<'_> {
        let unread = Request { method: b"", target: b"", protocol: b"", ..Request::default() };
        self.call.map_or(unread, |call| call.request)
    }

    fn door(&self) -> &'static str {
        self.call.map_or("unread", |call| call.door.name())
    }

    fn producer(self, json: &mut Json<'_>) {
        json.key(b"modsecurity").text(concat!("Portcullis v", env!("CARGO_PKG_VERSION")));
        json.key(b"connector").text(self.door());
        json.key(b"secrules_engine").text(match self.policy.mode {
            Mode::Block => "Enabled",
            Mode::Detect => "DetectionOnly",
            Mode::Off => "Disabled",
        });
        json.key(b"components").array(|json| json.text(self.rules));
    }

    fn messages(self, json: &mut Json<'_>) {
        let redaction = self.redaction();
        for rule in self.rules_matched().filter(|rule| rule.audit) {
            json.object(|json| message(json, rule, redaction));
        }
    }

    fn ours(self, json: &mut Json<'_>) {
        json.key(b"policy").text(&*self.decision.policy);
        json.key(b"generation").plain(self.decision.generation);
        json.key(b"source").text(self.door());
        json.key(b"verdict").text(self.decision.answer.name());
        if let Answer::Failure { kind, open } = &self.decision.answer {
            json.key(b"failure").text(kind.name());
            json.key(b"passed").plain(open);
        }
        json.key(b"cached").plain(self.decision.cached);
        json.key(b"eval_us").plain(self.decision.evaluation.as_micros());
        if let Some(outcome) = &self.decision.outcome {
            spoken(json, outcome);
        }
    }

    fn has_part(self, part: char) -> bool {
        self.decision
            .outcome
            .as_ref()
            .map_or_else(|| AuditParts::of(DEFAULT_PARTS), |outcome| outcome.audit_parts)
            .contains(part)
    }

    fn rules_matched(&self) -> impl Iterator<Item = &RuleMatch> {
        self.decision.outcome.iter().flat_map(|outcome| &outcome.rules)
    }

    fn redaction(&self) -> Redaction<'_> {
        Redaction { further: &self.policy.cache.never_headers, headers: self.request_sent().headers }
    }

    /// The status the client sees, as far as it is ours to say.
    fn status(self) -> u16 {
        match self.decision.answer {
            Answer::Deny { status, .. } | Answer::Redirect { status, .. } => status,
            Answer::Failure { open: false, .. } => 503,
            Answer::Allow | Answer::Failure { open: true, .. } => 200,
        }
    }
}

fn spoken(json: &mut Json<'_>, outcome: &Outcome) {
    if let Some(would) = &outcome.would {
        json.key(b"would").text(would.name());
    }
    let by = [Some(&outcome.verdict), outcome.would.as_ref()].into_iter().flatten().find_map(decided_by);
    if let Some(rule) = by {
        json.key(b"rule").plain(rule);
    }
    json.key(b"score").object(|json| {
        json.key(b"inbound").plain(outcome.score.inbound);
        json.key(b"threshold").plain(outcome.score.threshold);
        json.key(b"per_pl").array(|json| outcome.score.per_pl.iter().for_each(|score| json.plain(score)));
    });
    json.key(b"not_inspected").array(|json| outcome.not_inspected.iter().for_each(|part| json.text(part.name())));
    if !outcome.faults.is_empty() {
        json.key(b"faults").array(|json| outcome.faults.iter().for_each(|fault| json.text(fault_text(*fault))));
    }
}

fn decided_by(verdict: &Verdict) -> Option<crate::model::RuleId> {
    match verdict {
        Verdict::Allow => None,
        Verdict::Deny { rule, .. } => *rule,
        Verdict::Redirect { rule, .. } => Some(*rule),
    }
}

fn fault_text(fault: Fault) -> String {
    match fault {
        Fault::MatchLimit(rule) => format!("match_limit:{rule}"),
        Fault::BudgetSpent => "budget".to_owned(),
        Fault::DeadlinePassed => "deadline".to_owned(),
    }
}

/// One rule. All details are texts, numbers too, as in ModSecurity 3; `matches` is ours.
fn message(json: &mut Json<'_>, rule: &RuleMatch, redaction: Redaction<'_>) {
    let info = &rule.info;
    let secret = rule.matches.iter().any(|one| redaction.covers_variable(&one.variable));
    let shown = |text: &[u8]| match secret || redaction.quotes(text) {
        true => REDACTED.as_bytes().to_vec(),
        false => cut(text, MAX_TEXT).to_vec(),
    };
    let msg = if rule.msg == info.msg.as_bytes() { rule.msg.clone() } else { shown(&rule.msg) };
    json.key(b"message").text(msg);
    json.key(b"details").object(|json| {
        json.key(b"match").text(first_match(rule, redaction));
        json.key(b"reference").text("");
        json.key(b"ruleId").text(info.id.to_string());
        json.key(b"file").text(&*info.file);
        json.key(b"lineNumber").text(info.line.to_string());
        json.key(b"data").text(shown(&rule.data));
        json.key(b"severity").text(info.severity.map_or_else(String::new, |severity| severity.number().to_string()));
        json.key(b"ver").text(&info.ver);
        json.key(b"rev").text(&info.rev);
        json.key(b"tags").array(|json| rule.tags().iter().for_each(|tag| json.text(tag)));
        json.key(b"maturity").text(&info.maturity);
        json.key(b"accuracy").text(&info.accuracy);
        json.key(b"matches").array(|json| matches(json, rule, redaction));
    });
}

fn first_match(rule: &RuleMatch, redaction: Redaction<'_>) -> Vec<u8> {
    let Some(first) = rule.matches.first() else { return Vec::new() };
    let value = redaction.value(&first.variable, &first.value);
    [b"Matched against variable `", &*first.variable, b"' (Value: `", value, b"' )"].concat()
}

fn matches(json: &mut Json<'_>, rule: &RuleMatch, redaction: Redaction<'_>) {
    for one in rule.matches.iter().take(MAX_MATCHES) {
        json.object(|json| {
            json.key(b"variable").text(cut(&one.variable, MAX_TEXT));
            json.key(b"value").text(redaction.value(&one.variable, &one.value));
        });
    }
}

/// What must not be written.
#[derive(Clone, Copy)]
struct Redaction<'r> {
    /// Names that the configuration adds to those compiled in.
    further: &'r [String],
    headers: &'r [crate::model::Header<'r>],
}

impl<'r> Redaction<'r> {
    /// Whether this header's value is secret.
    fn covers(self, name: &[u8]) -> bool {
        never_cacheable(name) || {
            let name = canonical(name);
            self.further.iter().any(|further| further.as_bytes() == name)
        }
    }

    /// Whether a variable, as in `MATCHED_VAR_NAME`, holds a secret or is made of one.
    fn covers_variable(self, variable: &[u8]) -> bool {
        let colon = variable.iter().position(|byte| *byte == b':').unwrap_or(variable.len());
        let (collection, member) = variable.split_at(colon);
        let is = |name: &str| collection.eq_ignore_ascii_case(name.as_bytes());
        let member = member.strip_prefix(b":").unwrap_or_default();
        is("REQUEST_COOKIES") || is("REMOTE_USER") || is("FULL_REQUEST") || is("REQUEST_HEADERS") && self.covers(member)
    }

    /// Whether a text quotes a secret: `logdata` of a chain can hold what an earlier link matched.
    fn quotes(self, text: &[u8]) -> bool {
        let mut secrets =
            self.headers.iter().filter(|header| self.covers(header.name)).flat_map(|header| pieces(header.value));
        secrets.any(|secret| contains(text, secret))
    }

    fn value<'v>(self, variable: &[u8], value: &'v [u8]) -> &'v [u8] {
        if self.covers_variable(variable) || self.quotes(value) { REDACTED.as_bytes() } else { value }
    }
}

/// The parts of a secret that are long enough to mean something: `Bearer`, cookie names and the like set aside.
fn pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    const SHORTEST: usize = 8;
    value.split(|byte| matches!(byte, b' ' | b';' | b'=' | b',' | b'"')).filter(|piece| piece.len() >= SHORTEST)
}

fn contains(text: &[u8], piece: &[u8]) -> bool {
    text.windows(piece.len()).any(|window| window.eq_ignore_ascii_case(piece))
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

fn address(address: Option<IpAddr>) -> String {
    address.map_or_else(String::new, |address| address.to_string())
}

/// As C's `ctime` writes it, in UTC: `Mon Nov 30 16:23:53 2026`.
fn time_stamp(micros: i64) -> String {
    let time = jiff::Timestamp::from_microsecond(micros).unwrap_or_default();
    time.strftime("%a %b %e %H:%M:%S %Y").to_string()
}

#[cfg(test)]
mod tests;
