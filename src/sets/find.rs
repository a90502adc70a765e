//! From a name to the files: which set is meant, and is it there?
//!
//! A set that was named and is not there is an error with the next step; only when none was named do the baseline rules
//! stand in, and say so.

use std::path::Path;

use super::crs::{self, CrsFolder, LOCAL};
use super::files::{EMBEDDED, Files};
use super::spec::{FORMS, SetSpec};

/// A rule set that is there: what it is called, and the files to load, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// For `/status`.
    pub title: String,
    /// What kind it is.
    pub kind: Kind,
    /// No set was named, and no CRS was at hand.
    pub fallback: bool,
}

/// The kinds of rule set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A CRS folder, with the set-up file to load before it.
    Crs {
        /// The folder.
        folder: CrsFolder,
        /// The set-up file.
        setup: String,
    },
    /// Our own rules.
    Baseline,
    /// A SecLang file that says all by itself.
    File(String),
}

/// Finds the set a policy names, or the best one at hand.
///
/// # Errors
/// What is not there, and the next step.
pub fn find(files: &Files, rules: Option<&str>) -> Result<Found, String> {
    let Some(name) = rules else { return Ok(best_at_hand(files)) };
    let kind = match name.parse()? {
        SetSpec::Crs => with_our_setup(crs::at_hand(files).into_iter().next().ok_or_else(no_crs)?),
        SetSpec::CrsVersion(version) => with_own_setup(files, of_version(files, &version)?)?,
        SetSpec::CrsFolder(folder) => with_own_setup(files, in_folder(files, &folder)?)?,
        SetSpec::Baseline => Kind::Baseline,
        SetSpec::File(path) => Kind::File(entry_file(&path)?),
    };
    Ok(Found { title: title(&kind), kind, fallback: false })
}

fn best_at_hand(files: &Files) -> Found {
    let crs = crs::at_hand(files).into_iter().next();
    let fallback = crs.is_none();
    let kind = crs.map_or(Kind::Baseline, with_our_setup);
    Found { title: title(&kind), kind, fallback }
}

fn title(kind: &Kind) -> String {
    match kind {
        Kind::Crs { folder, .. } => folder.title(),
        Kind::Baseline => "baseline".to_owned(),
        Kind::File(path) => path.clone(),
    }
}

fn with_our_setup(folder: CrsFolder) -> Kind {
    Kind::Crs { folder, setup: format!("{EMBEDDED}crs-setup.conf") }
}

fn with_own_setup(files: &Files, folder: CrsFolder) -> Result<Kind, String> {
    let setup = folder.own_setup(files).ok_or_else(|| {
        format!(
            "`{}` has neither `crs-setup.conf` nor `crs-setup.conf.example`, without which the CRS refuses every \
             request; copy one there",
            folder.root
        )
    })?;
    Ok(Kind::Crs { folder, setup })
}

fn no_crs() -> String {
    let installed = crs::install_root().map(|root| format!(", nothing in `{}`", root.display())).unwrap_or_default();
    format!(
        "rule set `crs` is not there: no rules in `{LOCAL}/rules`{installed}, none built in; run `make crs` or \
         `portcullis crs install --from DIR`, or name another set: {FORMS}"
    )
}

fn of_version(files: &Files, version: &str) -> Result<CrsFolder, String> {
    let at_hand = crs::at_hand(files);
    let found: Vec<String> = at_hand.iter().map(CrsFolder::title).collect();
    at_hand.into_iter().find(|folder| folder.version.as_deref() == Some(version)).ok_or_else(|| {
        let found = if found.is_empty() { "no CRS at all".to_owned() } else { found.join(", ") };
        format!(
            "rule set `crs@{version}` is not there, found {found}; install it with `portcullis crs install --from DIR`, \
             or name its folder: `crs@DIR`"
        )
    })
}

fn in_folder(files: &Files, folder: &Path) -> Result<CrsFolder, String> {
    let path = folder.to_str().ok_or_else(|| not_utf8(folder))?.trim_end_matches('/');
    CrsFolder::at(files, if path.is_empty() { "/" } else { path }).ok_or_else(|| {
        let what = if folder.is_dir() { "has no `rules/*.conf`" } else { "is no folder" };
        format!("rule set `crs@{path}` is not there: `{path}` {what}; name the folder that holds `rules/`")
    })
}

fn entry_file(path: &Path) -> Result<String, String> {
    let name = path.to_str().ok_or_else(|| not_utf8(path))?;
    if path.is_dir() {
        return Err(format!("`{name}` is a folder; write `crs@{name}` if it holds a CRS, or name the SecLang file"));
    }
    // Pipes and the like can be read too, so anything that exists will do.
    if !path.exists() {
        return Err(format!("rule set `{name}` is not there: no such file; name one of {FORMS}"));
    }
    Ok(name.to_owned())
}

fn not_utf8(path: &Path) -> String {
    format!("the path `{}` is not UTF-8, which rule files cannot express; rename it", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_not_there_is_an_error_with_the_next_step() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let cases = [
            ("crs@0.0.1".to_owned(), "portcullis crs install"),
            (format!("crs@{root}"), "has no `rules/*.conf`"),
            (format!("crs@{root}/none"), "is no folder"),
            (format!("{root}/none.conf"), "no such file"),
            (root.to_owned(), "is a folder; write `crs@"),
            ("crs@".to_owned(), "names no version"),
        ];
        for (name, part) in cases {
            let error = find(&Files::default(), Some(&name)).unwrap_err();
            assert!(error.contains(part), "{name}: {error}");
        }
    }

    #[test]
    fn a_folder_is_taken_with_its_own_set_up_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("rules")).unwrap();
        fs::write(folder.path().join("rules/a.conf"), "").unwrap();
        let name = format!("crs@{}/", folder.path().display());
        assert!(find(&Files::default(), Some(&name)).unwrap_err().contains("crs-setup.conf.example"));
        fs::write(folder.path().join("crs-setup.conf"), "").unwrap();
        let found = find(&Files::default(), Some(&name)).unwrap();
        let Kind::Crs { folder: crs, setup } = &found.kind else { panic!("{found:?}") };
        assert_eq!(setup, &format!("{}/crs-setup.conf", crs.root));
        assert!(!found.fallback && found.title.starts_with("crs of unknown version (/"), "{}", found.title);
    }
}
