//! `SecRuleRemove…` and `SecRuleUpdate…`: they act on the rules loaded so far.

use super::Compiler;
use super::actions::{DisruptiveDraft, Role};
use super::draft::Draft;
use super::effects::{describe, selects};
use crate::model::{Phase, RuleId};
use crate::seclang::ast::{Action, Key, RuleSelector, Target};
use crate::seclang::diag::Diagnostic;
use crate::vocab::variables::Variable;

impl Compiler<'_> {
    pub(super) fn remove_rules(&mut self, selectors: &[RuleSelector]) {
        for selector in selectors {
            let before = self.drafts.len();
            let removed: Vec<(usize, Draft)> = extract(&mut self.drafts, |draft| selects(selector, draft));
            if removed.is_empty() {
                self.nothing_selected(selector, "removal");
            }
            // Markers stand between drafts; those behind a removed draft move up.
            for marker in &mut self.markers {
                marker.before -= removed.iter().filter(|(place, _)| *place < marker.before).count();
            }
            debug_assert_eq!(before, self.drafts.len() + removed.len());
            for (_, draft) in removed.iter().filter(|(_, draft)| judges_scores(draft)) {
                self.nothing_blocks(draft.id, selector);
            }
        }
    }

    /// Accepted, since somebody may want it, and never in silence.
    fn nothing_blocks(&mut self, judge: RuleId, selector: &RuleSelector) {
        let message = format!("rule {judge} turns anomaly scores into denials; without it nothing is blocked");
        self.diagnostics.push(
            Diagnostic::warning(selector.span(), message)
                .with_help("use detection mode, or remove the rules that score falsely"),
        );
    }

    /// A removal at run time that takes away what acts on the score and leaves the rules that look at requests. One that
    /// takes away both is how whole requests are let through on purpose, as the CRS itself does.
    pub(super) fn judge_removed(&mut self, drafts: &[Draft], selector: &RuleSelector) {
        let selected = || drafts.iter().filter(|draft| selects(selector, draft));
        if selected().any(looks_at_requests) {
            return;
        }
        selected().filter(|draft| judges_scores(draft)).for_each(|judge| self.nothing_blocks(judge.id, selector));
    }

    /// Judges that an update of their actions turns into onlookers.
    fn judges_silenced(&mut self, selector: &RuleSelector) {
        let judges = self.drafts.iter().filter(|draft| selects(selector, draft) && judges_scores(draft));
        let judges: Vec<RuleId> = judges.map(|judge| judge.id).collect();
        judges.into_iter().for_each(|judge| self.nothing_blocks(judge, selector));
    }

    pub(super) fn update_targets(&mut self, rules: &[RuleSelector], targets: &[Target], replaced: &[Target]) {
        for selector in rules {
            let mut any = false;
            let mut useful = false;
            for draft in self.drafts.iter_mut().filter(|draft| selects(selector, draft)) {
                any = true;
                useful |= targets.iter().any(|target| concerns(target, draft));
                // An exclusion holds for the whole chain, as in Coraza: a link that still sees the value would undo it.
                // New targets belong to the starter.
                for (number, link) in draft.links.iter_mut().enumerate() {
                    link.targets.retain(|own| !replaced.iter().any(|old| same(own, old)));
                    link.targets.extend(targets.iter().filter(|target| target.negated || number == 0).cloned());
                }
            }
            if !any {
                self.nothing_selected(selector, "update");
            } else if !useful {
                let message =
                    format!("the update of {} has no effect: no target of theirs is concerned", describe(selector));
                self.warning(selector.span(), message);
            }
        }
    }

    pub(super) fn update_actions(&mut self, rules: &[RuleSelector], link: u32, actions: &[Action]) {
        let set = self.read_actions(actions, Role::Update);
        for selector in rules {
            if matches!(set.disruptive, Some(DisruptiveDraft::Pass | DisruptiveDraft::Allow(_))) && link == 0 {
                self.judges_silenced(selector);
            }
            let mut any = false;
            for draft in self.drafts.iter_mut().filter(|draft| selects(selector, draft)) {
                any = true;
                let mut set = set.clone();
                if matches!(set.disruptive, Some(DisruptiveDraft::Block)) {
                    set.disruptive = None;
                }
                if link == 0 {
                    draft.actions.merge(set.clone());
                }
                if let Some(link) = draft.links.get_mut(link as usize) {
                    link.actions.merge(set);
                }
            }
            if !any {
                self.nothing_selected(selector, "update");
            }
        }
    }

    fn nothing_selected(&mut self, selector: &RuleSelector, what: &str) {
        let diagnostic =
            Diagnostic::warning(selector.span(), format!("the {what} of {} matches no rule", describe(selector)))
                .with_help("it acts on rules loaded before it; move it behind them or correct the selector");
        self.diagnostics.push(diagnostic);
    }
}

/// Takes the items that `wanted` picks out of a list, with the places they had.
fn extract<T>(list: &mut Vec<T>, wanted: impl Fn(&T) -> bool) -> Vec<(usize, T)> {
    let mut taken = Vec::new();
    let mut kept = Vec::with_capacity(list.len());
    for (place, item) in std::mem::take(list).into_iter().enumerate() {
        if wanted(&item) { taken.push((place, item)) } else { kept.push(item) }
    }
    *list = kept;
    taken
}

/// Whether a rule reads anything but what other rules have computed.
fn looks_at_requests(draft: &Draft) -> bool {
    let mut targets = draft.links.iter().flat_map(|link| &link.targets);
    targets.any(|target| !target.negated && Variable::find(&target.name.node) != Some(Variable::Tx))
}

/// Whether a rule denies a request by comparing an anomaly score.
fn judges_scores(draft: &Draft) -> bool {
    let key = |target: &Target| match target.key.as_ref().map(|key| &key.node) {
        Some(Key::Literal(name)) => name.to_ascii_lowercase(),
        _ => Vec::new(),
    };
    let scores = |target: &Target| key(target).windows(b"anomaly_score".len()).any(|part| part == b"anomaly_score");
    matches!(draft.phase, Phase::RequestHeaders | Phase::RequestBody)
        && matches!(draft.actions.disruptive, Some(DisruptiveDraft::Deny | DisruptiveDraft::Drop))
        && draft.links.iter().flat_map(|link| &link.targets).any(scores)
}

/// Whether an added target is new, or an exclusion meets a variable that the rule reads.
fn concerns(target: &Target, draft: &Draft) -> bool {
    let reads = |own: &Target| !own.negated && own.name.node.eq_ignore_ascii_case(&target.name.node);
    !target.negated || draft.links.iter().flat_map(|link| &link.targets).any(reads)
}

/// Whether two targets are the same text, case of names left aside.
fn same(one: &Target, other: &Target) -> bool {
    one.name.node.eq_ignore_ascii_case(&other.name.node)
        && one.count == other.count
        && one.key.as_ref().map(|key| &key.node) == other.key.as_ref().map(|key| &key.node)
}
