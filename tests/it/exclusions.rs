//! What users leave out: every form of exclusion does what it says, leaves its neighbour protected, and says with file
//! and line when it meets nothing.
//!
//! The cases of `tests/vectors/exclusions` act on the small rule set beside them; placement around the CRS and its
//! plugins is tested with the stock rules, read from `../shared/crs`. The same request in another order of its parts
//! must get the same verdict.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use portcullis::compile::compile;
use portcullis::config::{CrsSettings, Policy};
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::model::{Body, Header, Outcome, Request, Verdict};
use portcullis::ruleset::RuleSet;
use portcullis::seclang::parser::parse_text;
use portcullis::seclang::source::MemoryLoader;
use portcullis::sets::{self, LoadedSet};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::counted;
use crate::shared::folder;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    form: String,
    place: Place,
    /// The exclusion, which meets something and is loaded without a remark.
    #[serde(default)]
    lines: Vec<String>,
    /// Rules that fire without the exclusion and not with it.
    #[serde(default)]
    gone: Vec<Fires>,
    /// Rules that fire with it as without it.
    #[serde(default)]
    stays: Vec<Fires>,
    /// What else holds with the exclusion.
    #[serde(default)]
    then: Vec<Then>,
    /// The same form, written so that it meets nothing.
    nothing: Vec<String>,
    /// What is said about that.
    warns: String,
    /// The line that is meant.
    #[serde(default = "first")]
    line: u32,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Place {
    Before,
    After,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fires {
    request: Sent,
    ids: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Then {
    request: Sent,
    #[serde(default)]
    log: Vec<u32>,
    #[serde(default)]
    not: Vec<u32>,
    verdict: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mistake {
    form: String,
    lines: Vec<String>,
    error: String,
    #[serde(default = "first")]
    line: u32,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    uri: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
}

const fn first() -> u32 {
    1
}

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/exclusions")
}

fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let path = vectors().join(name);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Loads the rules with lines before or after them; the remarks, rendered.
fn load(place: Place, lines: &[String]) -> (Option<RuleSet>, Vec<String>) {
    let mut loader = MemoryLoader::new();
    loader.insert("rules.conf", std::fs::read(vectors().join("rules.conf")).unwrap());
    loader.insert("own.conf", lines.join("\n").into_bytes());
    let order = match place {
        Place::Before => "Include own.conf\nInclude rules.conf\n",
        Place::After => "Include rules.conf\nInclude own.conf\n",
    };
    let parsed = parse_text(&loader, "main.conf", order.as_bytes());
    let compiled = compile(&parsed.program, &loader);
    let remarks = parsed.diagnostics.iter().chain(&compiled.diagnostics);
    let remarks: Vec<_> = remarks.map(|one| one.render(&parsed.program.sources)).collect();
    let broken = remarks.iter().any(|remark| remark.contains(": error: "));
    (compiled.rules.filter(|_| !broken), remarks)
}

fn judge(rules: &RuleSet, sent: &Sent, scratch: &mut Scratch) -> Outcome {
    let header = |(name, value): &'_ (String, String)| (name.clone(), value.clone());
    let owned: Vec<_> = sent.headers.iter().map(header).collect();
    let headers: Vec<_> =
        owned.iter().map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() }).collect();
    let method: &[u8] = if sent.body.is_empty() { b"GET" } else { b"POST" };
    let body = Body::Complete(sent.body.as_bytes());
    let request = Request { method, target: sent.uri.as_bytes(), headers: &headers, body, ..Request::default() };
    evaluate(rules, &request, &Inputs::default(), scratch)
}

fn ids(outcome: &Outcome) -> BTreeSet<u32> {
    outcome.logged_ids().map(|id| id.get()).collect()
}

fn logged(rules: &RuleSet, sent: &Sent) -> BTreeSet<u32> {
    ids(&judge(rules, sent, &mut Scratch::default()))
}

fn text(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Deny { status, .. } => format!("deny {status}"),
        Verdict::Redirect { status, location, .. } => format!("redirect {status} {location}"),
    }
}

/// Everything that is wrong with a case.
fn check(case: &Case, plain: &RuleSet) -> Vec<String> {
    let mut wrong = Vec::new();
    if !case.lines.is_empty() {
        match load(case.place, &case.lines) {
            (Some(rules), remarks) => {
                wrong.extend(remarks.into_iter().map(|remark| format!("a remark: {remark}")));
                check_effect(case, plain, &rules, &mut wrong);
            }
            (None, remarks) => wrong.push(format!("not loaded: {}", remarks.join("\n"))),
        }
    }
    let (rules, remarks) = load(case.place, &case.nothing);
    let place = format!("own.conf:{}:", case.line);
    let said = |remark: &String| remark.starts_with(&place) && remark.contains(": warning: ");
    if rules.is_none() || !remarks.iter().any(|remark| said(remark) && remark.contains(&case.warns)) {
        wrong.push(format!("that it meets nothing is not said: {remarks:?}"));
    }
    wrong.iter().map(|what| format!("{}: {what}", case.form)).collect()
}

fn check_effect(case: &Case, plain: &RuleSet, rules: &RuleSet, wrong: &mut Vec<String>) {
    for (fires, stays) in case.gone.iter().map(|one| (one, false)).chain(case.stays.iter().map(|one| (one, true))) {
        let wanted: BTreeSet<u32> = fires.ids.iter().copied().collect();
        let (before, after) = (logged(plain, &fires.request), logged(rules, &fires.request));
        if !wanted.is_subset(&before) {
            wrong.push(format!("{:?}: {wanted:?} do not fire without it, only {before:?}", fires.request));
        }
        let holds = if stays { wanted.is_subset(&after) } else { wanted.is_disjoint(&after) };
        if !holds {
            let what = if stays { "stay" } else { "go" };
            wrong.push(format!("{:?}: {wanted:?} do not {what}: {after:?}", fires.request));
        }
    }
    for then in &case.then {
        let outcome = judge(rules, &then.request, &mut Scratch::default());
        let found = ids(&outcome);
        let verdict = text(&outcome.verdict);
        let right = then.log.iter().all(|id| found.contains(id)) && !then.not.iter().any(|id| found.contains(id));
        if !right || then.verdict.as_ref().is_some_and(|wanted| *wanted != verdict) {
            wrong.push(format!("{:?}: {verdict}, {found:?}", then.request));
        }
    }
}

fn check_file(name: &str, count: usize) {
    let cases: Vec<Case> = cases(name);
    let (plain, remarks) = load(Place::After, &[]);
    assert_eq!(remarks, Vec::<String>::new());
    let plain = plain.unwrap();
    let failures: Vec<_> = cases.iter().flat_map(|case| check(case, &plain)).collect();
    println!("exclusions, {name}: {} forms ran, {} findings", cases.len(), failures.len());
    counted::say("exclusions", cases.len(), cases.len().saturating_sub(failures.len()), 0, 0);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(cases.len(), count, "{name}: cases went missing");
    let forms: BTreeSet<_> = cases.iter().map(|case| &case.form).collect();
    assert_eq!(forms.len(), count, "{name}: a form twice");
    if name != "order.json" {
        let bare = |case: &&Case| case.gone.is_empty() && case.then.is_empty() || case.stays.is_empty();
        assert_eq!(cases.iter().find(bare).map(|case| &case.form), None, "a form without effect or neighbour");
    }
}

#[test]
fn exclusions_at_load_time_do_what_they_say() {
    check_file("configuration.json", 31);
}

#[test]
fn exclusions_at_run_time_do_what_they_say() {
    check_file("runtime.json", 32);
}

#[test]
fn an_exclusion_in_the_wrong_place_is_told() {
    check_file("order.json", 7);
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_line() {
    let mistakes: Vec<Mistake> = cases("errors.json");
    let wrong = mistakes.iter().filter_map(|mistake| {
        let (rules, remarks) = load(Place::After, &mistake.lines);
        let place = format!("own.conf:{}:", mistake.line);
        let said = |one: &String| one.starts_with(&place) && one.contains(": error: ") && one.contains(&mistake.error);
        let right = rules.is_none() && remarks.iter().any(said);
        (!right).then(|| format!("{}: {remarks:?}", mistake.form))
    });
    let wrong: Vec<_> = wrong.collect();
    println!("exclusions, errors.json: {} mistakes ran, {} findings", mistakes.len(), wrong.len());
    counted::say("exclusions", mistakes.len(), mistakes.len() - wrong.len(), 0, 0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(mistakes.len(), 18);
}

/// A copy of the stock rules, with files of the user's own, for as long as the test runs.
struct Crs {
    root: tempfile::TempDir,
}

impl Crs {
    /// `None`, said loudly, where the stock rules are not there.
    fn new(own: &[(&str, &str)]) -> Option<Self> {
        let from = folder("crs/4.28.0")?;
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("crs/rules")).unwrap();
        std::fs::create_dir_all(root.path().join("crs/plugins")).unwrap();
        std::fs::copy(from.join("crs-setup.conf.example"), root.path().join("crs/crs-setup.conf")).unwrap();
        for entry in std::fs::read_dir(from.join("rules")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "conf" || extension == "data") {
                std::fs::copy(&path, root.path().join("crs/rules").join(path.file_name().unwrap())).unwrap();
            }
        }
        for (name, text) in own {
            std::fs::write(root.path().join(name), text).unwrap();
        }
        Some(Self { root })
    }

    fn load(&self, exclusions: &[&str], crs: CrsSettings) -> LoadedSet {
        let policy = Policy {
            rules: Some(format!("crs@{}", self.root.path().join("crs").display())),
            exclusions: exclusions.iter().map(|name| self.root.path().join(name)).collect(),
            crs,
            ..Policy::default()
        };
        sets::load(&policy).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The remarks on one of the user's files, each cut to its first line and to what stands behind the file's name.
    fn remarks(set: &LoadedSet, file: &str) -> Vec<String> {
        let of_file =
            |text: &String| text.lines().next()?.split_once(&format!("{file}:")).map(|(_, rest)| rest.to_owned());
        set.warnings.iter().filter_map(of_file).collect()
    }
}

/// A browser's request.
fn browser(uri: &str) -> Sent {
    let headers = [("Host", "shop.example"), ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"), ("Accept", "*/*")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Sent { uri: uri.to_owned(), headers, body: String::new() }
}

const SCRIPT: &str = "%3Cscript%3Ealert(1)%3C/script%3E";
const SQL: &str = "%27%20OR%201=1--";

/// Checks requests: the rules of the two attack families that are logged, and the verdict.
fn check_attacks(set: &LoadedSet, rows: &[(&str, &str, &[u32], &str)]) {
    for (uri, payload, expected, verdict) in rows {
        let outcome = judge(&set.rules, &browser(&format!("{uri}{payload}")), &mut Scratch::default());
        let found: Vec<u32> = ids(&outcome).into_iter().filter(|id| (930_000..949_000).contains(id)).collect();
        assert_eq!((found.as_slice(), text(&outcome.verdict).as_str()), (*expected, *verdict), "{uri}{payload}");
    }
}

const BEHIND: &str = "SecRuleRemoveById 941110\nSecRuleUpdateTargetByTag attack-sqli \"!ARGS:query\"\n";
const IN_FRONT: &str = "SecRule REQUEST_FILENAME \"@streq /post\" \
    \"id:1001,phase:1,pass,nolog,ctl:ruleRemoveTargetByTag=attack-xss;ARGS:text\"\n";

/// What [`BEHIND`] and [`IN_FRONT`] come to.
const EXCLUDED: [(&str, &str, &[u32], &str); 6] = [
    ("/?q=", SCRIPT, &[941_100, 941_160, 941_390], "deny 403"),
    ("/?query=", SQL, &[], "allow"),
    ("/?q=", SQL, &[942_100], "deny 403"),
    ("/post?text=", SCRIPT, &[], "allow"),
    ("/post?other=", SCRIPT, &[941_100, 941_160, 941_390], "deny 403"),
    ("/other?text=", SCRIPT, &[941_100, 941_160, 941_390], "deny 403"),
];

#[test]
fn an_exclusion_file_of_a_policy_works_on_both_sides_of_the_crs() {
    let Some(crs) = Crs::new(&[("mine.conf", &format!("{BEHIND}{IN_FRONT}"))]) else { return };
    let set = crs.load(&["mine.conf"], CrsSettings::default());
    assert_eq!(Crs::remarks(&set, "mine.conf"), Vec::<String>::new());
    check_attacks(&set, &EXCLUDED);
}

#[test]
fn exclusions_in_the_crs_folder_work_on_their_side_and_say_so_on_the_other() {
    let late = "SecRule REQUEST_FILENAME \"@streq /late\" \
        \"id:1002,phase:2,pass,nolog,ctl:ruleRemoveTargetByTag=attack-xss;ARGS:text\"\n";
    let own = [
        ("crs/rules/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf", format!("{BEHIND}{IN_FRONT}")),
        ("crs/rules/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf", format!("{BEHIND}{late}")),
        (
            "crs/plugins/shop-config.conf",
            "SecAction \"id:9500010,phase:1,pass,nolog,setvar:tx.shop_plugin=1\"".to_owned(),
        ),
        (
            "crs/plugins/shop-before.conf",
            "SecRule REQUEST_FILENAME \"@streq /shop\" \"id:9500110,phase:1,pass,nolog,chain\"\n\
             SecRule TX:shop_plugin \"@eq 1\" \"ctl:ruleRemoveTargetById=942100;ARGS:q\"\n"
                .to_owned(),
        ),
        ("crs/plugins/shop-after.conf", "SecRuleUpdateTargetById 941000-941999 \"!ARGS:html\"".to_owned()),
    ];
    let own: Vec<_> = own.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let Some(crs) = Crs::new(&own) else { return };
    let set = crs.load(&[], CrsSettings::default());
    check_attacks(&set, &EXCLUDED);
    let plugin: [(&str, &str, &[u32], &str); 5] = [
        ("/shop?q=", SQL, &[], "allow"),
        ("/shop?r=", SQL, &[942_100], "deny 403"),
        ("/?q=", SQL, &[942_100], "deny 403"),
        ("/?html=", SCRIPT, &[], "allow"),
        ("/late?text=", SCRIPT, &[941_100, 941_160, 941_390], "deny 403"),
    ];
    check_attacks(&set, &plugin);
    for (file, expected) in [
        (
            "BEFORE-CRS.conf",
            ["1:19: warning: the removal of rule 941110", "2:26: warning: the update of rules tagged"].as_slice(),
        ),
        ("AFTER-CRS.conf", &["3:73: warning: the run-time removal of rules tagged `attack-xss` has no effect"]),
        ("shop-config.conf", &[]),
        ("shop-before.conf", &[]),
        ("shop-after.conf", &[]),
    ] {
        let remarks = Crs::remarks(&set, file);
        let as_expected = remarks.iter().zip(expected).all(|(remark, expected)| remark.starts_with(expected));
        assert!(remarks.len() == expected.len() && as_expected, "{file}: {remarks:#?}");
    }
}

/// Every order of the items; of seven or more there are too many.
fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let Some((last, rest)) = items.split_last() else { return vec![Vec::new()] };
    let insert = |order: &Vec<T>, at: usize| {
        let mut order = order.clone();
        order.insert(at, last.clone());
        order
    };
    let shorter = orders(rest);
    shorter.iter().flat_map(|order| (0..=order.len()).map(move |at| insert(order, at))).collect()
}

/// What must not depend on the order: the rules as a set, the verdict, the score.
fn gist(outcome: &Outcome) -> (BTreeSet<u32>, String, portcullis::model::Score) {
    (ids(outcome), text(&outcome.verdict), outcome.score)
}

/// Judges all requests with one scratch and with a fresh one; all must come to the same. The number judged.
fn check_alike(name: &str, rules: &RuleSet, requests: &[Sent]) -> usize {
    let mut used = Scratch::default();
    let mut expected = None;
    for request in requests {
        let outcome = judge(rules, request, &mut used);
        assert_eq!(outcome, judge(rules, request, &mut Scratch::default()), "{name}: {request:?}: a used scratch");
        let gist = gist(&outcome);
        assert_eq!(expected.get_or_insert_with(|| gist.clone()), &gist, "{name}: {request:?}");
    }
    let (found, verdict, _) = expected.unwrap();
    assert!(!found.is_empty(), "{name}: no rule fires, which proves nothing");
    println!("{name}: {} orders, {verdict}, {found:?}", requests.len());
    counted::say("orders of a request's parts", requests.len(), requests.len(), 0, 0);
    requests.len()
}

/// Requests with the same parts in every order: arguments, cookies, headers, fields of a form.
fn families() -> Vec<(&'static str, Vec<Sent>)> {
    let script = format!("a={SCRIPT}");
    let arguments = ["a=1", "A=bad", &script, "a=worse+bad", "b=%27%20OR%201=1--"];
    let queries = orders(&arguments).into_iter().map(|order| browser(&format!("/?{}", order.join("&")))).collect();
    let with = |base: Sent, more: Vec<(&str, &str)>| {
        let more = more.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Sent { headers: base.headers.iter().cloned().chain(more).collect(), ..base }
    };
    let cookies = ["s=1", "s=bad", "t=<script>alert(1)</script>", "S=worse"];
    let cookie = |order: Vec<&str>| with(browser("/?a=bad"), vec![("Cookie", order.join("; ").as_str())]);
    let lines =
        |order: Vec<&'static str>| with(browser("/?a=bad"), order.into_iter().map(|one| ("Cookie", one)).collect());
    let headers = [
        ("X-Note", "bad"),
        ("x-note", "fine"),
        ("X-Forwarded-For", "' OR 1=1--"),
        ("Referer", "<script>alert(1)</script>"),
    ];
    let form = |order: Vec<&str>| {
        let body = order.join("&");
        let length = body.len().to_string();
        let kind = ("Content-Type", "application/x-www-form-urlencoded");
        Sent { body, ..with(browser("/post?a=bad&c=1"), vec![kind, ("Content-Length", length.as_str())]) }
    };
    vec![
        ("arguments", queries),
        ("cookies", orders(&cookies).into_iter().map(cookie).collect()),
        ("cookie headers", orders(&cookies).into_iter().map(lines).collect()),
        ("headers", orders(&headers).into_iter().map(|order| with(browser("/?a=bad"), order)).collect()),
        ("form fields", orders(&arguments).into_iter().map(form).collect()),
    ]
}

const ORDERS: usize = 120 + 24 + 24 + 24 + 120;

#[test]
fn the_order_of_a_request_s_parts_changes_no_verdict() {
    let (rules, _) = load(Place::After, &["SecRuleUpdateTargetById 201 \"!ARGS:/^b/\"".to_owned()]);
    let rules = rules.unwrap();
    let ran: usize = families().iter().map(|(name, requests)| check_alike(name, &rules, requests)).sum();
    assert_eq!(ran, ORDERS);
}

#[test]
fn the_order_of_a_request_s_parts_changes_no_verdict_of_the_crs() {
    let Some(crs) = Crs::new(&[]) else { return };
    let set = crs.load(&[], CrsSettings { detection_paranoia: Some(4), paranoia: Some(2), ..CrsSettings::default() });
    let ran: usize = families().iter().map(|(name, requests)| check_alike(name, &set.rules, requests)).sum();
    assert_eq!(ran, ORDERS);
}
