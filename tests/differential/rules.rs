//! The same rules for both engines: a CRS folder, the engine set-up of `rules/portcullis.conf`, and the settings under
//! which the regression tests are meant to run.

use std::path::Path;

use portcullis::config::{Mode, Policy};
use portcullis::ftw;
use portcullis::ruleset::RuleSet;
use portcullis::seclang::ast::Program;
use portcullis::sets::{self, ReadSet};

use super::modsecurity::Source;

/// What a policy says in words of its own; the other engine needs them in SecLang.
const SET_UP: &str = include_str!("../../rules/portcullis.conf");

/// The policy of the regression tests: detection only, paranoia level 4.
pub(crate) fn policy(folder: &Path) -> Policy {
    ftw::setup::policy(Some(&format!("crs@{}", folder.display())))
}

/// The rules as our engine reads them.
pub(crate) fn read(policy: &Policy) -> Result<ReadSet, String> {
    sets::read(policy).map_err(|error| error.messages.join("\n"))
}

/// The same rules as read, with the syntax tree changed.
pub(crate) fn compile(mut set: ReadSet, change: impl FnOnce(&mut Program)) -> Result<RuleSet, String> {
    change(&mut set.program);
    let (rules, diagnostics) = set.check();
    rules.ok_or_else(|| diagnostics.iter().map(|one| one.render(&set.program.sources)).collect::<Vec<_>>().join("\n"))
}

/// The rules with further text in front of them and the syntax tree changed.
pub(crate) fn compile_with(policy: &Policy, text: &str, change: impl FnOnce(&mut Program)) -> Result<RuleSet, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let file = folder.path().join("reading.conf");
    std::fs::write(&file, text).map_err(|error| error.to_string())?;
    let policy = Policy { exclusions: vec![file], ..policy.clone() };
    compile(read(&policy)?, change)
}

/// The rules as libmodsecurity reads them. `map` is the table of code pages that `t:urlDecodeUni` consults.
pub(crate) fn sources(policy: &Policy, folder: &Path, map: &Path) -> Result<Vec<Source>, String> {
    let mut sources = vec![
        Source::Text(engine_set_up(policy, map)),
        Source::File(folder.join("crs-setup.conf.example").display().to_string()),
        Source::Text(settings(policy)),
    ];
    let mut files = std::fs::read_dir(folder.join("rules"))
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>())
        .map_err(|error| error.to_string())?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "conf"));
    files.sort();
    for file in files {
        sources.push(loadable(&file)?);
    }
    Ok(sources)
}

/// libmodsecurity 3.0.9 refuses a file that takes `XML://@*` from rules by `ctl`. Those actions stand in rules that the
/// set-up switches off, so nothing changes without them.
fn loadable(file: &Path) -> Result<Source, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let is_refused =
        |line: &str| line.trim_start().starts_with("ctl:ruleRemoveTargetByTag=") && line.contains(";XML://@*");
    if !text.lines().any(is_refused) {
        return Ok(Source::File(file.display().to_string()));
    }
    Ok(Source::Text(text.lines().filter(|line| !is_refused(line)).fold(String::new(), |kept, line| kept + line + "\n")))
}

/// `rules/portcullis.conf` with what the policy decides and what only one of the engines knows replaced.
fn engine_set_up(policy: &Policy, map: &Path) -> String {
    const REPLACED: [&str; 5] =
        ["SecRuleEngine", "SecUnicodeMapFile", "SecPcreMatchLimit", "SecAudit", "SecCookieFormat"];
    let kept = SET_UP.lines().filter(|line| !REPLACED.iter().any(|name| line.starts_with(name)));
    let mode = if policy.mode == Mode::Detect { "DetectionOnly" } else { "On" };
    let own = format!("SecRuleEngine {mode}\nSecAuditEngine Off\nSecUnicodeMapFile {} 20127\n", map.display());
    kept.fold(own, |text, line| text + line + "\n")
}

/// The policy's settings for the CRS, of both versions: a name the other version does not know does nothing there.
fn settings(policy: &Policy) -> String {
    let level = |names: [&str; 2], value: Option<u8>| {
        names.map(|name| format!("setvar:tx.{name}={}", value.unwrap_or(1))).to_vec()
    };
    let mut actions = level(["blocking_paranoia_level", "paranoia_level"], policy.crs.paranoia);
    actions.extend(level(["detection_paranoia_level", "executing_paranoia_level"], policy.crs.detection_paranoia));
    actions.extend(policy.crs.tx.iter().map(|(name, value)| format!("setvar:tx.{name}={value}")));
    format!("SecAction \"id:9899000,phase:1,pass,nolog,t:none,{}\"\n", actions.join(","))
}
