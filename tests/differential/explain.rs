//! Why the engines differ on a request: each difference is traced to a class, or to none.
//!
//! Evidence comes first. A *reading* is one trait of libmodsecurity put into our own rules: if the difference is gone
//! under it, that trait is the reason. A *repair* takes one feature out of the request: if both engines agree on what
//! is left, that feature is the reason. Only what neither can show stands in a *table*, bound to rules and requests
//! that have the trait in question.

use std::collections::{BTreeMap, BTreeSet};

use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::ruleset::RuleSet;
use portcullis::seclang::ast::Program;

use super::facts::Facts;
use super::modsecurity::ModSecurity;
use super::sample::Sample;
use super::{Ids, ours, theirs};

/// Both engines, and ours under each reading.
pub(crate) struct Engines {
    pub(crate) rules: RuleSet,
    pub(crate) readings: Vec<(&'static str, RuleSet)>,
    pub(crate) all_readings: RuleSet,
    pub(crate) reference: ModSecurity,
    pub(crate) facts: BTreeMap<u32, Facts>,
}

/// A trait of libmodsecurity that our rules can be given.
pub(crate) struct Reading {
    pub(crate) class: &'static str,
    /// SecLang put in front of the rules.
    pub(crate) text: &'static str,
    /// What is changed about the rules.
    pub(crate) change: fn(&mut Program),
}

/// A feature of requests that the engines are known to read in different ways.
pub(crate) struct Repair {
    pub(crate) class: &'static str,
    /// Who is given the request without it.
    pub(crate) given_to: GivenTo,
    /// The request without it; `None` when it has no such feature.
    pub(crate) without: fn(&Sample) -> Option<Sample>,
}

/// Who gets the repaired request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivenTo {
    /// Both engines: without the feature they agree.
    Both,
    /// Ours alone: this is how the other reads the request as it was.
    Ours,
}

/// A trait that shows in the log alone.
pub(crate) struct Row {
    pub(crate) class: &'static str,
    /// Whether the rule, logged by ours only (`true`) or theirs only, may differ on such a request.
    pub(crate) applies: fn(&Difference<'_>) -> bool,
}

/// A rule that one of the engines logged and the other did not.
pub(crate) struct Difference<'a> {
    pub(crate) rule: u32,
    pub(crate) ours: bool,
    pub(crate) sample: &'a Sample,
    pub(crate) facts: Option<&'a Facts>,
    /// The engine that logged it refused to parse the body, or the other did.
    pub(crate) body_error: bool,
}

/// Rules that follow from others: sums of scores, and reports of them.
const SUMS: [u32; 6] = [949_110, 949_111, 949_100, 959_100, 980_130, 980_170];

pub(crate) struct Explained {
    /// Each rule that differs, whether it is ours, and its class; `None` is unexplained.
    pub(crate) differences: Vec<(u32, bool, Option<&'static str>)>,
}

impl Explained {
    pub(crate) fn is_complete(&self) -> bool {
        self.differences.iter().all(|(_, _, class)| class.is_some())
    }
}

impl Engines {
    /// Prints what a rule matched on, for the reader of an unexplained difference.
    pub(crate) fn show(&self, rule: u32, ours: bool, sample: &Sample) {
        sample.request.with_request(|request| {
            if ours {
                let outcome = evaluate(&self.rules, request, &Inputs::default(), &mut Scratch::default());
                let found = outcome.rules.iter().filter(|found| found.info.id.get() == rule);
                for one in found.flat_map(|found| &found.matches) {
                    println!("      {} = {}", one.variable.escape_ascii(), one.value.escape_ascii());
                }
            } else {
                let lines = self.reference.explain(request, "differential").lines;
                let id = format!("[id \"{rule}\"]");
                lines.iter().filter(|line| line.contains(&id)).for_each(|line| println!("      {line}"));
            }
        });
    }

    /// `None` when both log the same rules.
    pub(crate) fn compare(&self, sample: &Sample, scratch: &mut Scratch) -> Option<Explained> {
        let (mine, their) = (ours(&self.rules, sample, scratch), theirs(&self.reference, sample));
        let differ: BTreeSet<u32> = mine.symmetric_difference(&their).copied().collect();
        if differ.is_empty() {
            return None;
        }
        let mut open: Ids = differ.iter().copied().filter(|id| !SUMS.contains(id)).collect();
        let mut found: BTreeMap<u32, &'static str> = BTreeMap::new();
        self.by_readings(sample, &their, &mut open, &mut found, scratch);
        self.by_repairs(sample, &their, &mut open, &mut found, scratch);
        let body_error = [200_002, 200_003].iter().any(|rule| mine.contains(rule) || their.contains(rule));
        for rule in &open {
            let ours = mine.contains(rule);
            let difference = Difference { rule: *rule, ours, sample, facts: self.facts.get(rule), body_error };
            if let Some(row) = super::classes::ROWS.iter().find(|row| (row.applies)(&difference)) {
                found.insert(*rule, row.class);
            }
        }
        let sum_follows = open.iter().all(|rule| found.contains_key(rule)) && !found.is_empty();
        let class = |rule: &u32| {
            let is_sum = SUMS.contains(rule);
            if is_sum { sum_follows.then_some(super::classes::SUM) } else { found.get(rule).copied() }
        };
        let differences = differ.iter().map(|rule| (*rule, mine.contains(rule), class(rule))).collect();
        Some(Explained { differences })
    }

    fn by_readings(
        &self,
        sample: &Sample,
        their: &Ids,
        open: &mut Ids,
        found: &mut BTreeMap<u32, &'static str>,
        scratch: &mut Scratch,
    ) {
        let several = (super::classes::SEVERAL, &self.all_readings);
        for (class, rules) in self.readings.iter().map(|(class, rules)| (*class, rules)).chain([several]) {
            if open.is_empty() {
                return;
            }
            let read = ours(rules, sample, scratch);
            settle(open, found, class, |rule| read.contains(&rule) == their.contains(&rule));
        }
    }

    fn by_repairs(
        &self,
        sample: &Sample,
        their: &Ids,
        open: &mut Ids,
        found: &mut BTreeMap<u32, &'static str>,
        scratch: &mut Scratch,
    ) {
        for repair in super::classes::REPAIRS {
            if open.is_empty() {
                return;
            }
            let Some(repaired) = (repair.without)(sample) else { continue };
            let judged = match repair.given_to {
                GivenTo::Both => &theirs(&self.reference, &repaired),
                GivenTo::Ours => their,
            };
            for rules in [&self.rules, &self.all_readings] {
                let read = ours(rules, &repaired, scratch);
                settle(open, found, repair.class, |rule| read.contains(&rule) == judged.contains(&rule));
            }
        }
    }
}

fn settle(open: &mut Ids, found: &mut BTreeMap<u32, &'static str>, class: &'static str, agree: impl Fn(u32) -> bool) {
    open.retain(|rule| {
        let settled = agree(*rule);
        if settled {
            found.insert(*rule, class);
        }
        !settled
    });
}
