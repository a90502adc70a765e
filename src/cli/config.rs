//! `portcullis config`: check the configuration, print the one at work, or its JSON Schema.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Exit;
use crate::config::{Config, ConfigErrors, ProcessEnv, schema};

/// The arguments of `config`.
#[derive(Args, Debug)]
pub struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Say everything that is wrong, with file, line and fix
    Check(Source),
    /// Print the configuration at work: defaults, file, environment and --set taken together
    Print(Source),
    /// Print the JSON Schema of the configuration file
    Schema,
}

/// Where the configuration comes from.
#[derive(Args, Debug)]
struct Source {
    /// The configuration file
    #[arg(long, value_name = "FILE", env = "PORTCULLIS_CONFIG")]
    config: Option<PathBuf>,
    /// A configuration key, `tx.NAME` included; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(args: &ConfigArgs) -> anyhow::Result<Exit> {
    match &args.action {
        Action::Check(source) => with_config(source, |_| "configuration is fine\n".to_owned()),
        Action::Print(source) => with_config(source, Config::to_yaml),
        Action::Schema => print(&format!("{:#}\n", schema())),
    }
}

fn with_config(source: &Source, text: impl Fn(&Config) -> String) -> anyhow::Result<Exit> {
    match Config::load(source.config.as_deref(), &ProcessEnv, &source.set) {
        Ok(config) => print(&text(&config)),
        Err(errors) => refuse(&errors),
    }
}

fn print(text: &str) -> anyhow::Result<Exit> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(Exit::Fine)
}

/// One line for each problem, nothing around it, so that editors can jump to the place.
fn refuse(errors: &ConfigErrors) -> anyhow::Result<Exit> {
    writeln!(io::stderr(), "{errors}")?;
    Ok(Exit::CouldNotRun)
}
