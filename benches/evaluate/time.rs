//! Time by criterion.

use std::path::PathBuf;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, SamplingMode};
use portcullis::engine::Scratch;
use portcullis::model::Request;
use portcullis::ruleset::RuleSet;

use super::clock::cpu_time;
use super::corpora::{Class, GETS, with_borrowed};
use super::report::{Report, micros};
use super::{all_hostile, pass, requests, rules, target};

/// In which state the engine meets a request.
const STATES: [&str; 4] = ["memo off", "memo on", "first after loading", "first after hostile requests"];

/// What loading is divided into.
const LOADING: [&str; 2] = ["read and parse", "compile"];

/// CPU time of the thread that measures: the engine has no other, and the machine may be busy.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        cpu_time()
    }

    fn end(&self, start: Duration) -> Duration {
        cpu_time() - start
    }

    fn add(&self, first: &Duration, second: &Duration) -> Duration {
        *first + *second
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn folder() -> PathBuf {
    target().join("bench/criterion")
}

/// Everything, as criterion prints it.
pub(crate) fn measure() {
    let criterion = Criterion::default().with_measurement(CpuTime).warm_up_time(Duration::from_millis(500));
    let criterion = criterion.measurement_time(Duration::from_secs(2)).sample_size(30);
    let mut criterion = criterion.output_directory(&folder()).configure_from_args();
    for level in rules::LEVELS {
        let set = rules::load(level);
        let mut group = criterion.benchmark_group(group(level));
        for class in requests::ordinary_and_attacks().0 {
            with_borrowed(&class.requests, |requests| warm(&mut group, &class, &set.rules, requests));
            if class.name == GETS {
                with_borrowed(&class.requests, |requests| cold(&mut group, level, &set.rules, requests));
            }
        }
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        for class in requests::hostile() {
            with_borrowed(&class.requests, |requests| warm_in(&mut group, &class, &set.rules, requests, STATES[0]));
        }
        loading(&mut group, level);
        group.finish();
    }
    criterion.final_summary();
}

fn group(level: u8) -> String {
    format!("paranoia level {level}")
}

fn warm(group: &mut BenchmarkGroup<'_, CpuTime>, class: &Class, rules: &RuleSet, requests: &[Request<'_>]) {
    for state in &STATES[..2] {
        warm_in(group, class, rules, requests, state);
    }
}

fn warm_in(
    group: &mut BenchmarkGroup<'_, CpuTime>,
    class: &Class,
    rules: &RuleSet,
    requests: &[Request<'_>],
    state: &str,
) {
    let mut scratch = if state == STATES[0] { Scratch::without_memo() } else { Scratch::default() };
    group.bench_function(BenchmarkId::new(class.name, state), |b| b.iter(|| pass(rules, requests, &mut scratch)));
}

/// One pass for each preparation, and few of them: compiling takes far longer than what is measured.
fn cold(group: &mut BenchmarkGroup<'_, CpuTime>, level: u8, rules: &RuleSet, requests: &[Request<'_>]) {
    group.sample_size(10).warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1));
    let read = rules::read(level);
    group.bench_function(BenchmarkId::new(GETS, STATES[2]), |b| {
        let fresh = || (rules::compile(&read), Scratch::without_memo());
        b.iter_batched_ref(fresh, |(rules, scratch)| pass(rules, requests, scratch), BatchSize::PerIteration);
    });
    with_borrowed(&all_hostile().requests, |hostile| {
        group.bench_function(BenchmarkId::new(GETS, STATES[3]), |b| {
            let troubled = || {
                let mut scratch = Scratch::without_memo();
                pass(rules, hostile, &mut scratch);
                scratch
            };
            b.iter_batched_ref(troubled, |scratch| pass(rules, requests, scratch), BatchSize::PerIteration);
        });
    });
    group.sample_size(30).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
}

fn loading(group: &mut BenchmarkGroup<'_, CpuTime>, level: u8) {
    let read = rules::read(level);
    group.bench_function(BenchmarkId::new("loading", LOADING[0]), |b| b.iter(|| rules::read(level)));
    group.bench_function(BenchmarkId::new("loading", LOADING[1]), |b| {
        b.iter_with_large_drop(|| rules::compile(&read));
    });
}

/// Microseconds for each request from what criterion wrote down.
pub(crate) fn table() {
    let mut report = Report::new("evaluate");
    report.line(&format!("{}, one thread, CPU microseconds a request, medians:", rules::title()));
    let (classes, remark) = requests::ordinary_and_attacks();
    remark.iter().for_each(|remark| report.line(remark));
    let mut rows = vec![head("requests")];
    rows.extend(classes.iter().map(|class| row(class, &STATES[..2])));
    let gets: Vec<&Class> = classes.iter().filter(|class| class.name == GETS).collect();
    rows.extend(STATES[2..].iter().flat_map(|state| gets.iter().map(move |class| row_of_one(class, state))));
    rows.extend(requests::hostile().iter().map(|class| row(class, &STATES[..1])));
    report.table(&rows);
    report.line("Loading, CPU milliseconds:");
    let mut rows = vec![vec![String::new(), "paranoia level 1".to_owned(), "paranoia level 4".to_owned()]];
    rows.extend(LOADING.iter().map(|part| {
        let figures = rules::LEVELS.iter().map(|level| cell(median(*level, "loading", part).map(|nanos| nanos / 1e3)));
        std::iter::once((*part).to_owned()).chain(figures).collect()
    }));
    report.table(&rows);
    report.save(target()).unwrap();
}

/// The head of a table with two columns for each level.
pub(crate) fn head(first: &str) -> Vec<String> {
    let columns =
        rules::LEVELS.iter().flat_map(|level| STATES[..2].iter().map(move |state| format!("PL{level}, {state}")));
    std::iter::once(first.to_owned()).chain(columns).collect()
}

fn row(class: &Class, states: &[&str]) -> Vec<String> {
    let title = format!("{} ({})", class.name, class.requests.len());
    let figures = rules::LEVELS.iter().flat_map(|level| (0..2).map(move |at| (level, states.get(at))));
    let cells = figures.map(|(level, state)| {
        let nanos = state.and_then(|state| median(*level, class.name, state));
        cell(nanos.map(|nanos| nanos / class.requests.len() as f64))
    });
    std::iter::once(title).chain(cells).collect()
}

/// A row for a state in which no value is remembered.
fn row_of_one(class: &Class, state: &str) -> Vec<String> {
    let mut cells = row(class, &[state]);
    cells[0] = format!("{}, {state}", class.name);
    cells
}

/// Nanoseconds as microseconds; nothing where nothing was measured.
fn cell(nanos: Option<f64>) -> String {
    nanos.map(|nanos| micros(nanos / 1e3)).unwrap_or_default()
}

/// The median of a benchmark in nanoseconds.
fn median(level: u8, name: &str, state: &str) -> Option<f64> {
    let made_safe = name.replace(['?', '"', '/', '\\', '*', '<', '>', ':', '|', '^'], "_");
    let file = folder().join(group(level)).join(made_safe).join(state).join("new/estimates.json");
    let estimates: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    estimates["median"]["point_estimate"].as_f64()
}
