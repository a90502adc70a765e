//! Third-party inputs, read in place.

use std::path::{Path, PathBuf};

/// A folder of third-party inputs; `None`, said loudly, where it is not there.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let path = root.join(name);
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: {} is not there", path.display());
    None
}
