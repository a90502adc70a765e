//! Runs the real binary in a folder of its own, with no configuration but what a test gives it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A temporary working folder; data folders of the user are inside it too, so that nothing outside matters.
pub(crate) struct Sandbox {
    folder: TempDir,
}

/// What a run of the binary gave.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, with the folders on the way to it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The binary, about to run in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.args(arguments).current_dir(self.path());
        command.env_clear().env("HOME", self.path()).env("XDG_DATA_HOME", self.path().join("data"));
        // The archive tools are found through it.
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
