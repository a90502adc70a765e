//! Rules against values: targets, exclusions, transformations, operators, and what each match leaves behind.
//!
//! This is the plain path: rule by rule, value by value. Whatever may be faster has to give the same matches.

use super::relayed::HandedOver;
use super::state::EffectPlace;
use super::transaction::Transaction;
use super::tx::Tx;
use super::values::{self, Decimal};
use crate::model::{Fault, Matched, RuleMatch};
use crate::ruleset::index::{RuleIndex, TxSlot};
use crate::ruleset::prefilter::Relay;
use crate::ruleset::rule::{Change, Ctl, Effect, Link, Operator, Rule, Selector, SetVar, Target, TxName};
use crate::ruleset::template::Template;
use crate::vocab::operators::MatchLimit;
use crate::vocab::transformations::TRANSFORMATIONS;
use crate::vocab::variables::{Origin, Variable};

/// A link under evaluation.
#[derive(Clone, Copy)]
struct Current<'a> {
    rule: &'a Rule,
    link: &'a Link,
    place: EffectPlace,
    last: bool,
    /// Where the link hands over to the next: that is asked at once, in place of the link's effects.
    handing_over: Option<&'a Relay>,
}

/// A value under evaluation.
#[derive(Clone, Copy)]
struct Member<'v> {
    variable: Variable,
    count: bool,
    key: &'v [u8],
    value: &'v [u8],
}

/// The matches of the last link, kept until the rule is done.
#[derive(Default)]
struct Found {
    any: bool,
    matches: Vec<Matched>,
    /// Something was handed over that is of interest to the next link, or to others.
    handed_over: bool,
}

impl<'a> Transaction<'a> {
    /// Evaluates a rule with its chain. When the last link matched, the rule is reported.
    pub(crate) fn match_rule(&mut self, rule: &'a Rule, index: RuleIndex) -> bool {
        self.state.matched.clear();
        let mut found = Found::default();
        for (number, link) in rule.links.iter().enumerate() {
            let place = EffectPlace { rule: index, link: number, effect: 0 };
            let current = Current { rule, link, place, last: number + 1 == rule.links.len(), handing_over: None };
            found.any = false;
            self.match_link(current, &mut found);
            if !found.any || self.gave_up() {
                return false;
            }
        }
        if let Some(severity) = rule.info.severity {
            self.state.highest_severity = self.state.highest_severity.min(severity.number());
        }
        self.report(rule, found.matches);
        true
    }

    /// Whether the second link of such a rule matches nothing that the first hands over to it. Then the rule does not match,
    /// and what it leaves behind is there, but for the variables in between, which nobody looks for.
    pub(crate) fn relays_in_vain(&mut self, rule: &'a Rule, relay: &'a Relay) -> bool {
        let Some(link) = rule.links.first().filter(|_| !self.state.removed_of_tx) else { return false };
        self.state.matched.clear();
        let faults = self.result.faults.len();
        let place = EffectPlace { rule: relay.rule, link: 0, effect: 0 };
        let mut found = Found::default();
        self.match_link(Current { rule, link, place, last: false, handing_over: Some(relay) }, &mut found);
        if (found.handed_over || self.result.faults.len() > faults) && !self.gave_up() {
            // The rule is evaluated all over; a step limit that was reached may tell in what the next link asks for.
            self.result.faults.truncate(faults);
            return false;
        }
        true
    }

    /// Whether the next link matches what the effects of this one would hand over, or others would find it.
    fn interests(&mut self, current: Current<'a>, member: Member<'_>, relay: &'a Relay) -> bool {
        let [Effect::SetVar(SetVar { name: TxName::Dynamic(name), change: Change::Set(value) })] =
            &*current.link.effects
        else {
            return true;
        };
        let Some(Operator::Compare { compare, argument }) = current.rule.links.get(1).map(|next| &next.operator) else {
            return true;
        };
        let Some(wanted) = fixed(argument, &self.state.tx) else { return true };
        let to = (self.rules.prefilter.identity, relay.rule);
        let may_be_known = self.follows_from_the_name(current.link, member);
        let given = HandedOver { to, argument: wanted, name: member.key, value: member.value };
        if let Some(work) = may_be_known.then(|| self.work.relayed.in_vain(given)).flatten() {
            self.spend(work);
            return false;
        }
        let mut text = std::mem::take(&mut self.work.argument);
        text.clear();
        self.expand_pieces(name.pieces().get(1..).unwrap_or_default(), current.rule, &mut text);
        let is_found = relay.others.iter().any(|pattern| pattern.is_match(&text));
        text.clear();
        self.expand_into(value, current.rule, &mut text);
        self.spend(text.len() + 1);
        let wanted = fixed(argument, &self.state.tx).unwrap_or_default();
        let interests = is_found || compare(wanted, &text);
        if may_be_known && !interests {
            let given = HandedOver { to, argument: wanted, name: member.key, value: member.value };
            self.work.relayed.keep(given, text.len() + 1);
        }
        self.work.argument = text;
        interests
    }

    /// Whether what a link hands over follows from the name of a header alone, which is never a secret: all captures are
    /// those of the match.
    fn follows_from_the_name(&self, link: &Link, member: Member<'_>) -> bool {
        let is_name = member.variable == Variable::RequestHeadersNames && !member.count;
        is_name && link.capture && matches!(link.operator, Operator::Prepared(_)) && !self.work.captures.is_empty()
    }

    fn match_link(&mut self, current: Current<'a>, found: &mut Found) {
        if matches!(current.link.operator, Operator::Never) {
            return;
        }
        if matches!(current.link.operator, Operator::Always) {
            self.work.captures.clear();
            self.matched(current, Member { variable: Variable::Tx, count: false, key: b"", value: b"" }, found);
            return;
        }
        for target in &current.link.targets {
            if let (Selector::Tx(slot), false) = (&target.selector, target.count) {
                self.match_tx(current, target, *slot, found);
            } else if target.count {
                self.match_count(current, target, found);
            } else {
                self.for_each_member(current, target, &mut |this, member| this.match_member(current, member, found));
            }
        }
    }

    /// Visits the members of a target that no exclusion covers.
    fn for_each_member(
        &mut self,
        current: Current<'a>,
        target: &'a Target,
        visit: &mut impl FnMut(&mut Self, Member<'_>),
    ) {
        let variable = target.variable;
        if variable.origin() == Origin::Volatile {
            self.state.read_volatile = true;
        }
        if !values::is_of_state(variable) {
            let (request, input) = (self.request, self.input);
            values::of_request(variable, &target.selector, (request, input), &mut |key, value| {
                if !self.is_excluded(current, variable, key) {
                    visit(self, Member { variable, count: false, key, value });
                }
            });
            return;
        }
        // Actions change the state while its members are visited: visit a copy.
        let mut snapshot = std::mem::take(&mut self.work.snapshot);
        snapshot.clear();
        let of = (self.rules, current.rule);
        values::of_state(variable, &target.selector, of, (self.state, self.inputs), &mut snapshot);
        for (key, value) in snapshot.iter() {
            if !self.is_excluded(current, variable, key) {
                visit(self, Member { variable, count: false, key, value });
            }
        }
        self.work.snapshot = snapshot;
    }

    /// A TX variable: one value, copied since actions may change it while it is looked at.
    fn match_tx(&mut self, current: Current<'a>, target: &Target, slot: TxSlot, found: &mut Found) {
        let key = self.rules.tx_names.name(slot);
        let mut value = std::mem::take(&mut self.work.tx_value);
        if let Some(set) = self.state.tx.get(slot) {
            value.clear();
            value.extend_from_slice(set);
            if !self.is_excluded(current, target.variable, key) {
                let member = Member { variable: target.variable, count: false, key, value: &value };
                self.match_member(current, member, found);
            }
        }
        self.work.tx_value = value;
    }

    fn match_count(&mut self, current: Current<'a>, target: &'a Target, found: &mut Found) {
        let mut members = 0;
        if let Selector::Tx(slot) = &target.selector {
            let is_set = self.state.tx.get(*slot).is_some();
            let name = self.rules.tx_names.name(*slot);
            members += u64::from(is_set && !self.is_excluded(current, target.variable, name));
        } else {
            self.for_each_member(current, target, &mut |_, _| members += 1);
        }
        let text = Decimal::new(members);
        let member = Member { variable: target.variable, count: true, key: &target.written, value: text.as_bytes() };
        self.match_member(current, member, found);
    }

    #[inline]
    fn is_excluded(&self, current: Current<'_>, variable: Variable, key: &[u8]) -> bool {
        if current.link.exclusions.is_empty() && self.state.removed_targets.is_empty() {
            return false;
        }
        current.link.exclusions.iter().any(|exclusion| exclusion.covers(variable, key))
            || self.state.removed_targets.iter().any(|place| self.removes_target(*place, current, variable, key))
    }

    fn removes_target(&self, place: EffectPlace, current: Current<'_>, variable: Variable, key: &[u8]) -> bool {
        let effect = self
            .rules
            .rule(place.rule)
            .and_then(|rule| rule.links.get(place.link))
            .and_then(|link| link.effects.get(place.effect));
        let Some(Effect::Ctl(Ctl::RemoveTargets(rules, exclusions))) = effect else { return false };
        rules.contains(current.place.rule) && exclusions.iter().any(|exclusion| exclusion.covers(variable, key))
    }

    /// Transforms a value and gives it to the operator; with `multiMatch`, after each step that changed it too.
    fn match_member(&mut self, current: Current<'a>, member: Member<'_>, found: &mut Found) {
        let path = self.rules.transformations.path(current.link.transformations);
        if path.is_empty() {
            self.test(current, member, found);
            return;
        }
        // The buffers leave the scratch while their content is borrowed.
        let [mut from, mut to] = std::mem::take(&mut self.work.transformed);
        let mut transformed = false;
        if current.link.multi_match {
            self.test(current, member, found);
        }
        for transformation in path.iter().filter_map(|place| TRANSFORMATIONS.get(*place)) {
            let value = if transformed { from.as_slice() } else { member.value };
            if !self.spend(value.len()) {
                break;
            }
            to.clear();
            if (transformation.apply)(value, &mut to, &self.rules.transformation_context) {
                std::mem::swap(&mut from, &mut to);
                transformed = true;
                if current.link.multi_match {
                    self.test(current, Member { value: &from, ..member }, found);
                }
            }
        }
        if !current.link.multi_match {
            let value = if transformed { from.as_slice() } else { member.value };
            self.test(current, Member { value, ..member }, found);
        }
        self.work.transformed = [from, to];
    }

    fn test(&mut self, current: Current<'a>, member: Member<'_>, found: &mut Found) {
        if !self.spend(member.value.len() + 1) {
            return;
        }
        match self.run_operator(current, member.value) {
            Ok(result) if result != current.link.negated => {
                // What matched has been searched for places, and is copied.
                self.spend(member.value.len());
                self.matched(current, member, found);
            }
            Ok(_) => {}
            Err(MatchLimit) => {
                self.result.faults.push(Fault::MatchLimit(current.rule.info.id));
                if let Some(slot) = self.rules.tx_names.find(b"msc_pcre_limits_exceeded") {
                    self.state.tx.set(slot, b"1");
                    self.state.steered = true;
                }
            }
        }
    }

    /// The operator's own result, before negation. Fills the captures when the link wants them.
    fn run_operator(&mut self, current: Current<'a>, value: &[u8]) -> Result<bool, MatchLimit> {
        let link = current.link;
        self.work.captures.clear();
        match &link.operator {
            Operator::Always => Ok(true),
            Operator::Never => Ok(false),
            Operator::Compare { compare, argument } => match fixed(argument, &self.state.tx) {
                Some(text) => Ok(compare(text, value)),
                None => {
                    let text = self.expand_argument(argument, current.rule);
                    let result = compare(&text, value);
                    self.work.argument = text;
                    Ok(result)
                }
            },
            Operator::Prepared(matcher) => matcher.is_match(value, link.capture.then_some(&mut self.work.captures)),
            Operator::PreparedLate { build, argument } => {
                let text = self.expand_argument(argument, current.rule);
                let limit = self.rules.settings.match_limit;
                let captures = link.capture.then_some(&mut self.work.captures);
                let matcher = self.work.late.get(*build, &text, limit);
                let result = matcher.map_or(Ok(false), |matcher| matcher.is_match(value, captures));
                self.work.argument = text;
                result
            }
        }
    }

    /// What a match leaves behind: `MATCHED_*`, captures, effects, and an entry for the report.
    fn matched(&mut self, current: Current<'a>, member: Member<'_>, found: &mut Found) {
        found.any = true;
        if !matches!(current.link.operator, Operator::Always) {
            self.set_matched(member, current.rule.reads_matched);
        }
        if !self.work.captures.is_empty() && !current.link.negated {
            self.state.tx.set_captures(self.work.captures.iter());
        }
        match current.handing_over {
            Some(to) => found.handed_over = found.handed_over || self.interests(current, member, to),
            None => self.run_effects(current.rule, current.link, current.place),
        }
        if current.last && (current.rule.log || current.rule.audit) {
            let mut data = self.expand(&current.rule.logdata, current.rule);
            if data.len() > Matched::MAX_DATA_BYTES {
                data.truncate(Matched::MAX_DATA_BYTES);
                data.shrink_to_fit();
            }
            let value = member.value.get(..Matched::MAX_VALUE_BYTES).unwrap_or(member.value).to_vec();
            let variable = if matches!(current.link.operator, Operator::Always) {
                Vec::new()
            } else {
                self.state.matched_var_name.clone()
            };
            found.matches.truncate(Matched::MOST - 1);
            found.matches.push(Matched { variable, value, data });
        }
    }

    fn set_matched(&mut self, member: Member<'_>, kept: bool) {
        let state = &mut *self.state;
        state.matched_var.clear();
        state.matched_var.extend_from_slice(member.value);
        let name = &mut state.matched_var_name;
        name.clear();
        if member.count {
            name.push(b'&');
        }
        name.extend_from_slice(member.variable.name().as_bytes());
        if !member.key.is_empty() {
            name.push(b':');
            name.extend_from_slice(member.key);
        }
        if kept {
            state.matched.push(&state.matched_var_name, &state.matched_var);
        }
    }

    /// Adds a rule to the report, unless it is neither logged nor audited.
    fn report(&mut self, rule: &Rule, matches: Vec<Matched>) {
        if !rule.log && !rule.audit {
            return;
        }
        let msg = self.expand(&rule.msg, rule);
        let expanded_tags = rule
            .tags
            .as_ref()
            .map(|tags| tags.iter().map(|tag| String::from_utf8_lossy(&self.expand(tag, rule)).into_owned()).collect());
        let data = matches.last().map(|last| last.data.clone()).unwrap_or_default();
        self.result.rules.push(RuleMatch {
            info: rule.info.clone(),
            msg,
            data,
            expanded_tags,
            matches,
            log: rule.log,
            audit: rule.audit,
            disruptive: false,
        });
    }
}

/// An operator's argument where nothing has to be put together: a literal, or the value of one TX variable.
fn fixed<'t>(argument: &'t Template, tx: &'t Tx) -> Option<&'t [u8]> {
    argument.as_literal().or_else(|| Some(tx.get(argument.as_slot()?).unwrap_or_default()))
}
