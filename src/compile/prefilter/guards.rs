//! Rules that skip others depending on TX, such as those that end a CRS file at the configured paranoia level.

use rustc_hash::FxHashMap;

use crate::ruleset::index::{RuleIndex, TransformationNode, TxSlot};
use crate::ruleset::rule::{Operator, Rule, Selector};
use crate::vocab::variables::Variable;

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

/// What a guard asks: the comparison, its argument, the variable, whether it is negated.
type Question<'r> = (usize, &'r [u8], TxSlot, bool);

/// Finds the guards. Bits are few; guards beyond them are none, which costs only time.
pub(super) fn find(rules: &[Rule], phases: &[Vec<RuleIndex>; 5]) -> Guards {
    let mut guards = Guards { rules: Vec::new(), of_rule: vec![0; rules.len()] };
    let mut bits: FxHashMap<Question<'_>, u64> = FxHashMap::default();
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

/// What the rule asks, when that is a comparison of a TX variable with a text and nothing else.
fn question(rule: &Rule) -> Option<Question<'_>> {
    let [link] = &*rule.links else { return None };
    let [target] = &*link.targets else { return None };
    let Operator::Compare { compare, argument } = &link.operator else { return None };
    let plain = link.exclusions.is_empty() && link.transformations == TransformationNode::ROOT && !target.count;
    match target.selector {
        Selector::Tx(slot) if plain && target.variable == Variable::Tx => {
            Some((*compare as usize, argument.as_literal()?, slot, link.negated))
        }
        _ => None,
    }
}
