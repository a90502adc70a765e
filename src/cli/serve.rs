//! `portcullis serve`.

use std::path::PathBuf;

use clap::Args;

use super::Exit;

/// The arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// A configuration key, `tx.NAME` included; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Runs the command.
pub fn run(_args: &ServeArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
