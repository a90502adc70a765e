//! `portcullis crs`: install, list and verify the CRS.

mod install;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};

use super::Exit;
use crate::sets::crs::{self, CrsFolder};
use crate::sets::files::Files;
use crate::sets::manifest::{self, Differences};

/// The arguments of `crs`.
#[derive(Args, Debug)]
pub struct CrsArgs {
    #[command(subcommand)]
    command: CrsCommand,
}

#[derive(Subcommand, Debug)]
enum CrsCommand {
    /// Install a CRS where `--rules crs` finds it
    Install {
        /// A CRS folder, or an archive of one (.tar.gz, .tgz, .zip) [default: the CRS in this binary]
        #[arg(long, value_name = "DIR|ARCHIVE")]
        from: Option<PathBuf>,
        /// The folder to write [default: $XDG_DATA_HOME/portcullis/crs/VERSION]
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// List every CRS at hand, the one that `--rules crs` takes first
    List,
    /// Compare a CRS with the list of hashes of its release; exit 1 when it differs or there is no list
    Verify {
        /// The CRS folder [default: the one that `--rules crs` takes]
        dir: Option<PathBuf>,
    },
}

/// Runs the command.
///
/// # Errors
/// There is no CRS to work on, or files cannot be read or written.
pub fn run(args: &CrsArgs) -> anyhow::Result<Exit> {
    match &args.command {
        CrsCommand::Install { from, dir } => install::run(from.as_deref(), dir.as_deref()),
        CrsCommand::List => list(),
        CrsCommand::Verify { dir } => verify(&Files::default(), dir.as_ref()),
    }
}

fn list() -> anyhow::Result<Exit> {
    let files = Files::default();
    let folders = crs::at_hand(&files);
    if folders.is_empty() {
        writeln!(io::stderr(), "no CRS at hand; run `make crs`, or `portcullis crs install --from DIR`")?;
    }
    for folder in &folders {
        let state = match differences(&files, folder) {
            None => "unverified",
            Some(differences) if differences.is_none() => "verified",
            Some(_) => "altered",
        };
        writeln!(io::stdout(), "{} {state}", folder.title())?;
    }
    Ok(Exit::Fine)
}

fn verify(files: &Files, dir: Option<&PathBuf>) -> anyhow::Result<Exit> {
    let folder = match dir {
        Some(dir) => at(files, dir)?,
        None => crs::at_hand(files).into_iter().next().context("no CRS at hand; name a folder")?,
    };
    let Some(differences) = differences(files, &folder) else {
        writeln!(io::stdout(), "{}: unverified, there is no list of hashes for this version", folder.title())?;
        return Ok(Exit::No);
    };
    for line in differences.lines() {
        writeln!(io::stdout(), "{line}")?;
    }
    let (state, exit) = if differences.is_none() { ("verified", Exit::Fine) } else { ("altered", Exit::No) };
    writeln!(io::stdout(), "{}: {state}, {} files agree", folder.title(), differences.agreeing)?;
    Ok(exit)
}

fn at(files: &Files, dir: &std::path::Path) -> anyhow::Result<CrsFolder> {
    let Some(path) = dir.to_str() else { bail!("the path `{}` is not UTF-8", dir.display()) };
    CrsFolder::at(files, path).with_context(|| format!("no CRS in `{path}`: it has no `rules/*.conf`"))
}

fn differences(files: &Files, folder: &CrsFolder) -> Option<Differences> {
    manifest::verify(files, &folder.root, folder.version.as_deref()?)
}
