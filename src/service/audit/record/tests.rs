//! Records as readers see them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::config::{Annotate, AuditWhen, Expose};
use crate::model::{AuditEngine, AuditParts, Body, Header, NotInspected, Request, RuleId, Score};
use crate::service::testing::{call, load, outcome, rule_match};
use crate::service::{FailureKind, audit};

fn decision(answer: Answer, outcome: Option<Outcome>) -> Decision {
    Decision {
        answer,
        policy: "default".into(),
        generation: 3,
        request_id: "01ID".to_owned(),
        cached: false,
        evaluation: Duration::from_micros(12),
        outcome: outcome.map(Arc::new),
        expose: Expose::None,
        metadata: Annotate::All,
        upstream_headers: Annotate::All,
    }
}

fn line(request: Request<'_>, decision: &Decision, policy: &Policy) -> String {
    let call = call(request);
    Entry {
        call: Some(&call),
        decision,
        policy,
        rules: "crs 4.28.0",
        server_id: "srv",
        now_micros: 1_796_055_833_000_000,
    }
    .to_json()
}

fn read(request: Request<'_>, decision: &Decision, policy: &Policy) -> Value {
    serde_json::from_str(&line(request, decision, policy)).unwrap()
}

fn denied(rules: Vec<RuleMatch>) -> Decision {
    let verdict = Verdict::Deny { status: 403, rule: RuleId::new(949_110), close: false };
    let score = Score { inbound: 5, threshold: 5, per_pl: [5, 0, 0, 0] };
    decision(Answer::Deny { status: 403, close: false }, Some(Outcome { rules, score, ..outcome(verdict) }))
}

#[test]
fn the_layout_of_modsecurity_3() {
    let headers =
        [Header { name: b"Host", value: b"shop.example" }, Header { name: b"Authorization", value: b"Bearer s3cr3t" }];
    let request = Request {
        target: b"/?q=1'%20or",
        headers: &headers,
        remote_addr: Some([192, 0, 2, 7].into()),
        remote_port: 4711,
        server_addr: Some([10, 0, 0, 1].into()),
        server_port: 443,
        ..Request::default()
    };
    let record = read(request, &denied(vec![rule_match(942_100, "ARGS:q", b"1' or")]), &Policy::default());
    let expected = json!({"transaction": {
        "client_ip": "192.0.2.7", "time_stamp": "Mon Nov 30 16:23:53 2026", "server_id": "srv", "client_port": 4711,
        "host_ip": "10.0.0.1", "host_port": 443, "unique_id": "01ID",
        "request": {
            "method": "GET", "http_version": 1.1, "uri": "/?q=1'%20or",
            "headers": {"Host": "shop.example", "Authorization": "[redacted]"},
        },
        "response": {"http_code": 403, "headers": {}},
        "producer": {
            "modsecurity": concat!("Portcullis v", env!("CARGO_PKG_VERSION")), "connector": "ext_authz",
            "secrules_engine": "Enabled", "components": ["crs 4.28.0"],
        },
        "messages": [{
            "message": "SQL Injection",
            "details": {
                "match": "Matched against variable `ARGS:q' (Value: `1' or' )", "reference": "", "ruleId": "942100",
                "file": "rules/test.conf", "lineNumber": "7", "data": "Matched Data: 1' or found within ARGS:q",
                "severity": "2", "ver": "OWASP_CRS/4.28.0", "rev": "", "tags": ["attack-sqli"],
                "maturity": "0", "accuracy": "0", "matches": [{"variable": "ARGS:q", "value": "1' or"}],
            },
        }],
        "portcullis": {
            "policy": "default", "generation": 3, "source": "ext_authz", "verdict": "deny", "cached": false,
            "eval_us": 12, "rule": 949_110, "score": {"inbound": 5, "threshold": 5, "per_pl": [5, 0, 0, 0]},
            "not_inspected": [],
        },
    }});
    assert_eq!(record, expected, "{record:#}");
}

#[test]
fn secrets_are_nowhere_in_the_line() {
    let policy = Policy {
        cache: crate::config::CachePolicy { never_headers: vec!["x-mine".to_owned()], ..Default::default() },
        ..Policy::default()
    };
    let secret = b"s3cr3t-of-the-client";
    let spellings: [(&[u8], &[u8]); 6] = [
        (b"Authorization", b"Bearer s3cr3t-of-the-client"),
        (b"cookie", b"sid=s3cr3t-of-the-client; theme=dark"),
        (b"X_API_KEY", secret),
        (b"x-acme-token", secret),
        (b"X_Mine", secret),
        (b"Proxy-Authorization", secret),
    ];
    for (name, value) in spellings {
        let headers = [Header { name, value }];
        let request = Request { headers: &headers, ..Request::default() };
        let header = format!("REQUEST_HEADERS:{}", String::from_utf8_lossy(name));
        let rules = [header.as_str(), "REQUEST_COOKIES:sid", "REMOTE_USER", "ARGS:copied"]
            .map(|variable| rule_match(942_100, variable, secret))
            .to_vec();
        let line = line(request, &denied(rules), &policy);
        assert!(!line.contains("s3cr3t"), "{line}");
        assert_eq!(line.matches(REDACTED).count(), 13, "one header; three places in each of four rules: {line}");
    }
}

#[test]
fn nothing_in_a_request_starts_a_line_or_a_record() {
    let evil = b"x\r\n{\"transaction\":{}}\x1b[2K\xff\"\\";
    let headers = [Header { name: evil, value: evil }, Header { name: evil, value: evil }];
    let request = Request {
        method: evil,
        target: evil,
        protocol: evil,
        headers: &headers,
        body: Body::Complete(evil),
        ..Request::default()
    };
    let mut rule = rule_match(1, "ARGS:x", evil);
    rule.msg = evil.to_vec();
    rule.expanded_tags = Some(vec![String::from_utf8_lossy(evil).into_owned()]);
    let mut denied = denied(vec![rule]);
    let parts = Outcome { audit_parts: AuditParts::of("ABCHZ"), ..(**denied.outcome.as_ref().unwrap()).clone() };
    denied.outcome = Some(Arc::new(parts));
    let line = line(request, &denied, &Policy::default());
    assert!(!line.chars().any(char::is_control), "{line}");
    assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    // Method, version, URI, body, names and values of two headers, message, tag, value.
    assert_eq!(line.matches("\"x\\r\\n").count(), 11, "{line}");
}

#[test]
fn records_stay_small_whatever_is_sent() {
    let long = vec![b'a'; 1 << 20];
    let headers = [Header { name: &long, value: &long }];
    let request = Request {
        target: &long,
        headers: &headers,
        body: Body::Complete(&long),
        protocol: &long,
        ..Request::default()
    };
    let mut rule = rule_match(1, "ARGS:x", &long[..512]);
    rule.matches = vec![rule.matches[0].clone(); 1000];
    rule.data.clone_from(&long);
    let line = line(request, &denied(vec![rule]), &Policy::default());
    assert!(line.len() < 64 << 10, "{}", line.len());
}

#[test]
fn failures_detection_and_parts() {
    let failure = decision(Answer::Failure { kind: FailureKind::Deadline, open: false }, None);
    let record = read(Request::default(), &failure, &Policy::default());
    assert_eq!(record["transaction"]["response"]["http_code"], 503);
    assert_eq!(record["transaction"]["portcullis"]["failure"], "deadline");
    assert_eq!(record["transaction"]["portcullis"]["passed"], false);

    let would = Some(Verdict::Deny { status: 403, rule: RuleId::new(949_110), close: false });
    let not_inspected = vec![NotInspected::BodyAbsent];
    let parts = AuditParts::of("AZ");
    let detected = Outcome { would, not_inspected, audit_parts: parts, ..outcome(Verdict::Allow) };
    let policy = Policy { mode: Mode::Detect, ..Policy::default() };
    let record = read(Request::default(), &decision(Answer::Allow, Some(detected)), &policy);
    let transaction = record["transaction"].as_object().unwrap();
    assert!(!transaction.contains_key("messages") && transaction["request"].get("headers").is_none());
    assert_eq!(transaction["portcullis"]["would"], "deny");
    assert_eq!(transaction["portcullis"]["rule"], 949_110);
    assert_eq!(transaction["portcullis"]["not_inspected"], json!(["body_absent"]));
}

#[test]
fn what_is_written_and_what_is_not() {
    let deny = || Verdict::Deny { status: 403, rule: None, close: false };
    let with = |engine, verdict, audit: bool| {
        let rule = RuleMatch { audit, ..rule_match(1, "ARGS:x", b"y") };
        let answer = if verdict == Verdict::Allow { Answer::Allow } else { Answer::Deny { status: 403, close: false } };
        decision(answer, Some(Outcome { audit_engine: engine, rules: vec![rule], ..outcome(verdict) }))
    };
    let failed = decision(Answer::Failure { kind: FailureKind::Panic, open: true }, None);
    let off = decision(Answer::Allow, None);
    use AuditEngine::{Off, On, RelevantOnly};
    let table = [
        (AuditWhen::Off, with(On, deny(), true), false),
        (AuditWhen::Off, failed.clone(), false),
        (AuditWhen::Relevant, with(RelevantOnly, deny(), false), true),
        (AuditWhen::Relevant, with(RelevantOnly, Verdict::Allow, true), true),
        (AuditWhen::Relevant, with(RelevantOnly, Verdict::Allow, false), false),
        (AuditWhen::Relevant, with(Off, deny(), true), false),
        (AuditWhen::Relevant, with(On, Verdict::Allow, false), true),
        (AuditWhen::Relevant, failed, true),
        (AuditWhen::Relevant, off.clone(), false),
        (AuditWhen::All, with(On, Verdict::Allow, false), true),
        (AuditWhen::All, off, true),
    ];
    for (index, (when, decision, expected)) in table.into_iter().enumerate() {
        assert_eq!(audit::wanted(when, &decision, None), expected, "row {index}");
    }
}

#[test]
fn a_refusal_is_relevant_by_its_status() {
    let set = load("SecAuditLogRelevantStatus \"^(?:5|4(?!04))\"").unwrap();
    let usual = set.rules.settings().audit_relevant_status.as_ref();
    let rule = |audit| RuleMatch { audit, ..rule_match(1, "ARGS:x", b"y") };
    let deny = |status, rule: Option<u32>| Verdict::Deny { status, rule: rule.and_then(RuleId::new), close: false };
    let refused = |verdict: Verdict, audit| {
        let answer = Answer::Deny { status: verdict.status().unwrap_or(403), close: false };
        decision(answer, Some(Outcome { rules: vec![rule(audit)], ..outcome(verdict) }))
    };
    let would = |verdict: Verdict| {
        decision(
            Answer::Allow,
            Some(Outcome { would: Some(verdict), rules: vec![rule(false)], ..outcome(Verdict::Allow) }),
        )
    };
    for (name, decision, by_usual, without) in [
        ("refused with 403", refused(deny(403, Some(1)), false), true, true),
        ("refused with 404", refused(deny(404, Some(1)), false), false, true),
        ("refused with 404 by a rule with auditlog", refused(deny(404, Some(1)), true), true, true),
        ("refused with 404 by no rule", refused(deny(404, None), false), true, true),
        ("refused with 404 by the policy", refused(Verdict::Allow, false), true, true),
        ("would be refused with 403", would(deny(403, Some(1))), true, true),
        ("would be refused with 404", would(deny(404, Some(1))), false, true),
        ("passed", decision(Answer::Allow, Some(outcome(Verdict::Allow))), false, false),
    ] {
        let wanted = |statuses| audit::wanted(AuditWhen::Relevant, &decision, statuses);
        assert_eq!((wanted(usual), wanted(None)), (by_usual, without), "{name}");
    }
}
