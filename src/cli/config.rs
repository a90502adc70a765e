//! `portcullis config`.

use clap::Args;

use super::Exit;

/// The arguments of `config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {}

/// Runs the command.
pub fn run(_args: &ConfigArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
