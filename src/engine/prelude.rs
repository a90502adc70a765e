//! The rules before all others that know of nothing but TX variables set so far: those that set up the CRS. They do the
//! same for each request, so that what they leave is kept and taken over.
//!
//! Only for the prefiltered path. What counts as such a rule is narrow; the first that does not ends the prelude, unless it
//! has nothing to do with TX.

use super::transaction::Transaction;
use super::tx::Tx;
use crate::model::Phase;
use crate::ruleset::prefilter::{Question, insert};
use crate::ruleset::rule::{Change, Ctl, Disruptive, Effect, Link, Operator, Rule, Selector, SetVar, TxName};
use crate::ruleset::template::Template;
use crate::vocab::variables::Variable;

/// What the rules of a rule set's beginning leave behind.
#[derive(Default, Debug)]
pub(crate) struct Prelude {
    /// The prefilter of the rule set; 0 for none.
    about: u64,
    /// The TX variables afterwards.
    tx: Tx,
    /// A bit for the place of each rule of phase 1 that is done with.
    done: Vec<u64>,
    /// A bit for each question of phase 1 that is about such rules only.
    answered: Vec<u64>,
}

impl Prelude {
    /// The places of phase 1 that are done with.
    pub(crate) fn done(&self) -> &[u64] {
        &self.done
    }

    /// Whether the rule at this place of phase 1 is done with.
    pub(crate) fn covers(&self, place: usize) -> bool {
        contains(&self.done, place)
    }

    /// Whether the question with this number, of phase 1, is about rules that are done with.
    pub(crate) fn answers(&self, number: usize) -> bool {
        contains(&self.answered, number)
    }
}

fn contains(bits: &[u64], place: usize) -> bool {
    bits.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
}

/// The questions that only concern places in `done`.
fn answered(questions: &[Question], done: &[u64]) -> Vec<u64> {
    let mut answered = vec![0; questions.len().div_ceil(64)];
    for (number, question) in questions.iter().enumerate() {
        let concerned = question.in_vain.iter().zip(&question.skipped).map(|(in_vain, skipped)| in_vain | skipped);
        if concerned.zip(done).all(|(places, done)| places & !done == 0) {
            insert(&mut answered, number);
        }
    }
    answered
}

/// What a rule is to the prelude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Knows of TX alone, and tells nobody when it matches.
    Silent,
    /// Knows of TX alone and changes nothing, but has something to say when it matches.
    Outspoken,
    /// Has nothing to do with TX.
    Unconcerned,
    /// Ends the prelude.
    Other,
}

impl<'a> Transaction<'a> {
    /// Puts the TX variables where the prelude leaves them. To be called before any rule has run.
    pub(crate) fn take_prelude(&mut self) {
        if self.work.prelude.about != self.rules.prefilter.identity {
            self.state.tx.reset(self.rules.tx_names.len());
            self.make_prelude();
        }
        self.state.tx.copy(&self.work.prelude.tx, self.work.prelude.about);
    }

    /// Runs the rules of the prelude. They have no effect but on TX; whatever else they touched is put back.
    fn make_prelude(&mut self) {
        let rules = self.rules;
        // Where a rule may read what an earlier match left behind, none may be passed over.
        let list = rules.phases.get(Phase::RequestHeaders.index()).filter(|_| !rules.prefilter.reads_matches_before);
        let list = list.map_or(&[][..], Vec::as_slice);
        let result = std::mem::take(&mut self.result);
        self.result.check_at = u64::MAX;
        let severity = self.state.highest_severity;
        let mut done = vec![0; list.len().div_ceil(64)];
        let mut place = 0;
        while let Some(index) = list.get(place) {
            let Some(rule) = rules.rule(*index) else { break };
            // Captures are not the prelude's: rules that it passes over may set them.
            let of_captures = rule.links.first().is_some_and(reads_captures);
            let part = if !of_captures && self.asks_in_vain(rule) { Part::Silent } else { part_of(rule) };
            if part == Part::Other {
                break;
            }
            let from = place;
            place += 1;
            if part == Part::Unconcerned {
                continue;
            }
            let matched = self.match_rule(rule, *index);
            if matched && part == Part::Outspoken {
                break;
            }
            place = rule.jump.filter(|_| matched).map_or(place, |jump| place.max(jump));
            (from..place.min(list.len())).for_each(|skipped| insert(&mut done, skipped));
        }
        self.work.prelude.tx.copy(&self.state.tx, 0);
        let parts = rules.prefilter.phases.get(Phase::RequestHeaders.index()).filter(|_| !done.is_empty());
        self.work.prelude.answered = parts.map(|parts| answered(&parts.questions, &done)).unwrap_or_default();
        self.work.prelude.done = done;
        self.work.prelude.about = rules.prefilter.identity;
        self.state.highest_severity = severity;
        self.state.steered = false;
        self.result = result;
    }
}

fn part_of(rule: &Rule) -> Part {
    if rule.links.iter().all(knows_tx_alone) {
        let changes_nothing = rule.links.iter().all(|link| link.effects.is_empty()) && rule.jump.is_none();
        return match (rule.is_silent(), changes_nothing) {
            (true, _) => Part::Silent,
            (false, true) => Part::Outspoken,
            (false, false) => Part::Other,
        };
    }
    let stays = rule.disruptive == Disruptive::Pass && rule.jump.is_none();
    let texts = [&rule.msg, &rule.logdata].into_iter().chain(rule.tags.iter().flatten());
    if stays && texts.into_iter().all(has_no_tx) && rule.links.iter().all(is_unconcerned) {
        return Part::Unconcerned;
    }
    Part::Other
}

/// Whether what the link does depends on named TX variables only, and changes nothing else.
fn knows_tx_alone(link: &Link) -> bool {
    let reads = match &link.operator {
        Operator::Always => true,
        Operator::Compare { argument, .. } => has_tx_alone(argument),
        Operator::Never | Operator::Prepared(_) | Operator::PreparedLate { .. } => false,
    };
    let named = |selector: &Selector| matches!(selector, Selector::Tx(slot) if !slot.is_capture());
    reads
        && !link.capture
        && link.exclusions.is_empty()
        && link.targets.iter().all(|target| target.variable == Variable::Tx && named(&target.selector))
        && link.effects.iter().all(|effect| matches!(effect, Effect::SetVar(setvar) if sets_by_tx_alone(setvar)))
}

fn reads_captures(link: &Link) -> bool {
    link.targets.iter().any(|target| matches!(target.selector, Selector::Tx(slot) if slot.is_capture()))
}

fn sets_by_tx_alone(setvar: &SetVar) -> bool {
    matches!(&setvar.name, TxName::Slot(slot) if !slot.is_capture())
        && match &setvar.change {
            Change::Set(value) | Change::Add(value) | Change::Subtract(value) => has_tx_alone(value),
            Change::Unset => true,
        }
}

fn has_tx_alone(template: &Template) -> bool {
    template.macros().all(|found| found.variable == Variable::Tx && found.slot.is_some_and(|slot| !slot.is_capture()))
}

fn has_no_tx(template: &Template) -> bool {
    template.macros().all(|found| found.variable != Variable::Tx)
}

/// Whether the link neither reads nor sets TX (captures left aside, which the prelude neither reads nor sets), and does not
/// decide which rules run.
fn is_unconcerned(link: &Link) -> bool {
    let reads = match &link.operator {
        Operator::Compare { argument, .. } | Operator::PreparedLate { argument, .. } => has_no_tx(argument),
        Operator::Always | Operator::Never | Operator::Prepared(_) => true,
    };
    let harmless = |effect: &Effect| match effect {
        Effect::Ctl(ctl) => !matches!(ctl, Ctl::RuleEngine(_) | Ctl::RemoveRules(_) | Ctl::RemoveTargets(..)),
        Effect::SetVar(_) => false,
    };
    reads && link.targets.iter().all(|target| target.variable != Variable::Tx) && link.effects.iter().all(harmless)
}
