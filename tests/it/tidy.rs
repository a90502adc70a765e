//! The rules of the house that no lint knows: which module may use which, and what no file may hold.

mod imports;
mod source;

use std::path::Path;
use std::process::Command;

use self::source::{Source, sources};

/// Which modules of this crate each may mention. What is not listed is not allowed; a new module needs a row.
const MAY_USE: &[(&str, &[&str])] = &[
    // The core: no I/O, no clock, no async.
    ("model", &[]),
    ("seclang", &[]),
    ("vocab", &["model"]),
    ("ruleset", &["model", "vocab"]),
    ("compile", &["model", "ruleset", "seclang", "vocab"]),
    ("engine", &["model", "ruleset", "vocab"]),
    // The rim.
    ("config", &["model"]),
    ("input", &["model"]),
    ("sets", &["compile", "config", "model", "ruleset", "seclang"]),
    ("service", &["config", "engine", "model", "ruleset", "sets"]),
    ("transport", &["config", "model", "service"]),
    ("ftw", &["config", "engine", "input", "model", "ruleset", "seclang", "sets"]),
    ("cli", &["config", "engine", "ftw", "input", "model", "ruleset", "seclang", "service", "sets", "transport"]),
];

/// Reports all offences at once; a check that looked at nothing is an offence too.
fn report(offences: &[String], looked_at: usize) {
    println!("tidy: looked at {looked_at}, found {}", offences.len());
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
    assert!(looked_at > 0, "nothing was looked at");
}

#[test]
fn modules_use_only_what_the_table_allows() {
    let (mut offences, mut imports) = (Vec::new(), 0);
    for source in sources(&["src"]) {
        let Some(module) = source.module() else { continue };
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
            offences.push(format!("{}: module `{module}` has no row in tests/it/tidy.rs", source.path));
            continue;
        };
        for (line, used) in imports::of_crate(&source.code()) {
            imports += 1;
            if used != module && !allowed.contains(&used.as_str()) {
                offences.push(format!("{}:{line}: `{module}` may not use `{used}`", source.path));
            }
        }
    }
    report(&offences, imports);
}

#[test]
fn every_row_of_the_table_is_about_a_module() {
    let names = MAY_USE.iter().flat_map(|(name, allowed)| std::iter::once(name).chain(*allowed));
    let listed: std::collections::BTreeSet<_> = names.collect();
    let unlisted = listed.iter().filter(|name| !MAY_USE.iter().any(|(row, _)| row == **name));
    assert_eq!(unlisted.count(), 0);
    assert!(MAY_USE.iter().all(|(name, allowed)| !allowed.contains(name) && allowed.is_sorted()));
}

const ALL: [&str; 5] = ["src", "tests", "benches", "proto", "rules"];

fn offences_in(folders: &[&str], judge: impl Fn(&Source) -> Vec<String>) {
    let all = sources(folders);
    let offences: Vec<String> = all.iter().flat_map(&judge).collect();
    report(&offences, all.len());
}

#[test]
fn every_file_says_what_it_is() {
    offences_in(&ALL, |source| {
        let documented = source.text.starts_with("//!");
        (!documented)
            .then(|| format!("{}:1: begin with a `//!` line that says what this is", source.path))
            .into_iter()
            .collect()
    });
}

#[test]
fn modules_are_named_after_their_file() {
    offences_in(&["src"], |source| {
        let is_mod = source.path.ends_with("/mod.rs");
        is_mod.then(|| format!("{}: write `name.rs` beside `name/`", source.path)).into_iter().collect()
    });
}

/// Written in pieces, so that this file does not offend itself.
fn forbidden() -> [(String, &'static str); 6] {
    [
        (format!("#[{}", "ignore"), "assert today's answer and say why it is wrong"),
        (format!("TO{}", "DO"), "do it, or open an issue"),
        (format!("FIX{}", "ME"), "fix it, or open an issue"),
        (format!("{}!(", "dbg"), "remove it"),
        (format!("{}!(", "todo"), "what is not there is not offered"),
        (format!("{}!(", "unimplemented"), "what is not there is not offered"),
    ]
}

fn forbidden_in(source: &Source) -> Vec<String> {
    let lines = source.text.lines().enumerate();
    let found = lines.flat_map(|(at, line)| {
        let words = forbidden().into_iter().filter(|(word, _)| line.contains(word.as_str()));
        words.map(move |(word, advice)| (at + 1, word, advice)).collect::<Vec<_>>()
    });
    found.map(|(line, word, advice)| format!("{}:{line}: `{word}`: {advice}", source.path)).collect()
}

#[test]
fn nothing_is_put_off() {
    offences_in(&ALL, forbidden_in);
    let offence = Source { path: "a.rs".into(), text: format!("//! A.\n// {}: later\n", forbidden()[1].0) };
    assert_eq!(forbidden_in(&offence).len(), 1);
}

/// A lint is switched off with a reason, and with `expect`, which speaks up once it is no longer needed.
fn bare_allows(source: &Source) -> Vec<String> {
    let attribute = ["#[", "#!["].map(|start| format!("{start}{}(", "allow"));
    let places = attribute.iter().flat_map(|word| source.text.match_indices(word.as_str()));
    let bare = places.filter(|(at, _)| {
        let attribute = source.text.get(*at..).and_then(|rest| rest.split(")]").next()).unwrap_or_default();
        !attribute.contains("reason = ")
    });
    bare.map(|(at, _)| format!("{}:{}: give a reason", source.path, source.line_of(at))).collect()
}

#[test]
fn lints_are_switched_off_with_a_reason() {
    offences_in(&ALL, bare_allows);
    let offence = Source { path: "a.rs".into(), text: format!("\n#[{}(dead_code)]\nfn a() {{}}", "allow") };
    assert_eq!(bare_allows(&offence), ["a.rs:2: give a reason"]);
}

/// Rules of the CRS belong to the CRS: they are fetched, never committed.
fn is_of_the_crs(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let rule_file = ["REQUEST-9", "RESPONSE-9"].iter().any(|start| name.starts_with(start));
    path.starts_with("rules/crs/") || rule_file || name == "crs-setup.conf.example"
}

#[test]
fn no_file_of_the_crs_is_committed() {
    let listed = Command::new("git").args(["ls-files"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        println!("SKIPPED: no git repository here, so nothing can have been committed");
        return;
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let offences: Vec<String> = listed.lines().filter(|path| is_of_the_crs(path)).map(str::to_owned).collect();
    report(&offences, listed.lines().count());
    assert!(is_of_the_crs("tests/vectors/REQUEST-901-INITIALIZATION.conf") && !is_of_the_crs("rules/crs-setup.conf"));
}

#[test]
fn the_repository_holds_what_it_promises() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["Cargo.lock", "LICENSE", "Makefile", ".ci/run", "rules/portcullis.conf", "rules/fetch-crs"] {
        assert!(root.join(name).is_file(), "{name}");
    }
}
