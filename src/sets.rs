//! Rule sets by name: `crs`, `crs@VERSION`, `crs@DIR`, `baseline`, or the path of a SecLang entry file.
//!
//! Finds the files (on disk or embedded), puts the engine set-up and a policy's settings around them, and compiles.

pub mod crs;
pub mod embedded;
pub mod files;
pub mod find;
pub mod manifest;
pub mod settings;
pub mod spec;

use crate::config::Policy;
use crate::ruleset::RuleSet;

/// A rule set that loaded.
#[derive(Debug)]
pub struct LoadedSet {
    /// The compiled rules.
    pub rules: RuleSet,
    /// What it is, for `/status`: `crs 4.28.0 (embedded)`, `baseline`, a path.
    pub name: String,
    /// The CRS version, when it is a CRS.
    pub version: Option<String>,
    /// No rule set was named and no CRS was at hand: these are the baseline rules.
    pub fallback: bool,
    /// Whether the CRS files agree with the manifest; `None` when there is no manifest for them.
    pub verified: Option<bool>,
    /// How many rules there are.
    pub rule_count: usize,
    /// Load warnings and notices, rendered, one or more lines each.
    pub warnings: Vec<String>,
    /// Files the set was read from that exist on disk, for watching.
    pub files: Vec<std::path::PathBuf>,
}

/// A rule set that did not load: every error, rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError {
    /// The messages, with `file:line:column` where there is one.
    pub messages: Vec<String>,
}

/// Loads the rule set of a policy, with the policy's settings applied.
///
/// # Errors
/// Every error in the rules, or that the set named is not there.
pub fn load(_policy: &Policy) -> Result<LoadedSet, LoadError> {
    Err(LoadError { messages: vec!["not implemented".to_owned()] })
}
