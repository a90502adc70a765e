//! `portcullis check`.

use std::path::PathBuf;

use clap::Args;

use super::Exit;

/// The arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// Requests to judge, `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &CheckArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
