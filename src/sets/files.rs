//! Where rule files are read from: the disk, the binary, and texts made by the program.
//!
//! One [`Loader`] in layers. A path that holds `<embedded>/` names a file of the binary, from whatever file it is
//! included; a generated text goes by the name it was given; everything else is on the disk.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

use super::embedded;
use crate::seclang::source::Loader;

/// Begins the path of an embedded file: `<embedded>/portcullis.conf`.
pub const EMBEDDED: &str = "<embedded>/";

/// The files of one load, and which of those on the disk were read.
#[derive(Default, Debug)]
pub struct Files {
    generated: BTreeMap<String, Vec<u8>>,
    seen: RefCell<BTreeSet<PathBuf>>,
}

impl Files {
    /// Adds a text under a name that cannot be on the disk, such as `<policy>`.
    pub fn generate(&mut self, name: &str, text: impl Into<Vec<u8>>) {
        self.generated.insert(name.to_owned(), text.into());
    }

    /// The files read from the disk so far, sorted.
    pub fn seen(&self) -> Vec<PathBuf> {
        self.seen.borrow().iter().cloned().collect()
    }

    /// The paths of a folder's files with this ending, in the order of their names; empty when there is no folder.
    pub fn list(&self, folder: &str, ending: &str) -> Vec<String> {
        let mut names = match embedded_name(folder) {
            Some(below) => embedded_files(&format!("{below}/")),
            None => disk_files(Path::new(folder)),
        };
        names.retain(|name| name.ends_with(ending) && !name.starts_with('.'));
        names.sort_unstable();
        names.iter().map(|name| format!("{folder}/{name}")).collect()
    }

    /// Whether there is such a file.
    pub fn exists(&self, path: &str) -> bool {
        match embedded_name(path) {
            Some(name) => embedded::get(name).is_some(),
            None => self.generated.contains_key(path) || Path::new(path).is_file(),
        }
    }
}

/// The path below `rules/`, when this names an embedded file. Includes are relative to the file that holds them, so
/// whatever stands before the mark is left aside.
fn embedded_name(path: &str) -> Option<&str> {
    path.rfind(EMBEDDED).and_then(|at| path.get(at + EMBEDDED.len()..))
}

fn embedded_files(folder: &str) -> Vec<String> {
    let names = embedded::below(folder).filter_map(|(path, _)| path.strip_prefix(folder));
    names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
}

/// Names that are not UTF-8 cannot be written in SecLang text and are passed over.
fn disk_files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    paths.filter_map(|path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned)).collect()
}

impl Loader for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        if let Some(name) = embedded_name(path) {
            return embedded::get(name).map(<[u8]>::to_vec).ok_or_else(|| "no such file in the binary".into());
        }
        if let Some(text) = self.generated.get(path) {
            return Ok(text.clone());
        }
        let bytes = fs::read(path).map_err(|error| reason(&error))?;
        self.seen.borrow_mut().insert(path.into());
        Ok(bytes)
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>, String> {
        // A path that happens to hold `[` or `*` and exists means itself.
        if self.exists(pattern) {
            return Ok(vec![pattern.to_owned()]);
        }
        match embedded_name(pattern) {
            Some(name) => embedded_glob(name),
            None => disk_glob(pattern),
        }
    }
}

/// Why a file cannot be read; whoever reports it names the path.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// As a shell does it: `*` stops at `/` and does not begin a hidden file's name.
const AS_IN_A_SHELL: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

fn embedded_glob(name: &str) -> Result<Vec<String>, String> {
    let pattern = glob::Pattern::new(name).map_err(|error| unusable(name, &error))?;
    let matching = embedded::below("").filter(|(path, _)| pattern.matches_with(path, AS_IN_A_SHELL));
    Ok(matching.map(|(path, _)| format!("{EMBEDDED}{path}")).collect())
}

fn disk_glob(pattern: &str) -> Result<Vec<String>, String> {
    let paths = glob::glob_with(pattern, AS_IN_A_SHELL).map_err(|error| unusable(pattern, &error))?;
    let files = paths.flatten().filter(|path| path.is_file());
    let mut names: Vec<String> = files.filter_map(|path| path.to_str().map(str::to_owned)).collect();
    names.sort_unstable();
    Ok(names)
}

fn unusable(pattern: &str, error: &glob::PatternError) -> String {
    format!("the pattern `{pattern}` is not usable: {}", error.msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(names: &[&str]) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let path = folder.path().to_str().unwrap().to_owned();
        (folder, path)
    }

    #[test]
    fn disk_files_are_read_and_remembered() {
        let (_guard, path) = folder(&["a.conf"]);
        let files = Files::default();
        assert_eq!(files.read(&format!("{path}/a.conf")).unwrap(), b"a.conf");
        assert_eq!(files.read(&format!("{path}/b.conf")), Err("no such file".into()));
        assert_eq!(files.read(&path), Err("it is a folder".into()));
        assert_eq!(files.seen(), [PathBuf::from(format!("{path}/a.conf"))]);
    }

    #[test]
    fn embedded_files_are_found_from_any_including_file() {
        let files = Files::default();
        for path in ["<embedded>/portcullis.conf", "/etc/waf/<embedded>/portcullis.conf"] {
            assert_eq!(files.read(path).as_deref(), Ok(embedded::get("portcullis.conf").unwrap()), "{path}");
            assert_eq!(files.glob(path).unwrap().len(), 1, "{path}");
        }
        assert_eq!(files.read("<embedded>/no.conf"), Err("no such file in the binary".into()));
        assert!(files.glob("<embedded>/*.conf").unwrap().contains(&"<embedded>/portcullis.conf".to_owned()));
        assert!(files.seen().is_empty());
    }

    #[test]
    fn generated_texts_go_by_their_name() {
        let mut files = Files::default();
        files.generate("<policy>", "SecRuleEngine On\n");
        assert_eq!(files.read("<policy>").unwrap(), b"SecRuleEngine On\n");
    }

    #[test]
    fn globs_are_sorted_and_a_real_name_wins_over_a_pattern() {
        let (_guard, path) = folder(&["b.conf", "a.conf", ".c.conf", "sub/d.conf", "x[1].conf"]);
        let files = Files::default();
        let found = |pattern: &str| {
            let found = files.glob(&format!("{path}/{pattern}")).unwrap();
            found.iter().map(|found| found[path.len() + 1..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("*.conf"), ["a.conf", "b.conf", "x[1].conf"]);
        assert_eq!(found("x[1].conf"), ["x[1].conf"]);
        assert_eq!(found("*/d.conf"), ["sub/d.conf"]);
        assert_eq!(found("none*"), Vec::<String>::new());
        assert!(files.glob(&format!("{path}/***")).unwrap_err().contains("not usable"));
    }

    #[test]
    fn lists_leave_out_hidden_files_and_other_endings() {
        let (_guard, path) = folder(&["b.conf", "a.conf", ".c.conf", "sub/d.conf", "a.conf.example"]);
        let files = Files::default();
        assert_eq!(files.list(&path, ".conf"), [format!("{path}/a.conf"), format!("{path}/b.conf")]);
        assert_eq!(files.list(&format!("{path}/none"), ".conf"), Vec::<String>::new());
    }
}
