//! The syntax tree: what was written, not what it means.
//!
//! Includes are already resolved: a [`Program`] is one flat list in load order, and each span says which file it came
//! from. Texts are bytes, since rule files are.

use super::source::{Sources, Span, Spanned};

/// Everything that was loaded, in load order.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// The directives, includes already replaced by what they name.
    pub directives: Vec<Directive>,
    /// The files they were read from.
    pub sources: Sources,
}

/// One directive, starting at the first byte of its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// From the name's first byte; `len` is that of the name.
    pub span: Span,
    /// The name as written, any case.
    pub name: String,
    /// What it is.
    pub kind: DirectiveKind,
}

/// The kinds of directive that have a syntax of their own, and all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DirectiveKind {
    /// `SecRule TARGETS OPERATOR [ACTIONS]`
    Rule {
        /// The targets, at least one.
        targets: Vec<Target>,
        /// The operator.
        operator: OperatorExpr,
        /// The actions, empty when there are none.
        actions: Vec<Action>,
    },
    /// `SecAction ACTIONS`
    Action(Vec<Action>),
    /// `SecMarker NAME`
    Marker(Spanned<String>),
    /// `SecDefaultAction ACTIONS`
    DefaultAction(Vec<Action>),
    /// `SecRuleRemoveById`, `…ByTag`, `…ByMsg`
    RemoveRules(Vec<RuleSelector>),
    /// `SecRuleUpdateTargetById`, `…ByTag`, `…ByMsg`
    UpdateTargets {
        /// The rules meant.
        rules: Vec<RuleSelector>,
        /// Targets to add; negated ones are exclusions.
        targets: Vec<Target>,
        /// The optional third argument: targets of the rule that the new ones replace.
        replaced: Vec<Target>,
    },
    /// `SecRuleUpdateActionById`
    UpdateActions {
        /// The rules meant.
        rules: Vec<RuleSelector>,
        /// The link of the chain, 0 for the starter (`id:offset`).
        link: u32,
        /// The actions to merge.
        actions: Vec<Action>,
    },
    /// Any other directive the table knows: canonical name and arguments, quotes removed.
    Setting {
        /// The name in its canonical spelling.
        canonical: &'static str,
        /// The arguments.
        arguments: Vec<Spanned<Vec<u8>>>,
    },
}

impl Directive {
    /// The same directive with every place replaced by `span`, so that trees can be compared by what they say.
    #[must_use]
    pub fn placed_at(mut self, span: Span) -> Self {
        self.span = span;
        self.kind.place_at(span);
        self
    }
}

impl DirectiveKind {
    fn place_at(&mut self, span: Span) {
        match self {
            Self::Rule { targets, operator, actions } => {
                targets.iter_mut().for_each(|target| target.place_at(span));
                operator.place_at(span);
                actions.iter_mut().for_each(|action| action.place_at(span));
            }
            Self::Action(actions) | Self::DefaultAction(actions) => {
                actions.iter_mut().for_each(|action| action.place_at(span));
            }
            Self::Marker(name) => name.span = span,
            Self::RemoveRules(rules) => rules.iter_mut().for_each(|rule| rule.place_at(span)),
            Self::UpdateTargets { rules, targets, replaced } => {
                rules.iter_mut().for_each(|rule| rule.place_at(span));
                targets.iter_mut().chain(replaced).for_each(|target| target.place_at(span));
            }
            Self::UpdateActions { rules, actions, .. } => {
                rules.iter_mut().for_each(|rule| rule.place_at(span));
                actions.iter_mut().for_each(|action| action.place_at(span));
            }
            Self::Setting { arguments, .. } => arguments.iter_mut().for_each(|argument| argument.span = span),
        }
    }
}

/// Which rules a configuration-time removal or update means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleSelector {
    /// An id or a range of ids, both ends included.
    Ids(Spanned<(u32, u32)>),
    /// Rules with this tag.
    Tag(Spanned<Vec<u8>>),
    /// Rules with this message.
    Msg(Spanned<Vec<u8>>),
}

impl RuleSelector {
    /// The place of the selector.
    pub const fn span(&self) -> Span {
        match self {
            Self::Ids(ids) => ids.span,
            Self::Tag(text) | Self::Msg(text) => text.span,
        }
    }

    const fn place_at(&mut self, span: Span) {
        match self {
            Self::Ids(ids) => ids.span = span,
            Self::Tag(text) | Self::Msg(text) => text.span = span,
        }
    }
}

/// `[!|&]NAME[:key]`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The whole target.
    pub span: Span,
    /// `!`: an exclusion.
    pub negated: bool,
    /// `&`: the number of members.
    pub count: bool,
    /// The variable's name as written, any case.
    pub name: Spanned<String>,
    /// The selector after the colon.
    pub key: Option<Spanned<Key>>,
}

impl Target {
    const fn place_at(&mut self, span: Span) {
        self.span = span;
        self.name.span = span;
        if let Some(key) = &mut self.key {
            key.span = span;
        }
    }
}

/// The selector of a target.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// A name, compared without regard to case.
    Literal(Vec<u8>),
    /// `/…/` or `'/…/'`: a pattern, searched in the name; the text between the slashes, `\/` already reduced to `/`.
    Regex(Vec<u8>),
    /// The expression after `XML:` or `JSON:`.
    XPath(Vec<u8>),
}

/// `[!][@name ]argument`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorExpr {
    /// The whole operator text.
    pub span: Span,
    /// `!`: the result is inverted.
    pub negated: bool,
    /// The name as written without `@`; `rx` when none was written.
    pub name: Spanned<String>,
    /// No operator was written; `@rx` is meant.
    pub implied: bool,
    /// The argument, blanks around it removed; empty when there is none.
    pub argument: Spanned<Vec<u8>>,
}

impl OperatorExpr {
    const fn place_at(&mut self, span: Span) {
        self.span = span;
        self.name.span = span;
        self.argument.span = span;
    }
}

/// `name` or `name:value`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// From the name's first byte to the end of the value.
    pub span: Span,
    /// The name as written, any case.
    pub name: Spanned<String>,
    /// The value, single quotes removed and `\'` reduced.
    pub value: Option<Spanned<Vec<u8>>>,
}

impl Action {
    const fn place_at(&mut self, span: Span) {
        self.span = span;
        self.name.span = span;
        if let Some(value) = &mut self.value {
            value.span = span;
        }
    }
}
