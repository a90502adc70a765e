//! Exclusion profiles: what the CRS takes amiss in one well-known application, set aside there and nowhere else.
//!
//! Each is a SecLang file in the binary, `rules/profiles/NAME.conf`, whose first line says what it is for. Knows names
//! and paths, not what is excluded.

use super::files::{EMBEDDED, Files};
use crate::seclang::diag::nearest;
use crate::seclang::source::Loader as _;

/// A profile of the binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Its name in a policy.
    pub name: String,
    /// What it is for, in a line.
    pub about: String,
    /// Where it is.
    pub path: String,
}

/// Every profile, in the order of their names.
pub fn all(files: &Files) -> Vec<Profile> {
    let folder = format!("{EMBEDDED}profiles");
    let profile = |path: String| {
        let name = path.strip_prefix(&format!("{folder}/"))?.strip_suffix(".conf")?.to_owned();
        let text = files.read(&path).unwrap_or_default();
        let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let about = String::from_utf8_lossy(first).trim_start_matches('#').trim().to_owned();
        Some(Profile { name, about, path })
    };
    files.list(&folder, ".conf").into_iter().filter_map(profile).collect()
}

/// The files of the profiles of these names, each once.
///
/// # Errors
/// Every name that is none, with those there are.
pub fn paths(files: &Files, names: &[String]) -> Result<Vec<String>, Vec<String>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let profiles = all(files);
    let mut paths = Vec::new();
    let mut errors = Vec::new();
    for name in names {
        match profiles.iter().find(|profile| profile.name == *name) {
            Some(profile) if paths.contains(&profile.path) => {}
            Some(profile) => paths.push(profile.path.clone()),
            None => errors.push(unknown(name, &profiles)),
        }
    }
    if errors.is_empty() { Ok(paths) } else { Err(errors) }
}

fn unknown(name: &str, profiles: &[Profile]) -> String {
    let known: Vec<String> = profiles.iter().map(|profile| format!("`{}`", profile.name)).collect();
    let meant = nearest(name, profiles.iter().map(|profile| profile.name.as_str()));
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    format!("profiles: there is no profile `{name}`; {meant}there are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_is_for() {
        let profiles = all(&Files::default());
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        assert_eq!(names, ["gitlab", "grafana", "graphql", "jsf", "nextcloud", "oidc", "wordpress"]);
        for profile in &profiles {
            assert!(profile.about.len() > 20 && !profile.about.starts_with('#'), "{profile:?}");
        }
    }

    #[test]
    fn names_become_paths_and_a_wrong_one_names_the_others() {
        let files = Files::default();
        let paths = |names: &[&str]| paths(&files, &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(paths(&[]), Ok(Vec::new()));
        let expected = ["<embedded>/profiles/oidc.conf", "<embedded>/profiles/jsf.conf"];
        assert_eq!(paths(&["oidc", "jsf", "oidc"]), Ok(expected.map(str::to_owned).into()));
        let errors = paths(&["wordpres", "oidc", "drupal"]).unwrap_err();
        let known = "there are `gitlab`, `grafana`, `graphql`, `jsf`, `nextcloud`, `oidc`, `wordpress`";
        let first = format!("profiles: there is no profile `wordpres`; did you mean `wordpress`? {known}");
        assert_eq!(errors, [first, format!("profiles: there is no profile `drupal`; {known}")]);
    }
}
