//! What a rule is made of, as far as it explains differences.

use std::collections::{BTreeMap, BTreeSet};

use portcullis::seclang::ast::{Action, DirectiveKind, Program};
use portcullis::sets::assembly;

/// A rule with its chain.
#[derive(Clone, Default, Debug)]
pub(crate) struct Facts {
    pub(crate) chained: bool,
    pub(crate) multi_match: bool,
    pub(crate) transformations: BTreeSet<String>,
    pub(crate) targets: BTreeSet<String>,
    pub(crate) operators: BTreeSet<String>,
}

/// The facts of every rule, by id.
pub(crate) fn collect(program: &Program) -> BTreeMap<u32, Facts> {
    let mut all: BTreeMap<u32, Facts> = BTreeMap::new();
    let mut open = None;
    for directive in &program.directives {
        let DirectiveKind::Rule { targets, operator, actions } = &directive.kind else { continue };
        let Some(id) = open.or_else(|| assembly::id(&directive.kind)) else { continue };
        let facts = all.entry(id).or_default();
        facts.targets.extend(targets.iter().map(|target| target.name.node.to_ascii_uppercase()));
        facts.operators.insert(operator.name.node.to_ascii_lowercase());
        let named = |name: &'static str| actions.iter().filter(move |action| is(action, name));
        facts.multi_match |= named("multiMatch").next().is_some();
        let values = named("t").filter_map(|action| action.value.as_ref());
        facts.transformations.extend(values.map(|value| String::from_utf8_lossy(&value.node).to_ascii_lowercase()));
        open = named("chain").next().map(|_| id);
        facts.chained |= open.is_some();
    }
    all
}

fn is(action: &Action, name: &str) -> bool {
    action.name.node.eq_ignore_ascii_case(name)
}
