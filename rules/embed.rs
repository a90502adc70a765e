//! Part of the build script: the table of rule files that become part of the binary.
//!
//! Writes `embedded.rs` into `OUT_DIR`: every file of ours below `rules/`, and of the CRS what it needs to run, when
//! `rules/crs/` is there at build time.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the table; the paths in it are relative to `rules/`, sorted, with `/` between folders.
pub(crate) fn write_table(rules: &Path, out: &Path) -> io::Result<()> {
    println!("cargo:rerun-if-changed={}", rules.display());
    let mut files = Vec::new();
    collect(rules, "", &mut files)?;
    files.sort();
    let mut text = String::from("/// Path below `rules/` and content, sorted by path.\n");
    text.push_str("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        let _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    text.push_str("];\n");
    fs::write(out.join("embedded.rs"), text)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{prefix}{name}");
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else if is_wanted(&name) {
            files.push((name, fs::canonicalize(&path)?));
        }
    }
    Ok(())
}

/// Of a CRS folder the rules, their data, plugins, the set-up template and the licence; no tests, tools or docs.
fn is_wanted(name: &str) -> bool {
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    match name.strip_prefix("crs/") {
        None => ends(&[".conf", ".data", ".sha256"]),
        Some(name) if name.starts_with("rules/") || name.starts_with("plugins/") => {
            ends(&[".conf", ".data", ".example"])
        }
        Some(name) => matches!(name, "crs-setup.conf.example" | "LICENSE" | "NOTICE"),
    }
}
