//! Rules as written, names not yet resolved: what removals and updates work on.

use super::Compiler;
use super::actions::{ActionSet, DisruptiveDraft, Role};
use crate::model::{Phase, RuleId, RuleInfo};
use crate::seclang::ast::{Action, OperatorExpr, Target};
use crate::seclang::diag::Diagnostic;
use crate::seclang::source::{Sources, Span};

/// A rule with its chain.
pub(super) struct Draft {
    pub(super) span: Span,
    pub(super) id: RuleId,
    pub(super) phase: Phase,
    /// The starter's actions, default actions merged in. Transformations and effects are those of the first link.
    pub(super) actions: ActionSet,
    pub(super) links: Vec<DraftLink>,
}

/// One link.
pub(super) struct DraftLink {
    pub(super) span: Span,
    pub(super) targets: Vec<Target>,
    /// `None` for `SecAction`.
    pub(super) operator: Option<OperatorExpr>,
    pub(super) actions: ActionSet,
}

impl DraftLink {
    pub(super) fn rule(span: Span, targets: &[Target], operator: &OperatorExpr) -> Self {
        Self { span, targets: targets.to_vec(), operator: Some(operator.clone()), actions: ActionSet::default() }
    }

    pub(super) fn action(span: Span) -> Self {
        Self { span, targets: Vec::new(), operator: None, actions: ActionSet::default() }
    }
}

impl Draft {
    /// What is fixed about the rule.
    pub(super) fn info(&self, sources: &Sources) -> RuleInfo {
        let actions = &self.actions;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let written = |value: &Option<Vec<u8>>| value.as_deref().map(text).unwrap_or_default();
        RuleInfo {
            id: self.id,
            phase: self.phase,
            file: sources.path(self.span.file),
            line: self.span.line,
            msg: actions.msg.as_ref().map(|msg| text(&msg.node)).unwrap_or_default(),
            severity: actions.severity,
            tags: actions.tags.iter().map(|tag| text(&tag.node)).collect(),
            ver: written(&actions.ver),
            rev: written(&actions.rev),
            maturity: written(&actions.maturity),
            accuracy: written(&actions.accuracy),
        }
    }

    /// Whether a tag is among the rule's, as written.
    pub(super) fn has_tag(&self, tag: &[u8]) -> bool {
        self.actions.tags.iter().any(|own| own.node == tag)
    }

    /// Whether the rule's message is this text, as written.
    pub(super) fn has_msg(&self, msg: &[u8]) -> bool {
        self.actions.msg.as_ref().is_some_and(|own| own.node == msg)
    }
}

impl Compiler<'_> {
    /// Adds a rule, or a link to the open chain.
    pub(super) fn rule(&mut self, span: Span, mut link: DraftLink, actions: &[Action]) {
        let in_chain = std::mem::take(&mut self.chain_open);
        let role = if in_chain { Role::Link } else { Role::Rule };
        let set = self.read_actions(actions, role);
        self.chain_open = set.chain;
        if in_chain {
            link.actions = set;
            if !self.chain_lost
                && let Some(starter) = self.drafts.last_mut()
            {
                starter.links.push(link);
                let (id, logs) = (starter.id, (starter.actions.log, starter.actions.audit));
                self.unheard(actions, id, logs);
            }
            return;
        }
        self.chain_lost = self.starter(span, link, set).is_none();
    }

    fn starter(&mut self, span: Span, mut link: DraftLink, own: ActionSet) -> Option<()> {
        let id = self.check_id(span, &own)?;
        let phase = own.phase.unwrap_or(Phase::RequestBody);
        let default = self.defaults.get(phase.index()).cloned().flatten().unwrap_or_else(ActionSet::built_in_default);
        if phase == Phase::Logging && matches!(own.disruptive, Some(DisruptiveDraft::Deny | DisruptiveDraft::Drop)) {
            self.warning(span, format!("rule {id} denies in phase 5, where the request has been answered already"));
        }
        let mut actions = default;
        let default_disruptive = (actions.disruptive.clone(), actions.status);
        actions.merge(own);
        if matches!(actions.disruptive, Some(DisruptiveDraft::Block)) {
            actions.disruptive = default_disruptive.0;
            actions.status = actions.status.or(default_disruptive.1);
        }
        link.actions = actions.clone();
        self.drafts.push(Draft { span, id, phase, actions, links: vec![link] });
        Some(())
    }

    fn check_id(&mut self, span: Span, actions: &ActionSet) -> Option<RuleId> {
        let Some(id) = &actions.id else {
            if !actions.bad_id {
                self.error_with_help(
                    span,
                    "the rule has no id",
                    "add `id:NUMBER` with a number that no other rule has",
                );
            }
            return None;
        };
        if let Some(other) = self.drafts.iter().find(|draft| draft.id == id.node) {
            let place = format!("{}:{}", self.sources.path(other.span.file), other.span.line);
            let error = Diagnostic::error(id.span, format!("rule id {} is taken by the rule at {place}", id.node));
            self.diagnostics.push(error.with_help("give one of the two another id"));
            return None;
        }
        Some(id.node)
    }
}
