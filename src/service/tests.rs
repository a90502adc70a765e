//! The service as a whole.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use serde_json::Value;

use super::testing::{call, quiet, service, service_of};
use super::*;
use crate::config::{OnFailure, Policy};
use crate::model::{Body, Header, NotInspected};

const RULES: &str = r#"
SecRuleEngine On
SecRequestBodyAccess On
SecRule ARGS "@contains evil" "id:1,phase:2,deny,status:406,msg:'evil'"
SecRule ARGS "@contains away" "id:2,phase:2,redirect:https://example.org/"
"#;

fn get(target: &str) -> Request<'_> {
    Request { target: target.as_bytes(), ..Request::default() }
}

#[test]
fn answers_in_every_mode() {
    let table = [
        (Mode::Block, "/?a=fine", Answer::Allow),
        (Mode::Block, "/?a=evil", Answer::Deny { status: 406, close: false }),
        (Mode::Block, "/?a=away", Answer::Redirect { status: 302, location: "https://example.org/".to_owned() }),
        (Mode::Detect, "/?a=evil", Answer::Allow),
        (Mode::Off, "/?a=evil", Answer::Allow),
    ];
    for (mode, target, expected) in table {
        let service = service(RULES, Policy { mode, ..quiet(false) });
        let decision = service.decide(&call(get(target)));
        assert_eq!(decision.answer, expected, "{mode:?} {target}");
        assert_eq!(decision.outcome.is_none(), mode == Mode::Off);
        assert_eq!((decision.generation, &*decision.policy, decision.request_id.len()), (1, "default", 26));
        let would = decision.outcome.and_then(|outcome| outcome.would.clone());
        assert_eq!(would.is_some(), mode == Mode::Detect, "{mode:?}");
    }
}

#[test]
fn failures_are_answered_by_policy_and_counted() {
    for (on_error, open) in [(OnFailure::Deny, false), (OnFailure::Allow, true)] {
        let service = service(RULES, Policy { on_error, ..quiet(false) });
        let unknown = service.decide(&Call { policy: Some("shop"), ..call(get("/")) });
        let late = service.decide(&Call { deadline: Some(Instant::now()), ..call(get("/?a=evil")) });
        let shed = service.fail(None, FailureKind::Overload);
        let kinds = [FailureKind::UnknownPolicy, FailureKind::Deadline, FailureKind::Overload];
        for (decision, kind) in [unknown, late, shed].into_iter().zip(kinds) {
            assert_eq!(decision.answer, Answer::Failure { kind, open });
            assert!(decision.outcome.is_none());
            let answer = if open { "open" } else { "closed" };
            let line = format!("portcullis_failures_total{{kind=\"{}\",answer=\"{answer}\"}} 1", kind.name());
            assert!(service.metrics_text().contains(&line), "{line}");
        }
    }
}

#[test]
fn failures_are_written_to_the_audit_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let to = crate::config::AuditTarget::File(path.clone());
    let audit = crate::config::AuditPolicy { when: crate::config::AuditWhen::Relevant, to };
    let service = service(RULES, Policy { audit, ..quiet(false) });
    service.decide(&call(get("/?a=fine")));
    let unknown = service.decide(&Call { policy: Some("shop"), ..call(get("/cart")) });
    let late = service.decide(&Call { deadline: Some(Instant::now()), ..call(get("/late")) });
    let shed = service.fail(Some("shop"), FailureKind::Overload);
    service.flush();
    let text = std::fs::read_to_string(path).unwrap();
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = records.iter().map(|record| &record["transaction"]).collect();
    let expected = [
        (&unknown, "unknown_policy", "/cart", "ext_authz"),
        (&late, "deadline", "/late", "ext_authz"),
        (&shed, "overload", "", "unread"),
    ];
    assert_eq!(found.len(), expected.len(), "{text}");
    for (transaction, (decision, kind, uri, source)) in found.into_iter().zip(expected) {
        assert_eq!(transaction["unique_id"], decision.request_id);
        assert_eq!(transaction["portcullis"]["failure"], kind);
        assert_eq!(transaction["portcullis"]["source"], source);
        assert_eq!(transaction["request"]["uri"], uri);
    }
}

#[test]
fn a_panic_is_a_failure() {
    let judged = guarded("default", "id", || panic!("of the test"));
    assert!(matches!(judged, Judged::Failed(FailureKind::Panic)));
    assert_eq!(panic_text(&*catch_unwind(|| panic!("one {}", 1)).unwrap_err()), "one 1");
}

#[test]
fn bodies_that_cannot_be_inspected() {
    let service = service("SecRuleEngine On\nSecRequestBodyAccess On\nSecRequestBodyLimit 4", quiet(false));
    let post = |body| Request { method: b"POST", body, ..Request::default() };
    let form = [Header { name: b"Content-Type", value: b"application/x-www-form-urlencoded" }];
    let table = [
        (post(Body::Complete(b"a=1")), None, Answer::Allow),
        (post(Body::NotSent), Some(NotInspected::BodyAbsent), Answer::Allow),
        (post(Body::Partial(b"a=")), Some(NotInspected::BodyPartial), Answer::Deny { status: 413, close: false }),
        (post(Body::Complete(b"a=123")), Some(NotInspected::BodyOverLimit), Answer::Deny { status: 413, close: false }),
    ];
    for (request, reason, expected) in table {
        let decision = service.decide(&call(Request { headers: &form, ..request }));
        assert_eq!(decision.answer, expected, "{request:?}");
        assert_eq!(decision.outcome.unwrap().not_inspected, Vec::from_iter(reason));
    }
    let text = service.metrics_text();
    for reason in ["body_absent", "body_partial", "body_over_limit"] {
        let line = format!("portcullis_not_inspected_requests_total{{policy=\"default\",reason=\"{reason}\"}} 1");
        assert!(text.contains(&line), "{line}");
    }
}

#[test]
fn a_failed_reload_keeps_the_last_good_rules_and_says_so() {
    let text = Arc::new(Mutex::new(RULES.to_owned()));
    let service = service_of(&text, quiet(true));
    let denied = || service.decide(&call(get("/?a=evil"))).answer != Answer::Allow;
    let status = || serde_json::from_str::<Value>(&service.status_json()).unwrap();
    assert!(denied() && status()["stale"] == false);

    *text.lock().unwrap() = "SecRule ARGS \"@nonsense\" \"id:1\"".to_owned();
    let error = service.reload().unwrap_err();
    assert!(error.to_string().contains("@nonsense"), "{error}");
    assert!(denied() && service.ready());
    assert_eq!(
        (&status()["stale"], &status()["generation"], &status()["reloads"]["failed"]),
        (&true.into(), &1.into(), &1.into())
    );
    assert!(status()["stale_reasons"][0].as_str().unwrap().contains("@nonsense"));
    assert!(service.metrics_text().contains("portcullis_stale 1\n"));

    *text.lock().unwrap() = "SecRuleEngine On".to_owned();
    assert_eq!(service.reload(), Ok(2));
    assert!(!denied() && status()["stale"] == false);
    assert!(service.metrics_text().contains("portcullis_generation 2\n"));
}

#[test]
fn draining_is_not_ready_and_still_answers() {
    let service = service(RULES, quiet(false));
    assert!(service.ready());
    service.drain();
    assert!(!service.ready());
    assert_eq!(service.decide(&call(get("/"))).answer, Answer::Allow);
    let status: Value = serde_json::from_str(&service.status_json()).unwrap();
    assert_eq!((&status["ready"], &status["draining"]), (&false.into(), &true.into()));
}

#[test]
fn rules_that_do_not_load_and_logs_that_do_not_open_are_told() {
    let error = testing::load("SecRule ARGS").unwrap_err();
    assert!(!error.messages.is_empty());
    let dir = tempfile::tempdir().unwrap();
    let mut policy = Policy::default();
    policy.audit.to = crate::config::AuditTarget::File(dir.path().join("no/such/folder.log"));
    let sources = Sources {
        config: Box::new(move || Ok(testing::config(policy.clone()))),
        rules: Box::new(|_| testing::load(RULES)),
    };
    let error = Service::start(sources).unwrap_err();
    assert!(error.messages[0].starts_with("policies.default.audit.to: `"), "{error}");
}

#[test]
fn metrics_are_well_formed_and_outlive_reloads() {
    let service = service(RULES, quiet(true));
    for target in ["/?a=evil", "/?a=evil", "/"] {
        service.decide(&call(get(target)));
    }
    service.reload().unwrap();
    service.decide(&call(get("/?a=evil")));
    let text = service.metrics_text();
    let lines = [
        "portcullis_requests_total{policy=\"default\",source=\"ext_authz\",verdict=\"deny\"} 3",
        "portcullis_requests_total{policy=\"default\",source=\"ext_authz\",verdict=\"allow\"} 1",
        "portcullis_rule_hits_total{policy=\"default\",rule=\"1\"} 3",
        "portcullis_cache_hits_total{policy=\"default\"} 1",
        "portcullis_cache_misses_total{policy=\"default\"} 3",
        "portcullis_evaluation_seconds_count{policy=\"default\"} 3",
        "portcullis_evaluation_seconds_bucket{policy=\"default\",le=\"+Inf\"} 3",
        "portcullis_reloads_total{result=\"success\"} 1",
        "portcullis_rules_loaded{policy=\"default\"} 2",
        "portcullis_fallback_baseline{policy=\"default\"} 0",
    ];
    for line in lines {
        assert!(text.lines().any(|known| known == line), "no {line} in\n{text}");
    }
    let mut described = std::collections::BTreeSet::new();
    for line in text.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(head) => assert!(described.insert(head.split(' ').next().unwrap()), "twice: {line}"),
            None if line.starts_with('#') => {}
            None => {
                let name = line.split(['{', ' ']).next().unwrap();
                let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
                assert!(described.contains(name) || described.contains(base), "no TYPE before {line}");
                assert!(line.rsplit(' ').next().unwrap().parse::<f64>().is_ok(), "{line}");
            }
        }
    }
    assert!(described.len() > 15, "{}", described.len());
}

#[test]
fn decisions_and_reloads_at_the_same_time() {
    let service = service(RULES, quiet(true));
    let decided = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (service, decided) = (&service, &decided);
            scope.spawn(move || {
                for round in 0..500 {
                    let target =
                        format!("/{}?a={}", round % 7, if (round + thread) % 2 == 0 { "evil" } else { "fine" });
                    let decision = service.decide(&call(get(&target)));
                    assert_eq!(decision.answer == Answer::Allow, target.ends_with("fine"));
                    decided.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        assert!((0..20).all(|_| service.reload().is_ok()));
    });
    assert_eq!(decided.load(Ordering::Relaxed), 2000);
}
