//! What a transaction has computed so far; rules read and change it.

use super::body::{self, Processor};
use super::fields::Fields;
use super::tx::Tx;
use crate::model::{AuditEngine, AuditParts, Request};
use crate::ruleset::RuleSet;
use crate::ruleset::index::{RuleBits, RuleIndex};
use crate::ruleset::rule::PartsChange;
use crate::ruleset::settings::EngineMode;

/// `HIGHEST_SEVERITY` before any rule with a severity matched.
const NO_SEVERITY: u8 = 255;

/// The state of a transaction. Reused from request to request.
#[derive(Default, Debug)]
pub(crate) struct State {
    pub(crate) tx: Tx,
    pub(crate) matched_var: Vec<u8>,
    pub(crate) matched_var_name: Vec<u8>,
    /// `MATCHED_VARS`: name and value of all matches since the current chain began.
    pub(crate) matched: Fields,
    pub(crate) highest_severity: u8,
    pub(crate) engine: EngineMode,
    pub(crate) body_access: bool,
    pub(crate) body_limit: usize,
    /// `REQBODY_PROCESSOR`: chosen by content type, changed by rules of phase 1.
    pub(crate) body_processor: String,
    pub(crate) force_body_variable: bool,
    pub(crate) audit_engine: AuditEngine,
    pub(crate) audit_parts: AuditParts,
    /// Rules removed by `ctl`.
    pub(crate) removed: RuleBits,
    /// The `ctl` actions that removed targets.
    pub(crate) removed_targets: Vec<EffectPlace>,
    /// Among them are TX variables.
    pub(crate) removed_of_tx: bool,
    /// A rule has read the time, the unique id or the like.
    pub(crate) read_volatile: bool,
    /// Something changed that tells which rules are passed over.
    pub(crate) steered: bool,
}

/// Where an effect stands in the rule set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EffectPlace {
    pub(crate) rule: RuleIndex,
    pub(crate) link: usize,
    pub(crate) effect: usize,
}

impl State {
    /// The state before phase 1, but for the TX variables.
    pub(crate) fn reset(&mut self, rules: &RuleSet, request: &Request<'_>) {
        let settings = &rules.settings;
        self.matched_var.clear();
        self.matched_var_name.clear();
        self.matched.clear();
        self.highest_severity = NO_SEVERITY;
        self.engine = settings.engine;
        self.body_access = settings.request_body_access;
        self.body_limit = settings.request_body_limit;
        let chosen = body::processor_for(request.header(b"content-type"));
        self.body_processor.clear();
        self.body_processor.push_str(chosen.map_or("", Processor::name));
        self.force_body_variable = false;
        self.audit_engine = settings.audit_engine;
        self.audit_parts = settings.audit_parts;
        self.removed.clear();
        self.removed_targets.clear();
        self.removed_of_tx = false;
        self.read_volatile = false;
        self.steered = false;
    }

    /// `ctl:auditLogParts`. `A` and `Z` stay whatever is written.
    pub(crate) fn change_audit_parts(&mut self, change: &PartsChange) {
        self.audit_parts = match change {
            PartsChange::Set(parts) => *parts,
            PartsChange::Add(parts) => self.audit_parts.with(*parts),
            PartsChange::Remove(parts) => self.audit_parts.without(parts.without(AuditParts::of("AZ"))),
        };
    }
}
