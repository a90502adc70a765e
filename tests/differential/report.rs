//! What came out: counts for each class, what is unexplained in full, and the lines that machines read.

use std::collections::{BTreeMap, BTreeSet};

use super::classes;
use super::explain::{Engines, Explained};
use super::sample::Sample;

/// The result for one version.
pub(crate) struct Report {
    samples: Vec<Sample>,
    differences: Vec<Option<Explained>>,
}

/// Differences of one class.
#[derive(Default)]
struct Count {
    ours: usize,
    theirs: usize,
    requests: usize,
    rules: BTreeSet<u32>,
}

/// So many unexplained requests are shown in full.
const SHOWN: usize = 40;

impl Report {
    pub(crate) const fn new(samples: Vec<Sample>, differences: Vec<Option<Explained>>) -> Self {
        Self { samples, differences }
    }

    fn same(&self) -> usize {
        self.differences.iter().filter(|one| one.is_none()).count()
    }

    fn unexplained(&self) -> impl Iterator<Item = (&Sample, &Explained)> {
        let all = self.samples.iter().zip(&self.differences);
        all.filter_map(|(sample, found)| {
            found.as_ref().filter(|found| !found.is_complete()).map(|found| (sample, found))
        })
    }

    fn classes(&self) -> BTreeMap<&'static str, Count> {
        let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
        for found in self.differences.iter().flatten() {
            let mut seen = BTreeSet::new();
            for (rule, ours, class) in &found.differences {
                let Some(class) = class else { continue };
                let count = counts.entry(class).or_default();
                *(if *ours { &mut count.ours } else { &mut count.theirs }) += 1;
                count.requests += usize::from(seen.insert(class));
                count.rules.insert(*rule);
            }
        }
        counts
    }

    pub(crate) fn print(&self, version: &str, engines: &Engines) {
        for (class, count) in self.classes() {
            let Count { ours, theirs, requests, rules } = count;
            println!(
                "CRS {version}: {class}: {requests} requests; rules logged by ours alone {ours}, by theirs alone {theirs}, \
                 {} different ones",
                rules.len()
            );
        }
        for (sample, found) in self.unexplained().take(SHOWN) {
            println!("FAILED: CRS {version}: {}", sample.describe());
            show(sample);
            for (rule, ours, class) in &found.differences {
                let whose = if *ours { "ours alone" } else { "theirs alone" };
                println!("    {rule} {whose}: {}", class.unwrap_or("unexplained"));
                if class.is_none() {
                    engines.show(*rule, *ours, sample);
                }
            }
        }
    }
}

/// The request, every odd byte escaped.
fn show(sample: &Sample) {
    let request = &sample.request;
    println!(
        "    {} {} {}",
        request.method.escape_ascii(),
        request.target.escape_ascii(),
        request.protocol.escape_ascii()
    );
    for (name, value) in &request.headers {
        println!("    {}: {}", name.escape_ascii(), value.escape_ascii());
    }
    if !request.body.is_empty() {
        println!("    {}", request.body.escape_ascii());
    }
}

/// All versions.
#[derive(Default)]
pub(crate) struct Totals {
    lines: Vec<String>,
    passed: usize,
    failed: usize,
    skipped: usize,
    seen: BTreeSet<&'static str>,
}

impl Totals {
    pub(crate) fn add(&mut self, version: &str, report: &Report) {
        let (all, same, unexplained) = (report.samples.len(), report.same(), report.unexplained().count());
        let classified = all - same - unexplained;
        let line = format!(
            "differential {version}: {all} requests, {same} same, {classified} classified, {unexplained} unexplained"
        );
        self.lines.push(line);
        self.passed += same + classified;
        self.failed += unexplained;
        self.seen.extend(report.classes().keys());
    }

    pub(crate) fn skip(&mut self, version: &str, count: usize) {
        self.lines.push(format!("differential {version}: skipped"));
        self.skipped += count;
    }

    pub(crate) fn fail(&mut self, version: &str, message: &str) {
        println!("FAILED: CRS {version}: {message}");
        self.lines.push(format!("differential {version}: could not be run"));
        self.failed += 1;
    }

    /// A class that explains nothing any more has to go: it could hide something new.
    pub(crate) fn check_for_stale_classes(&mut self) {
        if self.skipped > 0 {
            return;
        }
        for class in classes::names().filter(|class| !self.seen.contains(class)) {
            println!("FAILED: class `{class}` explains nothing; take it out of tests/differential/classes.rs");
            self.failed += 1;
        }
    }

    pub(crate) const fn failed(&self) -> bool {
        self.failed > 0
    }

    pub(crate) fn print(&self) {
        println!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped);
        for line in &self.lines {
            println!("{line}");
        }
    }
}
