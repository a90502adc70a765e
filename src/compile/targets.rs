//! Targets: variables, counts, exclusions, selectors.

use regex::bytes::RegexBuilder;

use super::Compiler;
use crate::ruleset::rule::{Exclusion, KeyPattern, Selector, Target, XML_ATTRIBUTES_KEY, XML_TEXT_KEY};
use crate::seclang::ast;
use crate::seclang::diag::nearest;
use crate::seclang::source::Spanned;
use crate::vocab::variables::{Shape, Variable};

fn written(key: &ast::Key) -> Box<[u8]> {
    match key {
        ast::Key::Literal(text) | ast::Key::XPath(text) => text.as_slice().into(),
        ast::Key::Regex(pattern) => [b"/", pattern.as_slice(), b"/"].concat().into(),
    }
}

impl Compiler<'_> {
    /// The targets of a link and its exclusions, which may stand in any order.
    pub(super) fn targets(&mut self, written: &[ast::Target]) -> (Box<[Target]>, Box<[Exclusion]>) {
        let mut targets = Vec::new();
        let mut exclusions = Vec::new();
        for target in written {
            if target.negated {
                exclusions.extend(self.exclusion(target));
            } else {
                targets.extend(self.target(target));
            }
        }
        (targets.into(), exclusions.into())
    }

    fn target(&mut self, target: &ast::Target) -> Option<Target> {
        let variable = self.variable(target)?;
        if target.count && variable.shape() == Shape::Scalar {
            self.error_with_help(
                target.span,
                format!("`&{}` counts nothing: the variable always has one value", variable.name()),
                "remove the `&`",
            );
            return None;
        }
        let selector = match self.selector(variable, target.key.as_ref())? {
            Selector::Key(name) if variable == Variable::Tx => Selector::Tx(self.tx_slot(&name, target)?),
            selector => selector,
        };
        let written = target.key.as_ref().map(|key| written(&key.node)).unwrap_or_default();
        Some(Target { variable, count: target.count, selector, written })
    }

    /// An exclusion, whether or not `!` stands before it.
    pub(super) fn exclusion(&mut self, target: &ast::Target) -> Option<Exclusion> {
        let variable = self.variable(target)?;
        // `!XML` leaves out everything of XML; only a target needs an expression.
        let selector = match &target.key {
            None => Selector::All,
            key => self.selector(variable, key.as_ref())?,
        };
        Some(Exclusion { variable, selector })
    }

    fn variable(&mut self, target: &ast::Target) -> Option<Variable> {
        let name = &target.name;
        let found = Variable::find(&name.node);
        if found.is_none() {
            let message = format!("unknown variable `{}`", name.node);
            match nearest(&name.node, Variable::ALL.iter().map(|variable| variable.name())) {
                Some(near) => self.error_with_help(name.span, message, format!("did you mean `{near}`?")),
                None => self.error(name.span, message),
            }
        }
        found
    }

    fn selector(&mut self, variable: Variable, key: Option<&Spanned<ast::Key>>) -> Option<Selector> {
        if variable == Variable::Xml {
            return self.xml_selector(key);
        }
        let Some(key) = key else { return Some(Selector::All) };
        if variable.shape() == Shape::Scalar {
            self.error_with_help(
                key.span,
                format!("`{}` has one value and no members to select", variable.name()),
                "remove the part after the colon",
            );
            return None;
        }
        match &key.node {
            ast::Key::Literal(name) | ast::Key::XPath(name) => Some(Selector::Key(name.to_ascii_lowercase().into())),
            ast::Key::Regex(pattern) => self.pattern(pattern, key).map(Selector::Pattern),
        }
    }

    fn xml_selector(&mut self, key: Option<&Spanned<ast::Key>>) -> Option<Selector> {
        let expression = key.map(|key| (&key.node, key.span));
        match expression {
            Some((ast::Key::XPath(text), _)) if text == XML_TEXT_KEY => Some(Selector::XmlText),
            Some((ast::Key::XPath(text), _)) if text == XML_ATTRIBUTES_KEY => Some(Selector::XmlAttributes),
            Some((_, span)) => {
                self.error_with_help(span, "this XPath expression is not supported", "write `XML:/*` or `XML://@*`");
                None
            }
            // Bare `XML` means the text of the document.
            None => Some(Selector::XmlText),
        }
    }

    /// A key pattern is searched without regard to case, as in ModSecurity v3 since issue 2296.
    fn pattern(&mut self, pattern: &[u8], key: &Spanned<ast::Key>) -> Option<KeyPattern> {
        let text = String::from_utf8_lossy(pattern);
        let built = RegexBuilder::new(&text).case_insensitive(true).unicode(false).dot_matches_new_line(true).build();
        match built {
            Ok(regex) => Some(KeyPattern::new(pattern, regex)),
            Err(error) => {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
                self.error_with_help(
                    key.span,
                    format!("the pattern `/{text}/` cannot be used: {reason}"),
                    "correct the pattern, or write the key without slashes to mean it literally",
                );
                None
            }
        }
    }

    fn tx_slot(&mut self, name: &[u8], target: &ast::Target) -> Option<crate::ruleset::index::TxSlot> {
        let slot = self.tx_names.intern(name);
        if slot.is_none() {
            self.error(target.span, "there are more than 65,536 different TX variables");
        }
        slot
    }
}
