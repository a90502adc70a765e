//! Both forms of a verdict, from outcomes made by hand.

use std::sync::Arc;
use std::time::Duration;

use super::super::text::{self, Summary};
use super::*;
use crate::input::RequestBuf;
use crate::model::{AuditEngine, AuditParts, Fault, Matched, NotInspected, Phase, RuleId, RuleInfo};

fn rule(id: u32, severity: Severity, level: u8, matched: (&str, &[u8])) -> RuleMatch {
    let info = RuleInfo {
        id: RuleId::new(id).unwrap(),
        phase: Phase::RequestBody,
        file: "crs/rules/a.conf".into(),
        line: 46,
        msg: String::new(),
        severity: Some(severity),
        tags: Vec::new(),
        ver: String::new(),
        rev: String::new(),
        maturity: String::new(),
        accuracy: String::new(),
    };
    RuleMatch {
        info: Arc::new(info),
        msg: b"An attack".to_vec(),
        data: b"found \n".to_vec(),
        expanded_tags: Some(vec!["attack".to_owned(), format!("paranoia-level/{level}")]),
        matches: vec![Matched { variable: matched.0.into(), value: matched.1.to_vec(), data: Vec::new() }],
        log: true,
        audit: true,
        disruptive: false,
    }
}

/// A `SecAction` that is logged.
fn action(id: u32) -> RuleMatch {
    let rule = rule(id, Severity::Info, 1, ("", b""));
    let info = RuleInfo { severity: None, ..(*rule.info).clone() };
    RuleMatch { info: Arc::new(info), expanded_tags: Some(Vec::new()), ..rule }
}

fn judged(verdict: Verdict) -> Judged {
    let outcome = Outcome {
        verdict,
        would: None,
        score: Score { inbound: 8, threshold: 5, per_pl: [5, 3, 0, 0] },
        rules: vec![
            rule(942_100, Severity::Critical, 1, ("ARGS:q", b"1' or 1=1")),
            rule(920_100, Severity::Warning, 2, ("REQUEST_LINE", b"\xff\x1b[2J\xc3\xbc")),
            RuleMatch { log: false, ..rule(900_001, Severity::Critical, 3, ("TX:x", b"")) },
            action(980_170),
        ],
        not_inspected: vec![NotInspected::BodyPartial],
        faults: Vec::new(),
        deterministic: true,
        audit_engine: AuditEngine::Off,
        audit_parts: AuditParts::default(),
        work: 0,
    };
    Judged { outcome: Some(outcome), evaluation: Duration::from_micros(12) }
}

fn deny() -> Verdict {
    Verdict::Deny { status: 403, rule: RuleId::new(949_110), close: false }
}

fn json(judged: &Judged, policy: &Policy, explain: bool) -> String {
    serde_json::to_string(&Report::new("a1", judged, policy, explain)).unwrap()
}

fn text(judged: &Judged, policy: &Policy, explain: bool) -> Vec<String> {
    let request = RequestBuf { target: b"/p?\x07".to_vec(), ..RequestBuf::default() };
    let mut out = Vec::new();
    text::write(&mut out, &Report::new("a1", judged, policy, explain), Some(&request)).unwrap();
    String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn json_is_the_contract() {
    let expected = concat!(
        r#"{"id":"a1","verdict":"deny","status":403,"score":{"inbound":8,"threshold":5,"per_pl":[5,3,0,0]},"#,
        r#""rules":[{"id":942100,"msg":"An attack","severity":"CRITICAL","phase":2,"#,
        r#""tags":["attack","paranoia-level/1"],"matches":[{"variable":"ARGS:q","value":"1' or 1=1"}]},"#,
        r#"{"id":920100,"msg":"An attack","severity":"WARNING","phase":2,"tags":["attack","paranoia-level/2"],"#,
        r#""matches":[{"variable":"REQUEST_LINE","value":"\\xff\u001b[2Jü"}]},"#,
        r#"{"id":980170,"msg":"An attack","severity":null,"phase":2,"tags":[],"matches":[]}],"#,
        r#""not_inspected":["body_partial"],"eval_us":12}"#,
    );
    assert_eq!(json(&judged(deny()), &Policy::default(), false), expected);
}

#[test]
fn json_of_the_other_verdicts() {
    let allow = judged(Verdict::Allow);
    let begins = |text: String, expected: &str| assert!(text.starts_with(expected), "{text}");
    begins(json(&allow, &Policy::default(), false), r#"{"id":"a1","verdict":"allow","status":200,"score""#);
    let rule = RuleId::new(1).unwrap();
    let redirect = judged(Verdict::Redirect { status: 302, location: "https://h/".to_owned(), rule });
    begins(
        json(&redirect, &Policy::default(), false),
        r#"{"id":"a1","verdict":"redirect","status":302,"location":"https://h/","score""#,
    );
    let over_limit = judged(Verdict::Deny { status: 413, rule: None, close: false });
    begins(
        json(&over_limit, &Policy::default(), false),
        r#"{"id":"a1","verdict":"deny","status":413,"reason":"body not inspected","score""#,
    );
    let detect = Policy { mode: Mode::Detect, ..Policy::default() };
    begins(
        json(&allow, &detect, false),
        r#"{"id":"a1","verdict":"allow","status":200,"would":{"verdict":"allow","status":200},"score""#,
    );
    let mut would = judged(Verdict::Allow);
    would.outcome.as_mut().unwrap().would = Some(deny());
    begins(
        json(&would, &detect, false),
        r#"{"id":"a1","verdict":"allow","status":200,"would":{"verdict":"deny","status":403},"score""#,
    );
    let mut faulty = judged(Verdict::Allow);
    faulty.outcome.as_mut().unwrap().faults = vec![Fault::BudgetSpent];
    begins(
        json(&faulty, &Policy::default(), false),
        r#"{"id":"a1","verdict":"deny","status":503,"reason":"budget","score""#,
    );
    begins(json(&faulty, &detect, false), r#"{"id":"a1","verdict":"allow","status":200,"reason":"budget","would""#);
    let off = Judged { outcome: None, evaluation: Duration::ZERO };
    assert_eq!(
        json(&off, &Policy { mode: Mode::Off, ..Policy::default() }, false),
        concat!(
            r#"{"id":"a1","verdict":"allow","status":200,"score":{"inbound":0,"threshold":0,"per_pl":[0,0,0,0]},"#,
            r#""rules":[],"not_inspected":[],"eval_us":0}"#
        )
    );
}

#[test]
fn explaining() {
    let whole = json(&judged(deny()), &Policy::default(), true);
    let why = r#""file":"crs/rules/a.conf","line":46,"data":"found \n","adds":5,"paranoia":1,"disruptive":false}"#;
    assert!(whole.contains(why), "{whole}");
    let mut other_points = judged(deny());
    other_points.outcome.as_mut().unwrap().score.per_pl = [10, 3, 0, 0];
    let reports = json(&other_points, &Policy::default(), true);
    assert!(!reports.contains("\"adds\":5") && reports.contains("\"adds\":3"), "{reports}");
}

#[test]
fn text_is_for_people() {
    let expected = [
        r"DENY 403  a1  GET /p?\u{7}  score 8/5",
        "  942100 CRITICAL An attack",
        "      ARGS:q = 1' or 1=1",
        "  920100 WARNING An attack",
        r"      REQUEST_LINE = \xff\u{1b}[2Jü",
        "  980170 - An attack",
        "  not inspected: body_partial",
    ];
    assert_eq!(text(&judged(deny()), &Policy::default(), false), expected);
    let explained = text(&judged(deny()), &Policy::default(), true);
    assert_eq!(explained[2], "      at crs/rules/a.conf:46, phase 2, paranoia level 1, adds 5");
    assert_eq!(explained[3], r"      data found \n");
    let detect = Policy { mode: Mode::Detect, ..Policy::default() };
    let mut would = judged(Verdict::Allow);
    would.outcome.as_mut().unwrap().would = Some(deny());
    would.outcome.as_mut().unwrap().rules[0].matches[0].value = "x".repeat(500).into_bytes();
    let lines = text(&would, &detect, false);
    assert_eq!(lines[..2], [r"ALLOW 200  a1  GET /p?\u{7}  score 8/5", "  would be: DENY 403"]);
    assert_eq!(lines[3].chars().count(), "      ARGS:q = ".len() + 121);
}

#[test]
fn a_refused_message() {
    let report = Report::refused("a.http", Refusal { status: 400, reason: "no Host header" });
    let mut out = Vec::new();
    text::write(&mut out, &report, None).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "DENY 400 (no Host header)  a.http\n");
}

#[test]
fn summaries() {
    let mut summary = Summary::default();
    summary.count(&Report::refused("a", Refusal { status: 400, reason: "x" }));
    assert_eq!(summary.to_string(), "1 request: 0 allowed, 1 denied");
    let mut would = judged(Verdict::Allow);
    would.outcome.as_mut().unwrap().would = Some(deny());
    let detect = Policy { mode: Mode::Detect, ..Policy::default() };
    summary.count(&Report::new("b", &would, &detect, false));
    assert_eq!(summary.to_string(), "2 requests: 1 allowed, 1 denied; blocking mode would deny 1");
}
