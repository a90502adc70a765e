//! `SecRuleRemove…` and `SecRuleUpdate…`: they act on the rules loaded so far.

use std::collections::BTreeSet;

use regex::bytes::RegexBuilder;

use super::Compiler;
use super::actions::{ActionSet, DisruptiveDraft, Role};
use super::draft::Draft;
use super::effects::{describe, selects};
use crate::model::{Phase, RuleId};
use crate::seclang::ast::{Action, Key, RuleSelector, Target};
use crate::seclang::diag::Diagnostic;
use crate::vocab::variables::Variable;

/// What removal by `ctl` is called; it sees all rules, wherever it stands.
pub(super) const RUN_TIME: &str = "run-time removal";

impl Compiler<'_> {
    pub(super) fn remove_rules(&mut self, selectors: &[RuleSelector]) {
        for selector in selectors {
            let before = self.drafts.len();
            let removed: Vec<(usize, Draft)> = extract(&mut self.drafts, |draft| selects(selector, draft));
            if removed.is_empty() {
                let drafts = std::mem::take(&mut self.drafts);
                self.nothing_selected(&drafts, selector, "removal");
                self.drafts = drafts;
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
        self.scores_unheeded = true;
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

    pub(super) fn update_targets(&mut self, rules: &[RuleSelector], targets: &[Target], replaced: &[Target]) {
        let mut drafts = std::mem::take(&mut self.drafts);
        for selector in rules {
            let mut updated: Vec<&mut Draft> = drafts.iter_mut().filter(|draft| selects(selector, draft)).collect();
            let useless = if replaced.is_empty() {
                let unread = |target: &&Target| !updated.iter().any(|draft| concerns(target, draft));
                targets.iter().filter(unread).collect()
            } else {
                let absent = |old: &&Target| !updated.iter().any(|draft| has_target(old, draft));
                replaced.iter().filter(absent).collect::<Vec<_>>()
            };
            for draft in &mut updated {
                if replaced.is_empty() {
                    extend_targets(draft, targets)
                } else {
                    replace_targets(draft, targets, replaced)
                }
            }
            let updated: Vec<&Draft> = updated.into_iter().map(|draft| &*draft).collect();
            for target in useless.into_iter().filter(|_| !updated.is_empty()) {
                self.unread(std::slice::from_ref(selector), target, &updated);
            }
            if updated.is_empty() {
                self.nothing_selected(&drafts, selector, "update");
            }
        }
        self.drafts = drafts;
    }

    pub(super) fn update_actions(&mut self, rules: &[RuleSelector], link: u32, actions: &[Action]) {
        let role = if link == 0 { Role::Update } else { Role::UpdateLink };
        let set = self.read_actions(actions, role);
        let mut drafts = std::mem::take(&mut self.drafts);
        for selector in rules {
            let mut any = false;
            for draft in drafts.iter_mut().filter(|draft| selects(selector, draft)) {
                any = true;
                let mut set = set.clone();
                self.resolve_block(draft, &mut set);
                if silences(&set) && judges_scores(draft) {
                    self.nothing_blocks(draft.id, selector);
                }
                if link == 0 {
                    draft.actions.merge(set.clone());
                } else {
                    self.unheard(actions, draft.id, (draft.actions.log, draft.actions.audit));
                }
                match draft.links.get_mut(link as usize) {
                    Some(link) => link.actions.merge(set),
                    None => self.no_such_link(selector, draft, link),
                }
            }
            if !any {
                self.nothing_selected(&drafts, selector, "update");
            }
        }
        self.drafts = drafts;
    }

    /// `block` means what the default of the rule's phase says, whatever the rule said before.
    fn resolve_block(&self, draft: &Draft, set: &mut ActionSet) {
        if matches!(set.disruptive, Some(DisruptiveDraft::Block)) {
            let default = self.defaults.get(draft.phase.index()).cloned().flatten();
            let default = default.unwrap_or_else(ActionSet::built_in_default);
            set.disruptive = default.disruptive;
            set.status = set.status.or(default.status);
        }
    }

    fn no_such_link(&mut self, selector: &RuleSelector, draft: &Draft, link: u32) {
        let message = format!("the update has no effect: rule {} has no link {link} in its chain", draft.id);
        let help = format!("links are counted from 0; the last one is {}", draft.links.len().saturating_sub(1));
        self.diagnostics.push(Diagnostic::warning(selector.span(), message).with_help(help));
    }

    pub(super) fn nothing_selected(&mut self, drafts: &[Draft], selector: &RuleSelector, what: &str) {
        let message = format!("the {what} of {} matches no rule", describe(selector));
        let at_run_time = what == RUN_TIME;
        let help = match selector {
            RuleSelector::Ids(_) => "correct the id".to_owned(),
            RuleSelector::Tag(tag) => {
                let tags = drafts.iter().flat_map(|draft| &draft.actions.tags);
                whole("tags", &tag.node, tags.map(|tag| tag.node.as_slice()))
            }
            RuleSelector::Msg(msg) => {
                let texts = drafts.iter().filter_map(|draft| draft.actions.msg.as_ref());
                whole("messages", &msg.node, texts.map(|msg| msg.node.as_slice()))
            }
        };
        let order = if at_run_time { "" } else { "it acts on rules loaded before it; move it behind them, or " };
        let help = format!("{order}{help}");
        self.diagnostics.push(Diagnostic::warning(selector.span(), message).with_help(help));
    }
}

/// Removals written for ModSecurity 2 give a pattern; tells what is compared here, and what the pattern would find.
fn whole<'d>(what: &str, text: &[u8], all: impl Iterator<Item = &'d [u8]>) -> String {
    let mut help =
        format!("correct the text: {what} are compared whole, not searched for a pattern as in ModSecurity 2");
    let pattern = RegexBuilder::new(&String::from_utf8_lossy(text)).case_insensitive(true).unicode(false).build();
    let found: BTreeSet<&[u8]> =
        pattern.map(|pattern| all.filter(|one| pattern.is_match(one)).collect()).unwrap_or_default();
    let shown: Vec<_> = found.iter().take(3).map(|one| format!("`{}`", String::from_utf8_lossy(one))).collect();
    if !shown.is_empty() && !text.is_empty() {
        let more = if found.len() > shown.len() { " and others" } else { "" };
        help.push_str(&format!("; name each of {}{more}", shown.join(", ")));
    }
    help
}

/// An exclusion holds for the whole chain, as in Coraza: a link that still sees the value would undo it. New targets
/// belong to the starter.
fn extend_targets(draft: &mut Draft, targets: &[Target]) {
    for (number, link) in draft.links.iter_mut().enumerate() {
        link.targets.extend(targets.iter().filter(|target| target.negated || number == 0).cloned());
    }
}

/// New targets stand in for the old ones wherever these stood, in the starter or in a link; exclusions hold for the
/// whole chain.
fn replace_targets(draft: &mut Draft, targets: &[Target], replaced: &[Target]) {
    for link in &mut draft.links {
        let before = link.targets.len();
        link.targets.retain(|own| !replaced.iter().any(|old| same(own, old)));
        let here = link.targets.len() < before;
        link.targets.extend(targets.iter().filter(|target| target.negated || here).cloned());
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

/// Whether an update makes an onlooker of a rule that denies.
const fn silences(set: &ActionSet) -> bool {
    matches!(set.disruptive, Some(DisruptiveDraft::Pass | DisruptiveDraft::Allow(_)))
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

/// Whether an added target is looked at, or an exclusion meets something that the rule reads.
fn concerns(target: &Target, draft: &Draft) -> bool {
    let has_operator = || draft.links.first().is_some_and(|link| link.operator.is_some());
    if target.negated { is_read(target, draft) } else { has_operator() }
}

/// The targets of a rule and its chain that are no exclusions.
fn reads(draft: &Draft) -> impl Iterator<Item = &Target> {
    draft.links.iter().flat_map(|link| &link.targets).filter(|target| !target.negated)
}

/// Whether an exclusion can meet a member that the rule reads.
pub(super) fn is_read(exclusion: &Target, draft: &Draft) -> bool {
    reads(draft).any(|own| {
        own.name.node.eq_ignore_ascii_case(&exclusion.name.node)
            && match (&own.key, &exclusion.key) {
                (Some(own), Some(excluded)) => overlap(&own.node, &excluded.node),
                _ => true,
            }
    })
}

/// What a rule reads, for people.
pub(super) fn names_read(draft: &Draft) -> String {
    let names: BTreeSet<String> = reads(draft).map(|target| target.name.node.to_ascii_uppercase()).collect();
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether a key that is read may be one that is excluded; two patterns may always meet.
fn overlap(own: &Key, excluded: &Key) -> bool {
    let find = |pattern: &[u8], name: &[u8]| {
        let pattern = String::from_utf8_lossy(pattern);
        let built = RegexBuilder::new(&pattern).case_insensitive(true).unicode(false).build();
        built.map_or(true, |pattern| pattern.is_match(name))
    };
    match (own, excluded) {
        (Key::Regex(_), Key::Regex(_)) => true,
        (Key::Regex(pattern), Key::Literal(name)) | (Key::Literal(name), Key::Regex(pattern)) => find(pattern, name),
        (Key::Literal(own) | Key::XPath(own), Key::Literal(other) | Key::XPath(other)) => {
            own.eq_ignore_ascii_case(other)
        }
        (Key::XPath(_), Key::Regex(_)) | (Key::Regex(_), Key::XPath(_)) => false,
    }
}

/// Whether the rule has this target, not as an exclusion unless it is one.
fn has_target(target: &Target, draft: &Draft) -> bool {
    draft.links.iter().flat_map(|link| &link.targets).any(|own| same(own, target))
}

/// Whether two targets are the same, case of names left aside. `!` before the old target of a replacement means nothing.
fn same(one: &Target, other: &Target) -> bool {
    let keys = (one.key.as_ref().map(|key| &key.node), other.key.as_ref().map(|key| &key.node));
    one.name.node.eq_ignore_ascii_case(&other.name.node)
        && one.count == other.count
        && match keys {
            (Some(Key::Literal(one)), Some(Key::Literal(other))) => one.eq_ignore_ascii_case(other),
            (one, other) => one == other,
        }
}
