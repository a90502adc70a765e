//! What people report who run such systems, in public: each report is a case under its id in `tests/vectors/cases`,
//! with the outcome that is right. Most run through the service with the CRS 4.28.0, some through the doors.

pub(crate) mod data;
mod judge;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use self::data::{Case, Expected, Variant};
use self::judge::{Got, Running};
use crate::{counted, shared};

const DEFAULT_CRS: &str = "4.28.0";

/// Evaluations without optimisation, on a machine that does other things too, take so many times longer.
const SLOWER: u32 = if cfg!(debug_assertions) { 40 } else { 1 };

/// Initialisation, thresholds and scores: what other rules lead to.
const SCORING: [std::ops::Range<u32>; 3] = [901_000..902_000, 949_000..950_000, 980_000..981_000];

#[derive(Default)]
struct Tally {
    /// Services by set-up and level; those of cases with several steps are not shared.
    services: BTreeMap<String, Arc<Running>>,
    ran: usize,
    elsewhere: usize,
    pending: Vec<String>,
    no_crs: usize,
    failures: Vec<String>,
}

impl Tally {
    fn case(&mut self, case: &Case) {
        if let Some(reason) = &case.pending {
            self.pending.push(format!("{}: {reason}", case.id));
        }
        for place in &case.elsewhere {
            self.elsewhere += 1;
            if !is_test(place) {
                self.failures.push(format!("{}: there is no test `{place}`", case.id));
            }
        }
        let nothing = case.variants.is_empty() && case.elsewhere.is_empty() && case.pending.is_none();
        if nothing {
            self.failures.push(format!("{}: says nothing", case.id));
        }
        for variant in &case.variants {
            let name = format!("{} {}", case.id, variant.name);
            match &variant.pending {
                Some(reason) => self.pending.push(format!("{}: {reason}", name.trim_end())),
                None => self.variant(name.trim_end(), variant),
            }
        }
    }

    fn variant(&mut self, name: &str, variant: &Variant) {
        let version = variant.set.crs.as_deref().unwrap_or(DEFAULT_CRS);
        let needs_crs = !version.is_empty() || variant.set.rules.iter().any(|line| line.contains("{crs}"));
        let version = if version.is_empty() { DEFAULT_CRS } else { version };
        let crs = if needs_crs { shared::folder(&format!("crs/{version}")) } else { None };
        if needs_crs && crs.is_none() {
            self.no_crs += 1;
            return;
        }
        for level in &variant.levels {
            self.ran += 1;
            let problems = match self.service(variant, *level, crs.as_deref()) {
                Ok(service) => check(&service, variant),
                Err(message) => vec![format!("does not load: {message}")],
            };
            self.failures.extend(problems.iter().map(|problem| format!("{name}, level {level}: {problem}")));
        }
    }

    fn service(&mut self, variant: &Variant, level: u8, crs: Option<&Path>) -> Result<Arc<Running>, String> {
        let key = format!("{:?} {level}", variant.set);
        if let Some(service) = self.services.get(&key).filter(|_| variant.metrics.is_empty()) {
            return Ok(Arc::clone(service));
        }
        let service = Arc::new(Running::start(&variant.set, level, crs)?);
        if variant.steps.is_empty() && variant.metrics.is_empty() {
            self.services.insert(key, Arc::clone(&service));
        }
        Ok(service)
    }
}

/// Whether `path: function` is there.
fn is_test(place: &str) -> bool {
    let Some((path, function)) = place.split_once(": ") else { return false };
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default();
    text.contains(&format!("fn {function}("))
}

fn check(service: &Running, variant: &Variant) -> Vec<String> {
    let mut problems = Vec::new();
    let warnings = service.warnings();
    for text in &variant.warnings {
        if !warnings.iter().any(|warning| warning.contains(text)) {
            problems.push(format!("no warning holds `{text}`: {warnings:#?}"));
        }
    }
    if variant.quiet && warnings.iter().any(|warning| warning.contains("<case>")) {
        problems.push(format!("warns: {warnings:#?}"));
    }
    for (number, step) in (1..).zip(variant.steps()) {
        if let Some(lines) = &step.reload {
            let result = service.reload(lines);
            let stale = service.status().contains("\"stale\":true");
            if (result.is_err(), stale) != (step.reload_fails, step.reload_fails) {
                problems.push(format!("step {number}: reload: {result:?}, stale {stale}"));
            }
        }
        let got = service.send(&step.send);
        problems.extend(wrong(&step.expect, &got).into_iter().map(|problem| format!("step {number}: {problem}")));
    }
    let metrics = if variant.metrics.is_empty() { String::new() } else { service.metrics() };
    let missing = variant.metrics.iter().filter(|line| !metrics.lines().any(|other| other == line.as_str()));
    problems.extend(missing.map(|line| format!("no metric `{line}`")));
    problems
}

fn wrong(expected: &Expected, got: &Got) -> Vec<String> {
    let rules = got.outcome.iter().flat_map(|outcome| &outcome.rules);
    let logged: Vec<u32> = rules.clone().filter(|rule| rule.log).map(|rule| rule.info.id.get()).collect();
    let fired: Vec<u32> = rules.map(|rule| rule.info.id.get()).collect();
    let mut problems = Vec::new();
    let mut compare = |what: &str, expected: &dyn std::fmt::Debug, got: &dyn std::fmt::Debug| {
        if format!("{expected:?}") != format!("{got:?}") {
            problems.push(format!("{what}: expected {expected:?}, got {got:?}; logged {logged:?}"));
        }
    };
    compare("status", &expected.status, &got.status);
    let found: Vec<_> = expected.log.iter().filter(|id| logged.contains(id)).collect();
    compare("logged", &expected.log, &found);
    let loud: Vec<_> = expected.silent.iter().filter(|id| fired.contains(id)).collect();
    compare("silent", &Vec::<u32>::new(), &loud);
    if expected.only {
        let is_scoring = |id: &u32| SCORING.iter().any(|range| range.contains(id));
        let others: Vec<_> = fired.iter().filter(|id| !expected.log.contains(id) && !is_scoring(id)).collect();
        compare("no others", &Vec::<u32>::new(), &others);
    }
    if let Some(gaps) = &expected.gaps {
        let of_outcome = got.outcome.iter().flat_map(|outcome| &outcome.not_inspected);
        compare("not inspected", gaps, &of_outcome.map(|gap| gap.name()).collect::<Vec<_>>());
    }
    if let Some(cached) = expected.cached {
        compare("cached", &cached, &got.cached);
    }
    if expected.would.is_some() {
        compare("would", &expected.would, &got.would());
    }
    if let Some(limit) = expected.within_ms {
        let in_time = got.took <= Duration::from_millis(limit) * SLOWER;
        compare(&format!("in time ({:?})", got.took), &true, &in_time);
    }
    problems
}

fn load() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/cases");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |path: &std::path::PathBuf| -> Vec<Case> {
        let text = std::fs::read(path).unwrap();
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    files.iter().flat_map(read).collect()
}

#[test]
fn every_public_case_holds() {
    let mut tally = Tally::default();
    let cases = load();
    cases.iter().for_each(|case| tally.case(case));
    tally.pending.iter().for_each(|pending| println!("SKIPPED: {pending}"));
    println!(
        "public cases: {} ids; ran {}, failed {}, elsewhere {}, skipped {} (and {} without a CRS)",
        cases.len(),
        tally.ran,
        tally.failures.len(),
        tally.elsewhere,
        tally.pending.len(),
        tally.no_crs
    );
    let run = tally.ran + tally.elsewhere;
    counted::say("public cases", run, run.saturating_sub(tally.failures.len()), 0, tally.pending.len() + tally.no_crs);
    assert!(tally.failures.is_empty(), "\n{}", tally.failures.join("\n"));
    if tally.no_crs == 0 {
        assert_eq!((cases.len(), tally.ran, tally.elsewhere, tally.pending.len()), (53, 208, 4, 7));
    }
}

#[test]
fn every_report_has_a_case() {
    let cases = load();
    let ours: BTreeSet<_> = cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ours.len(), cases.len(), "an id stands twice");
    let Some(file) = shared::file("cases.md") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let ids = text.lines().filter_map(|line| line.strip_prefix("**")?.split(' ').next());
    let reports: BTreeSet<_> =
        ids.filter(|id| id.strip_prefix('R').is_some_and(|n| n.parse::<u32>().is_ok())).collect();
    println!("public cases: {} reports", reports.len());
    assert!(!reports.is_empty());
    let missing: Vec<_> = reports.difference(&ours).collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}
