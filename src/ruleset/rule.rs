//! A compiled rule: a chain of one or more links, and what happens when the last one matched.

use std::sync::Arc;

use regex::bytes::Regex;

use super::index::{RuleBits, TransformationNode, TxSlot};
use super::settings::EngineMode;
use super::template::Template;
use crate::model::{AuditEngine, AuditParts, RuleInfo};
use crate::vocab::operators::{BuildMatcher, Matcher};
use crate::vocab::variables::Variable;

/// A rule: what `SecRule` with its chain, or `SecAction`, became.
#[derive(Debug)]
pub struct Rule {
    /// What is fixed about it.
    pub info: Arc<RuleInfo>,
    /// The starter and the links of its chain, at least one.
    pub links: Box<[Link]>,
    /// What it does to the transaction when it matched.
    pub disruptive: Disruptive,
    /// `status:`, or the default action's; `None` leaves the action's own.
    pub status: Option<u16>,
    /// Where evaluation goes on in this phase after a match: a place in the phase's list, `None` for the next rule.
    pub jump: Option<usize>,
    /// It stands in the log.
    pub log: bool,
    /// It stands in the audit log and makes the transaction relevant.
    pub audit: bool,
    /// `msg:`
    pub msg: Template,
    /// `logdata:`
    pub logdata: Template,
    /// A link or a text of it reads `MATCHED_VARS` or their names; no other rule can.
    pub reads_matched: bool,
    /// `tag:`s, only when one of them holds a macro; else those of `info` do.
    pub tags: Option<Box<[Template]>>,
}

impl Rule {
    /// Whether a match stands nowhere and decides nothing: what is left are its effects and where evaluation goes on.
    pub(crate) fn is_silent(&self) -> bool {
        !self.log && !self.audit && self.info.severity.is_none() && self.disruptive == Disruptive::Pass
    }
}

/// The disruptive action, `block` already replaced by the default action's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disruptive {
    /// None.
    Pass,
    /// `deny`
    Deny,
    /// `drop`
    Drop,
    /// `redirect:URL`
    Redirect(Template),
    /// `allow`, `allow:phase`, `allow:request`
    Allow(AllowScope),
}

/// How far an `allow` reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AllowScope {
    /// All phases but logging.
    All,
    /// The current phase.
    Phase,
    /// The request phases.
    Request,
}

/// One link of a chain: what is looked at, how, and what follows for each match.
#[derive(Debug)]
pub struct Link {
    /// What is looked at, in written order.
    pub targets: Box<[Target]>,
    /// What is left out, of whatever target.
    pub exclusions: Box<[Exclusion]>,
    /// The operator.
    pub operator: Operator,
    /// `!`
    pub negated: bool,
    /// The transformations.
    pub transformations: TransformationNode,
    /// `multiMatch`
    pub multi_match: bool,
    /// `capture`
    pub capture: bool,
    /// `setvar`s and `ctl`s in written order, run for each match.
    pub effects: Box<[Effect]>,
}

/// `[&]VARIABLE[:key]`
#[derive(Clone, Debug)]
pub struct Target {
    /// The variable.
    pub variable: Variable,
    /// `&`: the number of members instead of the members.
    pub count: bool,
    /// Which members.
    pub selector: Selector,
    /// The part after the colon as it is written, for the name of a count in the log: it has no member to take one from.
    pub written: Box<[u8]>,
}

/// Which members of a collection are meant.
#[derive(Clone, Debug)]
pub enum Selector {
    /// All.
    All,
    /// Those with this key; lower case.
    Key(Arc<[u8]>),
    /// Those whose key this pattern is found in.
    Pattern(KeyPattern),
    /// The TX variable in this slot.
    Tx(TxSlot),
    /// The TX variables whose name this pattern is found in.
    TxPattern {
        /// The pattern, for names made at run time.
        pattern: KeyPattern,
        /// Those with a slot, in order.
        slots: Box<[TxSlot]>,
    },
    /// `XML:/*`: the text of the document.
    XmlText,
    /// `XML://@*`: the attributes.
    XmlAttributes,
}

impl Selector {
    /// Whether a member with this key is meant.
    #[inline]
    pub fn matches(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Key(wanted) => wanted.eq_ignore_ascii_case(key),
            Self::Pattern(pattern) | Self::TxPattern { pattern, .. } => pattern.is_match(key),
            Self::Tx(_) => false,
            Self::XmlText => key == XML_TEXT_KEY,
            Self::XmlAttributes => key == XML_ATTRIBUTES_KEY,
        }
    }
}

/// A pattern that keys are searched for, without regard to case.
#[derive(Clone, Debug)]
pub struct KeyPattern {
    regex: Regex,
    /// The pattern is no more than a text: no engine is needed.
    text: Option<KeyText>,
}

#[derive(Clone, Debug)]
struct KeyText {
    /// In lower case.
    text: Box<[u8]>,
    /// At the beginning only.
    first: bool,
}

impl KeyPattern {
    /// A pattern from its text and the expression that was made of it.
    pub fn new(text: &[u8], regex: Regex) -> Self {
        let (first, rest) = text.strip_prefix(b"^").map_or((false, text), |rest| (true, rest));
        // What may be there or not at the end, such as `.*`, makes no difference.
        let rest = rest.strip_suffix(b"*").and_then(|rest| rest.split_last()).map_or(rest, |(_, rest)| rest);
        let literal =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'=' | b'/' | b':' | b'%');
        let text = rest.iter().all(literal).then(|| KeyText { text: rest.to_ascii_lowercase().into(), first });
        Self { regex, text }
    }

    /// The text, in lower case, that is all the pattern asks for, and whether at the beginning only.
    pub(crate) fn text(&self) -> Option<(&[u8], bool)> {
        self.text.as_ref().map(|found| (&*found.text, found.first))
    }

    /// Whether the pattern is found in the key.
    pub fn is_match(&self, key: &[u8]) -> bool {
        let Some(KeyText { text, first }) = &self.text else { return self.regex.is_match(key) };
        let starts = |byte: &u8| text.first().is_none_or(|first| byte.eq_ignore_ascii_case(first));
        let starts_at = |place: usize| {
            let part = key.get(place..place + text.len()).unwrap_or_default();
            part.first().is_none_or(starts) && part.eq_ignore_ascii_case(text)
        };
        match key.len().checked_sub(text.len()) {
            None => false,
            Some(_) if *first => starts_at(0),
            Some(last) => (0..=last).any(starts_at),
        }
    }
}

/// The key under which `XML:/*` is reported and excluded.
pub const XML_TEXT_KEY: &[u8] = b"/*";
/// The key under which `XML://@*` is reported and excluded.
pub const XML_ATTRIBUTES_KEY: &[u8] = b"//@*";

/// `!VARIABLE[:key]`, in a rule, in an update or at run time.
///
/// It is about the members of that collection, as in `ModSecurity` 2 and 3: `!ARGS:x` does not touch `ARGS_GET:x`,
/// `ARGS_POST:x` or `ARGS_NAMES:x`, though these show the same parameter. One that meets nothing a rule reads is told at
/// load (as in CRS 3.3, where rule 9006240 excludes `ARGS:q` from 921151, which reads `ARGS_GET`).
#[derive(Clone, Debug)]
pub struct Exclusion {
    /// The variable.
    pub variable: Variable,
    /// Which members; never [`Selector::Tx`].
    pub selector: Selector,
}

impl Exclusion {
    /// Whether this member is left out.
    pub fn covers(&self, variable: Variable, key: &[u8]) -> bool {
        self.variable == variable && self.selector.matches(key)
    }
}

/// A compiled operator.
#[derive(Debug)]
pub enum Operator {
    /// `SecAction`.
    Always,
    /// Known and without effect here.
    Never,
    /// Compares with a text, macros expanded for each evaluation.
    Compare {
        /// The comparison.
        compare: fn(argument: &[u8], value: &[u8]) -> bool,
        /// The text.
        argument: Template,
    },
    /// Prepared at load time.
    Prepared(Box<dyn Matcher>),
    /// Prepared when the argument's macros are expanded; kept in the scratch.
    PreparedLate {
        /// Prepares it.
        build: BuildMatcher,
        /// The argument.
        argument: Template,
    },
}

/// A non-disruptive action with an effect on the transaction.
#[derive(Clone, Debug)]
pub enum Effect {
    /// `setvar`
    SetVar(SetVar),
    /// `ctl`
    Ctl(Ctl),
}

/// `setvar:tx.name=value`
#[derive(Clone, Debug)]
pub struct SetVar {
    /// The variable.
    pub name: TxName,
    /// What happens to it.
    pub change: Change,
}

/// The name of a TX variable.
#[derive(Clone, Debug)]
pub enum TxName {
    /// Known at load time.
    Slot(TxSlot),
    /// Holds macros.
    Dynamic(Template),
}

/// What `setvar` does.
#[derive(Clone, Debug)]
pub enum Change {
    /// `=value`
    Set(Template),
    /// `=+value`
    Add(Template),
    /// `=-value`; never goes below zero.
    Subtract(Template),
    /// `!name`
    Unset,
}

/// `ctl:…`
#[derive(Clone, Debug)]
pub enum Ctl {
    /// `ruleEngine`
    RuleEngine(EngineMode),
    /// `auditEngine`
    AuditEngine(AuditEngine),
    /// `auditLogParts`
    AuditLogParts(PartsChange),
    /// `requestBodyAccess`
    RequestBodyAccess(bool),
    /// `requestBodyLimit`
    RequestBodyLimit(usize),
    /// `requestBodyProcessor`, in capitals; a name that no processor has is an error when the body is read.
    RequestBodyProcessor(Box<str>),
    /// `forceRequestBodyVariable`
    ForceRequestBodyVariable(bool),
    /// `ruleRemoveById`, `…ByTag`, `…ByMsg`: the rules meant, worked out at load time.
    RemoveRules(RuleBits),
    /// `ruleRemoveTargetById`, `…ByTag`, `…ByMsg`
    RemoveTargets(RuleBits, Box<[Exclusion]>),
}

/// `auditLogParts=ABC`, `=+E`, `=-E`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartsChange {
    /// Replaces all.
    Set(AuditParts),
    /// Adds.
    Add(AuditParts),
    /// Removes; `A` and `Z` stay.
    Remove(AuditParts),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_as_the_expression_finds_them() {
        let keys = ["", "a", "ab", "xaB", "AB_c", "ab__", "b", "header_name_1_host", "x_header_name_1"];
        let patterns = [
            "",
            "^",
            "^a",
            "^ab_*",
            "ab_*",
            "b.*",
            "^b",
            "a|b",
            "(ab)*",
            "[ab]*",
            "^header_name_1_",
            "header_name_1_*",
            "a.",
            "\\w*",
        ];
        for pattern in patterns {
            let regex = regex::bytes::RegexBuilder::new(pattern).case_insensitive(true).unicode(false).build().unwrap();
            let found = KeyPattern::new(pattern.as_bytes(), regex.clone());
            for key in keys {
                assert_eq!(found.is_match(key.as_bytes()), regex.is_match(key.as_bytes()), "{pattern} {key}");
            }
        }
    }
}
