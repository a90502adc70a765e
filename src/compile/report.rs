//! What loads and has no effect: said once, with the ids of the rules concerned.

use super::Compiler;
use super::draft::Draft;
use crate::model::{Phase, RuleId};
use crate::seclang::diag::Diagnostic;
use crate::seclang::source::Span;
use crate::vocab::variables::{Origin, Variable};

impl Compiler<'_> {
    pub(super) fn report_inert(&mut self, drafts: &[Draft]) {
        let response: Vec<_> = drafts.iter().filter(|draft| is_of_response(draft)).collect();
        self.list(&response, "of phases 3 and 4 have no effect, since responses are not inspected");
        let persistent: Vec<_> = drafts.iter().filter(|draft| !is_of_response(draft) && reads_storage(draft)).collect();
        for draft in &persistent {
            let names: Vec<_> = storage(draft).map(|variable| format!("`{}`", variable.name())).collect();
            let what =
                if names.len() == 1 { "a persistent collection that is" } else { "persistent collections that are" };
            let message = format!("rule {} reads {}, {what} always empty here", draft.id, names.join(" and "));
            self.warning(draft.span, message);
        }
    }

    fn list(&mut self, drafts: &[&Draft], what: &str) {
        let Some(first) = drafts.first() else { return };
        let ids: Vec<RuleId> = drafts.iter().map(|draft| draft.id).collect();
        let span: Span = first.span;
        let noun = if ids.len() == 1 { "rule" } else { "rules" };
        let message = format!("{} {noun} {what}: {}", ids.len(), compact(&ids));
        self.diagnostics.push(Diagnostic::warning(span, message));
    }
}

fn is_of_response(draft: &Draft) -> bool {
    matches!(draft.phase, Phase::ResponseHeaders | Phase::ResponseBody)
}

fn reads_storage(draft: &Draft) -> bool {
    storage(draft).next().is_some()
}

/// The persistent collections a rule reads, each once.
fn storage(draft: &Draft) -> impl Iterator<Item = Variable> {
    let read = draft.links.iter().flat_map(|link| &link.targets).filter(|target| !target.negated);
    let mut found: Vec<_> = read.filter_map(|target| Variable::find(&target.name.node)).collect();
    found.retain(|variable| variable.origin() == Origin::Persistent);
    found.sort();
    found.dedup();
    found.into_iter()
}

/// Ids in load order, separated by blanks.
fn compact(ids: &[RuleId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
