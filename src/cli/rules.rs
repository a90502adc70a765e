//! `portcullis rules`: every load error and warning, the rules, one rule.
//!
//! Reads the syntax tree, so that rules which do not compile can be looked at too.

mod lint;
mod list;
mod profiles;
mod show;
mod view;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use super::Exit;
use crate::config::{Config, DEFAULT_POLICY, Policy, ProcessEnv};
use crate::sets::{self, ReadSet};

/// The arguments of `rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {
    #[command(subcommand)]
    command: RulesCommand,
}

#[derive(Subcommand, Debug)]
enum RulesCommand {
    /// Report every load error and warning, with file and line; exit 1 when there is an error
    Lint {
        #[command(flatten)]
        set: SetArgs,
        /// Take warnings for errors
        #[arg(long)]
        strict: bool,
    },
    /// List the rules: id, phase, severity, paranoia level, file and line, message
    List {
        #[command(flatten)]
        set: SetArgs,
    },
    /// List the exclusion profiles for applications, for the key `profiles` of a policy
    Profiles {
        /// How to print
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Show one rule: its text, where it is from, and what changed it
    Show {
        /// The rule's id
        id: u32,
        #[command(flatten)]
        set: SetArgs,
    },
}

#[derive(Args, Debug)]
struct SetArgs {
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file [default: the policy's, else the best at hand]
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// A configuration file: its policy's settings and exclusions are loaded with the rules
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The policy of the configuration
    #[arg(long, value_name = "NAME", default_value = DEFAULT_POLICY)]
    policy: String,
    /// A configuration key, `tx.NAME` included; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Runs the command.
///
/// # Errors
/// The rule set is not there, or the output cannot be written.
pub fn run(args: &RulesArgs) -> anyhow::Result<Exit> {
    match &args.command {
        RulesCommand::Lint { set, strict } => lint::run(&read(set)?, *strict, set.format),
        RulesCommand::List { set } => list::run(&read(set)?, set.format),
        RulesCommand::Profiles { format } => profiles::run(*format),
        RulesCommand::Show { id, set } => show::run(&read(set)?, *id, set.format),
    }
}

fn read(args: &SetArgs) -> anyhow::Result<ReadSet> {
    let mut policy = policy(args)?;
    if args.rules.is_some() {
        policy.rules.clone_from(&args.rules);
    }
    Ok(sets::read(&policy)?)
}

fn policy(args: &SetArgs) -> anyhow::Result<Policy> {
    let mut config = Config::load(args.config.as_deref(), &ProcessEnv, &args.set)?;
    let names = config.policies.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let policy = config.policies.remove(&args.policy);
    policy.with_context(|| format!("no policy `{}` in the configuration; it has {names}", args.policy))
}
