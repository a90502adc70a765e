//! One generation of the service: every policy with its rules loaded. Immutable; a reload makes a new one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::config::{AuditTarget, Config, DEFAULT_POLICY, Policy};
use crate::sets::{LoadError, LoadedSet};

use super::Parts;
use super::audit::Writer;
use super::cache::Cache;
use super::metrics::PolicyMetrics;
use super::notices::{self, BodyWarnings};
use super::scratch::Pool;

/// Loads the rules of a policy; [`crate::sets::load`] but in tests.
pub type LoadRules = Box<dyn Fn(&Policy) -> Result<LoadedSet, LoadError> + Send + Sync>;

/// All policies of one generation.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) generation: u64,
    pub(super) policies: BTreeMap<String, Active>,
}

/// A policy at work.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) name: Arc<str>,
    pub(super) generation: u64,
    pub(super) policy: Policy,
    pub(super) set: LoadedSet,
    pub(super) scratches: Pool,
    pub(super) cache: Option<Cache>,
    pub(super) audit: Option<Arc<Writer>>,
    pub(super) metrics: Arc<PolicyMetrics>,
    pub(super) body_warnings: BodyWarnings,
}

impl Snapshot {
    /// Loads every policy of a configuration.
    ///
    /// # Errors
    /// The messages of every policy that does not load, not only the first.
    pub(super) fn load(config: Config, generation: u64, parts: &Parts) -> Result<Self, Vec<String>> {
        let mut policies = BTreeMap::new();
        let mut errors = Vec::new();
        for (name, policy) in config.policies {
            match Active::load(&name, generation, policy, parts) {
                Ok(active) => {
                    policies.insert(name, active);
                }
                Err(messages) => errors.extend(messages),
            }
        }
        if errors.is_empty() { Ok(Self { generation, policies }) } else { Err(errors) }
    }

    /// The policy with this name; `None` asks for `default`.
    pub(super) fn policy(&self, name: Option<&str>) -> Option<&Active> {
        self.policies.get(name.unwrap_or(DEFAULT_POLICY))
    }
}

impl Active {
    fn load(name: &str, generation: u64, policy: Policy, parts: &Parts) -> Result<Self, Vec<String>> {
        let set = (parts.sources.rules)(&policy).map_err(|error| error.messages)?;
        let audit = parts.audit.writer(&policy).map_err(|error| vec![audit_error(name, &policy, &error)])?;
        let metrics = parts.metrics.policy(name);
        let cache = Cache::new(&policy, &set.rules, parts.fingerprints, Arc::clone(&metrics.cache));
        let scratches = Pool::new();
        notices::rules_loaded(name, generation, &set);
        let body_warnings = BodyWarnings::default();
        Ok(Self { name: name.into(), generation, policy, set, scratches, cache, audit, metrics, body_warnings })
    }
}

fn audit_error(name: &str, policy: &Policy, error: &io::Error) -> String {
    let target = match &policy.audit.to {
        AuditTarget::Stdout => "standard output".to_owned(),
        AuditTarget::File(path) => format!("`{}`", path.display()),
    };
    format!("policies.{name}.audit.to: {target} cannot be opened: {error}")
}
