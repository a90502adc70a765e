//! Rules that start by comparing a TX variable with a text: what they ask is asked once for all of them.

use rustc_hash::FxHashMap;

use crate::compile::footprint;
use crate::ruleset::index::{RuleIndex, TransformationNode, TxSlot};
use crate::ruleset::prefilter::{Question, insert};
use crate::ruleset::rule::{Disruptive, Link, Operator, Rule, Selector};

/// What makes two questions the same: the comparison, its argument, the variable, whether its number is meant, whether
/// the answer is negated.
pub(super) type Asked<'r> = (usize, &'r [u8], TxSlot, bool, bool);

/// What a link asks, when that is a comparison of a TX variable with a text and nothing else.
pub(super) fn asked(link: &Link) -> Option<Asked<'_>> {
    let [target] = &*link.targets else { return None };
    let Operator::Compare { compare, argument } = &link.operator else { return None };
    let plain = link.exclusions.is_empty() && link.transformations == TransformationNode::ROOT;
    match target.selector {
        Selector::Tx(slot) if plain => {
            Some((*compare as usize, argument.as_literal()?, slot, target.count, link.negated))
        }
        _ => None,
    }
}

/// The questions that the rules of a phase start with. Marks the slots that they are about.
pub(super) fn find(rules: &[Rule], list: &[RuleIndex], slots: &mut Vec<bool>) -> Vec<Question> {
    let silent_jumps_count = !rules.iter().any(footprint::reads_match_before);
    let words = list.len().div_ceil(64);
    let mut questions: Vec<Question> = Vec::new();
    let mut places: FxHashMap<Asked<'_>, usize> = FxHashMap::default();
    let of_phase = |place: usize| list.get(place).and_then(|index| rules.get(index.get()));
    for (place, index) in list.iter().enumerate() {
        let Some(rule) = rules.get(index.get()) else { continue };
        let Some(asked) = rule.links.first().and_then(asked) else { continue };
        // Captures change without notice.
        if asked.2.is_capture() {
            continue;
        }
        if slots.len() <= asked.2.get() {
            slots.resize(asked.2.get() + 1, false);
        }
        if let Some(slot) = slots.get_mut(asked.2.get()) {
            *slot = true;
        }
        let number = *places.entry(asked).or_insert_with(|| {
            questions.push(Question { rule: *index, in_vain: vec![0; words], skipped: vec![0; words] });
            questions.len() - 1
        });
        let Some(question) = questions.get_mut(number) else { continue };
        insert(&mut question.in_vain, place);
        if let Some(jump) = rule.jump.filter(|_| silent_jumps_count && only_jumps(rule)) {
            let lands_inside =
                |from: usize| of_phase(from).and_then(|rule| rule.jump).is_some_and(|to| place < to && to < jump);
            if !(0..place).any(lands_inside) {
                (place..jump).for_each(|skipped| insert(&mut question.skipped, skipped));
            }
        }
    }
    questions
}

/// Whether all that a match does is to skip other rules.
fn only_jumps(rule: &Rule) -> bool {
    let [link] = &*rule.links else { return false };
    let silent = !rule.log && !rule.audit && rule.info.severity.is_none();
    silent && link.effects.is_empty() && rule.disruptive == Disruptive::Pass
}
