//! Helpers of the unit tests in this module.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::compile::compile;
use crate::config::{AuditPolicy, AuditWhen, CachePolicy, Config, DEFAULT_POLICY, Policy};
use crate::seclang::diag::Level;
use crate::seclang::parser::parse_text;
use crate::seclang::source::MemoryLoader;
use crate::sets::{LoadError, LoadedSet};

use crate::model::{
    AuditEngine, AuditParts, Matched, Outcome, Phase, Request, RuleId, RuleInfo, RuleMatch, Score, Severity, Verdict,
};

use super::{Call, Door, Service, Sources};

/// An outcome with this verdict and nothing else.
pub(super) fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        verdict,
        would: None,
        score: Score::default(),
        rules: Vec::new(),
        not_inspected: Vec::new(),
        faults: Vec::new(),
        deterministic: true,
        audit_engine: AuditEngine::RelevantOnly,
        audit_parts: AuditParts::of("ABHZ"),
        work: 0,
    }
}

/// A call that arrives now.
pub(super) fn call<'r>(request: Request<'r>) -> Call<'r> {
    Call {
        door: Door::ExtAuthz,
        policy: None,
        request,
        scheme: b"http",
        host: b"shop.example",
        received: Instant::now(),
        deadline: None,
    }
}

/// A rule that matched on one value.
pub(super) fn rule_match(id: u32, variable: &str, value: &[u8]) -> RuleMatch {
    let info = RuleInfo {
        id: RuleId::new(id).unwrap(),
        phase: Phase::RequestBody,
        file: "rules/test.conf".into(),
        line: 7,
        msg: "SQL Injection".to_owned(),
        severity: Some(Severity::Critical),
        tags: Vec::new(),
        ver: "OWASP_CRS/4.28.0".to_owned(),
        rev: String::new(),
        maturity: "0".to_owned(),
        accuracy: "0".to_owned(),
    };
    let data = [b"Matched Data: ", value, b" found within ", variable.as_bytes()].concat();
    RuleMatch {
        info: Arc::new(info),
        msg: b"SQL Injection".to_vec(),
        data: data.clone(),
        expanded_tags: Some(vec!["attack-sqli".to_owned()]),
        matches: vec![Matched { variable: variable.as_bytes().to_vec(), value: value.to_vec(), data }],
        log: true,
        audit: true,
        disruptive: false,
    }
}

/// Rules held in memory, as a set.
pub(super) fn load(text: &str) -> Result<LoadedSet, LoadError> {
    let loader = MemoryLoader::new();
    let parsed = parse_text(&loader, "test.conf", text.as_bytes());
    let compiled = compile(&parsed.program, &loader);
    let diagnostics = parsed.diagnostics.iter().chain(&compiled.diagnostics);
    let messages: Vec<String> = diagnostics.map(|one| one.render(&parsed.program.sources)).collect();
    let sound = !parsed.diagnostics.iter().any(|one| one.level == Level::Error);
    let rules = compiled.rules.filter(|_| sound).ok_or(LoadError { messages: messages.clone() })?;
    Ok(LoadedSet {
        rule_count: rules.rules().len(),
        rules,
        name: "test".to_owned(),
        version: None,
        fallback: false,
        scores_unheeded: compiled.scores_unheeded,
        verified: None,
        warnings: messages,
        files: Vec::new(),
    })
}

/// A configuration with this policy as `default`.
pub(super) fn config(policy: Policy) -> Config {
    Config { policies: [(DEFAULT_POLICY.to_owned(), policy)].into(), ..Config::default() }
}

/// A service whose one policy has the rules in `text`, read anew on each reload.
pub(super) fn service_of(text: &Arc<Mutex<String>>, policy: Policy) -> Service {
    let text = Arc::clone(text);
    let config = config(policy);
    let rules = Box::new(move |_: &Policy| load(&text.lock().unwrap()));
    Service::start(Sources { config: Box::new(move || Ok(config.clone())), rules }).unwrap()
}

/// A service with these rules.
pub(super) fn service(text: &str, policy: Policy) -> Service {
    service_of(&Arc::new(Mutex::new(text.to_owned())), policy)
}

/// A policy without an audit log, its cache on or off.
pub(super) fn quiet(cache: bool) -> Policy {
    Policy {
        cache: CachePolicy { enabled: cache, ..CachePolicy::default() },
        audit: AuditPolicy { when: AuditWhen::Off, ..AuditPolicy::default() },
        deadline: std::time::Duration::from_secs(60),
        ..Policy::default()
    }
}
