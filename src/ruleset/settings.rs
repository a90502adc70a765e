//! What the engine directives of a rule set say.

use std::sync::Arc;

use crate::model::{AuditEngine, AuditParts};
use crate::vocab::pcre::Pattern;

/// `SecRuleEngine`, `ctl:ruleEngine`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EngineMode {
    /// Rules are evaluated and enforced.
    On,
    /// Rules are evaluated, nothing is enforced.
    DetectionOnly,
    /// No rule is evaluated. This is ModSecurity's default when no directive says otherwise.
    #[default]
    Off,
}

/// `SecRequestBodyLimitAction`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LimitAction {
    /// A body over the limit is denied with 413.
    #[default]
    Reject,
    /// What fits is inspected.
    ProcessPartial,
}

/// `SecParseXmlIntoArgs`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum XmlArguments {
    /// XML bodies make no arguments.
    #[default]
    Off,
    /// XML leaves become arguments beside `XML`.
    On,
    /// XML leaves become arguments, and `XML` stays empty.
    Only,
}

/// The statuses that a pattern means.
#[derive(Clone, Debug)]
pub struct Statuses(Arc<Pattern>);

impl Statuses {
    /// Those that the pattern is found in.
    pub fn new(pattern: Pattern) -> Self {
        Self(Arc::new(pattern))
    }

    /// Whether the status is one of them; also where the pattern runs into its step limit, since no record may be lost.
    pub fn contains(&self, status: u16) -> bool {
        self.0.is_match(status.to_string().as_bytes()) != Ok(false)
    }
}

/// The engine settings of a rule set, with ModSecurity's defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `SecRuleEngine`.
    pub engine: EngineMode,
    /// `SecRequestBodyAccess`.
    pub request_body_access: bool,
    /// `SecRequestBodyLimit`, in bytes; a body of exactly this length passes.
    pub request_body_limit: usize,
    /// `SecRequestBodyNoFilesLimit`, in bytes.
    pub request_body_no_files_limit: usize,
    /// `SecRequestBodyLimitAction`.
    pub request_body_limit_action: LimitAction,
    /// `SecArgumentsLimit`: arguments of query and body together.
    pub arguments_limit: usize,
    /// `SecRequestBodyJsonDepthLimit`.
    pub json_depth_limit: usize,
    /// `SecArgumentSeparator`.
    pub argument_separator: u8,
    /// `SecParseXmlIntoArgs`.
    pub xml_arguments: XmlArguments,
    /// `SecXmlDoctype`, a directive of ours: an XML body with a DOCTYPE is an error.
    pub refuse_doctype: bool,
    /// `SecAuditEngine`.
    pub audit_engine: AuditEngine,
    /// `SecAuditLogParts`.
    pub audit_parts: AuditParts,
    /// `SecAuditLogRelevantStatus`: the statuses that make a refusal relevant where no rule does.
    pub audit_relevant_status: Option<Statuses>,
    /// `SecPcreMatchLimit`: steps of the backtracking engine.
    pub match_limit: usize,
    /// `SecComponentSignature`s, for the audit log's producer part.
    pub components: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: EngineMode::Off,
            request_body_access: false,
            request_body_limit: 134_217_728,
            request_body_no_files_limit: 1_048_576,
            request_body_limit_action: LimitAction::Reject,
            arguments_limit: 1000,
            json_depth_limit: 10_000,
            argument_separator: b'&',
            xml_arguments: XmlArguments::Off,
            refuse_doctype: false,
            audit_engine: AuditEngine::Off,
            audit_parts: AuditParts::of("ABCFHZ"),
            audit_relevant_status: None,
            match_limit: 100_000,
            components: Vec::new(),
        }
    }
}
