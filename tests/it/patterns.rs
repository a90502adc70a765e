//! The operators of both CRS versions: every argument without a macro makes a matcher.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use portcullis::seclang::ast::DirectiveKind;
use portcullis::seclang::parser::parse_text;
use portcullis::seclang::source::Loader;
use portcullis::vocab::operators::{BuildContext, OperatorKind, find};
use portcullis::vocab::pcre::{Groups, Pattern};

use crate::shared;

/// Reads the files of one folder.
struct Rules(PathBuf);

impl Loader for Rules {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(|error| error.to_string())
    }

    fn glob(&self, _: &str) -> Result<Vec<String>, String> {
        let entries = std::fs::read_dir(&self.0).map_err(|error| error.to_string())?;
        let paths = entries.filter_map(|entry| entry.ok()?.path().into_os_string().into_string().ok());
        Ok(paths.filter(|path| path.ends_with(".conf")).collect())
    }
}

/// Data files from the folder.
struct Context<'f> {
    folder: &'f Path,
}

impl BuildContext for Context<'_> {
    fn data_file(&mut self, name: &str) -> Result<Vec<u8>, String> {
        std::fs::read(self.folder.join(name)).map_err(|error| error.to_string())
    }

    fn match_limit(&self) -> usize {
        10_000
    }
}

/// All operators of the version: name and argument.
fn operators(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let parsed = parse_text(&Rules(folder.to_owned()), "entry.conf", b"Include *.conf");
    let operators = parsed.program.directives.into_iter().filter_map(|directive| match directive.kind {
        DirectiveKind::Rule { operator, .. } => Some((operator.name.node, operator.argument.node)),
        _ => None,
    });
    operators.collect()
}

/// Builds every operator; checks how many `@rx` there are and which of their patterns need backtracking, given by a
/// text each holds.
fn check(version: &str, patterns: usize, macros: usize, backtracking: &[&str]) {
    let Some(folder) = shared::folder(&format!("crs/{version}/rules")) else { return };
    let mut context = Context { folder: &folder };
    let (mut built, mut expanded_later, mut slow) = (BTreeMap::<String, usize>::new(), 0, Vec::new());
    for (name, argument) in operators(&folder) {
        let entry = find(&name).unwrap_or_else(|| panic!("@{name} is not known"));
        let OperatorKind::Build(build) = entry.kind else { continue };
        *built.entry(entry.name.to_owned()).or_default() += 1;
        if argument.windows(2).any(|pair| pair == b"%{") {
            expanded_later += 1;
            continue;
        }
        // A pattern is compiled once, in the way that tells which engine took it.
        let result = match entry.name {
            "rx" => Pattern::new(&argument, context.match_limit()).map(|pattern| {
                if !pattern.is_linear() {
                    slow.push(argument.escape_ascii().to_string());
                }
            }),
            _ => build(&argument, &mut context).map(drop),
        };
        result.unwrap_or_else(|error| panic!("@{name} {}: {error:?}", argument.escape_ascii()));
    }
    println!("{version}: built {built:?}, with macros {expanded_later}");
    assert_eq!(built.get("rx"), Some(&patterns));
    assert_eq!(expanded_later, macros);
    assert_eq!(slow.len(), backtracking.len(), "{slow:#?}");
    for text in backtracking {
        assert!(slow.iter().any(|pattern| pattern.contains(text)), "no pattern with `{text}` needs backtracking");
    }
}

#[test]
fn crs_4_is_linear_throughout() {
    check("4.28.0", 318, 0, &[]);
}

#[test]
fn crs_3_needs_backtracking_for_three_patterns() {
    check("3.3.10", 266, 1, &["(?<!&(?:[aAoOuUyY]uml)", r"\\b\\1\\b", r"<\\?(?!xml)"]);
}

/// The lines of all test files of the version, as values: requests of every kind, as text and with their escapes decoded.
fn lines(folder: &Path, values: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lines(&path, values);
        } else if path.extension().is_some_and(|ext| ext == "yaml") {
            let text = std::fs::read(&path).unwrap();
            values.extend(text.split(|byte| *byte == b'\n').map(|line| line.trim_ascii().to_vec()));
        }
    }
}

/// Two engines share the work: one says whether there is a match, one where. They have to agree on that there is one.
fn check_engines(version: &str, least: usize) {
    const EVERY: usize = 7;
    let Some(folder) = shared::folder(&format!("crs/{version}/rules")) else { return };
    let mut values = Vec::new();
    lines(&folder.join("../tests/regression"), &mut values);
    values.sort();
    values.dedup();
    let (mut compared, mut matched, mut bytes) = (0, 0, 0);
    let rules = operators(&folder).into_iter().filter(|(name, argument)| name == "rx" && !argument.contains(&b'%'));
    for (place, (_, argument)) in rules.enumerate() {
        let pattern = Pattern::new(&argument, 10_000).unwrap();
        bytes += pattern.automaton_bytes();
        for value in values.iter().skip(place % EVERY).step_by(EVERY) {
            let found = pattern.find_at(value, 0, &mut Groups::default());
            assert_eq!(pattern.is_match(value), found, "{} {}", argument.escape_ascii(), value.escape_ascii());
            compared += 1;
            matched += usize::from(found == Ok(true));
        }
    }
    println!("{version}: compared {compared}, matched {matched}, automata of {bytes} bytes");
    assert!(compared >= least && matched >= least / 200, "{compared} {matched}");
    assert!(bytes < 8 << 20, "the automata take {bytes} bytes");
}

#[test]
fn both_engines_agree_on_crs_4() {
    check_engines("4.28.0", 100_000);
}

#[test]
fn both_engines_agree_on_crs_3() {
    check_engines("3.3.10", 100_000);
}
