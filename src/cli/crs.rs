//! `portcullis crs`: install, list and verify the CRS.

use clap::Args;

use super::Exit;

/// The arguments of `crs`.
#[derive(Args, Debug)]
pub struct CrsArgs {}

/// Runs the command.
pub fn run(_args: &CrsArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
