//! `portcullis test`.

use std::path::PathBuf;

use clap::Args;

use super::Exit;

/// The arguments of `test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// Folders with tests
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_args: &TestArgs) -> anyhow::Result<Exit> {
    anyhow::bail!("not built yet")
}
