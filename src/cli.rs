//! The command line: one file per command, and what they share: exit codes and how errors are printed.
//!
//! The only place, with `main`, that prints or ends the process. Knows nothing about rules; each command does its own.

pub mod check;
pub mod config;
pub mod crs;
pub mod rules;
pub mod serve;
pub mod test;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// How a command ended. The numbers are part of the contract: scripts rely on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// 0: it ran, and all is well.
    Fine,
    /// 1: it ran, and the answer is no: a request denied under `--fail-on-deny`, a failed test, a lint error.
    No,
    /// 2: it could not run: bad usage, bad rules, bad configuration.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Fine => Self::from(0),
            Exit::No => Self::from(1),
            Exit::CouldNotRun => Self::from(2),
        }
    }
}

/// A web application firewall that stands beside the proxy and judges each request with the OWASP Core Rule Set.
#[derive(Parser, Debug)]
#[command(name = "portcullis", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 fine; 1 the answer is no; 2 could not run.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Answer the proxies: ext_authz gRPC, forward-auth HTTP, and the admin endpoint
    Serve(serve::ServeArgs),
    /// Requests in, verdicts out: JSON lines, HAR or raw HTTP/1.1 messages
    Check(check::CheckArgs),
    /// Run CRS regression tests (go-ftw YAML) in process
    Test(test::TestArgs),
    /// Look into a rule set: every load error and warning, the rules, one rule
    Rules(rules::RulesArgs),
    /// Check or print the configuration, or its JSON Schema
    Config(config::ConfigArgs),
    /// Install, list and verify the CRS
    Crs(crs::CrsArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Reads the arguments of the process, runs the command, and prints what went wrong, if anything, to standard error.
pub fn main() -> Exit {
    // Clap prints usage errors itself and exits with 2, and with 0 for `--help` and `--version`.
    let cli = Cli::parse();
    run(&cli.command).unwrap_or_else(|error| failed(&error))
}

fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Serve(args) => serve::run(args),
        Command::Check(args) => check::run(args),
        Command::Test(args) => test::run(args),
        Command::Rules(args) => rules::run(args),
        Command::Config(args) => config::run(args),
        Command::Crs(args) => crs::run(args),
        Command::Completions { shell } => completions(*shell),
    }
}

/// The whole chain of causes on one line. A reader that went away (`portcullis rules list | head`) is no error.
fn failed(error: &anyhow::Error) -> Exit {
    let broken_pipe = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    if error.chain().filter_map(|cause| cause.downcast_ref()).any(broken_pipe) {
        return Exit::Fine;
    }
    // Nobody is left to tell when standard error is closed too; the exit code says it.
    let _ = writeln!(io::stderr(), "error: {error:#}");
    Exit::CouldNotRun
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "portcullis", &mut script);
    io::stdout().write_all(&script)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn exit_codes_are_the_contract() {
        for (exit, code) in [(Exit::Fine, 0), (Exit::No, 1), (Exit::CouldNotRun, 2)] {
            assert_eq!(ExitCode::from(exit), ExitCode::from(code), "{exit:?}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(failed(&anyhow::Error::from(closed).context("writing")), Exit::Fine);
        assert_eq!(failed(&anyhow::anyhow!("no rules")), Exit::CouldNotRun);
    }
}
