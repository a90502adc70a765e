//! Are these the files of the release? Compares a CRS folder with the list of hashes that was made from the release.
//!
//! A list holds `HASH  PATH` lines, as `sha256sum` writes them, paths relative to the CRS folder.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::embedded;
use super::files::Files;
use crate::seclang::source::Loader as _;

/// Files that users add by design; a release holds them as templates only.
const OWN_FILES: [&str; 2] =
    ["rules/REQUEST-900-EXCLUSION-RULES-BEFORE-CRS.conf", "rules/RESPONSE-999-EXCLUSION-RULES-AFTER-CRS.conf"];

/// How a folder differs from the release.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Differences {
    /// Files of the release whose content is another.
    pub changed: Vec<String>,
    /// Files of the release that are not there.
    pub missing: Vec<String>,
    /// Rule and data files that the release does not have.
    pub extra: Vec<String>,
    /// How many files agree.
    pub agreeing: usize,
}

impl Differences {
    /// Every file of the release is there as released, and nothing else that would be loaded.
    pub fn is_none(&self) -> bool {
        self.changed.is_empty() && self.missing.is_empty() && self.extra.is_empty()
    }

    /// One line for each difference: `changed rules/x.conf`.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let kinds = [("changed", &self.changed), ("missing", &self.missing), ("extra", &self.extra)];
        kinds.into_iter().flat_map(|(kind, names)| names.iter().map(move |name| format!("{kind} {name}")))
    }
}

/// Compares a CRS folder with the manifest of its version; `None` when there is no manifest for it.
pub fn verify(files: &Files, root: &str, version: &str) -> Option<Differences> {
    let manifest = embedded::get(&format!("crs-{version}.sha256"))?;
    Some(compare(files, root, &String::from_utf8_lossy(manifest)))
}

fn compare(files: &Files, root: &str, manifest: &str) -> Differences {
    let mut found = Differences::default();
    let listed: Vec<(&str, &str)> = manifest.lines().filter_map(|line| line.split_once("  ")).collect();
    for (hash, name) in &listed {
        match files.read(&format!("{root}/{name}")) {
            Err(_) => found.missing.push((*name).to_owned()),
            Ok(bytes) if sha256(&bytes) == *hash => found.agreeing += 1,
            Ok(_) => found.changed.push((*name).to_owned()),
        }
    }
    let loaded = [".conf", ".data"].into_iter().flat_map(|ending| files.list(&format!("{root}/rules"), ending));
    let names = loaded.filter_map(|path| path.strip_prefix(&format!("{root}/")).map(str::to_owned));
    let known = |name: &str| OWN_FILES.contains(&name) || listed.iter().any(|(_, listed)| *listed == name);
    found.extra.extend(names.filter(|name| !known(name)));
    found
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_known_hash() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn the_pinned_manifest_is_well_formed() {
        let text = String::from_utf8_lossy(embedded::get("crs-4.28.0.sha256").unwrap());
        for line in text.lines() {
            let (hash, name) = line.split_once("  ").unwrap();
            assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
            assert!(name == "crs-setup.conf.example" || name.starts_with("rules/"), "{line}");
        }
        assert_eq!(text.lines().count(), 49);
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        fs::create_dir(folder.path().join("rules")).unwrap();
        for (name, text) in [("a.conf", "a"), ("b.conf", "changed"), ("more.data", "x"), ("notes.txt", "")] {
            fs::write(folder.path().join("rules").join(name), text).unwrap();
        }
        fs::write(folder.path().join(OWN_FILES[0]), "SecAction id:1").unwrap();
        let manifest: String =
            ["a", "b", "c"].map(|name| format!("{}  rules/{name}.conf\n", sha256(name.as_bytes()))).concat();
        let found = compare(&Files::default(), root, &manifest);
        assert_eq!(found.agreeing, 1);
        let lines: Vec<String> = found.lines().collect();
        assert_eq!(lines, ["changed rules/b.conf", "missing rules/c.conf", "extra rules/more.data"]);
        assert!(!found.is_none());
        assert_eq!(verify(&Files::default(), root, "0.0.1"), None);
    }
}
