//! Action lists: names checked, values read, default actions merged.

use super::Compiler;
use crate::model::{AuditEngine, Phase, RuleId, Severity};
use crate::ruleset::rule::{AllowScope, PartsChange};
use crate::ruleset::settings::EngineMode;
use crate::seclang::ast::{Action, RuleSelector, Target};
use crate::seclang::diag::{Diagnostic, nearest};
use crate::seclang::source::{Span, Spanned};
use crate::vocab::transformations;

/// Where an action list stands; some actions are refused in some places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// `SecRule` or `SecAction` outside or at the start of a chain.
    Rule,
    /// A later link of a chain.
    Link,
    /// `SecDefaultAction`.
    Default,
    /// `SecRuleUpdateActionById`.
    Update,
    /// `SecRuleUpdateActionById` of a later link.
    UpdateLink,
}

/// What an action list says. `None` and empty mean: not written.
#[derive(Clone, Default, Debug)]
pub(super) struct ActionSet {
    pub(super) id: Option<Spanned<RuleId>>,
    /// An id was written and could not be read; that has been reported.
    pub(super) bad_id: bool,
    pub(super) phase: Option<Phase>,
    pub(super) disruptive: Option<DisruptiveDraft>,
    pub(super) status: Option<u16>,
    pub(super) log: Option<bool>,
    pub(super) audit: Option<bool>,
    pub(super) msg: Option<Spanned<Vec<u8>>>,
    pub(super) logdata: Option<Spanned<Vec<u8>>>,
    pub(super) severity: Option<Severity>,
    pub(super) tags: Vec<Spanned<Vec<u8>>>,
    pub(super) ver: Option<Vec<u8>>,
    pub(super) rev: Option<Vec<u8>>,
    pub(super) maturity: Option<Vec<u8>>,
    pub(super) accuracy: Option<Vec<u8>>,
    pub(super) steps: Vec<TransformationStep>,
    pub(super) multi_match: bool,
    pub(super) capture: bool,
    pub(super) chain: bool,
    pub(super) skip: Option<u32>,
    pub(super) skip_after: Option<Spanned<String>>,
    pub(super) effects: Vec<EffectDraft>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum DisruptiveDraft {
    Pass,
    Block,
    Deny,
    Drop,
    Redirect(Spanned<Vec<u8>>),
    Allow(AllowScope),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TransformationStep {
    /// `t:none`
    None,
    /// `t:name`, a place in the table.
    Add(usize),
    /// `t:-name`
    Remove(usize),
}

/// `setvar` and `ctl`, names and rule sets not yet resolved.
#[derive(Clone, Debug)]
pub(super) enum EffectDraft {
    SetVar(Spanned<Vec<u8>>),
    RuleEngine(EngineMode),
    AuditEngine(AuditEngine),
    AuditLogParts(PartsChange),
    RequestBodyAccess(bool),
    RequestBodyLimit(usize),
    RequestBodyProcessor(String),
    ForceRequestBodyVariable(bool),
    RemoveRules(Vec<RuleSelector>),
    RemoveTargets(Vec<RuleSelector>, Vec<Target>),
}

impl ActionSet {
    /// What holds where no `SecDefaultAction` is given: `log,auditlog,pass`.
    pub(super) fn built_in_default() -> Self {
        Self { disruptive: Some(DisruptiveDraft::Pass), log: Some(true), audit: Some(true), ..Self::default() }
    }

    /// Lays `own` over this set: single values replace, lists add up.
    pub(super) fn merge(&mut self, own: Self) {
        self.id = own.id.or(self.id.take());
        self.phase = own.phase.or(self.phase.take());
        self.disruptive = own.disruptive.or(self.disruptive.take());
        self.status = own.status.or(self.status.take());
        self.log = own.log.or(self.log.take());
        self.audit = own.audit.or(self.audit.take());
        self.msg = own.msg.or(self.msg.take());
        self.logdata = own.logdata.or(self.logdata.take());
        self.severity = own.severity.or(self.severity.take());
        self.tags.extend(own.tags);
        self.ver = own.ver.or(self.ver.take());
        self.rev = own.rev.or(self.rev.take());
        self.maturity = own.maturity.or(self.maturity.take());
        self.accuracy = own.accuracy.or(self.accuracy.take());
        self.steps.extend(own.steps);
        self.multi_match |= own.multi_match;
        self.capture |= own.capture;
        self.skip = own.skip.or(self.skip.take());
        self.skip_after = own.skip_after.or(self.skip_after.take());
        self.effects.extend(own.effects);
    }

    /// The transformations that the steps come to, as places in the table.
    pub(super) fn transformations(&self) -> Vec<usize> {
        let mut list = Vec::new();
        for step in &self.steps {
            match step {
                TransformationStep::None => list.clear(),
                TransformationStep::Add(place) => list.push(*place),
                TransformationStep::Remove(place) => list.retain(|other| other != place),
            }
        }
        list
    }
}

/// How an action's value is read.
type Read = fn(&mut Compiler<'_>, &Action, &mut ActionSet);

/// A row of the table of actions.
struct Row {
    name: &'static str,
    /// Refused in the later links of a chain: what they mean belongs to the whole chain.
    starter_only: bool,
    read: Read,
}

const fn row(name: &'static str, starter_only: bool, read: Read) -> Row {
    Row { name, starter_only, read }
}

/// Every action known, sorted by name without regard to case.
const ACTIONS: &[Row] = &[
    row("accuracy", true, |c, a, s| s.accuracy = c.text(a)),
    row("allow", true, |c, a, s| s.disruptive = c.allow(a)),
    row("append", false, |c, a, _| c.refuse(a, "changes responses")),
    row("auditlog", false, |_, _, s| s.audit = Some(true)),
    row("block", true, |_, _, s| s.disruptive = Some(DisruptiveDraft::Block)),
    row("capture", false, |_, _, s| s.capture = true),
    row("chain", false, |_, _, s| s.chain = true),
    row("ctl", false, |c, a, s| c.ctl(a, s)),
    row("deny", true, |_, _, s| s.disruptive = Some(DisruptiveDraft::Deny)),
    row("deprecatevar", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("drop", true, |_, _, s| s.disruptive = Some(DisruptiveDraft::Drop)),
    row("exec", false, |c, a, _| c.refuse(a, "runs a program")),
    row("expirevar", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("id", true, |c, a, s| c.id(a, s)),
    row("initcol", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("log", false, |_, _, s| (s.log, s.audit) = (Some(true), Some(true))),
    row("logdata", true, |c, a, s| s.logdata = c.value(a)),
    row("maturity", true, |c, a, s| s.maturity = c.text(a)),
    row("msg", true, |c, a, s| s.msg = c.value(a)),
    row("multiMatch", false, |_, _, s| s.multi_match = true),
    row("noauditlog", false, |_, _, s| s.audit = Some(false)),
    row("nolog", false, |_, _, s| (s.log, s.audit) = (Some(false), Some(false))),
    row("pass", true, |_, _, s| s.disruptive = Some(DisruptiveDraft::Pass)),
    row("pause", false, |c, a, _| c.no_effect(a, "a pause would hold up the proxy")),
    row("phase", true, |c, a, s| s.phase = c.phase(a)),
    row("prepend", false, |c, a, _| c.refuse(a, "changes responses")),
    row("proxy", true, |c, a, _| c.refuse(a, "hands the request to another server")),
    row("redirect", true, |c, a, s| s.disruptive = c.value(a).map(DisruptiveDraft::Redirect)),
    row("rev", true, |c, a, s| s.rev = c.text(a)),
    row("sanitiseArg", false, |c, a, _| c.no_effect(a, "masking of single arguments is not supported")),
    row("sanitiseMatched", false, |c, a, _| c.no_effect(a, "masking of single values is not supported")),
    row("sanitiseMatchedBytes", false, |c, a, _| c.no_effect(a, "masking of single values is not supported")),
    row("sanitiseRequestHeader", false, |c, a, _| c.no_effect(a, "masking of single headers is not supported")),
    row("sanitiseResponseHeader", false, |c, a, _| c.no_effect(a, "responses are not inspected")),
    row("setenv", false, |c, a, _| c.no_effect(a, "the proxy's environment is out of reach")),
    row("setrsc", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("setsid", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("setuid", false, |c, a, _| c.no_effect(a, "there is no persistent storage")),
    row("setvar", false, |c, a, s| s.effects.extend(c.value(a).map(EffectDraft::SetVar))),
    row("severity", true, |c, a, s| s.severity = c.severity(a)),
    row("skip", true, |c, a, s| s.skip = c.number(a)),
    row("skipAfter", true, |c, a, s| s.skip_after = c.name(a)),
    row("status", false, |c, a, s| s.status = c.status(a)),
    row("t", false, |c, a, s| s.steps.extend(c.transformation(a))),
    row("tag", false, |c, a, s| s.tags.extend(c.value(a))),
    row("ver", true, |c, a, s| s.ver = c.text(a)),
    row("xmlns", false, |c, a, _| c.no_effect(a, "only `XML:/*` and `XML://@*` are supported")),
];

impl Compiler<'_> {
    /// Reads an action list; what is wrong is reported and left out.
    pub(super) fn read_actions(&mut self, actions: &[Action], role: Role) -> ActionSet {
        let mut set = ActionSet::default();
        self.rule_read = self.rule_of(actions, role);
        for action in actions {
            let name = action.name.node.as_str();
            match ACTIONS.iter().find(|row| row.name.eq_ignore_ascii_case(name)) {
                Some(row) => {
                    if self.is_in_place(row, action, role) {
                        (row.read)(self, action, &mut set);
                    }
                }
                None => self.unknown_action(action),
            }
        }
        set
    }

    /// The rule that a list belongs to, if it has been given an id by then; for what is said about its actions.
    fn rule_of(&self, actions: &[Action], role: Role) -> Option<RuleId> {
        let own = || actions.iter().find(|action| action.name.node.eq_ignore_ascii_case("id"))?.value.as_ref();
        match role {
            Role::Rule => RuleId::new(std::str::from_utf8(own()?.node.trim_ascii()).ok()?.parse().ok()?),
            Role::Link => self.drafts.last().filter(|_| !self.chain_lost).map(|starter| starter.id),
            Role::Default | Role::Update | Role::UpdateLink => None,
        }
    }

    /// What a later rule of a chain says about the chain as a whole: the first rule's word counts, as in `ModSecurity` 2,
    /// and one that differs is not heard.
    pub(super) fn unheard(&mut self, actions: &[Action], id: RuleId, (log, audit): (Option<bool>, Option<bool>)) {
        for action in actions {
            let heard = match action.name.node.to_ascii_lowercase().as_str() {
                "status" | "tag" => false,
                "log" => log != Some(false),
                "nolog" => log == Some(false),
                "auditlog" => audit != Some(false),
                "noauditlog" => audit == Some(false),
                _ => true,
            };
            if !heard {
                let name = &action.name.node;
                let message = format!("`{name}` has no effect in a later rule of a chain: that of rule {id} counts");
                let help = "move it to the first rule of the chain";
                self.diagnostics.push(Diagnostic::warning(action.span, message).with_help(help));
            }
        }
    }

    fn unknown_action(&mut self, action: &Action) {
        let name = &action.name;
        let message = format!("unknown action `{}`", name.node);
        match nearest(&name.node, ACTIONS.iter().map(|row| row.name)) {
            Some(near) => self.error_with_help(name.span, message, format!("did you mean `{near}`?")),
            None => self.error(name.span, message),
        }
    }

    fn is_in_place(&mut self, row: &Row, action: &Action, role: Role) -> bool {
        let (refused, place) = match role {
            Role::Rule => (false, ""),
            Role::Link => (row.starter_only, "a later rule of a chain"),
            Role::Default => (
                ["id", "rev", "msg", "ver", "chain", "skip", "skipAfter", "maturity", "accuracy"].contains(&row.name),
                "`SecDefaultAction`",
            ),
            Role::Update => (["id", "phase", "chain"].contains(&row.name), "`SecRuleUpdateActionById`"),
            Role::UpdateLink => {
                (row.starter_only || row.name == "chain", "`SecRuleUpdateActionById` of a later rule of a chain")
            }
        };
        if refused {
            let help = if role == Role::Link { "move it to the first rule of the chain" } else { "remove it" };
            self.error_with_help(action.span, format!("`{}` is not allowed in {place}", row.name), help);
        }
        !refused
    }

    /// `SecDefaultAction`: for the rules of its phase that follow.
    pub(super) fn default_action(&mut self, span: Span, actions: &[Action]) {
        // `block` asks for what the default says; in the default itself it says nothing.
        let told = |action: &&Action| !action.name.node.eq_ignore_ascii_case("block");
        let actions: Vec<_> = actions.iter().filter(told).cloned().collect();
        let set = self.read_actions(&actions, Role::Default);
        let Some(phase) = set.phase else {
            return self.error_with_help(span, "`SecDefaultAction` names no phase", "add `phase:1` to `phase:5`");
        };
        if set.disruptive.is_none() {
            return self.error_with_help(
                span,
                "`SecDefaultAction` names no disruptive action",
                "add `pass` for anomaly scoring or `deny,status:403` for blocking at the first match",
            );
        }
        let mut default = ActionSet::built_in_default();
        default.merge(set);
        if let Some(place) = self.defaults.get_mut(phase.index()) {
            *place = Some(default);
        }
    }

    fn refuse(&mut self, action: &Action, why: &str) {
        let message = format!("`{}` is not supported: it {why}", action.name.node);
        self.error_with_help(action.span, message, "remove the action; a sidecar only says allow or deny");
    }

    fn no_effect(&mut self, action: &Action, why: &str) {
        let rule = self.rule_read.map(|id| format!(" in rule {id}")).unwrap_or_default();
        self.warning(action.span, format!("`{}` has no effect{rule}: {why}", action.name.node));
    }

    /// The value of an action that needs one.
    pub(super) fn value(&mut self, action: &Action) -> Option<Spanned<Vec<u8>>> {
        if action.value.is_none() {
            let name = &action.name.node;
            self.error_with_help(action.span, format!("`{name}` needs a value"), format!("write `{name}:VALUE`"));
        }
        action.value.clone()
    }

    fn text(&mut self, action: &Action) -> Option<Vec<u8>> {
        self.value(action).map(|value| value.node)
    }

    /// The value as text, blanks around it removed, and its place.
    fn name(&mut self, action: &Action) -> Option<Spanned<String>> {
        let value = self.value(action)?;
        let node = String::from_utf8_lossy(value.node.trim_ascii()).into_owned();
        Some(Spanned { node, span: value.span })
    }

    fn bad_value(&mut self, action: &Action, value: &Spanned<String>, help: &str) {
        let message = format!("`{}` is no value of `{}`", value.node, action.name.node);
        self.error_with_help(value.span, message, help);
    }

    fn number(&mut self, action: &Action) -> Option<u32> {
        let value = self.name(action)?;
        let number = value.node.parse().ok();
        if number.is_none() {
            self.bad_value(action, &value, "write a number");
        }
        number
    }

    fn id(&mut self, action: &Action, set: &mut ActionSet) {
        let Some(value) = self.name(action) else {
            set.bad_id = true;
            return;
        };
        match value.node.parse().ok().and_then(RuleId::new) {
            Some(id) => set.id = Some(Spanned { node: id, span: value.span }),
            None => {
                set.bad_id = true;
                self.bad_value(action, &value, "write a whole number from 1 to 4294967295");
            }
        }
    }

    fn phase(&mut self, action: &Action) -> Option<Phase> {
        let value = self.name(action)?;
        let phase = match value.node.to_ascii_lowercase().as_str() {
            "request" => Some(Phase::RequestBody),
            "response" => Some(Phase::ResponseBody),
            "logging" => Some(Phase::Logging),
            number => number.parse().ok().and_then(Phase::from_number),
        };
        if phase.is_none() {
            self.bad_value(action, &value, "write a number from 1 to 5, `request`, `response` or `logging`");
        }
        phase
    }

    fn severity(&mut self, action: &Action) -> Option<Severity> {
        let value = self.name(action)?;
        let severity = Severity::parse(&value.node);
        if severity.is_none() {
            self.bad_value(action, &value, "write `CRITICAL`, `ERROR`, `WARNING`, `NOTICE` or a number from 0 to 7");
        }
        severity
    }

    fn status(&mut self, action: &Action) -> Option<u16> {
        let value = self.name(action)?;
        let status = value.node.parse().ok().filter(|status| (100..=599).contains(status));
        if status.is_none() {
            self.bad_value(action, &value, "write an HTTP status from 100 to 599");
        }
        status
    }

    fn allow(&mut self, action: &Action) -> Option<DisruptiveDraft> {
        if action.value.is_none() {
            return Some(DisruptiveDraft::Allow(AllowScope::All));
        }
        let value = self.name(action)?;
        let scope = match value.node.to_ascii_lowercase().as_str() {
            "phase" => AllowScope::Phase,
            "request" => AllowScope::Request,
            _ => {
                self.bad_value(action, &value, "write `allow`, `allow:phase` or `allow:request`");
                return None;
            }
        };
        Some(DisruptiveDraft::Allow(scope))
    }

    fn transformation(&mut self, action: &Action) -> Option<TransformationStep> {
        let value = self.name(action)?;
        if value.node.eq_ignore_ascii_case("none") {
            return Some(TransformationStep::None);
        }
        let (name, removed) = value.node.strip_prefix('-').map_or((value.node.as_str(), false), |name| (name, true));
        let Some(place) = transformations::find(name) else {
            let message = format!("unknown transformation `{name}`");
            let names = transformations::TRANSFORMATIONS.iter().map(|row| row.name);
            match nearest(name, names) {
                Some(near) => self.error_with_help(value.span, message, format!("did you mean `t:{near}`?")),
                None => self.error(value.span, message),
            }
            return None;
        };
        Some(if removed { TransformationStep::Remove(place) } else { TransformationStep::Add(place) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_actions_is_sorted() {
        for pair in ACTIONS.windows(2) {
            assert!(pair[0].name.to_lowercase() < pair[1].name.to_lowercase(), "{} {}", pair[0].name, pair[1].name);
        }
    }
}
