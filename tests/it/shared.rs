//! Third-party inputs, read in place.

use std::path::{Path, PathBuf};

/// A folder of third-party inputs; `None`, said loudly, where it is not there.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    find(name, Path::is_dir)
}

/// A file of third-party inputs; `None`, said loudly, where it is not there.
#[cfg(feature = "server")]
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    find(name, Path::is_file)
}

fn find(name: &str, is_right: fn(&Path) -> bool) -> Option<PathBuf> {
    let root = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join(name);
    if is_right(&path) {
        return Some(path);
    }
    println!("SKIPPED: {} is not there", path.display());
    None
}
