//! `portcullis rules`: every load error and warning, the rules, one rule.

use clap::Args;

use super::Exit;

/// The arguments of `rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {}

/// Runs the command.
pub fn run(_args: &RulesArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
