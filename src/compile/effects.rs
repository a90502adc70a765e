//! `setvar` and `ctl`, with names resolved and rule sets worked out.

use super::Compiler;
use super::actions::EffectDraft;
use super::draft::Draft;
use super::updates;
use crate::ruleset::index::{RuleBits, RuleIndex};
use crate::ruleset::rule::{Change, Ctl, Effect, SetVar, TxName};
use crate::ruleset::template::Template;
use crate::seclang::ast::{RuleSelector, Target};
use crate::seclang::diag::{Diagnostic, nearest};
use crate::seclang::source::Spanned;
use crate::vocab::variables::{Origin, Variable};

impl Compiler<'_> {
    /// An effect, or `None` when it has been reported or has none.
    pub(super) fn effect(&mut self, drafts: &[Draft], draft: &Draft, written: &EffectDraft) -> Option<Effect> {
        let ctl = match written {
            EffectDraft::SetVar(text) => return self.set_var(draft, text).map(Effect::SetVar),
            EffectDraft::RuleEngine(mode) => Ctl::RuleEngine(*mode),
            EffectDraft::AuditEngine(mode) => Ctl::AuditEngine(*mode),
            EffectDraft::AuditLogParts(change) => Ctl::AuditLogParts(*change),
            EffectDraft::RequestBodyAccess(access) => Ctl::RequestBodyAccess(*access),
            EffectDraft::RequestBodyLimit(limit) => Ctl::RequestBodyLimit(*limit),
            EffectDraft::RequestBodyProcessor(name) => Ctl::RequestBodyProcessor(name.as_str().into()),
            EffectDraft::ForceRequestBodyVariable(force) => Ctl::ForceRequestBodyVariable(*force),
            EffectDraft::RemoveRules(selectors) => {
                let mut rules = RuleBits::default();
                for selector in selectors {
                    rules.insert_all(&self.select(drafts, draft, selector));
                    self.judge_removed(drafts, selector);
                }
                Ctl::RemoveRules(rules)
            }
            EffectDraft::RemoveTargets(selectors, targets) => {
                let mut rules = RuleBits::default();
                for selector in selectors {
                    rules.insert_all(&self.select(drafts, draft, selector));
                }
                self.report_unread(drafts, selectors, targets);
                let exclusions: Vec<_> = targets.iter().filter_map(|target| self.exclusion(target)).collect();
                Ctl::RemoveTargets(rules, exclusions.into())
            }
        };
        Some(Effect::Ctl(ctl))
    }

    /// The rules that a run-time removal means. One that means none, or only rules that have run by then, is worth a
    /// warning: it protects nobody from a false positive.
    fn select(&mut self, drafts: &[Draft], remover: &Draft, selector: &RuleSelector) -> RuleBits {
        let mut rules = RuleBits::default();
        let own = drafts.iter().position(|draft| draft.id == remover.id);
        let mut in_time = false;
        for (index, draft) in drafts.iter().enumerate().filter(|(_, draft)| selects(selector, draft)) {
            rules.insert(RuleIndex(u32::try_from(index).unwrap_or(u32::MAX)));
            in_time |= (draft.phase, Some(index)) > (remover.phase, own);
        }
        if rules.is_empty() {
            self.nothing_selected(drafts, selector, updates::RUN_TIME);
        } else if !in_time {
            let message = format!(
                "the {} of {} has no effect: rule {} runs after them",
                updates::RUN_TIME,
                describe(selector),
                remover.id
            );
            self.diagnostics.push(
                Diagnostic::warning(selector.span(), message).with_help("move it before them, or to an earlier phase"),
            );
        }
        rules
    }

    /// A warning for each target that none of the rules reads.
    fn report_unread(&mut self, drafts: &[Draft], selectors: &[RuleSelector], targets: &[Target]) {
        let meant = |draft: &&Draft| selectors.iter().any(|selector| selects(selector, draft));
        let rules: Vec<&Draft> = drafts.iter().filter(meant).collect();
        for target in targets.iter().filter(|_| !rules.is_empty()) {
            if !rules.iter().any(|draft| updates::is_read(target, draft)) {
                self.unread(selectors, target, &rules);
            }
        }
    }

    /// A target, of a removal or an update, that meets nothing the rules read.
    pub(super) fn unread(&mut self, selectors: &[RuleSelector], target: &Target, rules: &[&Draft]) {
        let meant: Vec<_> = selectors.iter().map(describe).collect();
        let name = target.name.node.to_ascii_uppercase();
        let message = format!("`{name}` has no effect here: no target of {} is concerned", meant.join(" and "));
        let mut diagnostic = Diagnostic::warning(target.span, message);
        if let [rule] = rules {
            diagnostic = diagnostic.with_help(format!("rule {} reads {}", rule.id, updates::names_read(rule)));
        }
        self.diagnostics.push(diagnostic);
    }

    /// `[!]COLLECTION.name[=[+|-]value]`
    fn set_var(&mut self, draft: &Draft, text: &Spanned<Vec<u8>>) -> Option<SetVar> {
        let (unset, body) = text.node.strip_prefix(b"!").map_or((false, text.node.as_slice()), |body| (true, body));
        // The name may hold macros, and these may hold no `=`.
        let (target, value) = match body.iter().position(|byte| *byte == b'=') {
            Some(equals) => (body.get(..equals)?, Some(body.get(equals + 1..)?)),
            None => (body, None),
        };
        let name = self.set_var_name(draft, target.trim_ascii(), text)?;
        let change = if unset { Change::Unset } else { self.change(value, text) };
        Some(SetVar { name, change })
    }

    /// The sign is recognised before macros are expanded: what a client sends never becomes arithmetic.
    fn change(&mut self, value: Option<&[u8]>, text: &Spanned<Vec<u8>>) -> Change {
        let mut template = |value: &[u8]| self.template(&Spanned { node: value.to_vec(), span: text.span });
        match value {
            None => Change::Set(Template::from(b"1".as_slice())),
            Some([b'+', rest @ ..]) => Change::Add(template(rest)),
            Some([b'-', rest @ ..]) => Change::Subtract(template(rest)),
            Some(value) => Change::Set(template(value)),
        }
    }

    fn set_var_name(&mut self, draft: &Draft, target: &[u8], text: &Spanned<Vec<u8>>) -> Option<TxName> {
        let dot = target.iter().position(|byte| matches!(byte, b'.' | b':'));
        let (collection, name) = match dot {
            Some(dot) => (target.get(..dot)?, target.get(dot + 1..)?),
            None => (target, &b""[..]),
        };
        let collection = String::from_utf8_lossy(collection).into_owned();
        match Variable::find(&collection) {
            Some(Variable::Tx) if !name.is_empty() => self.tx_name(name, text),
            Some(variable) if variable.origin() == Origin::Persistent && !name.is_empty() => {
                let id = draft.id;
                let what = format!("rule {id} sets `{collection}`, a persistent collection");
                self.warning(text.span, format!("{what} that is always empty here; the `setvar` has no effect"));
                None
            }
            _ => {
                let message = format!("`setvar` cannot set `{}`", String::from_utf8_lossy(target));
                let help = match nearest(&collection, ["tx"]) {
                    Some(_) => "write `setvar:tx.NAME=VALUE`",
                    None => "only `tx.NAME` can be set",
                };
                self.error_with_help(text.span, message, help);
                None
            }
        }
    }

    fn tx_name(&mut self, name: &[u8], text: &Spanned<Vec<u8>>) -> Option<TxName> {
        let template = self.lenient(&Spanned { node: name.to_vec(), span: text.span });
        if template.as_literal().is_none() {
            return Some(TxName::Dynamic(template));
        }
        let slot = self.tx_names.intern(name);
        if slot.is_none() {
            self.error(text.span, "there are more than 65,536 different TX variables");
        }
        slot.map(TxName::Slot)
    }
}

/// Whether a selector means a rule. Tags and messages are compared whole, as written.
pub(super) fn selects(selector: &RuleSelector, draft: &Draft) -> bool {
    match selector {
        RuleSelector::Ids(ids) => (ids.node.0..=ids.node.1).contains(&draft.id.get()),
        RuleSelector::Tag(tag) => draft.has_tag(&tag.node),
        RuleSelector::Msg(msg) => draft.has_msg(&msg.node),
    }
}

/// A selector in words.
pub(super) fn describe(selector: &RuleSelector) -> String {
    match selector {
        RuleSelector::Ids(ids) if ids.node.0 == ids.node.1 => format!("rule {}", ids.node.0),
        RuleSelector::Ids(ids) => format!("rules {}-{}", ids.node.0, ids.node.1),
        RuleSelector::Tag(tag) => format!("rules tagged `{}`", String::from_utf8_lossy(&tag.node)),
        RuleSelector::Msg(msg) => format!("rules with the message `{}`", String::from_utf8_lossy(&msg.node)),
    }
}
