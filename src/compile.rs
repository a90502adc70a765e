//! Syntax tree to [`RuleSet`]: names are resolved, matchers built, data files read, removals and updates applied, jumps
//! turned into places. The only module that sees both the text and the compiled rules.
//!
//! Knows no request. Reports everything it finds; nothing is half-loaded.

mod actions;
mod ctl;
mod draft;
mod effects;
mod footprint;
mod operators;
mod prefilter;
mod report;
mod settings;
mod targets;
mod templates;
#[cfg(test)]
mod tests;
mod updates;

use std::sync::Arc;

use crate::model::{Phase, RuleId};
use crate::ruleset::index::{RuleIndex, TransformationTree, TxNames};
use crate::ruleset::rule::{Disruptive, Link, Operator, Rule, Selector};
use crate::ruleset::settings::Settings;
use crate::ruleset::{RuleSet, ScoreSlots};
use crate::seclang::ast::{Directive, DirectiveKind, Program};
use crate::seclang::diag::{Diagnostic, Level};
use crate::seclang::source::{Loader, Sources, Span};
use crate::vocab::necessary::Necessary;
use crate::vocab::transformations::{TransformationContext, UnicodeMap};
use crate::vocab::variables::Variable;
use actions::ActionSet;
use draft::{Draft, DraftLink};

/// What [`compile`] made of a program.
#[derive(Debug)]
pub struct Compiled {
    /// The rules; `None` when any diagnostic is an error.
    pub rules: Option<RuleSet>,
    /// Everything found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// A rule that turns anomaly scores into denials was taken away, so they block nothing.
    pub scores_unheeded: bool,
}

/// Compiles a program. Data files come through `loader`.
pub fn compile(program: &Program, loader: &dyn Loader) -> Compiled {
    let mut compiler = Compiler::new(&program.sources, loader);
    for directive in &program.directives {
        compiler.directive(directive);
    }
    compiler.close_chain();
    let rules = compiler.finish();
    let scores_unheeded = compiler.scores_unheeded;
    let mut diagnostics = compiler.diagnostics;
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.file, diagnostic.span.line));
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.level == Level::Error);
    Compiled { rules: Some(rules).filter(|_| !failed), diagnostics, scores_unheeded }
}

/// Everything that grows while directives are read in load order.
struct Compiler<'p> {
    sources: &'p Sources,
    loader: &'p dyn Loader,
    diagnostics: Vec<Diagnostic>,
    settings: Settings,
    context: TransformationContext,
    /// `SecDefaultAction` of each phase, for the rules that follow it.
    defaults: [Option<ActionSet>; 5],
    drafts: Vec<Draft>,
    markers: Vec<Marker>,
    /// The last rule said `chain`.
    chain_open: bool,
    /// A chain whose starter was refused: its links are read and dropped.
    chain_lost: bool,
    /// The rule whose actions are being read, as far as it is known.
    rule_read: Option<RuleId>,
    tx_names: TxNames,
    transformations: TransformationTree,
    /// What a value must hold for the operator last built to match.
    necessary: Necessary,
    /// See [`Compiled::scores_unheeded`].
    scores_unheeded: bool,
}

/// `SecMarker`: stands before the draft at `before`.
struct Marker {
    name: String,
    before: usize,
}

impl<'p> Compiler<'p> {
    fn new(sources: &'p Sources, loader: &'p dyn Loader) -> Self {
        let mut tx_names = TxNames::default();
        // Set by the engine, so it has to have a place even when only a pattern reads it (rule 200005).
        tx_names.intern(b"msc_pcre_limits_exceeded");
        Self {
            sources,
            loader,
            diagnostics: Vec::new(),
            settings: Settings::default(),
            // Part of ModSecurity's recommended set-up, and what CRS is tested with.
            context: TransformationContext { unicode_map: Some(Arc::new(UnicodeMap::code_page_20127())) },
            defaults: Default::default(),
            drafts: Vec::new(),
            markers: Vec::new(),
            chain_open: false,
            chain_lost: false,
            rule_read: None,
            tx_names,
            transformations: TransformationTree::default(),
            necessary: Necessary::nothing(),
            scores_unheeded: false,
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }

    fn error_with_help(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message).with_help(help));
    }

    fn warning(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::warning(span, message));
    }

    fn directive(&mut self, directive: &Directive) {
        match &directive.kind {
            DirectiveKind::Rule { targets, operator, actions } => {
                self.rule(directive.span, DraftLink::rule(directive.span, targets, operator), actions);
            }
            DirectiveKind::Action(actions) => {
                self.rule(directive.span, DraftLink::action(directive.span), actions);
            }
            DirectiveKind::Marker(name) => {
                self.close_chain();
                self.markers.push(Marker { name: name.node.clone(), before: self.drafts.len() });
            }
            DirectiveKind::DefaultAction(actions) => self.default_action(directive.span, actions),
            DirectiveKind::RemoveRules(selectors) => self.remove_rules(selectors),
            DirectiveKind::UpdateTargets { rules, targets, replaced } => self.update_targets(rules, targets, replaced),
            DirectiveKind::UpdateActions { rules, link, actions } => self.update_actions(rules, *link, actions),
            DirectiveKind::Setting { canonical, arguments } => self.setting(directive.span, canonical, arguments),
        }
    }

    /// A `chain` that nothing follows: the rule would never block (ModSecurity issue 1042).
    fn close_chain(&mut self) {
        if std::mem::take(&mut self.chain_open)
            && let Some(span) = self.drafts.last().and_then(|draft| draft.links.last()).map(|link| link.span)
        {
            self.error_with_help(
                span,
                "`chain` is not followed by a rule",
                "add the next rule of the chain right after it, or remove `chain`",
            );
        }
        self.chain_lost = false;
    }

    /// Everything is read: build matchers, resolve jumps and run-time removals.
    fn finish(&mut self) -> RuleSet {
        let drafts = std::mem::take(&mut self.drafts);
        let phases = self.phase_lists(&drafts);
        let jumps = self.jumps(&drafts, &phases);
        let (rules, necessary): (Vec<Rule>, Vec<Necessary>) =
            drafts.iter().zip(jumps).map(|(draft, jump)| self.build_rule(&drafts, draft, jump)).unzip();
        self.report_inert(&drafts);
        let rules = self.with_tx_patterns(rules);
        let footprint = footprint::of(&rules);
        let prefilter = prefilter::build(&rules, &phases, &self.transformations, necessary);
        RuleSet {
            settings: self.settings.clone(),
            rules,
            phases,
            transformations: std::mem::take(&mut self.transformations),
            transformation_context: self.context.clone(),
            score_slots: ScoreSlots::find(&self.tx_names),
            tx_names: std::mem::take(&mut self.tx_names),
            footprint,
            prefilter,
        }
    }

    /// Patterns over TX look at all names there are, once those are known.
    fn with_tx_patterns(&self, mut rules: Vec<Rule>) -> Vec<Rule> {
        let links = rules.iter_mut().flat_map(|rule| &mut rule.links);
        for target in links.flat_map(|link| &mut link.targets).filter(|target| target.variable == Variable::Tx) {
            if let Selector::Pattern(pattern) = &target.selector {
                let slots = self.tx_names.iter().filter(|(_, name)| pattern.is_match(name)).map(|(slot, _)| slot);
                target.selector = Selector::TxPattern { slots: slots.collect(), pattern: pattern.clone() };
            }
        }
        rules
    }

    fn phase_lists(&self, drafts: &[Draft]) -> [Vec<RuleIndex>; 5] {
        Phase::ALL.map(|phase| {
            let indexed = drafts.iter().enumerate().filter(|(_, draft)| draft.phase == phase);
            indexed.filter_map(|(index, _)| Some(RuleIndex(u32::try_from(index).ok()?))).collect()
        })
    }

    /// Where each rule's `skip` or `skipAfter` leads within its phase.
    fn jumps(&mut self, drafts: &[Draft], phases: &[Vec<RuleIndex>; 5]) -> Vec<Option<usize>> {
        let mut jumps = Vec::with_capacity(drafts.len());
        for (index, draft) in drafts.iter().enumerate() {
            let list = phases.get(draft.phase.index()).map_or(&[][..], Vec::as_slice);
            // The place in the phase of the first rule at or after a place in load order.
            let place = |draft: usize| list.partition_point(|rule| rule.get() < draft);
            let actions = &draft.actions;
            let jump = match &actions.skip_after {
                Some(name) => match self.marker(&name.node, index, drafts) {
                    Some(target) => Some(place(target)),
                    None => {
                        self.error_with_help(
                            name.span,
                            format!("there is no marker `{}` after this rule", name.node),
                            "add a `SecMarker` with this name behind it, or correct the name",
                        );
                        None
                    }
                },
                None => actions.skip.map(|count| place(index) + 1 + count as usize),
            };
            jumps.push(jump);
        }
        jumps
    }

    /// The place in load order behind a marker, or behind the rule with that id, after draft `from`.
    fn marker(&self, name: &str, from: usize, drafts: &[Draft]) -> Option<usize> {
        let named = self.markers.iter().find(|marker| marker.name == name && marker.before > from);
        let of_rule = || {
            let id = name.parse().ok().and_then(RuleId::new)?;
            drafts.iter().position(|draft| draft.id == id).filter(|place| *place > from).map(|place| place + 1)
        };
        named.map(|marker| marker.before).or_else(of_rule)
    }

    /// The rule, and what a value must hold for its starter to match.
    fn build_rule(&mut self, drafts: &[Draft], draft: &Draft, jump: Option<usize>) -> (Rule, Necessary) {
        let mut necessary = None;
        let links = draft.links.iter().map(|link| {
            self.necessary = Necessary::nothing();
            let link = self.build_link(drafts, draft, link);
            necessary.get_or_insert_with(|| std::mem::take(&mut self.necessary));
            link
        });
        let links = links.collect();
        let actions = &draft.actions;
        let msg = self.template_of(actions.msg.as_ref());
        let logdata = self.template_of(actions.logdata.as_ref());
        let tags: Vec<_> = actions.tags.iter().map(|tag| self.template(tag)).collect();
        let dynamic = tags.iter().any(|tag| tag.as_literal().is_none());
        let rule = Rule {
            info: Arc::new(draft.info(self.sources)),
            links,
            disruptive: self.disruptive(draft),
            status: actions.status,
            jump,
            reads_matched: false,
            log: actions.log.unwrap_or(true),
            audit: actions.audit.unwrap_or(true),
            msg,
            logdata,
            tags: dynamic.then(|| tags.into_boxed_slice()),
        };
        let reads_matched = footprint::reads_matched(&rule);
        (Rule { reads_matched, ..rule }, necessary.unwrap_or_default())
    }

    fn build_link(&mut self, drafts: &[Draft], draft: &Draft, link: &DraftLink) -> Link {
        let (targets, exclusions) = self.targets(&link.targets);
        let operator = link.operator.as_ref().map_or(Operator::Always, |operator| self.operator(draft.id, operator));
        let inert = matches!(operator, Operator::Never);
        let effects = link.actions.effects.iter().filter_map(|effect| self.effect(drafts, draft, effect)).collect();
        Link {
            targets,
            exclusions,
            // What never matches does not match when it is negated either.
            negated: !inert && link.operator.as_ref().is_some_and(|operator| operator.negated),
            operator,
            transformations: self.transformations.intern(&link.actions.transformations()),
            multi_match: link.actions.multi_match,
            capture: link.actions.capture,
            effects,
        }
    }

    /// `block` takes the default's action; so does a rule that names none.
    fn disruptive(&mut self, draft: &Draft) -> Disruptive {
        match draft.actions.disruptive.as_ref().unwrap_or(&actions::DisruptiveDraft::Pass) {
            actions::DisruptiveDraft::Pass | actions::DisruptiveDraft::Block => Disruptive::Pass,
            actions::DisruptiveDraft::Deny => Disruptive::Deny,
            actions::DisruptiveDraft::Drop => Disruptive::Drop,
            actions::DisruptiveDraft::Allow(scope) => Disruptive::Allow(*scope),
            actions::DisruptiveDraft::Redirect(url) => Disruptive::Redirect(self.template(url)),
        }
    }
}
