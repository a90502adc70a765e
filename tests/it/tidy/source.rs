//! The source files of this repository, as text.

use std::fs;
use std::path::Path;

/// A source file.
pub(super) struct Source {
    /// The path from the root of the repository.
    pub(super) path: String,
    /// The content.
    pub(super) text: String,
}

/// Every Rust file below these folders, sorted by path; what was fetched or built is left out.
pub(super) fn sources(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in folders {
        collect(&root.join(folder), folder, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, path: &str, found: &mut Vec<Source>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let path = format!("{path}/{name}");
        if entry.path().is_dir() {
            if name != "target" && path != "rules/crs" {
                collect(&entry.path(), &path, found);
            }
        } else if name.ends_with(".rs") {
            found.push(Source { text: fs::read_to_string(entry.path()).unwrap(), path });
        }
    }
}

impl Source {
    /// The module of the crate that a file below `src` belongs to; `None` for the roots and for files of tests alone.
    pub(super) fn module(&self) -> Option<&str> {
        let path = self.path.strip_prefix("src/")?.strip_suffix(".rs")?;
        let name = path.rsplit('/').next()?;
        let module = path.split('/').next()?;
        (!matches!(module, "lib" | "main") && !matches!(name, "tests" | "testing")).then_some(module)
    }

    /// The code without comments and without the unit tests, which come last; lines keep their numbers.
    pub(super) fn code(&self) -> String {
        let tests = self.text.find("#[cfg(test)]\nmod tests {").unwrap_or(self.text.len());
        let code = self.text.get(..tests).unwrap_or_default();
        let is_comment = |line: &str| line.trim_start().starts_with("//");
        let lines =
            code.lines().map(|line| if is_comment(line) { "" } else { line.split(" // ").next().unwrap_or(line) });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The line, from 1, of a place in the text.
    pub(super) fn line_of(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or_default().matches('\n').count() + 1
    }
}

#[test]
fn comments_and_unit_tests_do_not_count() {
    let text =
        "//! See [`crate::a`].\nuse crate::b; // not crate::c\n#[cfg(test)]\nmod tests {\n    use crate::d;\n}\n";
    let source = Source { path: "src/x/y.rs".into(), text: text.into() };
    assert_eq!(source.code(), "\nuse crate::b;");
    assert_eq!(source.module(), Some("x"));
    let modules = ["src/x.rs", "src/lib.rs", "src/x/tests.rs", "tests/it/x.rs"];
    let modules = modules.map(|path| Source { path: path.into(), text: String::new() }.module().map(str::to_owned));
    assert_eq!(modules, [Some("x".into()), None, None, None]);
}
