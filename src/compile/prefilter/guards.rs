//! Rules that skip others depending on TX, such as those that end a CRS file at the configured paranoia level.

use rustc_hash::FxHashMap;

use super::questions::{Asked, asked};
use crate::ruleset::index::RuleIndex;
use crate::ruleset::rule::Rule;

/// The guards of a rule set.
pub(super) struct Guards {
    /// One rule for each bit; others that ask the same share it.
    pub(super) rules: Vec<RuleIndex>,
    /// For each rule the guards it stands behind.
    of_rule: Vec<u64>,
}

impl Guards {
    /// The guards of one rule.
    pub(super) fn of(&self, rule: RuleIndex) -> u64 {
        self.of_rule.get(rule.get()).copied().unwrap_or(0)
    }
}

/// Finds the guards. Bits are few; guards beyond them are none, which costs only time.
pub(super) fn find(rules: &[Rule], phases: &[Vec<RuleIndex>; 5]) -> Guards {
    let mut guards = Guards { rules: Vec::new(), of_rule: vec![0; rules.len()] };
    let mut bits: FxHashMap<Asked<'_>, u64> = FxHashMap::default();
    for list in phases {
        for (place, index) in list.iter().enumerate() {
            let Some(rule) = rules.get(index.get()) else { continue };
            let (Some(jump), Some(question)) = (rule.jump, question(rule)) else { continue };
            let bit = *bits.entry(question).or_insert_with(|| {
                let number = guards.rules.len();
                if number < 64 {
                    guards.rules.push(*index);
                }
                1u64.checked_shl(number as u32).unwrap_or(0)
            });
            for skipped in list.get(place + 1..jump).unwrap_or_default() {
                if let Some(of_rule) = guards.of_rule.get_mut(skipped.get()) {
                    *of_rule |= bit;
                }
            }
        }
    }
    guards
}

/// What the rule asks, when it is a question about the value of a TX variable and nothing else.
fn question(rule: &Rule) -> Option<Asked<'_>> {
    let [link] = &*rule.links else { return None };
    asked(link).filter(|(_, _, _, count, _)| !count)
}
