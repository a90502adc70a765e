//! Rules whose first link hands what it matched over to the second in TX variables of its own, as 920450 of the CRS does
//! with the names of headers.

use super::is_coverable;
use crate::compile::footprint;
use crate::ruleset::index::{RuleIndex, TransformationNode};
use crate::ruleset::prefilter::Relay;
use crate::ruleset::rule::{Change, Effect, KeyPattern, Link, Operator, Rule, Selector, SetVar, Target, TxName};
use crate::ruleset::template::{Macro, Piece, Template};
use crate::vocab::variables::Variable;

/// The rules of which the engine may ask the second link as soon as the first hands something over: unless a name is one
/// that others look for, nobody but that link ever learns of the variables in between.
pub(super) fn find(rules: &[Rule]) -> Vec<Relay> {
    let relays = (0..).zip(rules).filter_map(|(index, rule)| {
        let names = Names::of(rule)?;
        Some(Relay { rule: RuleIndex(index), others: names.others(rules, rule)? })
    });
    relays.collect()
}

/// The names of the variables in between.
struct Names<'r> {
    /// What those that the second link reads begin with.
    read: &'r [u8],
    /// What those that the first link sets begin with, which is `read` and maybe more.
    set: Vec<u8>,
}

impl<'r> Names<'r> {
    /// The names, if the rule is of that form.
    fn of(rule: &'r Rule) -> Option<Self> {
        let [first, second, ..] = &*rule.links else { return None };
        let Operator::Compare { argument, .. } = &second.operator else { return None };
        let is_fixed = argument.as_literal().is_some() || argument.as_slot().is_some_and(|slot| !slot.is_capture());
        let is_plain =
            second.exclusions.is_empty() && !second.negated && second.transformations == TransformationNode::ROOT;
        let [Target { selector: Selector::TxPattern { pattern, slots }, count: false, .. }] = &*second.targets else {
            return None;
        };
        let [Effect::SetVar(SetVar { name: TxName::Dynamic(name), change: Change::Set(value) })] = &*first.effects
        else {
            return None;
        };
        let (read, at_the_beginning) = pattern.text().filter(|_| slots.is_empty())?;
        let set = beginning(name).filter(|set| at_the_beginning && !read.is_empty() && set.starts_with(read))?;
        let hands_over = |template: &Template| template.macros().all(is_of_the_match);
        let is_relay = is_fixed && is_plain && !first.negated && is_coverable(rule, first);
        (is_relay && hands_over(name) && hands_over(value)).then_some(Self { read, set })
    }

    /// The patterns by which others find those of the names that hold a certain text behind their beginning. `None` when
    /// others may know the names by their beginning, or set such variables too.
    fn others(&self, rules: &[Rule], relay: &Rule) -> Option<Vec<KeyPattern>> {
        let mut others = Vec::new();
        for rule in rules {
            let own = std::ptr::eq(rule, relay);
            if footprint::macros(rule).into_iter().any(|found| self.may_be_named(found)) {
                return None;
            }
            for (number, link) in rule.links.iter().enumerate() {
                if !(own && number == 0) && self.may_be_set(link) {
                    return None;
                }
                let targets = link.targets.iter().filter(|target| target.variable == Variable::Tx);
                for target in targets.filter(|_| !(own && number == 1)) {
                    match &target.selector {
                        Selector::Tx(_) => {}
                        Selector::TxPattern { pattern, .. } => match self.meeting(pattern) {
                            Meeting::Never => {}
                            Meeting::BehindTheBeginning => others.push(pattern.clone()),
                            Meeting::Always => return None,
                        },
                        _ => return None,
                    }
                }
            }
        }
        Some(others)
    }

    /// No name with a slot begins so, else the pattern of the second link had it among its own.
    fn may_be_named(&self, found: &Macro) -> bool {
        let named = |key: &[u8]| key.starts_with(&self.set);
        found.variable == Variable::Tx && found.slot.is_none() && found.key.as_deref().is_none_or(named)
    }

    fn may_be_set(&self, link: &Link) -> bool {
        link.effects.iter().any(|effect| match effect {
            Effect::SetVar(SetVar { name: TxName::Dynamic(name), .. }) => {
                beginning(name).is_none_or(|others| others.starts_with(self.read) || self.read.starts_with(&others))
            }
            Effect::SetVar(_) | Effect::Ctl(_) => false,
        })
    }

    fn meeting(&self, pattern: &KeyPattern) -> Meeting {
        let Some((text, first)) = pattern.text() else { return Meeting::Always };
        let set = self.set.as_slice();
        if first {
            let apart = !text.starts_with(set) && !set.starts_with(text);
            return if apart { Meeting::Never } else { Meeting::Always };
        }
        // Neither within the beginning nor across its end.
        let within = text.is_empty() || set.windows(text.len()).any(|part| part == text);
        let across = (1..text.len()).any(|cut| text.get(..cut).is_some_and(|start| set.ends_with(start)));
        if within || across { Meeting::Always } else { Meeting::BehindTheBeginning }
    }
}

/// Which of the names a pattern is found in.
enum Meeting {
    Never,
    /// Those that hold its text behind their beginning.
    BehindTheBeginning,
    /// Any.
    Always,
}

/// Whether the macro stands for what a match leaves behind, and nothing that other rules may set as well.
fn is_of_the_match(found: &Macro) -> bool {
    match found.variable {
        Variable::MatchedVar | Variable::MatchedVarName => true,
        Variable::Tx => found.slot.is_some_and(|slot| slot.is_capture()),
        _ => false,
    }
}

/// What a name begins with, in lower case as names are.
fn beginning(name: &Template) -> Option<Vec<u8>> {
    match name.pieces().first() {
        Some(Piece::Literal(text)) => Some(text.to_ascii_lowercase()),
        _ => None,
    }
}
