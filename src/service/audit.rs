//! The audit log: one JSON object a line, in the layout of ModSecurity 3, so that the tools for it can read ours.
//!
//! Records are made on the request path and written by a thread of their own, through a bounded queue: a slow disk never
//! slows a decision down. What does not fit in the queue is lost and counted.

mod json;
mod record;
mod writer;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crate::config::{AuditTarget, AuditWhen, Policy};
use crate::model::{AuditEngine, Outcome, Verdict};
use crate::ruleset::settings::Statuses;

use super::reload::locked;
use super::{Answer, Decision};

pub(super) use self::record::Entry;
pub(super) use self::writer::Writer;

/// The writers at work, by target: policies with the same target share one.
#[derive(Default, Debug)]
pub(super) struct Audit {
    writers: Mutex<BTreeMap<String, Arc<Writer>>>,
}

/// What became of audit records so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct AuditCounts {
    pub(super) written: u64,
    /// Lost because the queue was full.
    pub(super) overflowed: u64,
    /// Lost because they could not be written.
    pub(super) failed: u64,
}

impl Audit {
    /// The writer for a policy; `None` when it writes no audit log.
    ///
    /// # Errors
    /// The file cannot be opened, or no thread can be started.
    pub(super) fn writer(&self, policy: &Policy) -> io::Result<Option<Arc<Writer>>> {
        if policy.audit.when == AuditWhen::Off {
            return Ok(None);
        }
        let name = match &policy.audit.to {
            AuditTarget::Stdout => "stdout".to_owned(),
            AuditTarget::File(path) => format!("file:{}", path.display()),
        };
        let mut writers = locked(&self.writers);
        if let Some(writer) = writers.get(&name) {
            return Ok(Some(Arc::clone(writer)));
        }
        let writer = Arc::new(Writer::start(&policy.audit.to)?);
        writers.insert(name, Arc::clone(&writer));
        Ok(Some(writer))
    }

    /// Opens the files anew, after somebody has moved them away.
    pub(super) fn reopen(&self) {
        locked(&self.writers).values().for_each(|writer| writer.reopen());
    }

    /// Waits until everything handed over so far has been given to the operating system.
    pub(super) fn flush(&self) {
        let writers: Vec<Arc<Writer>> = locked(&self.writers).values().cloned().collect();
        writers.iter().for_each(|writer| writer.flush());
    }

    pub(super) fn counts(&self) -> AuditCounts {
        let writers = locked(&self.writers);
        writers.values().map(|writer| writer.counts()).fold(AuditCounts::default(), |sum, counts| AuditCounts {
            written: sum.written + counts.written,
            overflowed: sum.overflowed + counts.overflowed,
            failed: sum.failed + counts.failed,
        })
    }
}

/// Whether a decision goes to the audit log. The rules have the last word (`SecAuditEngine`, `ctl:auditEngine`), into
/// which the policy's `audit.when` was put when they were loaded. We follow `ModSecurity` 2 and 3: relevant is what a rule
/// with `auditlog` matched on, or what was refused, or would be, with a status that `SecAuditLogRelevantStatus` wants;
/// any, where that is not given. Our own failures and what no rule refused (a body over the limit) are always relevant.
pub(super) fn wanted(when: AuditWhen, decision: &Decision, statuses: Option<&Statuses>) -> bool {
    let failed = matches!(decision.answer, Answer::Failure { .. });
    match (when, &decision.outcome) {
        (AuditWhen::Off, _) => false,
        (_, None) => when == AuditWhen::All || failed,
        (_, Some(outcome)) => match outcome.audit_engine {
            AuditEngine::On => true,
            AuditEngine::RelevantOnly => failed || relevant(outcome, &decision.answer, statuses),
            AuditEngine::Off => failed,
        },
    }
}

fn relevant(outcome: &Outcome, answer: &Answer, statuses: Option<&Statuses>) -> bool {
    let wanted = |status: u16| statuses.is_none_or(|statuses| statuses.contains(status));
    let would = outcome.would.as_ref().and_then(Verdict::status);
    let refused = answer.status();
    let ours = refused.is_some() && outcome.verdict.is_allow();
    let without_rule = matches!(outcome.verdict, Verdict::Deny { rule: None, .. });
    outcome.rules.iter().any(|rule| rule.audit) || ours || without_rule || refused.into_iter().chain(would).any(wanted)
}
