//! Operators: found by name, prepared with their argument.

use super::Compiler;
use crate::model::RuleId;
use crate::ruleset::rule::Operator;
use crate::seclang::ast::OperatorExpr;
use crate::seclang::diag::{Diagnostic, nearest};
use crate::seclang::source::{Loader, Span, resolve};
use crate::vocab::necessary::Necessary;
use crate::vocab::operators::{self, BuildContext, BuildError, OPERATORS, OperatorKind};

impl Compiler<'_> {
    /// Prepares an operator; one that cannot be is reported and replaced by one that never matches.
    pub(super) fn operator(&mut self, id: RuleId, written: &OperatorExpr) -> Operator {
        let name = &written.name.node;
        let Some(entry) = operators::find(name) else {
            self.unknown_operator(written);
            return Operator::Never;
        };
        match &entry.kind {
            OperatorKind::Compare(compare) => {
                let argument = self.template(&written.argument);
                if let (Some(text), true) = (argument.as_literal(), entry.holds_argument()) {
                    self.necessary = Necessary::one_of(&[text]);
                }
                Operator::Compare { compare: *compare, argument }
            }
            OperatorKind::Inert(why) => {
                self.warning(written.span, format!("rule {id} never matches: {why} (`@{name}`)"));
                Operator::Never
            }
            OperatorKind::Build(build) => {
                let argument = self.lenient(&written.argument);
                if argument.as_literal().is_none() {
                    return Operator::PreparedLate { build: *build, argument };
                }
                let mut context = LoadContext {
                    loader: self.loader,
                    from: self.sources.path(written.span.file).to_string(),
                    match_limit: self.settings.match_limit,
                    necessary: Necessary::nothing(),
                };
                let built = build(&written.argument.node, &mut context);
                self.necessary = context.necessary;
                built.map_or_else(
                    |error| {
                        self.diagnostics.push(diagnostic(written, &error));
                        Operator::Never
                    },
                    Operator::Prepared,
                )
            }
        }
    }

    fn unknown_operator(&mut self, written: &OperatorExpr) {
        let name = &written.name;
        let message = format!("unknown operator `@{}`", name.node);
        if let Some(kind) = name.node.strip_suffix("FromDataset") {
            let help = format!("`SecDataset` is not supported; write its list to a file and `@{kind}FromFile FILE`");
            return self.error_with_help(name.span, message, help);
        }
        match nearest(&name.node, OPERATORS.iter().map(|entry| entry.name)) {
            Some(near) => self.error_with_help(name.span, message, format!("did you mean `@{near}`?")),
            None => self.error_with_help(name.span, message, "a pattern that begins with `@` is written `@rx @…`"),
        }
    }
}

fn diagnostic(written: &OperatorExpr, error: &BuildError) -> Diagnostic {
    let span = written.argument.span;
    let span = match error.offset.and_then(|offset| u32::try_from(offset).ok()) {
        // An offset beyond the first physical line cannot be shown by a column; the whole argument is.
        Some(offset) if offset < span.len => Span { column: span.column + offset, len: 1, ..span },
        _ => span,
    };
    let diagnostic = Diagnostic::error(span, error.message.clone());
    match &error.help {
        Some(help) => diagnostic.with_help(help.clone()),
        None => diagnostic,
    }
}

/// Data files are looked up beside the rule file, then as given.
struct LoadContext<'a> {
    loader: &'a dyn Loader,
    from: String,
    match_limit: usize,
    necessary: Necessary,
}

impl BuildContext for LoadContext<'_> {
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        let beside = resolve(&self.from, name);
        self.loader.read(&beside).or_else(|reason| {
            if beside == name {
                return Err(reason);
            }
            self.loader.read(name).map_err(|_| reason)
        })
    }

    fn match_limit(&self) -> usize {
        self.match_limit
    }

    fn wants_necessary(&self) -> bool {
        true
    }

    fn take_necessary(&mut self, necessary: Necessary) {
        self.necessary = necessary;
    }
}
