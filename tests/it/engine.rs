//! Rules and requests from `tests/vectors/engine`: what must be logged, what must not, and the verdict.

use std::collections::BTreeMap;
use std::path::Path;

use portcullis::compile::compile;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::model::{Body, Header, Outcome, Request, Verdict};
use portcullis::seclang::parser::parse_text;
use portcullis::seclang::source::MemoryLoader;
use serde::Deserialize;

use crate::counted;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    rules: Vec<String>,
    request: Sent,
    #[serde(default)]
    log: Vec<u32>,
    #[serde(default)]
    not: Vec<u32>,
    #[serde(default)]
    data: BTreeMap<u32, String>,
    #[serde(default)]
    tags: BTreeMap<u32, Vec<String>>,
    verdict: Option<String>,
    would: Option<String>,
    #[serde(default)]
    not_inspected: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    #[serde(default = "get")]
    method: String,
    #[serde(default = "root")]
    uri: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
}

fn get() -> String {
    "GET".to_owned()
}

fn root() -> String {
    "/".to_owned()
}

fn run(case: &Case) -> Outcome {
    let text = format!("SecRuleEngine On\n{}\n", case.rules.join("\n"));
    let loader = MemoryLoader::new();
    let parsed = parse_text(&loader, "case.conf", text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "{}: {:?}", case.name, parsed.diagnostics);
    let compiled = compile(&parsed.program, &loader);
    let rendered: Vec<_> = compiled.diagnostics.iter().map(|d| d.render(&parsed.program.sources)).collect();
    let rules = compiled.rules.unwrap_or_else(|| panic!("{}: {}", case.name, rendered.join("\n")));
    let header = |(name, value): &'_ (String, String)| (name.clone(), value.clone());
    let owned: Vec<_> = case.request.headers.iter().map(header).collect();
    let headers: Vec<_> =
        owned.iter().map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() }).collect();
    let request = Request {
        method: case.request.method.as_bytes(),
        target: case.request.uri.as_bytes(),
        headers: &headers,
        body: Body::Complete(case.request.body.as_bytes()),
        ..Request::default()
    };
    let mut scratch = Scratch::default();
    let first = evaluate(&rules, &request, &Inputs::default(), &mut scratch);
    // What a scratch keeps never changes an outcome.
    evaluate(&rules, &Request::default(), &Inputs::default(), &mut scratch);
    assert_eq!(first, evaluate(&rules, &request, &Inputs::default(), &mut scratch), "{}: second run", case.name);
    first
}

fn text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Deny { status, .. } => format!("deny {status}"),
        Verdict::Redirect { status, location, .. } => format!("redirect {status} {location}"),
    }
}

fn check(case: &Case) -> Result<(), String> {
    let outcome = run(case);
    let logged: Vec<u32> = outcome.logged_ids().map(|id| id.get()).collect();
    let wrong = |what: &str, expected: &dyn std::fmt::Debug, got: &dyn std::fmt::Debug| {
        Err(format!("{}: {what}: expected {expected:?}, got {got:?} (logged {logged:?})", case.name))
    };
    // Order counts: rules are logged as they match.
    let found: Vec<u32> = logged.iter().copied().filter(|id| case.log.contains(id)).collect();
    if found != case.log {
        return wrong("logged", &case.log, &found);
    }
    if let Some(id) = case.not.iter().find(|id| logged.contains(id)) {
        return wrong("logged", &"nothing", id);
    }
    if let Some(verdict) = &case.verdict
        && *verdict != text(&outcome.verdict)
    {
        return wrong("verdict", verdict, &text(&outcome.verdict));
    }
    let would = outcome.would.as_ref().map(text);
    if case.would != would && case.would.is_some() {
        return wrong("would", &case.would, &would);
    }
    for rule in &outcome.rules {
        let id = rule.info.id.get();
        if let Some(data) = case.data.get(&id).filter(|data| data.as_bytes() != rule.data) {
            return wrong("data", data, &String::from_utf8_lossy(&rule.data));
        }
        if let Some(tags) = case.tags.get(&id).filter(|tags| *tags != rule.tags()) {
            return wrong("tags", tags, &rule.tags());
        }
    }
    let gaps: Vec<_> = outcome.not_inspected.iter().map(|gap| gap.name()).collect();
    if !case.not_inspected.is_empty() && case.not_inspected != gaps {
        return wrong("not inspected", &case.not_inspected, &gaps);
    }
    Ok(())
}

#[test]
fn every_case_holds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/engine/rules.json");
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let failures: Vec<_> = cases.iter().filter_map(|case| check(case).err()).collect();
    counted::say("engine, our own", cases.len(), cases.len() - failures.len(), 0, 0);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases.len() >= 67, "cases went missing: {}", cases.len());
}
