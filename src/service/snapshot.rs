//! One generation of the service: every policy with its rules loaded. Immutable; a reload makes a new one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{Config, DEFAULT_POLICY, Policy};
use crate::sets::{LoadError, LoadedSet};

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
}

impl Snapshot {
    /// Loads every policy of a configuration.
    ///
    /// # Errors
    /// The messages of every policy that does not load, not only the first.
    pub(super) fn load(config: Config, generation: u64, rules: &LoadRules) -> Result<Self, Vec<String>> {
        let mut policies = BTreeMap::new();
        let mut errors = Vec::new();
        for (name, policy) in config.policies {
            match rules(&policy) {
                Ok(set) => {
                    let active = Active::new(&name, generation, policy, set);
                    policies.insert(name, active);
                }
                Err(error) => errors.extend(error.messages),
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
    fn new(name: &str, generation: u64, policy: Policy, set: LoadedSet) -> Self {
        Self { name: name.into(), generation, policy, set, scratches: Pool::new() }
    }
}
