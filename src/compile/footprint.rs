//! Which parts of a request the compiled rules can read.

use crate::model::Phase;
use crate::ruleset::Footprint;
use crate::ruleset::index::RuleIndex;
use crate::ruleset::rule::{Change, Effect, Link, Operator, Rule, TxName};
use crate::ruleset::template::Macro;
use crate::vocab::variables::Variable;

/// The footprint of a rule set. Response rules never run and read nothing.
pub(super) fn of(rules: &[Rule]) -> Footprint {
    let mut footprint = Footprint::default();
    for (index, rule) in rules.iter().enumerate() {
        if matches!(rule.info.phase, Phase::ResponseHeaders | Phase::ResponseBody) {
            continue;
        }
        let place = RuleIndex(u32::try_from(index).unwrap_or(u32::MAX));
        for (number, link) in rule.links.iter().enumerate() {
            for target in &link.targets {
                note_variable(&mut footprint, target.variable);
            }
            let reads_headers =
                |target: &&crate::ruleset::rule::Target| target.variable == Variable::RequestHeaders && !target.count;
            if link.targets.iter().any(|target| reads_headers(&target)) {
                footprint.header_links.push((place, number));
            }
        }
        for found in macros(rule) {
            note_variable(&mut footprint, found.variable);
            note_macro(&mut footprint, rule, found);
        }
    }
    footprint
}

/// Whether the rule reads `MATCHED_VARS` or `MATCHED_VARS_NAMES`.
pub(super) fn reads_matched(rule: &Rule) -> bool {
    let is = |variable: Variable| matches!(variable, Variable::MatchedVars | Variable::MatchedVarsNames);
    let targets = rule.links.iter().flat_map(|link| &link.targets);
    targets.into_iter().any(|target| is(target.variable)) || macros(rule).into_iter().any(|found| is(found.variable))
}

/// Whether the rule can read what a match of an earlier rule left in the `MATCHED_*` variables.
pub(super) fn reads_match_before(rule: &Rule) -> bool {
    let is = |variable: Variable| {
        matches!(
            variable,
            Variable::MatchedVar | Variable::MatchedVarName | Variable::MatchedVars | Variable::MatchedVarsNames
        )
    };
    for link in &rule.links {
        let read = link.targets.iter().map(|target| target.variable);
        if read.chain(operator_macros(link).iter().map(|found| found.variable)).any(is) {
            return true;
        }
        match link.operator {
            // Its effects come before any match of the rule's own.
            Operator::Always if effect_macros(link).iter().any(|found| is(found.variable)) => return true,
            Operator::Always => {}
            _ => return false,
        }
    }
    text_macros(rule).iter().any(|found| is(found.variable))
}

fn note_variable(footprint: &mut Footprint, variable: Variable) {
    match variable {
        Variable::RemoteAddr | Variable::RemoteHost => footprint.remote_addr = true,
        Variable::RemotePort => footprint.remote_port = true,
        Variable::ServerAddr | Variable::ServerPort => footprint.server_addr = true,
        Variable::FullRequest | Variable::FullRequestLength => footprint.all_headers_whole = true,
        _ => {}
    }
}

/// A macro takes a header's value over, match or no match.
fn note_macro(footprint: &mut Footprint, rule: &Rule, found: &Macro) {
    if found.variable != Variable::RequestHeaders {
        return;
    }
    match &found.key {
        Some(name) => {
            let reason = format!("rule {} takes its value over in a macro", rule.info.id);
            footprint.whole_headers.push((name.to_vec(), reason));
        }
        None => footprint.all_headers_whole = true,
    }
}

/// Every macro of a rule.
pub(super) fn macros(rule: &Rule) -> Vec<&Macro> {
    let mut found = text_macros(rule);
    for link in &rule.links {
        found.extend(operator_macros(link));
        found.extend(effect_macros(link));
    }
    found
}

fn text_macros(rule: &Rule) -> Vec<&Macro> {
    let tags = rule.tags.iter().flatten().flat_map(|tag| tag.macros());
    rule.msg.macros().chain(rule.logdata.macros()).chain(tags).collect()
}

fn effect_macros(link: &Link) -> Vec<&Macro> {
    let mut found = Vec::new();
    for effect in &link.effects {
        let Effect::SetVar(setvar) = effect else { continue };
        if let TxName::Dynamic(name) = &setvar.name {
            found.extend(name.macros());
        }
        if let Change::Set(value) | Change::Add(value) | Change::Subtract(value) = &setvar.change {
            found.extend(value.macros());
        }
    }
    found
}

fn operator_macros(link: &Link) -> Vec<&Macro> {
    match &link.operator {
        Operator::Compare { argument, .. } | Operator::PreparedLate { argument, .. } => argument.macros().collect(),
        Operator::Always | Operator::Never | Operator::Prepared(_) => Vec::new(),
    }
}
