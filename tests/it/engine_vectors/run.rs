//! Loads a case's rules and runs its request.

use std::path::Path;

use portcullis::compile::compile;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::model::Outcome;
use portcullis::seclang::ast::{Action, Directive, DirectiveKind, Program};
use portcullis::seclang::diag::Level;
use portcullis::seclang::parser::parse_text;
use portcullis::seclang::source::{MemoryLoader, Spanned};

use super::case::{Case, Sent};

/// What upstream takes for granted and we do not: rules run, though without effect, and bodies are read.
const DEFAULTS: &str = "SecRuleEngine DetectionOnly\nSecRequestBodyAccess On\n";

/// The data files of the cases, under the names that rules use.
pub(super) struct Files(MemoryLoader);

impl Files {
    pub(super) fn read(folder: &Path) -> Self {
        let mut loader = MemoryLoader::new();
        for entry in std::fs::read_dir(folder.join("data")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).unwrap();
            // We read paths relative to the file that names them, upstream also relative to the current folder.
            loader.insert(format!("test-cases/data/test-cases/data/{name}"), bytes.clone());
            loader.insert(format!("test-cases/data/{name}"), bytes);
        }
        Self(loader)
    }

    /// The rules as a tree.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn parse(&self, case: &Case) -> Result<Program, String> {
        let mut parsed = parse_text(&self.0, &case.file, case.rules.as_bytes());
        let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.level == Level::Error);
        let errors: Vec<_> = errors.map(|error| error.render(&parsed.program.sources)).collect();
        if !errors.is_empty() {
            return Err(errors.join("\n"));
        }
        without_open_chain(&mut parsed.program);
        with_all_ids(&mut parsed.program);
        with_updates_last(&mut parsed.program);
        let defaults = parse_text(&self.0, "defaults.conf", DEFAULTS.as_bytes()).program.directives;
        parsed.program.directives.splice(0..0, defaults);
        Ok(parsed.program)
    }

    /// What the rules say of the request.
    ///
    /// # Errors
    /// Why the rules do not load.
    pub(super) fn run(&self, program: &Program, sent: Option<&Sent>) -> Result<Option<Outcome>, String> {
        let compiled = compile(program, &self.0);
        let Some(rules) = compiled.rules else {
            let errors = compiled.diagnostics.iter().filter(|diagnostic| diagnostic.level == Level::Error);
            let errors: Vec<_> = errors.map(|error| error.render(&program.sources)).collect();
            return Err(errors.join("\n"));
        };
        let inputs = Inputs { now_micros: 1_700_000_000_000_000, unique_id: "1700000000.000001", ..Inputs::default() };
        Ok(sent.map(|sent| sent.with(|request| evaluate(&rules, request, &inputs, &mut Scratch::default()))))
    }

    /// What other rules say of the request under the case's settings.
    pub(super) fn run_instead(&self, program: &Program, rules: &str, sent: &Sent) -> Outcome {
        let mut program = program.clone();
        program.directives.retain(|directive| {
            !matches!(directive.kind, DirectiveKind::Rule { .. } | DirectiveKind::Action(_)) || sets_up(directive)
        });
        program.directives.extend(parse_text(&self.0, "probe.conf", rules.as_bytes()).program.directives);
        self.run(&program, Some(sent)).unwrap().unwrap()
    }
}

/// Moves rules of the response phases to phase 2, where all that they read is there. Says whether there were any.
pub(super) fn without_response_phases(program: &mut Program) -> bool {
    let mut moved = false;
    for action in program.directives.iter_mut().flat_map(actions_mut) {
        let Some(value) = action.value.as_mut().filter(|_| action.name.node.eq_ignore_ascii_case("phase")) else {
            continue;
        };
        if matches!(value.node.as_slice(), b"3" | b"4" | b"response") {
            value.node = b"2".to_vec();
            moved = true;
        }
    }
    moved
}

/// The actions of a rule, `SecAction` or `SecDefaultAction`.
pub(super) fn actions_mut(directive: &mut Directive) -> &mut [Action] {
    match &mut directive.kind {
        DirectiveKind::Rule { actions, .. }
        | DirectiveKind::Action(actions)
        | DirectiveKind::DefaultAction(actions) => actions,
        _ => &mut [],
    }
}

/// The rule chooses how the body is read.
fn sets_up(directive: &Directive) -> bool {
    let DirectiveKind::Rule { actions, .. } = &directive.kind else { return false };
    let of_body = |value: &[u8]| value.to_ascii_lowercase().windows(11).any(|part| part == b"requestbody");
    actions.iter().any(|action| action.value.as_ref().is_some_and(|value| of_body(&value.node)))
}

/// A last rule that waits for a link never matches; upstream loads it all the same.
fn without_open_chain(program: &mut Program) {
    let is_open = |directive: &Directive| {
        let DirectiveKind::Rule { actions, .. } = &directive.kind else { return false };
        actions.iter().any(|action| action.name.node.eq_ignore_ascii_case("chain"))
    };
    if program.directives.last().is_some_and(is_open) {
        program.directives.pop();
    }
}

/// Upstream asks no id of `SecAction`.
fn with_all_ids(program: &mut Program) {
    for (number, directive) in program.directives.iter_mut().enumerate() {
        let DirectiveKind::Action(actions) = &mut directive.kind else { continue };
        let Some(first) = actions.first().cloned() else { continue };
        if !actions.iter().any(|action| action.name.node.eq_ignore_ascii_case("id")) {
            let name = Spanned { node: "id".to_owned(), span: first.span };
            let value = Spanned { node: (4_294_960_000 + number).to_string().into_bytes(), span: first.span };
            actions.push(Action { span: first.span, name, value: Some(value) });
        }
    }
}

/// Upstream applies removals and updates to rules behind them too, we as ModSecurity v2 only to those before.
fn with_updates_last(program: &mut Program) {
    program.directives.sort_by_key(|directive| {
        matches!(
            directive.kind,
            DirectiveKind::RemoveRules(_) | DirectiveKind::UpdateTargets { .. } | DirectiveKind::UpdateActions { .. }
        )
    });
}
