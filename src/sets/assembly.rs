//! One program out of many files: the engine's set-up, the policy's settings and exclusions, the rules.
//!
//! The files are named by `Include` lines in a generated text, so that the parser does all the reading. Two things an
//! order of files cannot say are done on the syntax tree: exclusions are split by kind, and the settings for a SecLang
//! file of the user's go behind that file's own set-up.
//!
//! Of an exclusion file, `SecRuleRemove…`, `SecRuleUpdateTarget…` and `SecRuleUpdateAction…` act on rules loaded so far
//! and go behind the rules; everything else (rules with `ctl:` actions above all) must run before them and goes in front.

use std::path::PathBuf;

use super::files::{EMBEDDED, Files};
use super::find::{Found, Kind};
use super::{LastWord, profiles, settings};
use crate::config::Policy;
use crate::seclang::ast::{Action, Directive, DirectiveKind, Program};
use crate::seclang::diag::Diagnostic;
use crate::seclang::parser::{self, Parsed};

/// The name of the generated text in messages.
pub const GENERATED: &str = "<policy>";

const BEGIN_POLICY: &str = "PORTCULLIS-POLICY";
const BEGIN_RULES: &str = "PORTCULLIS-RULES";
const END_RULES: &str = "PORTCULLIS-END";

/// Writes the text, parses it with all it includes, and puts everything in its place.
///
/// # Errors
/// The policy's settings that cannot be expressed.
pub fn assemble(files: &Files, found: &Found, with: &With<'_>) -> Result<Parsed, Vec<String>> {
    let text = text(files, found, with)?;
    let mut parsed = parser::parse_text(files, GENERATED, text.as_bytes());
    arrange(&mut parsed, matches!(found.kind, Kind::File(_)));
    if with.decides(&found.kind) {
        parsed.diagnostics.extend(overridden(&parsed.program, with.policy));
    }
    Ok(parsed)
}

/// What is put around the rules.
#[derive(Clone, Copy, Debug)]
pub struct With<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// Generated files in the place of exclusions.
    pub extra: &'a [&'a str],
    /// Whose engine directives hold.
    pub last_word: LastWord,
}

impl With<'_> {
    fn decides(&self, kind: &Kind) -> bool {
        self.last_word == LastWord::Policy || !matches!(kind, Kind::File(_))
    }
}

fn text(files: &Files, found: &Found, with: &With<'_>) -> Result<String, Vec<String>> {
    let policy = with.policy;
    let (setup, version, rules) = match &found.kind {
        Kind::Crs { folder, setup } => {
            (vec![engine_set_up(), setup.clone()], folder.version.as_deref(), folder.load_order(files))
        }
        Kind::Baseline => {
            (vec![engine_set_up()], Some("baseline"), files.list(&format!("{EMBEDDED}baseline"), ".conf"))
        }
        Kind::File(path) => (Vec::new(), None, vec![path.clone()]),
    };
    let mut errors = Vec::new();
    let mut keep = |part: Result<String, Vec<String>>| part.unwrap_or_else(|found| errors_into(&mut errors, found));
    let parts = [
        keep(includes(&setup)),
        marker(BEGIN_POLICY),
        keep(settings::transaction_variables(&policy.crs, version)),
        keep(profiles::paths(files, &policy.profiles).and_then(|paths| includes(&paths))),
        keep(includes(with.extra)),
        keep(paths(&policy.exclusions).and_then(|paths| includes(&paths))),
        marker(BEGIN_RULES),
        keep(includes(&rules)),
        marker(END_RULES),
        if with.decides(&found.kind) { engine_directives(policy) } else { String::new() },
        settings::doctype(policy),
        if setup.is_empty() { String::new() } else { settings::set_up_changes(policy) },
    ];
    if errors.is_empty() { Ok(parts.concat()) } else { Err(errors) }
}

fn errors_into(errors: &mut Vec<String>, found: Vec<String>) -> String {
    errors.extend(found);
    String::new()
}

fn engine_directives(policy: &Policy) -> String {
    settings::engine(policy).iter().map(|(name, value, _)| format!("{name} {value}\n")).collect()
}

fn engine_set_up() -> String {
    format!("{EMBEDDED}portcullis.conf")
}

fn marker(name: &str) -> String {
    format!("SecMarker {name}\n")
}

fn paths(paths: &[PathBuf]) -> Result<Vec<String>, Vec<String>> {
    let text = |path: &PathBuf| path.to_str().map(str::to_owned).ok_or_else(|| path.display().to_string());
    let paths = paths.iter().map(text).collect::<Result<_, _>>();
    paths.map_err(|path| vec![format!("exclusions: the path `{path}` is not UTF-8; rename it")])
}

/// `Include` lines; within the quotes only a quote needs an escape.
fn includes<P: AsRef<str>>(paths: &[P]) -> Result<String, Vec<String>> {
    let mut text = String::new();
    let mut errors = Vec::new();
    for path in paths {
        let path = path.as_ref();
        if path.bytes().any(|byte| byte.is_ascii_control()) || path.ends_with('\\') {
            errors.push(format!("the path `{}` cannot be written in a rule file; rename it", path.escape_debug()));
        }
        text.push_str(&format!("Include \"{}\"\n", path.replace('"', "\\\"")));
    }
    if errors.is_empty() { Ok(text) } else { Err(errors) }
}

/// The parts between our markers, each to its place; the markers go.
fn arrange(parsed: &mut Parsed, settings_behind_own_set_up: bool) {
    let Parsed { program, diagnostics } = parsed;
    let mut directives = std::mem::take(&mut program.directives);
    let mut cut = |name: &str, program: &Program| {
        let at = directives.iter().position(|directive| is_ours(directive, name, program)).unwrap_or(0);
        let mut part = directives.split_off(at);
        part.drain(..part.len().min(1));
        part
    };
    let tail = cut(END_RULES, program);
    let mut rules = cut(BEGIN_RULES, program);
    let block = cut(BEGIN_POLICY, program);
    let (behind, front): (Vec<_>, Vec<_>) =
        block.into_iter().partition(|directive| acts_on_loaded_rules(&directive.kind));
    diagnostics.extend(front.last().and_then(dangling_chain));
    let at = if settings_behind_own_set_up { first_crs_rule(&rules) } else { 0 };
    rules.splice(at..at, front);
    directives.extend(rules.into_iter().chain(behind).chain(tail));
    program.directives = directives;
}

fn is_ours(directive: &Directive, name: &str, program: &Program) -> bool {
    let is_marker = matches!(&directive.kind, DirectiveKind::Marker(marker) if marker.node == name);
    is_marker && &*program.sources.path(directive.span.file) == GENERATED
}

const fn acts_on_loaded_rules(kind: &DirectiveKind) -> bool {
    use DirectiveKind::{RemoveRules, UpdateActions, UpdateTargets};
    matches!(kind, RemoveRules(_) | UpdateTargets { .. } | UpdateActions { .. })
}

/// Without this the next rule, of another file and another author, would become the link.
fn dangling_chain(last: &Directive) -> Option<Diagnostic> {
    let chains = actions(&last.kind)?.iter().any(|action| action.name.node.eq_ignore_ascii_case("chain"));
    chains.then(|| {
        Diagnostic::error(last.span, "the file ends within a chain").with_help("add the rule that `chain` promises")
    })
}

/// The place of the first rule of the CRS proper in a user's file, where settings are known and not yet read; the start
/// when there is none.
fn first_crs_rule(directives: &[Directive]) -> usize {
    let is_crs = |directive: &Directive| id(&directive.kind).is_some_and(|id| (901_000..1_000_000).contains(&id));
    directives.iter().position(is_crs).unwrap_or(0)
}

fn actions(kind: &DirectiveKind) -> Option<&[Action]> {
    match kind {
        DirectiveKind::Rule { actions, .. } | DirectiveKind::Action(actions) => Some(actions),
        _ => None,
    }
}

/// The `id:` of a rule.
pub fn id(kind: &DirectiveKind) -> Option<u32> {
    let id = actions(kind)?.iter().find(|action| action.name.node.eq_ignore_ascii_case("id"))?;
    std::str::from_utf8(&id.value.as_ref()?.node).ok()?.trim().parse().ok()
}

/// A warning for each engine directive of the user's files that the policy decides otherwise.
fn overridden(program: &Program, policy: &Policy) -> Vec<Diagnostic> {
    let decided = settings::engine(policy);
    let ours = |directive: &Directive| program.sources.path(directive.span.file).starts_with('<');
    let theirs = program.directives.iter().filter(|directive| !ours(directive));
    let overridden = theirs.filter_map(|directive| {
        let DirectiveKind::Setting { canonical, arguments } = &directive.kind else { return None };
        let (name, value, setting) = decided.iter().find(|(name, ..)| name == canonical)?;
        let written = &arguments.first()?.node;
        (!written.eq_ignore_ascii_case(value.as_bytes())).then(|| {
            Diagnostic::warning(directive.span, format!("`{name}` has no effect: the policy says `{setting}`"))
                .with_help("change the policy, or remove this line")
        })
    });
    overridden.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{CrsSettings, Mode};

    /// Every rule's id and every other directive's name, in load order, of a file with this text under this policy.
    fn order(kind: &str, text: &str, policy: &Policy, extra: &str) -> (Vec<String>, Vec<String>) {
        let last_word = if kind == "as written" { LastWord::File } else { LastWord::Policy };
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::default();
        files.generate("extra", extra);
        let path = folder.path().join("own.conf");
        fs::write(&path, text).unwrap();
        let kind = match kind {
            "baseline" => Kind::Baseline,
            _ => Kind::File(path.to_str().unwrap().to_owned()),
        };
        let found = Found { title: String::new(), kind, fallback: false };
        let parsed = assemble(&files, &found, &With { policy, extra: &["extra"], last_word }).unwrap();
        let directives = parsed.program.directives.iter();
        let names = directives.map(|one| id(&one.kind).map_or_else(|| one.name.clone(), |id| id.to_string())).collect();
        (names, parsed.diagnostics.iter().map(|one| one.render(&parsed.program.sources)).collect())
    }

    const DECIDED: [&str; 4] = ["SecRuleEngine", "SecRequestBodyLimit", "SecRequestBodyLimitAction", "SecAuditEngine"];

    fn with_level() -> Policy {
        Policy { crs: CrsSettings { inbound_threshold: Some(7), ..CrsSettings::default() }, ..Policy::default() }
    }

    #[test]
    fn settings_go_behind_a_file_s_own_set_up_and_exclusions_around_the_rules() {
        let text = "SecAction \"id:900990,phase:1,pass\"\nSecAction \"id:901001,phase:1,pass\"\nSecAction \"id:949110,phase:2,pass\"";
        let extra =
            "SecRuleRemoveById 949110\nSecAction \"id:77,phase:1,pass\"\nSecRuleUpdateTargetById 942100 \"!ARGS:x\"\n";
        let (names, diagnostics) = order("file", text, &with_level(), extra);
        let expected = ["900990", "9899000", "77", "901001", "949110", "SecRuleRemoveById", "SecRuleUpdateTargetById"];
        assert_eq!(names, [expected.as_slice(), &DECIDED].concat());
        assert_eq!(diagnostics, Vec::<String>::new());
    }

    #[test]
    fn without_a_crs_in_it_settings_come_first() {
        let (names, _) = order("file", "SecAction \"id:5,phase:1,pass\"", &with_level(), "");
        assert_eq!(names, [["9899000", "5"].as_slice(), &DECIDED].concat());
    }

    #[test]
    fn the_engine_set_up_comes_before_everything_and_the_policy_has_the_last_word() {
        let (names, diagnostics) = order("baseline", "", &with_level(), "SecAction \"id:77,phase:1,pass\"");
        assert_eq!(names.first().unwrap(), "SecRuleEngine");
        let at = |name: &str| names.iter().position(|one| one == name).unwrap();
        assert!(at("200000") < at("9899000") && at("9899000") < at("77"), "{names:?}");
        let tail = names.len() - DECIDED.len() - 1;
        assert_eq!(names[tail..], [DECIDED.as_slice(), &["SecRequestBodyNoFilesLimit"]].concat());
        assert_eq!(diagnostics, Vec::<String>::new());
    }

    #[test]
    fn what_the_policy_overrules_is_said() {
        let text = "SecRuleEngine DetectionOnly\nSecRequestBodyLimit 131072\n";
        let (_, diagnostics) = order("file", text, &Policy::default(), "");
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert!(diagnostics[0].contains("own.conf:1:1: warning: `SecRuleEngine` has no effect"), "{diagnostics:?}");
        let detect = Policy { mode: Mode::Detect, ..Policy::default() };
        assert_eq!(order("file", text, &detect, "").1, Vec::<String>::new());
    }

    #[test]
    fn a_file_as_written_keeps_its_own_engine_directives() {
        let (names, diagnostics) = order("as written", "SecRuleEngine DetectionOnly\n", &Policy::default(), "");
        assert_eq!((names, diagnostics), (vec!["SecRuleEngine".to_owned()], Vec::new()));
    }

    #[test]
    fn a_chain_does_not_reach_into_the_next_file() {
        let (_, diagnostics) =
            order("file", "SecRule ARGS x \"id:1\"", &Policy::default(), "SecRule ARGS x \"id:7,chain\"");
        assert_eq!(diagnostics.len(), 1, "{diagnostics:?}");
        assert!(diagnostics[0].starts_with("extra:1:1: error: the file ends within a chain"), "{diagnostics:?}");
    }

    #[test]
    fn paths_are_written_so_that_they_stay_paths() {
        assert_eq!(includes(&["a b\"c.conf"]), Ok("Include \"a b\\\"c.conf\"\n".to_owned()));
        assert_eq!(includes(&["a\nSecRuleEngine Off"]).unwrap_err().len(), 1);
    }
}
