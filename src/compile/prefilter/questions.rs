//! Rules that start by comparing a TX variable with a text: what they ask is asked once for all of them.

use rustc_hash::FxHashMap;

use crate::ruleset::index::{RuleIndex, TransformationNode, TxSlot};
use crate::ruleset::prefilter::{PhaseParts, Question, insert};
use crate::ruleset::rule::{Link, Operator, Rule, Selector};

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

/// The questions that the rules of a phase start with. Where a rule may read what an earlier match left behind, no rule
/// only skips others.
pub(super) fn find(rules: &[Rule], list: &[RuleIndex], reads_matches_before: bool) -> Vec<Question> {
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
        let number = *places.entry(asked).or_insert_with(|| {
            questions.push(Question { rule: *index, slot: asked.2, in_vain: vec![0; words], skipped: vec![0; words] });
            questions.len() - 1
        });
        let Some(question) = questions.get_mut(number) else { continue };
        insert(&mut question.in_vain, place);
        if let Some(jump) = rule.jump.filter(|_| !reads_matches_before && only_jumps(rule)) {
            let lands_inside =
                |from: usize| of_phase(from).and_then(|rule| rule.jump).is_some_and(|to| place < to && to < jump);
            if !(0..place).any(lands_inside) {
                (place..jump).for_each(|skipped| insert(&mut question.skipped, skipped));
            }
        }
    }
    questions
}

/// For the slot of each TX variable whether a question is about it.
pub(super) fn slots(phases: &[PhaseParts]) -> Vec<bool> {
    let mut slots = Vec::new();
    for question in phases.iter().flat_map(|parts| &parts.questions) {
        let place = question.slot.get();
        slots.resize(slots.len().max(place + 1), false);
        if let Some(slot) = slots.get_mut(place) {
            *slot = true;
        }
    }
    slots
}

/// Whether all that a match does is to skip other rules.
fn only_jumps(rule: &Rule) -> bool {
    let [link] = &*rule.links else { return false };
    rule.is_silent() && link.effects.is_empty()
}
