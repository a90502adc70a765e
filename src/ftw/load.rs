//! Finds the test files under folders and reads them all, or reports every error there is.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::yaml::Reader;
use super::{FtwError, Test, TestName, v1, v2};

/// The tests of one or more folders, in the order of their files.
#[derive(Clone, Default, Debug)]
pub struct Suite {
    /// The tests.
    pub tests: Vec<Test>,
    /// How many files were read, those without tests included.
    pub files: usize,
}

/// Reads every `.yaml` and `.yml` file under the paths (folders or single files), in name order.
///
/// # Errors
/// Every error in every file: unreadable, not YAML, unknown fields, values of the wrong kind, duplicate names.
pub fn load<P: AsRef<Path>>(paths: &[P]) -> Result<Suite, Vec<FtwError>> {
    let mut errors = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        find(path.as_ref(), &mut files, &mut errors);
    }
    let mut suite = Suite { tests: Vec::new(), files: files.len() };
    for path in &files {
        match std::fs::read_to_string(path) {
            Ok(text) => read(&name_of(path), &text, &mut suite.tests, &mut errors),
            Err(error) => errors.push(FtwError { file: name_of(path), line: 0, message: error.to_string() }),
        }
    }
    refuse_duplicates(&suite.tests, &mut errors);
    if errors.is_empty() { Ok(suite) } else { Err(errors) }
}

fn name_of(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

/// Adds the test files at or under `path`, sorted, to `files`.
fn find(path: &Path, files: &mut Vec<PathBuf>, errors: &mut Vec<FtwError>) {
    if path.is_file() {
        return files.push(path.to_owned());
    }
    let mut entries = Vec::new();
    let listed = std::fs::read_dir(path).and_then(|folder| {
        for entry in folder {
            entries.push(entry?.path());
        }
        Ok(())
    });
    if let Err(error) = listed {
        errors.push(FtwError { file: name_of(path), line: 0, message: error.to_string() });
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            find(&entry, files, errors);
        } else if is_test_file(&entry) {
            files.push(entry);
        }
    }
}

/// YAML files other than those with overrides, which lie beside the test folders in the CRS.
fn is_test_file(path: &Path) -> bool {
    let overrides = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("-overrides"));
    !overrides && path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Reads the tests of one file; an empty one (comments only) has none.
fn read(file: &Arc<str>, text: &str, tests: &mut Vec<Test>, errors: &mut Vec<FtwError>) {
    let mut reader = Reader::new(Arc::clone(file), errors);
    if let Some(document) = reader.document(text) {
        if v1::is_v1(&document) {
            v1::read(&document, &mut reader, tests);
        } else {
            v2::read(&document, &mut reader, tests);
        }
    }
}

fn refuse_duplicates(tests: &[Test], errors: &mut Vec<FtwError>) {
    let mut seen: HashSet<&TestName> = HashSet::with_capacity(tests.len());
    for test in tests {
        if !seen.insert(&test.name) {
            let message = format!("there already is a test `{}`", test.name);
            errors.push(FtwError { file: Arc::clone(&test.file), line: test.line, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads the files, given as (name, text), from a folder of their own.
    fn load_files(files: &[(&str, &str)]) -> Result<Suite, Vec<String>> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        load(&[folder.path()]).map_err(|errors| {
            let prefix = format!("{}/", folder.path().display());
            errors.iter().map(|error| error.to_string().replace(&prefix, "")).collect()
        })
    }

    const V2: &str = "rule_id: 1\ntests:\n  - test_id: 1\n    stages:\n      - input:\n          uri: /\n        output:\n          log:\n            expect_ids: [1]\n";

    #[test]
    fn folders_are_read_in_name_order_and_overrides_are_left_out() {
        let second = V2.replace("rule_id: 1", "rule_id: 2");
        let suite = load_files(&[
            ("b/2.yml", &second),
            ("a/1.yaml", V2),
            ("nginx-overrides.yaml", "not: tests"),
            ("readme.md", "nothing"),
            ("z/empty.yaml", "# no tests here\n"),
        ])
        .unwrap();
        let names: Vec<_> = suite.tests.iter().map(|test| test.name.to_string()).collect();
        assert_eq!((names, suite.files), (vec!["1-1".to_owned(), "2-1".to_owned()], 3));
    }

    #[test]
    fn every_error_is_reported_with_its_line() {
        let cases: [(&str, &[&str]); 6] = [
            (&V2.replace("uri: /", "urri: /"), &["t.yaml:6: unknown field `urri` in `input`"]),
            (&V2.replace("test_id: 1", "test_id: x"), &["t.yaml:3: test_id: `x` is not a number that fits here"]),
            (
                &V2.replace("expect_ids: [1]", "expect_ids: [x]"),
                &["t.yaml:9: expect_ids: `x` is not a number that fits here"],
            ),
            (&format!("{V2}{}", V2.split_once("tests:\n").unwrap().1), &["t.yaml:10: there already is a test `1-1`"]),
            ("rule_id: 1\n", &["t.yaml:1: `tests` is missing"]),
            (
                &V2.replace("expect_ids: [1]", "match_regex: '('").replace("uri: /", "port: x"),
                &["t.yaml:9: match_regex: `(` is not a regular expression"],
            ),
        ];
        for (text, expected) in cases {
            let errors = load_files(&[("t.yaml", text)]).unwrap_err();
            assert_eq!(errors, expected, "{text}");
        }
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert_eq!(load(&["/nonexistent/folder"]).unwrap_err().len(), 1);
    }
}
