//! The rules of a program as a person thinks of them: a chain is one rule, and what changes a rule belongs to it.
//!
//! Works on the syntax tree alone; what an action does is the compiler's business.

use crate::model::{Phase, Severity};
use crate::seclang::ast::{Action, Directive, DirectiveKind, OperatorExpr, Program, RuleSelector, Target};

/// A rule with its chain links.
#[derive(Debug)]
pub(super) struct RuleView<'p> {
    /// The rule's id.
    pub(super) id: u32,
    /// The starter and its links.
    pub(super) links: Vec<&'p Directive>,
    /// Later directives that change the rule, in load order.
    pub(super) changes: Vec<&'p Directive>,
    /// The directive that removed it.
    pub(super) removed_by: Option<&'p Directive>,
}

/// All rules in load order; those without an id, which do not compile, are left out.
pub(super) fn rules(program: &Program) -> Vec<RuleView<'_>> {
    let mut rules: Vec<RuleView<'_>> = Vec::new();
    let mut in_chain = false;
    for directive in &program.directives {
        if let Some(actions) = actions(directive) {
            match rules.last_mut() {
                Some(rule) if in_chain => rule.links.push(directive),
                _ => rules.extend(crate::sets::assembly::id(&directive.kind).map(|id| RuleView::new(id, directive))),
            }
            in_chain = values(actions, "chain").next().is_some();
        } else {
            rules.iter_mut().for_each(|rule| rule.apply(directive));
        }
    }
    rules
}

/// The actions of a `SecRule` or `SecAction`.
pub(super) fn actions(directive: &Directive) -> Option<&[Action]> {
    match &directive.kind {
        DirectiveKind::Rule { actions, .. } | DirectiveKind::Action(actions) => Some(actions),
        _ => None,
    }
}

/// The targets and the operator of a `SecRule`.
pub(super) fn condition(directive: &Directive) -> Option<(&[Target], &OperatorExpr)> {
    match &directive.kind {
        DirectiveKind::Rule { targets, operator, .. } => Some((targets, operator)),
        _ => None,
    }
}

/// The values of every action with this name; empty for one written without a value.
pub(super) fn values(actions: &[Action], name: &str) -> impl Iterator<Item = String> {
    let named = actions.iter().filter(move |action| action.name.node.eq_ignore_ascii_case(name));
    named.map(|action| action.value.as_ref().map_or_else(String::new, |value| lossy(&value.node)))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'p> RuleView<'p> {
    fn new(id: u32, starter: &'p Directive) -> Self {
        Self { id, links: vec![starter], changes: Vec::new(), removed_by: None }
    }

    /// Removals and updates act on the rules loaded so far.
    fn apply(&mut self, directive: &'p Directive) {
        match &directive.kind {
            DirectiveKind::RemoveRules(rules) if self.is_meant_by(rules) => self.removed_by = Some(directive),
            DirectiveKind::UpdateTargets { rules, .. } | DirectiveKind::UpdateActions { rules, .. }
                if self.is_meant_by(rules) =>
            {
                self.changes.push(directive);
            }
            _ => {}
        }
    }

    fn is_meant_by(&self, selectors: &[RuleSelector]) -> bool {
        selectors.iter().any(|selector| match selector {
            RuleSelector::Ids(ids) => (ids.node.0..=ids.node.1).contains(&self.id),
            RuleSelector::Tag(tag) => self.has("tag", &tag.node),
            RuleSelector::Msg(msg) => self.has("msg", &msg.node),
        })
    }

    fn has(&self, name: &str, wanted: &[u8]) -> bool {
        self.values(name).any(|value| value.as_bytes() == wanted)
    }

    /// The starter.
    pub(super) fn starter(&self) -> Option<&'p Directive> {
        self.links.first().copied()
    }

    /// The values of the starter's actions with this name.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = String> {
        let actions = self.starter().and_then(|starter| actions(starter)).unwrap_or_default();
        values(actions, name)
    }

    /// The phase, 2 when none is written.
    pub(super) fn phase(&self) -> String {
        let written = self.values("phase").last().unwrap_or_else(|| "2".to_owned());
        let named = match written.to_ascii_lowercase().as_str() {
            "request" => Some(Phase::RequestBody),
            "response" => Some(Phase::ResponseBody),
            "logging" => Some(Phase::Logging),
            _ => None,
        };
        named.map_or(written, |phase| phase.number().to_string())
    }

    /// The severity's name, as written when it is none.
    pub(super) fn severity(&self) -> Option<String> {
        let written = self.values("severity").last()?;
        Some(Severity::parse(&written).map_or_else(|| written.clone(), |severity| severity.name().to_owned()))
    }

    /// The level in a tag `paranoia-level/N`.
    pub(super) fn paranoia_level(&self) -> Option<u8> {
        self.values("tag").find_map(|tag| tag.strip_prefix("paranoia-level/")?.parse().ok())
    }

    /// The message, empty when there is none.
    pub(super) fn msg(&self) -> String {
        self.values("msg").last().unwrap_or_default()
    }

    /// `file:line` of the rule.
    pub(super) fn place(&self, program: &Program) -> String {
        self.starter().map_or_else(String::new, |starter| place(starter, program))
    }
}

/// `file:line` of a directive.
pub(super) fn place(directive: &Directive, program: &Program) -> String {
    format!("{}:{}", program.sources.path(directive.span.file), directive.span.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seclang::parser::parse_text;
    use crate::seclang::source::MemoryLoader;

    fn with_rules(text: &str, check: impl Fn(&[RuleView<'_>], &Program)) {
        let parsed = parse_text(&MemoryLoader::new(), "a.conf", text.as_bytes());
        check(&rules(&parsed.program), &parsed.program);
    }

    #[test]
    fn a_chain_is_one_rule() {
        let text = "SecRule ARGS a \"id:1,chain\"\nSecRule ARGS b \"chain\"\nSecRule ARGS c\nSecAction \"id:2\"\n";
        with_rules(text, |rules, _| {
            let shape: Vec<_> = rules.iter().map(|rule| (rule.id, rule.links.len())).collect();
            assert_eq!(shape, [(1, 3), (2, 1)]);
        });
    }

    #[test]
    fn changes_reach_the_rules_before_them() {
        let text = "SecRule ARGS a \"id:1,tag:'x',msg:'m'\"\nSecRuleUpdateTargetByTag x \"!ARGS:a\"\n\
                    SecRule ARGS a \"id:2,tag:'x'\"\nSecRuleRemoveById 2-3\nSecRuleUpdateActionById 1 \"pass\"\n";
        with_rules(text, |rules, program| {
            let lines = |rule: &RuleView<'_>| rule.changes.iter().map(|one| place(one, program)).collect::<Vec<_>>();
            assert_eq!(lines(&rules[0]), ["a.conf:2", "a.conf:5"]);
            assert_eq!(lines(&rules[1]), Vec::<String>::new());
            assert!(rules[0].removed_by.is_none());
            assert_eq!(rules[1].removed_by.map(|one| place(one, program)).as_deref(), Some("a.conf:4"));
        });
    }

    #[test]
    fn the_columns_of_the_list() {
        let text = "SecRule ARGS a \"id:1,phase:request,severity:2,tag:'paranoia-level/3',msg:'M %{TX.1}'\"\nSecAction \"id:2\"";
        with_rules(text, |rules, program| {
            let [first, second] = rules else { panic!("{rules:?}") };
            assert_eq!(
                (first.phase(), first.severity(), first.paranoia_level()),
                ("2".into(), Some("CRITICAL".into()), Some(3))
            );
            assert_eq!((first.msg(), first.place(program)), ("M %{TX.1}".into(), "a.conf:1".into()));
            assert_eq!((second.phase(), second.severity(), second.paranoia_level()), ("2".into(), None, None));
        });
    }
}
