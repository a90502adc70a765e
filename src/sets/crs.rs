//! CRS folders: where they may be, which version they hold, and the order in which their files load.
//!
//! A folder is the same thing on the disk and in the binary. Does not read rules, but for the line that says the version.

use std::env;
use std::path::PathBuf;

use super::files::{EMBEDDED, Files};
use crate::seclang::source::Loader as _;

/// The folder that `make crs` fills, relative to the working directory.
pub const LOCAL: &str = "rules/crs";

/// A folder with CRS rules in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CrsFolder {
    /// Its path; `<embedded>/crs` for the one in the binary.
    pub root: String,
    /// The version its files tell, when they do.
    pub version: Option<String>,
}

impl CrsFolder {
    /// The folder at `root`, if there are rules in it.
    pub fn at(files: &Files, root: impl Into<String>) -> Option<Self> {
        let root = root.into();
        let rules = files.list(&format!("{root}/rules"), ".conf");
        (!rules.is_empty()).then(|| Self { version: version(files, &rules), root })
    }

    /// The one in the binary, if there was one when it was built.
    pub fn embedded(files: &Files) -> Option<Self> {
        Self::at(files, format!("{EMBEDDED}crs"))
    }

    /// Whether it is the one in the binary.
    pub fn is_embedded(&self) -> bool {
        self.root.starts_with(EMBEDDED)
    }

    /// For people: `crs 4.28.0 (embedded)`, `crs 3.3.10 (/opt/crs)`.
    pub fn title(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of unknown version");
        format!("crs {version} ({})", if self.is_embedded() { "embedded" } else { &self.root })
    }

    /// The folder's own set-up: the edited file, else the template.
    pub fn own_setup(&self, files: &Files) -> Option<String> {
        let names = ["crs-setup.conf", "crs-setup.conf.example"];
        names.into_iter().map(|name| format!("{}/{name}", self.root)).find(|path| files.exists(path))
    }

    /// Everything after the set-up, in load order: plugin configuration, what plugins put before the rules, the rules,
    /// what plugins put after them; each in name order.
    pub fn load_order(&self, files: &Files) -> Vec<String> {
        let parts =
            [("plugins", "-config.conf"), ("plugins", "-before.conf"), ("rules", ".conf"), ("plugins", "-after.conf")];
        parts.into_iter().flat_map(|(folder, ending)| files.list(&format!("{}/{folder}", self.root), ending)).collect()
    }
}

/// The version in the line `SecComponentSignature "OWASP_CRS/4.28.0"` of the initialisation file.
fn version(files: &Files, rules: &[String]) -> Option<String> {
    let path = rules.iter().find(|path| path.ends_with("/REQUEST-901-INITIALIZATION.conf"))?;
    let text = files.read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.trim_start().starts_with("SecComponentSignature"))?;
    let (_, rest) = line.split_once("OWASP_CRS/")?;
    let end = rest.find(|char: char| !char.is_ascii_alphanumeric() && !".-".contains(char)).unwrap_or(rest.len());
    rest.get(..end).filter(|version| !version.is_empty()).map(str::to_owned)
}

/// The folder below which `portcullis crs install` puts versions: `$XDG_DATA_HOME/portcullis/crs`.
pub fn install_root() -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = from("XDG_DATA_HOME").or_else(|| from("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("portcullis/crs"))
}

/// The installed folders, newest version first.
pub fn installed(files: &Files, root: Option<PathBuf>) -> Vec<CrsFolder> {
    let entries = root.and_then(|root| std::fs::read_dir(root).ok()).into_iter().flatten().flatten();
    let paths = entries.filter_map(|entry| entry.path().to_str().map(str::to_owned));
    let mut folders: Vec<CrsFolder> = paths.filter_map(|path| CrsFolder::at(files, path)).collect();
    folders.sort_by_cached_key(|folder| std::cmp::Reverse((numbers(folder), folder.root.clone())));
    folders
}

/// Versions compare by their numbers: 4.9.0 is older than 4.28.0.
fn numbers(folder: &CrsFolder) -> Vec<u32> {
    let version = folder.version.as_deref().unwrap_or_default();
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

/// All CRS at hand, in the order in which `crs` looks for one: the local folder, the installed ones, the embedded one.
pub fn at_hand(files: &Files) -> Vec<CrsFolder> {
    let mut folders = Vec::from_iter(CrsFolder::at(files, LOCAL));
    folders.extend(installed(files, install_root()));
    folders.extend(CrsFolder::embedded(files));
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn write_crs(root: &Path, version: &str) {
        let text =
            format!("# SecComponentSignature \"OWASP_CRS/0.0\"\nSecComponentSignature \"OWASP_CRS/{version}\"\n");
        write(root, "rules/REQUEST-901-INITIALIZATION.conf", &text);
    }

    #[test]
    fn a_folder_without_rules_is_no_crs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        assert_eq!(CrsFolder::at(&Files::default(), root), None);
        write(folder.path(), "rules/REQUEST-900.conf.example", "");
        assert_eq!(CrsFolder::at(&Files::default(), root), None);
        write(folder.path(), "rules/a.conf", "");
        assert_eq!(CrsFolder::at(&Files::default(), root).unwrap().version, None);
    }

    #[test]
    fn files_load_in_the_order_of_the_crs() {
        let folder = tempfile::tempdir().unwrap();
        write_crs(folder.path(), "4.28.0");
        let others = ["rules/RESPONSE-980.conf", "rules/REQUEST-900-X.conf", "rules/a.data", "rules/x.conf.example"];
        let plugins = ["b-after.conf", "b-config.conf", "a-config.conf", "b-before.conf", "b.conf", "b.lua"];
        for name in others.map(str::to_owned).into_iter().chain(plugins.map(|name| format!("plugins/{name}"))) {
            write(folder.path(), &name, "");
        }
        let files = Files::default();
        let crs = CrsFolder::at(&files, folder.path().to_str().unwrap()).unwrap();
        let order = crs.load_order(&files);
        let names: Vec<&str> = order.iter().map(|path| &path[crs.root.len() + 1..]).collect();
        let expected = [
            "plugins/a-config.conf",
            "plugins/b-config.conf",
            "plugins/b-before.conf",
            "rules/REQUEST-900-X.conf",
            "rules/REQUEST-901-INITIALIZATION.conf",
            "rules/RESPONSE-980.conf",
            "plugins/b-after.conf",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_edited_set_up_wins_over_the_template() {
        let folder = tempfile::tempdir().unwrap();
        write_crs(folder.path(), "4.28.0");
        let files = Files::default();
        let crs = CrsFolder::at(&files, folder.path().to_str().unwrap()).unwrap();
        assert_eq!(crs.own_setup(&files), None);
        write(folder.path(), "crs-setup.conf.example", "");
        assert!(crs.own_setup(&files).unwrap().ends_with("/crs-setup.conf.example"));
        write(folder.path(), "crs-setup.conf", "");
        assert!(crs.own_setup(&files).unwrap().ends_with("/crs-setup.conf"));
    }

    #[test]
    fn the_newest_installed_version_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["4.9.0", "4.28.0", "3.3.10"] {
            write_crs(&folder.path().join(version), version);
        }
        fs::create_dir(folder.path().join("5.0.0")).unwrap();
        let found = installed(&Files::default(), Some(folder.path().into()));
        let versions: Vec<_> = found.iter().filter_map(|folder| folder.version.as_deref()).collect();
        assert_eq!(versions, ["4.28.0", "4.9.0", "3.3.10"]);
        assert_eq!(installed(&Files::default(), None), []);
    }
}
