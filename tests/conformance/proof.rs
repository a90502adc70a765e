//! Whether a test that is listed in `known.toml` is shown to be wrong.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use portcullis::ftw::{Stage, Status, Test};
use portcullis::seclang::ast::{Action, DirectiveKind};
use portcullis::seclang::print;
use portcullis::sets::{self, ReadSet};

use crate::Run;
use crate::known::{Entry, Proof};

/// Why the proof of an entry does not hold.
pub(crate) fn check(entry: &Entry, test: &Test, run: &Run, all: &[Run]) -> Result<(), String> {
    match &entry.proof {
        Proof::CannotMatch { sends, would_match } => cannot_match(test, run, sends, would_match),
        Proof::Contradicts { version, test: other } => contradicts(test, run, version, other, all),
    }
}

fn only_stage(test: &Test) -> Result<&Stage, String> {
    match test.stages.as_slice() {
        [stage] => Ok(stage),
        stages => Err(format!("{} has {} stages, not one", test.name, stages.len())),
    }
}

/// Whether the stage wants the rule logged; tests of 3.3 say so by a pattern.
fn wants(stage: &Stage, id: u32) -> bool {
    let pattern = stage.expected.match_regex.as_ref().map(ToString::to_string);
    stage.expected.expect_ids.contains(&id) || pattern == Some(format!("id \"{id}\""))
}

/// Whether the stage wants the rule not logged.
fn refuses(stage: &Stage, id: u32) -> bool {
    let pattern = stage.expected.no_match_regex.as_ref().map(ToString::to_string);
    stage.expected.no_expect_ids.contains(&id) || pattern == Some(format!("id \"{id}\""))
}

/// The test wants its rule logged; the rule matches nothing in the request, the value named least of all.
fn cannot_match(test: &Test, run: &Run, sends: &str, would_match: &str) -> Result<(), String> {
    let stage = only_stage(test)?;
    let id = test.name.rule_id;
    if !wants(stage, id) {
        return Err(format!("{} does not expect rule {id}", test.name));
    }
    let request = stage.input.bytes();
    if !request.windows(sends.len()).any(|window| window == sends.as_bytes()) {
        return Err(format!("{} does not send `{sends}`", test.name));
    }
    let request: String = request.iter().map(|byte| char::from(*byte)).collect();
    let answers = second_opinion(&run.folder.join("rules"), id, &[&request, sends, would_match])?;
    match answers.as_slice() {
        [false, false, true] => Ok(()),
        [_, _, false] => Err(format!("rule {id} does not match `{would_match}` either")),
        answers => Err(format!("rule {id} does match what {} sends: {answers:?}", test.name)),
    }
}

/// Asks Python whether the rule matches the texts.
fn second_opinion(rules: &Path, id: u32, texts: &[&str]) -> Result<Vec<bool>, String> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/cannot_match.py");
    let lines = texts.iter().map(|text| format!("{}\n", serde_json::json!({"rule": id, "text": text})));
    let questions: String = lines.collect();
    let asked = || -> std::io::Result<_> {
        let (input, output) = (Stdio::piped(), Stdio::piped());
        let mut child = Command::new(&python).arg(&script).arg(rules).stdin(input).stdout(output).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(questions.as_bytes())?;
        }
        child.wait_with_output()
    };
    let output = asked().map_err(|error| format!("cannot ask {}: {error}", python.display()))?;
    let answers = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<_> = answers.lines().filter_map(|line| line.parse().ok()).collect();
    match output.status.success() && answers.len() == texts.len() {
        true => Ok(answers),
        false => Err(format!("{} ended with {}", script.display(), output.status)),
    }
}

/// Both tests send the same bytes to the same rule; one wants it logged, the other not, and the other passes here.
fn contradicts(test: &Test, run: &Run, version: &str, other: &str, all: &[Run]) -> Result<(), String> {
    let theirs = all.iter().find(|run| run.version == version).ok_or(format!("CRS {version} is not there"))?;
    let at = theirs.suite.tests.iter().position(|test| test.name.to_string() == other);
    let (counter, result) = at
        .and_then(|at| theirs.suite.tests.get(at).zip(theirs.results.get(at)))
        .ok_or(format!("CRS {version} has no test {other}"))?;
    if result.status != Status::Passed {
        return Err(format!("{version} {other} does not pass"));
    }
    let (mine, counter) = (only_stage(test)?, only_stage(counter)?);
    if mine.input.bytes() != counter.input.bytes() {
        return Err(format!("{version} {other} sends something else"));
    }
    let id = test.name.rule_id;
    let opposite = wants(mine, id) && refuses(counter, id) || refuses(mine, id) && wants(counter, id);
    if !opposite {
        return Err(format!("{version} {other} does not expect the opposite of rule {id}"));
    }
    match (rule(run, id)?, rule(theirs, id)?) {
        (mine, theirs) if mine == theirs => Ok(()),
        (mine, theirs) => Err(format!("rule {id} is `{mine}` here and `{theirs}` in {version}")),
    }
}

/// Targets and operator of a rule.
fn rule(run: &Run, id: u32) -> Result<String, String> {
    let ReadSet { program, .. } = sets::read(&run.policy()).map_err(|error| error.to_string())?;
    let has_id = |actions: &[Action]| {
        let values =
            actions.iter().filter(|action| action.name.node == "id").filter_map(|action| action.value.as_ref());
        values.map(|value| &value.node).any(|value| *value == id.to_string().into_bytes())
    };
    let found = program.directives.iter().find_map(|directive| match &directive.kind {
        DirectiveKind::Rule { targets, operator, actions } if has_id(actions) => {
            Some([print::targets(targets), print::operator(operator)].join(&b' '))
        }
        _ => None,
    });
    let found = found.ok_or(format!("CRS {} has no rule {id}", run.version))?;
    Ok(String::from_utf8_lossy(&found).into_owned())
}
