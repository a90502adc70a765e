//! `ctl:name=value`.

use super::Compiler;
use super::actions::{ActionSet, EffectDraft};
use crate::model::{AuditEngine, AuditParts};
use crate::ruleset::rule::PartsChange;
use crate::ruleset::settings::EngineMode;
use crate::seclang::ast::{Action, RuleSelector};
use crate::seclang::diag::nearest;
use crate::seclang::parser::selectors::ids_within;
use crate::seclang::parser::targets::targets_within;
use crate::seclang::source::Spanned;

/// The value of a `ctl` action, split at the first `=`.
struct Control<'a> {
    value: &'a Spanned<Vec<u8>>,
    /// Where the text after `=` begins.
    from: usize,
}

impl Control<'_> {
    fn bytes(&self) -> &[u8] {
        self.value.node.get(self.from..).unwrap_or_default()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes().trim_ascii()).into_owned()
    }
}

/// Reads the value; `None` when it has been reported or has no effect here.
type Read = fn(&mut Compiler<'_>, &Control<'_>) -> Option<EffectDraft>;

/// Every control known, sorted by name without regard to case.
const CONTROLS: &[(&str, Read)] = &[
    ("auditEngine", |c, v| c.audit_engine(v.value, &v.text()).map(EffectDraft::AuditEngine)),
    ("auditLogParts", |c, v| c.audit_log_parts(v)),
    ("debugLogLevel", |_, _| None),
    ("forceRequestBodyVariable", |c, v| c.on_off(v.value, &v.text()).map(EffectDraft::ForceRequestBodyVariable)),
    ("hashEnforcement", |c, v| c.without_effect(v)),
    ("hashEngine", |c, v| c.without_effect(v)),
    ("requestBodyAccess", |c, v| c.on_off(v.value, &v.text()).map(EffectDraft::RequestBodyAccess)),
    ("requestBodyLimit", |c, v| c.ctl_number(v).map(EffectDraft::RequestBodyLimit)),
    ("requestBodyProcessor", |_, v| Some(EffectDraft::RequestBodyProcessor(v.text().to_ascii_uppercase()))),
    ("responseBodyAccess", |c, v| c.without_effect(v)),
    ("responseBodyLimit", |c, v| c.without_effect(v)),
    ("ruleEngine", |c, v| c.rule_engine(v.value, &v.text()).map(EffectDraft::RuleEngine)),
    ("ruleRemoveById", |c, v| Some(EffectDraft::RemoveRules(c.ctl_ids(v)))),
    ("ruleRemoveByMsg", |_, v| Some(EffectDraft::RemoveRules(vec![RuleSelector::Msg(rest(v))]))),
    ("ruleRemoveByTag", |_, v| Some(EffectDraft::RemoveRules(vec![RuleSelector::Tag(rest(v))]))),
    ("ruleRemoveTargetById", |c, v| c.remove_targets(v, |c, ids| c.ctl_ids(ids))),
    ("ruleRemoveTargetByMsg", |c, v| c.remove_targets(v, |_, msg| vec![RuleSelector::Msg(rest(msg))])),
    ("ruleRemoveTargetByTag", |c, v| c.remove_targets(v, |_, tag| vec![RuleSelector::Tag(rest(tag))])),
];

fn rest(control: &Control<'_>) -> Spanned<Vec<u8>> {
    Spanned { node: control.bytes().trim_ascii().to_vec(), span: control.value.span }
}

impl Compiler<'_> {
    pub(super) fn ctl(&mut self, action: &Action, set: &mut ActionSet) {
        let Some(value) = self.value(action) else { return };
        let Some(equals) = value.node.iter().position(|byte| *byte == b'=') else {
            return self.error_with_help(value.span, "`ctl` has no value", "write `ctl:NAME=VALUE`");
        };
        let name = String::from_utf8_lossy(value.node.get(..equals).unwrap_or_default()).trim().to_owned();
        let Some((_, read)) = CONTROLS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)) else {
            let message = format!("unknown control `{name}`");
            return match nearest(&name, CONTROLS.iter().map(|(known, _)| *known)) {
                Some(near) => self.error_with_help(value.span, message, format!("did you mean `ctl:{near}`?")),
                None => self.error(value.span, message),
            };
        };
        set.effects.extend(read(self, &Control { value: &value, from: equals + 1 }));
    }

    fn without_effect(&mut self, control: &Control<'_>) -> Option<EffectDraft> {
        let text = String::from_utf8_lossy(&control.value.node).into_owned();
        self.warning(control.value.span, format!("`ctl:{text}` has no effect: responses are not inspected"));
        None
    }

    fn ctl_ids(&mut self, control: &Control<'_>) -> Vec<RuleSelector> {
        let end = control.bytes().iter().position(|byte| *byte == b';').unwrap_or(control.bytes().len());
        ids_within(control.value, control.from..control.from + end, &mut self.diagnostics)
    }

    fn ctl_number(&mut self, control: &Control<'_>) -> Option<usize> {
        let number = control.text().parse().ok();
        if number.is_none() {
            self.error_with_help(control.value.span, format!("`{}` is no number", control.text()), "write bytes");
        }
        number
    }

    /// `SELECTOR;TARGETS`
    fn remove_targets(
        &mut self,
        control: &Control<'_>,
        selectors: fn(&mut Self, &Control<'_>) -> Vec<RuleSelector>,
    ) -> Option<EffectDraft> {
        let Some(semicolon) = control.bytes().iter().position(|byte| *byte == b';') else {
            self.error_with_help(
                control.value.span,
                "the removal names no target",
                "write `ctl:ruleRemoveTargetById=ID;TARGET`",
            );
            return None;
        };
        let split = control.from + semicolon;
        let head =
            Spanned { node: control.value.node.get(..split).unwrap_or_default().to_vec(), span: control.value.span };
        let rules = selectors(self, &Control { value: &head, from: control.from });
        let end = control.value.node.len();
        let targets = targets_within(control.value, split + 1..end, &mut self.diagnostics);
        Some(EffectDraft::RemoveTargets(rules, targets))
    }

    fn audit_log_parts(&mut self, control: &Control<'_>) -> Option<EffectDraft> {
        let text = control.text();
        let (change, parts): (fn(AuditParts) -> PartsChange, &str) = match text.split_at_checked(1) {
            Some(("+", parts)) => (PartsChange::Add, parts),
            Some(("-", parts)) => (PartsChange::Remove, parts),
            _ => (PartsChange::Set, &text),
        };
        let parts = self.audit_parts(control.value, parts)?;
        Some(EffectDraft::AuditLogParts(change(parts)))
    }

    pub(super) fn on_off(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<bool> {
        self.one_of(place, text, &[("On", true), ("Off", false)])
    }

    pub(super) fn rule_engine(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<EngineMode> {
        let modes = [("On", EngineMode::On), ("Off", EngineMode::Off), ("DetectionOnly", EngineMode::DetectionOnly)];
        self.one_of(place, text, &modes)
    }

    pub(super) fn audit_engine(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<AuditEngine> {
        let modes = [("On", AuditEngine::On), ("Off", AuditEngine::Off), ("RelevantOnly", AuditEngine::RelevantOnly)];
        self.one_of(place, text, &modes)
    }

    pub(super) fn audit_parts(&mut self, place: &Spanned<Vec<u8>>, text: &str) -> Option<AuditParts> {
        let parts = text.to_ascii_uppercase();
        if let Some(unknown) = parts.chars().find(|part| !('A'..='K').contains(part) && *part != 'Z') {
            self.error_with_help(
                place.span,
                format!("`{unknown}` is no part of the audit log"),
                "write letters from `A` to `K` and `Z`, e.g. `ABIJDEFHZ`",
            );
            return None;
        }
        Some(AuditParts::of(&parts))
    }

    /// A keyword, any case.
    pub(super) fn one_of<T: Copy>(&mut self, place: &Spanned<Vec<u8>>, text: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let all: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.error_with_help(
                place.span,
                format!("`{text}` is no value here"),
                format!("write {}", all.join(" or ")),
            );
        }
        found
    }
}
