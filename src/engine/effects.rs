//! `setvar` and `ctl`.

use super::state::EffectPlace;
use super::transaction::Transaction;
use super::tx::number;
use super::values::Decimal;
use crate::ruleset::index::TxSlot;
use crate::ruleset::rule::{Change, Ctl, Effect, Link, Rule, SetVar, TxName};
use crate::ruleset::settings::EngineMode;
use crate::ruleset::template::Template;
use crate::vocab::variables::Variable;

enum Name {
    Slot(TxSlot),
    Dynamic(Vec<u8>),
}

impl Transaction<'_> {
    /// Runs the effects of a link in written order; each sees what the ones before it did.
    pub(crate) fn run_effects(&mut self, rule: &Rule, link: &Link, place: EffectPlace) {
        for (effect, action) in link.effects.iter().enumerate() {
            match action {
                Effect::SetVar(setvar) => self.set_var(rule, setvar),
                Effect::Ctl(ctl) => self.control(ctl, EffectPlace { effect, ..place }),
            }
        }
    }

    fn set_var(&mut self, rule: &Rule, setvar: &SetVar) {
        let name = self.resolve_name(rule, &setvar.name);
        self.change(rule, &name, &setvar.change);
        if let Name::Dynamic(text) = name {
            self.work.name = text;
        }
    }

    fn change(&mut self, rule: &Rule, name: &Name, change: &Change) {
        match change {
            Change::Unset => self.unset(name),
            Change::Set(value) => {
                if let Some(text) = value.as_literal() {
                    self.set(name, text);
                    return;
                }
                let text = self.expand_argument(value, rule);
                self.set(name, &text);
                self.work.argument = text;
            }
            Change::Add(value) => self.add(name, value, rule, i64::saturating_add),
            Change::Subtract(value) => self.add(name, value, rule, i64::saturating_sub),
        }
    }

    fn resolve_name(&mut self, rule: &Rule, name: &TxName) -> Name {
        match name {
            TxName::Slot(slot) => Name::Slot(*slot),
            TxName::Dynamic(template) => {
                // The buffer of `expand_argument` is for the value.
                let mut text = std::mem::take(&mut self.work.name);
                text.clear();
                self.expand_into(template, rule, &mut text);
                text.make_ascii_lowercase();
                match self.rules.tx_names.find(&text) {
                    Some(slot) => {
                        self.work.name = text;
                        Name::Slot(slot)
                    }
                    None => Name::Dynamic(text),
                }
            }
        }
    }

    fn set(&mut self, name: &Name, value: &[u8]) {
        match name {
            Name::Slot(slot) => {
                self.state.tx.set(*slot, value);
                self.state.steered |= self.rules.prefilter.asks_about(*slot);
            }
            Name::Dynamic(name) => self.state.tx.set_dynamic(name, value),
        }
    }

    fn unset(&mut self, name: &Name) {
        match name {
            Name::Slot(slot) => {
                self.state.tx.unset(*slot);
                self.state.steered |= self.rules.prefilter.asks_about(*slot);
            }
            Name::Dynamic(name) => self.state.tx.unset_dynamic(name),
        }
    }

    /// The sum never falls below zero (ModSecurity v2): a counter that has underflowed would lift a threshold.
    fn add(&mut self, name: &Name, value: &Template, rule: &Rule, apply: fn(i64, i64) -> i64) {
        let text = self.expand_argument(value, rule);
        let old = match name {
            Name::Slot(slot) => self.state.tx.get(*slot),
            Name::Dynamic(name) => self.state.tx.get_dynamic(name),
        };
        let sum = apply(old.map_or(0, number), number(&text));
        self.work.argument = text;
        self.set(name, Decimal::new(u64::try_from(sum).unwrap_or(0)).as_bytes());
    }

    fn control(&mut self, ctl: &Ctl, place: EffectPlace) {
        match ctl {
            Ctl::RuleEngine(mode) => {
                self.state.engine = *mode;
                self.ended |= *mode == EngineMode::Off;
            }
            Ctl::AuditEngine(mode) => self.state.audit_engine = *mode,
            Ctl::AuditLogParts(change) => self.state.change_audit_parts(change),
            Ctl::RequestBodyAccess(access) => self.state.body_access = *access,
            Ctl::RequestBodyLimit(limit) => self.state.body_limit = *limit,
            Ctl::RequestBodyProcessor(name) => {
                self.state.body_processor.clear();
                self.state.body_processor.push_str(name);
            }
            Ctl::ForceRequestBodyVariable(force) => self.state.force_body_variable = *force,
            Ctl::RemoveRules(rules) => {
                self.state.removed.insert_all(rules);
                self.state.steered = true;
            }
            Ctl::RemoveTargets(_, exclusions) => {
                if exclusions.iter().any(|exclusion| exclusion.variable == Variable::Tx) {
                    self.state.removed_of_tx = true;
                    self.state.steered = true;
                }
                if !self.state.removed_targets.contains(&place) {
                    self.state.removed_targets.push(place);
                }
            }
        }
    }
}
