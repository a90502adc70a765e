//! What was written, as a flat list of settings: from the file, the environment, and `--set`.
//!
//! Knows which keys there are and nothing of what their values mean.

use std::path::Path;
use std::sync::Arc;

use super::DEFAULT_POLICY;
use super::env::{self, Env};
use super::errors::{Place, Problem, nearest};
use super::keys::{Given, Key, POLICY, REFUSED, TOP};
use super::values::{self, Kind};
use super::yaml::{self, Content, Node};
use super::{Config, Policy};

/// What to say about a name that no TX variable can have.
const NO_VARIABLE: (&str, &str) = ("this is no name of a TX variable", "use letters, digits, `_`, `-` and `.`");

/// A setting as written.
pub(super) struct Setting<'b> {
    pub(super) place: Place,
    pub(super) target: Target,
    pub(super) given: Given<'b>,
}

/// What a setting is about.
#[derive(Clone)]
pub(super) enum Target {
    Top(&'static Key<Config>),
    Policy(&'static Key<Policy>),
    /// A TX variable, by name.
    Variable(String),
}

impl Target {
    /// The key in full.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Top(key) => key.path.to_owned(),
            Self::Policy(key) => in_default(key.path),
            Self::Variable(name) => in_default(&format!("crs.tx.{name}")),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Top(key) => key.kind,
            Self::Policy(key) => key.kind,
            Self::Variable(_) => Kind::Variables,
        }
    }
}

/// The path of a key of the default policy.
pub(super) fn in_default(path: &str) -> String {
    format!("policies.{DEFAULT_POLICY}.{path}")
}

/// The settings of a configuration file.
pub(super) fn from_file<'b>(
    name: &Path,
    text: &str,
    base: Option<&'b Path>,
    problems: &mut Vec<Problem>,
) -> Vec<Setting<'b>> {
    let mut walk = Walk { file: name.display().to_string().into(), base, settings: Vec::new(), problems };
    match yaml::parse(text) {
        Ok(root) => walk.group("", &root),
        Err(broken) => walk.problem(broken.line, "", broken.what, String::new()),
    }
    walk.settings
}

/// The settings in the environment.
pub(super) fn from_environment(env: &dyn Env, problems: &mut Vec<Problem>) -> Vec<Setting<'static>> {
    let (variables, misspelt) = env::settings(env);
    problems.extend(misspelt.into_iter().map(|misspelt| Problem {
        place: Place::Environment(misspelt.name),
        key: String::new(),
        what: "no such setting".to_owned(),
        fix: format!("did you mean `{}`?", misspelt.meant),
    }));
    let setting = |variable: env::Variable| {
        from_text(Place::Environment(variable.name), &variable.key, &variable.value, problems)
    };
    variables.into_iter().filter_map(setting).collect()
}

/// The settings of `--set key=value` arguments.
pub(super) fn from_sets(sets: &[String], problems: &mut Vec<Problem>) -> Vec<Setting<'static>> {
    let mut settings = Vec::new();
    for argument in sets {
        let place = Place::Set(argument.clone());
        match argument.split_once('=') {
            Some((key, value)) => settings.extend(from_text(place, key.trim(), value, problems)),
            None => problems.push(Problem {
                place,
                key: String::new(),
                what: "there is no `=`".to_owned(),
                fix: "write `key=value`, for example `mode=detect`".to_owned(),
            }),
        }
    }
    settings
}

/// A setting whose key may be short and whose value is one text.
fn from_text(place: Place, key: &str, value: &str, problems: &mut Vec<Problem>) -> Option<Setting<'static>> {
    let Some(target) = resolve(key) else {
        let (what, fix) = if names_variable(key).is_some() {
            (NO_VARIABLE.0.to_owned(), NO_VARIABLE.1.to_owned())
        } else {
            unknown(key, key, &short_keys())
        };
        problems.push(Problem { place, key: key.to_owned(), what, fix });
        return None;
    };
    let items = if target.kind().is_list() { split(value) } else { vec![value.to_owned()] };
    let given = Given { items: items.into_iter().map(|item| (0, item)).collect(), base: None };
    Some(Setting { place, target, given })
}

/// The items of a list written on one line: `GET, HEAD` or `[GET, HEAD]`.
fn split(value: &str) -> Vec<String> {
    let value = value.trim();
    let inner = value.strip_prefix('[').and_then(|value| value.strip_suffix(']')).unwrap_or(value);
    inner.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// A key in full, or relative to the default policy, or `tx.NAME`.
fn resolve(key: &str) -> Option<Target> {
    if let Some(name) = names_variable(key) {
        return values::variable_name(name).map(Target::Variable);
    }
    let in_policy = in_default("");
    let relative = key.strip_prefix(&in_policy).unwrap_or(key);
    let top = TOP.iter().find(|row| row.path == key).map(Target::Top);
    let policy = || POLICY.iter().find(|row| row.path == relative && row.kind != Kind::Variables);
    top.or_else(|| policy().map(Target::Policy))
}

/// The name in `tx.NAME`, `crs.tx.NAME` or the key in full.
fn names_variable(key: &str) -> Option<&str> {
    let relative = key.strip_prefix(in_default("").as_str()).unwrap_or(key);
    relative.strip_prefix("crs.tx.").or_else(|| relative.strip_prefix("tx."))
}

fn short_keys() -> Vec<String> {
    let paths = TOP.iter().map(|key| key.path).chain(POLICY.iter().map(|key| key.path));
    paths.map(str::to_owned).collect()
}

/// What to say about a key that is not known: the reason it is refused for, or its neighbour among those that might
/// stand there.
fn unknown(path: &str, written: &str, known: &[String]) -> (String, String) {
    let relative = path.strip_prefix(&in_default("")).unwrap_or(path);
    if let Some((_, reason)) = REFUSED.iter().find(|(path, _)| *path == relative) {
        return (format!("this is not a setting here: {reason}"), "remove it".to_owned());
    }
    let fix = match nearest(written, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", quoted(known)),
    };
    ("unknown key".to_owned(), fix)
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A walk through a document.
struct Walk<'b, 'p> {
    file: Arc<str>,
    base: Option<&'b Path>,
    settings: Vec<Setting<'b>>,
    problems: &'p mut Vec<Problem>,
}

impl<'b> Walk<'b, '_> {
    fn problem(&mut self, line: usize, key: &str, what: impl Into<String>, fix: impl Into<String>) {
        let place = Place::File { file: Arc::clone(&self.file), line };
        self.problems.push(Problem { place, key: key.to_owned(), what: what.into(), fix: fix.into() });
    }

    /// A map of settings; `path` is empty at the top.
    fn group(&mut self, path: &str, node: &Node) {
        let entries = match &node.content {
            Content::Map(entries) => entries,
            Content::Null => return,
            Content::Scalar(_) | Content::List(_) => {
                let fix = format!("write keys below it: {}", quoted(&children(path)));
                return self.problem(node.line, path, "this must be a map", fix);
            }
        };
        for (index, (key, value)) in entries.iter().enumerate() {
            let full = if path.is_empty() { key.name.clone() } else { format!("{path}.{}", key.name) };
            let earlier = entries.iter().take(index).find(|(earlier, _)| earlier.name == key.name);
            match earlier {
                Some((earlier, _)) => {
                    let fix = format!("it stands on line {} too; keep one", earlier.line);
                    self.problem(key.line, &full, "this key is here twice", fix);
                }
                None => self.entry(path, &full, key, value),
            }
        }
    }

    fn entry(&mut self, parent: &str, path: &str, key: &yaml::Key, value: &Node) {
        let place = Place::File { file: Arc::clone(&self.file), line: key.line };
        if path == in_default("crs.tx") {
            return self.variables(path, value);
        }
        match resolve_in_file(path) {
            Some(target) => {
                if let Some(given) = self.given(path, target.kind(), key.line, value) {
                    self.settings.push(Setting { place, target, given });
                }
            }
            None if !children(path).is_empty() => self.group(path, value),
            None if parent == "policies" => {
                let fix = format!("write `{DEFAULT_POLICY}`");
                self.problem(key.line, path, "policies of other names come with a later version", fix);
            }
            None => {
                let (what, fix) = unknown(path, &key.name, &children(parent));
                self.problem(key.line, path, what, fix);
            }
        }
    }

    fn variables(&mut self, path: &str, node: &Node) {
        let entries = match &node.content {
            Content::Map(entries) => entries,
            Content::Null => return,
            Content::Scalar(_) | Content::List(_) => {
                return self.problem(node.line, path, "this must be a map", "write `name: value` below it");
            }
        };
        for (key, value) in entries {
            let full = format!("{path}.{}", key.name);
            let Some(name) = values::variable_name(&key.name) else {
                self.problem(
                    key.line,
                    &full,
                    "this is no name of a TX variable",
                    "use letters, digits, `_`, `-` and `.`",
                );
                continue;
            };
            if let Some(given) = self.given(&full, Kind::Variables, key.line, value) {
                let place = Place::File { file: Arc::clone(&self.file), line: key.line };
                self.settings.push(Setting { place, target: Target::Variable(name), given });
            }
        }
    }

    /// The texts of a value; a single text stands for a list of one.
    fn given(&mut self, path: &str, kind: Kind, line: usize, node: &Node) -> Option<Given<'b>> {
        let items = match &node.content {
            Content::Scalar(text) => vec![(0, text.clone())],
            Content::Null if kind.is_list() => Vec::new(),
            Content::Null => {
                let fix = format!("{}, or remove the line", kind.fix());
                self.problem(line, path, "there is no value", fix);
                return None;
            }
            Content::List(items) if kind.is_list() => self.items(path, kind, items)?,
            Content::List(_) | Content::Map(_) => {
                self.problem(line, path, "this must be a single value", kind.fix());
                return None;
            }
        };
        Some(Given { items, base: self.base })
    }

    fn items(&mut self, path: &str, kind: Kind, nodes: &[Node]) -> Option<Vec<(usize, String)>> {
        let mut items = Vec::new();
        for node in nodes {
            match &node.content {
                Content::Scalar(text) => items.push((node.line, text.clone())),
                _ => self.problem(node.line, path, format!("this is not {}", kind.noun()), kind.fix()),
            }
        }
        (items.len() == nodes.len()).then_some(items)
    }
}

/// A key as it must be written in a file: in full.
fn resolve_in_file(path: &str) -> Option<Target> {
    let top = TOP.iter().find(|row| row.path == path).map(Target::Top);
    let relative = path.strip_prefix(&in_default(""));
    top.or_else(|| POLICY.iter().find(|row| Some(row.path) == relative).map(Target::Policy))
}

/// The names that may stand below a path.
fn children(path: &str) -> Vec<String> {
    let all = TOP.iter().map(|key| key.path.to_owned()).chain(POLICY.iter().map(|key| in_default(key.path)));
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    let mut names: Vec<String> = Vec::new();
    for full in all {
        let Some(name) = full.strip_prefix(&prefix).and_then(|rest| rest.split('.').next()) else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
