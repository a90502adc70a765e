//! The baseline rules: every rule that can be seen has requests it must match and requests it must let be.
//!
//! The cases are data, `tests/vectors/baseline/*.json`: for each rule `matches` and `passes`. A case that must pass may
//! not be refused by any other rule either, so the near misses also watch over false alarms.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use portcullis::compile::compile;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::input::RequestBuf;
use portcullis::model::{Outcome, Severity};
use portcullis::ruleset::RuleSet;
use portcullis::seclang::ast::{Action, DirectiveKind, Program};
use portcullis::seclang::parser::{Parsed, parse_text};
use portcullis::sets::files::Files;
use serde::Deserialize;

use crate::{benign, counted};

/// The requests for one rule.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    rule: u32,
    matches: Vec<Case>,
    passes: Vec<Case>,
}

/// A request in short; what is not said is that of an ordinary browser asking for `/`.
#[derive(Clone, Deserialize, Default, Debug)]
#[serde(deny_unknown_fields, default)]
struct Case {
    method: Option<String>,
    uri: Option<String>,
    version: Option<String>,
    /// Take the place of the usual headers of the same name; without a value there is no such header.
    headers: Vec<(String, Option<String>)>,
    /// The value of the query parameter `q`, not encoded.
    q: Option<String>,
    /// The value of the form field `q`, not encoded.
    form: Option<String>,
    cookie: Option<String>,
    json: Option<serde_json::Value>,
    xml: Option<String>,
    /// The name of an uploaded file.
    file: Option<String>,
    body_b64: Option<String>,
    /// Another rule that refuses this request today though nothing is wrong with it.
    false_alarm: Option<u32>,
    /// The paranoia level, 1 if not said.
    level: Option<u8>,
    /// Other TX settings.
    set: BTreeMap<String, String>,
}

impl Case {
    fn request(&self) -> RequestBuf {
        let (kind, body) = self.body().unzip();
        let body = body.unwrap_or_default();
        let mut headers: Vec<(String, Option<String>)> = vec![
            ("Host".into(), Some("shop.example.com".into())),
            (
                "User-Agent".into(),
                Some("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0".into()),
            ),
            ("Accept".into(), Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".into())),
            ("Cookie".into(), self.cookie.clone()),
            ("Content-Type".into(), kind.clone()),
            ("Content-Length".into(), kind.is_some().then(|| body.len().to_string())),
        ];
        headers.retain(|(name, _)| !self.headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        headers.extend(self.headers.iter().cloned());
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name.into_bytes(), value?.into_bytes())));
        let query = self.q.as_ref().map(|text| format!("/search?q={}", encoded(text)));
        let method = if kind.is_some() { "POST" } else { "GET" };
        RequestBuf {
            method: self.method.as_deref().unwrap_or(method).as_bytes().to_vec(),
            target: self.uri.clone().or(query).unwrap_or_else(|| "/".to_owned()).into_bytes(),
            protocol: self.version.as_deref().unwrap_or("HTTP/1.1").as_bytes().to_vec(),
            headers: headers.collect(),
            body,
            ..RequestBuf::default()
        }
    }

    /// Content type and bytes of the body, if there is one.
    fn body(&self) -> Option<(String, Vec<u8>)> {
        let form = |text: &String| {
            ("application/x-www-form-urlencoded".to_owned(), format!("q={}", encoded(text)).into_bytes())
        };
        let json = |value: &serde_json::Value| ("application/json".to_owned(), value.to_string().into_bytes());
        let xml = |text: &String| ("text/xml".to_owned(), text.clone().into_bytes());
        let raw = |text: &String| ("application/octet-stream".to_owned(), BASE64_STANDARD.decode(text).unwrap());
        let upload = |name: &String| {
            let head = format!("Content-Disposition: form-data; name=\"upload\"; filename=\"{name}\"");
            let part = format!("--limes\r\n{head}\r\nContent-Type: text/plain\r\n\r\nsalve\r\n--limes--\r\n");
            ("multipart/form-data; boundary=limes".to_owned(), part.into_bytes())
        };
        let bodies = [
            self.form.as_ref().map(form),
            self.json.as_ref().map(json),
            self.xml.as_ref().map(xml),
            self.body_b64.as_ref().map(raw),
            self.file.as_ref().map(upload),
        ];
        bodies.into_iter().flatten().next()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.set.clone();
        if let Some(level) = self.level {
            settings.insert("blocking_paranoia_level".into(), level.to_string());
        }
        settings
    }
}

/// Percent-encoded so that nothing has a meaning in a query or a form.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The engine's set-up, settings, and the baseline rules, as text.
fn parsed(settings: &BTreeMap<String, String>) -> Parsed {
    let rules = folder("rules");
    let mut text = format!("Include {}/portcullis.conf\n", rules.display());
    for (at, (name, value)) in settings.iter().enumerate() {
        let _ = writeln!(text, "SecAction \"id:{},phase:1,pass,nolog,setvar:'tx.{name}={value}'\"", 9_899_000 + at);
    }
    let _ = writeln!(text, "Include {}/baseline/*.conf", rules.display());
    parse_text(&Files::default(), "entry.conf", text.as_bytes())
}

/// Compiles once for each set of settings.
#[derive(Default)]
struct Sets(BTreeMap<BTreeMap<String, String>, RuleSet>);

impl Sets {
    fn evaluate(&mut self, settings: BTreeMap<String, String>, request: &RequestBuf) -> Outcome {
        let rules = self.0.entry(settings).or_insert_with_key(|settings| {
            let parsed = parsed(settings);
            let compiled = compile(&parsed.program, &Files::default());
            let found = parsed.diagnostics.iter().chain(&compiled.diagnostics);
            let found: Vec<_> = found.map(|one| one.render(&parsed.program.sources)).collect();
            assert!(found.is_empty(), "{}", found.join("\n"));
            compiled.rules.unwrap()
        });
        let never = || false;
        let inputs = Inputs {
            now_micros: 1_732_000_000_000_000,
            duration_micros: 0,
            unique_id: "baseline",
            work_limit: u64::MAX,
            expired: &never,
        };
        request.with_request(|request| evaluate(rules, request, &inputs, &mut Scratch::default()))
    }
}

fn ids(outcome: &Outcome) -> Vec<u32> {
    outcome.logged_ids().map(|id| id.get()).collect()
}

/// All vectors, in the order of the files.
fn vectors() -> Vec<Vector> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder("tests/vectors/baseline")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| -> Vec<Vector> {
        let text = std::fs::read_to_string(&path).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.into_iter().flat_map(read).collect()
}

#[test]
fn every_rule_matches_what_it_should_and_nothing_near() {
    let mut sets = Sets::default();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for Vector { rule, matches, passes } in vectors() {
        for case in matches {
            ran += 1;
            let outcome = sets.evaluate(case.settings(), &case.request());
            let hit = outcome.rules.iter().find(|one| one.log && one.info.id.get() == rule);
            let critical = hit.is_some_and(|hit| hit.info.severity == Some(Severity::Critical));
            if hit.is_none() || (critical && outcome.verdict.is_allow()) {
                wrong.push(format!("{rule} should match {case:?}: {:?}, {}", ids(&outcome), outcome.verdict.name()));
            }
        }
        for case in passes {
            ran += 1;
            let outcome = sets.evaluate(case.settings(), &case.request());
            let alarm = case.false_alarm.is_some_and(|alarm| ids(&outcome).contains(&alarm));
            let refused = !outcome.verdict.is_allow();
            if ids(&outcome).contains(&rule) || refused != case.false_alarm.is_some() || refused != alarm {
                wrong.push(format!("{rule} should let pass {case:?}: {:?}, {}", ids(&outcome), outcome.verdict.name()));
            }
        }
    }
    counted::say("baseline rules", ran, ran - wrong.len(), 0, 0);
    assert!(wrong.is_empty(), "{} of {ran}\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran >= 600, "only {ran} requests ran");
}

/// The actions of each rule and action directive, links of chains left out.
fn rules(program: &Program) -> impl Iterator<Item = &[Action]> {
    program.directives.iter().filter_map(|directive| match &directive.kind {
        DirectiveKind::Rule { actions, .. } | DirectiveKind::Action(actions) => Some(actions.as_slice()),
        _ => None,
    })
}

fn value<'a>(actions: &'a [Action], name: &str) -> Option<&'a str> {
    let action = actions.iter().find(|action| action.name.node == name)?;
    action.value.as_ref().map(|value| std::str::from_utf8(&value.node).unwrap())
}

fn has(actions: &[Action], name: &str) -> bool {
    actions.iter().any(|action| action.name.node == name)
}

#[test]
fn every_rule_that_logs_is_described_and_has_cases() {
    let parsed = parsed(&BTreeMap::new());
    let mut logging = BTreeSet::new();
    for actions in rules(&parsed.program) {
        let Some(id) = value(actions, "id").map(|id| id.parse::<u32>().unwrap()) else { continue };
        if id < 1_000_000 {
            continue;
        }
        assert!((9_900_000..=9_999_999).contains(&id), "{id}");
        assert_eq!(has(actions, "nolog"), !has(actions, "msg"), "{id}: what logs has a msg, what does not has none");
        if has(actions, "msg") {
            let tags: Vec<_> = actions.iter().filter(|action| action.name.node == "tag").collect();
            assert!(tags.len() >= 2 && has(actions, "ver"), "{id}");
            assert!(!has(actions, "block") || (has(actions, "severity") && has(actions, "logdata")), "{id}");
            logging.insert(id);
        }
    }
    let vectors = vectors();
    let covered: BTreeSet<_> =
        vectors.iter().filter(|one| !one.matches.is_empty() && !one.passes.is_empty()).map(|one| one.rule).collect();
    assert_eq!(vectors.len(), covered.len(), "a rule stands twice, or without one kind of case");
    assert_eq!(logging, covered);
}

#[test]
fn files_load_in_the_order_of_their_names() {
    let parsed = parsed(&BTreeMap::new());
    assert_eq!(parsed.diagnostics, []);
    let ids: Vec<u32> = rules(&parsed.program).filter_map(|actions| value(actions, "id")?.parse().ok()).collect();
    let blocks = |range: std::ops::Range<u32>| ids.iter().position(|id| range.contains(id)).unwrap();
    let firsts: Vec<_> = (9_900..9_910).map(|block| blocks(block * 1_000..(block + 1) * 1_000)).collect();
    assert!(firsts.is_sorted(), "{firsts:?}");
    assert!(blocks(9_990_000..9_999_999) > firsts[9]);
}

#[test]
fn the_six_attacks_are_refused_and_juice_is_not() {
    let mut sets = Sets::default();
    let mut verdict = |q: &str| {
        let case = Case { uri: Some(format!("/rest/products/search?q={}", encoded(q))), ..Case::default() };
        let outcome = sets.evaluate(BTreeMap::new(), &case.request());
        (outcome.verdict.name(), ids(&outcome))
    };
    let attacks = [
        ("apple'))--", 9_905_100),
        ("' OR 1=1--", 9_905_100),
        ("<script>alert(1)</script>", 9_906_100),
        ("<iframe src=\"javascript:alert(1)\">", 9_906_100),
        ("../../../etc/passwd", 9_903_120),
        ("a;cat /etc/passwd", 9_904_100),
    ];
    for (attack, rule) in attacks {
        let (verdict, ids) = verdict(attack);
        assert_eq!(verdict, "deny", "{attack}: {ids:?}");
        assert!(ids.contains(&rule), "{attack}: {ids:?}");
    }
    assert_eq!(verdict("apple juice"), ("allow", Vec::new()));
}

#[test]
fn ordinary_requests_pass() {
    let mut sets = Sets::default();
    let mut wrong = Vec::new();
    let requests = benign::kind("general");
    for request in &requests {
        let outcome = sets.evaluate(BTreeMap::new(), request);
        if !outcome.rules.is_empty() || !outcome.verdict.is_allow() {
            wrong.push(format!("{}: {:?}, {}", request.id, ids(&outcome), outcome.verdict.name()));
        }
    }
    counted::say("baseline rules, ordinary requests", requests.len(), requests.len() - wrong.len(), 0, 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(requests.len(), 42);
}

/// Ordinary texts that are refused today though nothing is wrong with them, all of them by libinjection.
const FALSE_ALARMS: [(&str, u32); 4] = [
    ("50% off -- today only! (up to $100)", 9_905_100),
    ("if (i < 10) { i++; }", 9_905_100),
    ("2+2=4, 3*3=9 and 10/2=5", 9_905_100),
    ("5'11\" and 180", 9_905_100),
];

#[test]
fn ordinary_texts_pass() {
    let text = std::fs::read_to_string(folder("tests/vectors/benign/texts.json")).unwrap();
    let texts: Vec<String> = serde_json::from_str(&text).unwrap();
    let mut sets = Sets::default();
    let mut wrong = Vec::new();
    for text in &texts {
        let query = Case { q: Some(text.clone()), ..Case::default() };
        let form = Case { form: Some(text.clone()), ..Case::default() };
        let json = Case { json: Some(serde_json::json!({"note": text, "list": [text]})), ..Case::default() };
        for case in [query, form, json] {
            let outcome = sets.evaluate(BTreeMap::new(), &case.request());
            let known = FALSE_ALARMS.iter().find(|(known, _)| known == text).map(|(_, rule)| *rule);
            let alarm = ids(&outcome).first().copied();
            if alarm != known {
                wrong.push(format!("{text:?}: {:?}", ids(&outcome)));
            }
        }
    }
    wrong.dedup();
    let explained = texts.iter().filter(|text| FALSE_ALARMS.iter().any(|(known, _)| known == text)).count();
    let passed = texts.len().saturating_sub(explained + wrong.len());
    counted::say("baseline rules, ordinary requests", texts.len(), passed, explained, 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(texts.len() >= 150, "only {} texts", texts.len());
}

#[test]
fn the_settings_of_the_crs_work() {
    let attack = Case { q: Some("' OR 1=1--".into()), ..Case::default() }.request();
    let relative = Case { q: Some("../images/a.png".into()), ..Case::default() }.request();
    let mut sets = Sets::default();
    let mut run = |request: &RequestBuf, settings: &[(&str, &str)]| {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let outcome = sets.evaluate(settings, request);
        (outcome.verdict.name(), outcome.score.inbound, outcome.score.threshold, outcome.score.per_pl)
    };
    let (verdict, score, threshold, per_pl) = run(&attack, &[]);
    assert_eq!((verdict, threshold), ("deny", 5));
    assert_eq!(per_pl, [score, 0, 0, 0]);
    let limit = (score + 1).to_string();
    assert_eq!(run(&attack, &[("inbound_anomaly_score_threshold", &limit)]), ("allow", score, score + 1, per_pl));
    assert_eq!(run(&attack, &[("critical_anomaly_score", "2")]).1 * 5, score * 2);
    // One step up counts at level 2 only; below the blocking level it is detected and does not block.
    assert_eq!(run(&relative, &[]), ("allow", 0, 5, [0; 4]));
    assert_eq!(run(&relative, &[("blocking_paranoia_level", "2")]), ("deny", 5, 5, [0, 5, 0, 0]));
    assert_eq!(run(&relative, &[("detection_paranoia_level", "2")]), ("allow", 0, 5, [0, 5, 0, 0]));
    // A detection level below the blocking level is raised to it.
    let crossed = [("blocking_paranoia_level", "2"), ("detection_paranoia_level", "1")];
    assert_eq!(run(&relative, &crossed), ("deny", 5, 5, [0, 5, 0, 0]));
}
