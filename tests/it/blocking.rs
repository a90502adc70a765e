//! Blocking mode: the CRS's own regression tests at every paranoia level, and the verdict that follows from the rules.
//!
//! What should happen is worked out from the rules that are logged in detection: each match counts the points of its
//! rule's severity, if the rule is of a level that counts. The engine's own sums are not looked at for that; they are
//! what is tested. Some of the tests are run, all of them with `PORTCULLIS_FULL=1`.
//!
//! The rules are read in place from `../shared/crs`; where they are absent, this test says so and checks nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use portcullis::config::Policy;
use portcullis::engine::{self, Inputs, Scratch};
use portcullis::ftw::{self, Suite};
use portcullis::input::{RequestBuf, parse_raw};
use portcullis::model::{Outcome, Phase, RuleMatch, Severity, Verdict};
use portcullis::sets::{self, LoadedSet};

use crate::counted;
use crate::shared::folder;

/// A version of the CRS.
struct Crs {
    version: &'static str,
    tests: usize,
    /// Every how many-th test is run at each paranoia level, and under the other settings.
    strides: (usize, usize),
    /// Requests in these tests that the raw parser takes.
    requests: (usize, usize),
    /// Requests in all tests that the raw parser takes.
    all_requests: usize,
    /// The rules that set what a [`Setting`] says, told by the unique id, so that one loaded set serves for all settings
    /// and the request stays as it is.
    switches: &'static str,
    /// The rule that logs the summary.
    summary: u32,
    settings: fn() -> Vec<Setting>,
    reports: fn(&Outcome, Setting) -> bool,
}

const CRS_4: Crs = Crs {
    version: "4.28.0",
    tests: 5003,
    strides: (7, 21),
    requests: (712, 238),
    all_requests: 4984,
    switches: r#"
SecRule UNIQUE_ID "@rx -b([1-4])d([1-4])e([01])r([0-5])s([0-9]+)-" "id:1,phase:1,pass,nolog,t:none,capture,\
  setvar:tx.blocking_paranoia_level=%{TX.1},setvar:tx.detection_paranoia_level=%{TX.2},\
  setvar:tx.early_blocking=%{TX.3},setvar:tx.reporting_level=%{TX.4},setvar:tx.sampling_percentage=%{TX.5}"
SecRule UNIQUE_ID "@beginsWith detect" "id:2,phase:1,pass,nolog,t:none,ctl:ruleEngine=DetectionOnly"
"#,
    summary: 980_170,
    settings: settings_of_4,
    reports: reports_of_4,
};

const CRS_3: Crs = Crs {
    version: "3.3.10",
    tests: 2553,
    strides: (7, 21),
    requests: (359, 120),
    all_requests: 2526,
    switches: r#"
SecRule UNIQUE_ID "@rx -b([1-4])d([1-4])e" "id:1,phase:1,pass,nolog,t:none,capture,\
  setvar:tx.paranoia_level=%{TX.1},setvar:tx.executing_paranoia_level=%{TX.2}"
SecRule UNIQUE_ID "@beginsWith detect" "id:2,phase:1,pass,nolog,t:none,ctl:ruleEngine=DetectionOnly"
"#,
    summary: 980_130,
    settings: settings_of_3,
    // It has no levels of reporting: a request that is or would be refused is summed up.
    reports: |detected, setting| score(detected, setting.blocking, BOTH) >= THRESHOLD,
};

const THRESHOLD: i64 = 5;

/// How the CRS is set for one run.
#[derive(Clone, Copy, Debug)]
struct Setting {
    blocking: u8,
    detection: u8,
    early: bool,
    reporting: u8,
    sampling: u8,
}

impl Setting {
    const fn level(level: u8) -> Self {
        Self { blocking: level, detection: level, early: false, reporting: 4, sampling: 100 }
    }

    /// What tells [`Crs::switches`]. `number` makes ids, and thereby samples, differ.
    fn unique_id(self, mode: &str, number: usize) -> String {
        let Self { blocking, detection, early, reporting, sampling } = self;
        format!("{mode}-b{blocking}d{detection}e{}r{reporting}s{sampling}-{number}", u8::from(early))
    }
}

fn load(folder: &Path, crs: &Crs) -> LoadedSet {
    let regression = ftw::setup::policy(Some(&format!("crs@{}", folder.display())));
    let policy = Policy { rules: regression.rules.clone(), ..Policy::default() };
    let settings = regression.crs.tx.iter().map(|(name, value)| format!("setvar:'tx.{name}={value}'"));
    let text =
        format!("{}SecAction \"id:3,phase:1,pass,nolog,{}\"\n", crs.switches, settings.collect::<Vec<_>>().join(","));
    sets::load_with(&policy, "switches", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// A request of the suite.
struct Case {
    name: String,
    number: usize,
    request: RequestBuf,
}

fn requests(suite: &Suite, stride: usize) -> Vec<Case> {
    let tests = suite.tests.iter().step_by(stride);
    let stages = tests.flat_map(|test| test.stages.iter().map(|stage| (test.name.to_string(), stage)));
    let taken = stages.filter_map(|(name, stage)| Some((name, parse_raw(&stage.input.bytes()).ok()?)));
    let client = Some([192, 0, 2, 7].into());
    taken
        .enumerate()
        .map(|(number, (name, request))| Case { name, number, request: RequestBuf { remote_addr: client, ..request } })
        .collect()
}

fn judge(set: &LoadedSet, case: &Case, mode: &str, setting: Setting, scratch: &mut Scratch) -> Outcome {
    let id = setting.unique_id(mode, case.number);
    let inputs = Inputs { unique_id: &id, ..Inputs::default() };
    case.request.with_request(|request| engine::evaluate(&set.rules, request, &inputs, scratch))
}

/// The paranoia level a rule is tagged with; 920181 and 921200 of 3.3 are not, and are of the first.
fn level(rule: &RuleMatch) -> u8 {
    rule.tags().iter().find_map(|tag| tag.strip_prefix("paranoia-level/")?.parse().ok()).unwrap_or(1)
}

const fn points(severity: Severity) -> i64 {
    match severity {
        Severity::Critical => 5,
        Severity::Error => 4,
        Severity::Warning => 3,
        Severity::Notice => 2,
        _ => 0,
    }
}

/// The points of the rules up to a level that ran in these phases.
fn score(outcome: &Outcome, up_to: u8, phases: &[Phase]) -> i64 {
    let counts = |rule: &&RuleMatch| {
        (911_000..949_000).contains(&rule.info.id.get()) && phases.contains(&rule.info.phase) && level(rule) <= up_to
    };
    let worth = |rule: &RuleMatch| rule.info.severity.map_or(0, points) * i64::try_from(rule.matches.len()).unwrap();
    outcome.rules.iter().filter(counts).map(worth).sum()
}

const FIRST: &[Phase] = &[Phase::RequestHeaders];
const BOTH: &[Phase] = &[Phase::RequestHeaders, Phase::RequestBody];

/// The rule that should refuse, by what was logged in detection: with early blocking 949111 after phase 1; then a rule
/// of the engine's set-up, which refuse by themselves; then 949110 after phase 2.
fn refuser(detected: &Outcome, setting: Setting) -> Option<u32> {
    let set_up = || detected.logged_ids().map(|id| id.get()).find(|id| (200_000..200_100).contains(id));
    if setting.early && score(detected, setting.blocking, FIRST) >= THRESHOLD {
        return Some(949_111);
    }
    set_up().or_else(|| (score(detected, setting.blocking, BOTH) >= THRESHOLD).then_some(949_110))
}

/// Whether the summary is logged, by the meaning of the reporting levels.
fn reports_of_4(detected: &Outcome, setting: Setting) -> bool {
    let blocking = score(detected, setting.blocking, BOTH);
    let detection = score(detected, setting.detection, BOTH);
    match setting.reporting {
        0 => false,
        1 => blocking >= THRESHOLD,
        2 => detection >= THRESHOLD,
        3 => detection >= THRESHOLD || blocking > 0,
        4 => detection > 0,
        _ => true,
    }
}

fn logs(outcome: &Outcome, id: u32) -> bool {
    outcome.logged_ids().any(|logged| logged.get() == id)
}

/// The rule that refused; a refusal by score is a plain 403.
fn refused_by(verdict: &Verdict) -> Option<u32> {
    let Verdict::Deny { rule, status, close } = verdict else { return None };
    let id = rule.map_or(0, |id| id.get());
    assert!(id < 900_000 || (*status, *close) == (403, false), "{verdict:?}");
    Some(id)
}

/// What a run counted, by kind.
type Counts = BTreeMap<&'static str, usize>;

/// Compares the verdict of one request with what follows from the rules.
fn check(
    (crs, set): (&Crs, &LoadedSet),
    case: &Case,
    setting: Setting,
    scratch: &mut Scratch,
    counts: &mut Counts,
) -> Option<String> {
    let detected = judge(set, case, "detect", setting, scratch);
    let blocked = judge(set, case, "block", setting, scratch);
    let expected = refuser(&detected, setting);
    let wrong = |what: &str, expected: &dyn std::fmt::Debug, got: &dyn std::fmt::Debug| {
        let ids: Vec<_> = detected.rules.iter().map(|rule| (rule.info.id.get(), rule.matches.len())).collect();
        Some(format!("{} {setting:?}: {what}: expected {expected:?}, got {got:?}; detected {ids:?}", case.name))
    };
    *counts
        .entry(match expected {
            None => "allowed",
            Some(949_111) => "refused in phase 1",
            Some(949_110) => "refused in phase 2",
            Some(_) => "refused by the set-up",
        })
        .or_default() += 1;
    if detected.verdict != Verdict::Allow || refused_by(&blocked.verdict) != expected {
        return wrong("refused by", &expected, &refused_by(&blocked.verdict));
    }
    if refused_by(detected.would.as_ref().unwrap_or(&Verdict::Allow)) != expected {
        return wrong("would be refused by", &expected, &detected.would);
    }
    let sum = score(&detected, setting.blocking, BOTH);
    if detected.score.inbound != sum {
        return wrong("score in detection", &sum, &detected.score);
    }
    let reported = (crs.reports)(&detected, setting);
    if logs(&detected, crs.summary) != reported {
        return wrong("summary in detection", &reported, &!reported);
    }
    // A refusal by the set-up comes before the scores are added up.
    if matches!(expected, None | Some(949_110))
        && (blocked.score.inbound, logs(&blocked, crs.summary)) != (sum, reported)
    {
        return wrong("score and summary in blocking", &(sum, reported), &blocked.score);
    }
    None
}

/// Runs `each` for all cases on all cores; the counts and what was wrong.
fn run(
    cases: &[Case],
    each: impl Fn(&Case, &mut Scratch, &mut Counts) -> Option<String> + Sync,
) -> (Counts, Vec<String>) {
    let next = AtomicUsize::new(0);
    let total = Mutex::new((Counts::new(), Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let (mut scratch, mut counts, mut wrong) = (Scratch::default(), Counts::new(), Vec::new());
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(each(case, &mut scratch, &mut counts));
        }
        let mut total = total.lock().unwrap();
        counts.into_iter().for_each(|(kind, count)| *total.0.entry(kind).or_default() += count);
        total.1.extend(wrong);
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    total.into_inner().unwrap()
}

fn levels_apart() -> [Setting; 3] {
    [(1, 4), (1, 2), (2, 3)].map(|(blocking, detection)| Setting { blocking, detection, ..Setting::level(1) })
}

fn settings_of_3() -> Vec<Setting> {
    (1..=4).map(Setting::level).chain(levels_apart()).collect()
}

fn settings_of_4() -> Vec<Setting> {
    let levels = (1..=4).map(Setting::level);
    let early = (1..=4).map(|level| Setting { early: true, ..Setting::level(level) });
    let reporting = (0..=5).map(|reporting| Setting { reporting, detection: 2, ..Setting::level(1) });
    levels.chain(early).chain(levels_apart()).chain(reporting).collect()
}

/// With sampling, a request is judged as without, or not at all; the share is that of the percentage.
fn check_sampling(set: &LoadedSet, cases: &[Case], sampling: u8, share: std::ops::RangeInclusive<usize>) {
    let setting = Setting { sampling, ..Setting::level(1) };
    let (counts, wrong) = run(cases, |case, scratch, counts| {
        let full = judge(set, case, "block", Setting::level(1), scratch);
        let sampled = judge(set, case, "block", setting, scratch);
        let left_out = logs(&sampled, 901_450);
        *counts.entry(if left_out { "left out" } else { "judged" }).or_default() += 1;
        let crs = |outcome: &Outcome| outcome.logged_ids().any(|id| id.get() > 901_450);
        let by_set_up = refused_by(&full.verdict).filter(|id| *id < 900_000);
        let right = if left_out {
            !crs(&sampled) && refused_by(&sampled.verdict) == by_set_up
        } else {
            sampled.verdict == full.verdict && sampled.rules == full.rules
        };
        (!right).then(|| format!("{} {setting:?}: {:?} instead of {:?}", case.name, sampled.verdict, full.verdict))
    });
    println!("sampling {sampling} %: {counts:?}");
    assert!(wrong.is_empty(), "{} wrong, first {}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    let judged = counts.get("judged").copied().unwrap_or(0) * 100 / cases.len();
    assert!(share.contains(&judged), "{judged} % of the requests were judged");
}

/// Runs the tests of a version under each setting; the requests of the small sample, if the version is there.
fn check_version(crs: &Crs) -> Option<(LoadedSet, Vec<Case>)> {
    let folder = folder(&format!("crs/{}", crs.version))?;
    let suite = ftw::load(&[folder.join("tests/regression/tests")]).unwrap();
    assert_eq!(suite.tests.len(), crs.tests);
    let full = std::env::var_os("PORTCULLIS_FULL").is_some_and(|value| value == "1");
    let (many, few) = if full { (1, 1) } else { crs.strides };
    let (many, few) = (requests(&suite, many), requests(&suite, few));
    let expected = if full { (crs.all_requests, crs.all_requests) } else { crs.requests };
    assert_eq!((many.len(), few.len()), expected);
    let set = load(&folder, crs);
    let settings = (crs.settings)();
    let mut failures = Vec::new();
    let mut total = Counts::new();
    for (number, setting) in settings.iter().enumerate() {
        let cases = if number < 4 { &many } else { &few };
        let (counts, wrong) = run(cases, |case, scratch, counts| check((crs, &set), case, *setting, scratch, counts));
        println!("{setting:?}: {counts:?}, {} wrong", wrong.len());
        counts.into_iter().for_each(|(kind, count)| *total.entry(kind).or_default() += count);
        failures.extend(wrong);
    }
    let verdicts: usize = total.values().sum();
    println!("CRS {}: {verdicts} verdicts under {} settings: {total:?}", crs.version, settings.len());
    let name = if full { "verdicts in blocking mode" } else { "verdicts in blocking mode, of a sample" };
    counted::say(name, verdicts, verdicts - failures.len(), 0, 0);
    assert!(failures.is_empty(), "{} wrong, first\n{}", failures.len(), failures[..failures.len().min(20)].join("\n"));
    assert_eq!(verdicts, 4 * expected.0 + (settings.len() - 4) * expected.1);
    let early = settings.iter().any(|setting| setting.early);
    let kinds = ["allowed", "refused in phase 2", "refused by the set-up", "refused in phase 1"];
    for kind in &kinds[..if early { 4 } else { 3 }] {
        assert!(total.contains_key(kind), "no request was {kind}: {total:?}");
    }
    Some((set, few))
}

#[test]
fn the_verdict_is_the_one_that_follows_from_the_rules() {
    let Some((set, few)) = check_version(&CRS_4) else { return };
    for (sampling, share) in [(0, 0..=0), (50, 40..=60), (100, 100..=100)] {
        check_sampling(&set, &few, sampling, share);
    }
}

#[test]
fn the_verdict_of_crs_3_is_the_one_that_follows_from_the_rules() {
    check_version(&CRS_3);
}
