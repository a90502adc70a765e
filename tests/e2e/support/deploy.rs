//! The files of `deploy/`, with only what a test must change changed: addresses, ports, paths and time-outs.
//!
//! A change is a text and what stands in its place. Each text must occur in the file, so that a file that moved on makes
//! the test fail instead of running something else.

use std::fs;
use std::path::{Path, PathBuf};

/// Texts of a file and what stands in their place.
pub(crate) type Changes<'c> = &'c [(&'c str, String)];

/// The top of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The path of a file in `deploy/`.
pub(crate) fn path(file: &str) -> PathBuf {
    root().join("deploy").join(file)
}

/// A file of `deploy/` as it is.
pub(crate) fn text(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("deploy/{file}: {error}"))
}

/// A file of `deploy/` with the changes.
pub(crate) fn adapted(file: &str, changes: Changes<'_>) -> String {
    change(&format!("deploy/{file}"), text(file), changes)
}

/// Writes a file of `deploy/` with the changes into a folder; returns its path.
pub(crate) fn write(dir: &Path, file: &str, changes: Changes<'_>) -> PathBuf {
    let to = dir.join(Path::new(file).file_name().unwrap());
    fs::write(&to, adapted(file, changes)).unwrap();
    to
}

/// Makes the changes in a text; `name` is for the message.
pub(crate) fn change(name: &str, mut text: String, changes: Changes<'_>) -> String {
    for (from, to) in changes {
        assert!(text.contains(from), "{name} no longer holds `{from}`");
        text = text.replace(from, to);
    }
    text
}
