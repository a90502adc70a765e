//! Rule sets by name: `crs`, `crs@VERSION`, `crs@DIR`, `baseline`, or the path of a SecLang entry file.
//!
//! Finds the files (on disk or embedded), puts the engine set-up and a policy's settings around them, and compiles.
//! The load order is: `rules/portcullis.conf`, the CRS set-up, the policy's `tx` settings, its profiles and exclusions,
//! plugins and rules, exclusions that act on loaded rules, and the engine settings that are the policy's to decide (its mode, the
//! body limit, the audit engine), last so that no file overrules them. Does not know requests, or who asks for rules.

pub mod assembly;
pub mod crs;
pub mod embedded;
pub mod files;
pub mod find;
pub mod manifest;
pub mod profiles;
pub mod settings;
pub mod spec;

use std::fmt;
use std::path::PathBuf;

use self::assembly::With;
use self::files::Files;
use self::find::{Found, Kind};
use self::manifest::Differences;
use crate::compile::{self, Compiled};
use crate::config::Policy;
use crate::ruleset::RuleSet;
use crate::seclang::ast::{DirectiveKind, Program};
use crate::seclang::diag::{Diagnostic, Level};

/// A rule set that loaded.
#[derive(Debug)]
pub struct LoadedSet {
    /// The compiled rules.
    pub rules: RuleSet,
    /// What it is, for `/status`: `crs 4.28.0 (embedded)`, `baseline`, a path.
    pub name: String,
    /// The CRS version, when it is a CRS.
    pub version: Option<String>,
    /// No rule set was named and no CRS was at hand: these are the baseline rules.
    pub fallback: bool,
    /// A rule that turns anomaly scores into denials was taken away: scores block nothing.
    pub scores_unheeded: bool,
    /// Whether the CRS files agree with the manifest; `None` when there is no manifest for them.
    pub verified: Option<bool>,
    /// How many rules there are.
    pub rule_count: usize,
    /// Load warnings and notices, rendered, one or more lines each.
    pub warnings: Vec<String>,
    /// Files the set was read from that exist on disk, for watching.
    pub files: Vec<PathBuf>,
}

/// A rule set that did not load: every error, rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError {
    /// The messages, with `file:line:column` where there is one.
    pub messages: Vec<String>,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.messages.join("\n"))
    }
}

impl std::error::Error for LoadError {}

/// Loads the rule set of a policy, with the policy's settings applied.
///
/// # Errors
/// Every error in the rules, or that the set named is not there.
pub fn load(policy: &Policy) -> Result<LoadedSet, LoadError> {
    read(policy)?.compile()
}

/// As [`load`], with further SecLang text in the place of the policy's exclusions; `name` stands for its file in
/// messages. For callers that bring rules of their own, such as the regression tests.
///
/// # Errors
/// As [`load`].
pub fn load_with(policy: &Policy, name: &str, text: &str) -> Result<LoadedSet, LoadError> {
    read_with(policy, &[(name, text)], LastWord::Policy)?.compile()
}

/// As [`load`], but where the set is a SecLang file of the user's, what that file says about the engine (its mode, the
/// body limit, the audit engine) stands. For tests of a configuration that says all by itself.
///
/// # Errors
/// As [`load`].
pub fn load_as_written(policy: &Policy) -> Result<LoadedSet, LoadError> {
    read_with(policy, &[], LastWord::File)?.compile()
}

/// Whose engine directives hold when policy and rule file differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWord {
    /// The policy's.
    Policy,
    /// The file's, if the set is a SecLang file of the user's.
    File,
}

/// A rule set that was found and read, not yet compiled: for looking into rules that need not be right.
#[derive(Debug)]
pub struct ReadSet {
    /// What was found.
    pub found: Found,
    /// How its files differ from the release; `None` when there is no manifest for them.
    pub differences: Option<Differences>,
    /// Every directive, in load order.
    pub program: Program,
    /// What the parser has to say.
    pub diagnostics: Vec<Diagnostic>,
    files: Files,
    /// Content types the policy allows and no parser of the set-up reads.
    unread: Vec<String>,
}

/// Finds and reads the rule set of a policy.
///
/// # Errors
/// The set is not there, or a setting of the policy cannot be expressed.
pub fn read(policy: &Policy) -> Result<ReadSet, LoadError> {
    read_with(policy, &[], LastWord::Policy)
}

fn read_with(policy: &Policy, extra: &[(&str, &str)], last_word: LastWord) -> Result<ReadSet, LoadError> {
    let mut files = Files::default();
    for (name, text) in extra {
        files.generate(name, *text);
    }
    let names: Vec<&str> = extra.iter().map(|(name, _)| *name).collect();
    let found = find::find(&files, policy.rules.as_deref()).map_err(|error| LoadError { messages: vec![error] })?;
    let differences = differences(&files, &found);
    let parsed = assembly::assemble(&files, &found, &With { policy, extra: &names, last_word })
        .map_err(|messages| LoadError { messages })?;
    let unread = match found.kind {
        Kind::Crs { .. } | Kind::Baseline => settings::types_without_parser(&policy.crs),
        Kind::File(_) => Vec::new(),
    };
    Ok(ReadSet { found, differences, program: parsed.program, diagnostics: parsed.diagnostics, files, unread })
}

fn differences(files: &Files, found: &Found) -> Option<Differences> {
    let Kind::Crs { folder, .. } = &found.kind else { return None };
    manifest::verify(files, &folder.root, folder.version.as_deref()?)
}

/// A finding about a set as a whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// How serious it is.
    pub level: Level,
    /// What it is, and what to do about it.
    pub message: String,
}

impl ReadSet {
    /// Compiles the rules; every diagnostic of parser and compiler, in load order.
    pub fn check(&self) -> (Option<RuleSet>, Vec<Diagnostic>) {
        let compiled = self.compiled();
        (compiled.rules, compiled.diagnostics)
    }

    fn compiled(&self) -> Compiled {
        let mut compiled = compile::compile(&self.program, &self.files);
        compiled.diagnostics.extend(self.diagnostics.iter().cloned());
        compiled.diagnostics.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.level));
        let broken = compiled.diagnostics.iter().any(|diagnostic| diagnostic.level == Level::Error);
        Compiled { rules: compiled.rules.filter(|_| !broken), ..compiled }
    }

    /// Findings about the set as a whole, which have no line.
    pub fn remarks(&self) -> Vec<Remark> {
        let remarks =
            [self.stand_in(), self.altered(), self.unverified(), self.bodies_not_read(), self.types_not_read()];
        remarks.into_iter().flatten().collect()
    }

    fn stand_in(&self) -> Option<Remark> {
        let message = "no CRS is at hand, so these are the baseline rules; run `make crs` or `portcullis crs install`";
        self.found.fallback.then(|| Remark { level: Level::Warning, message: message.to_owned() })
    }

    fn altered(&self) -> Option<Remark> {
        let differences = self.differences.as_ref().filter(|differences| !differences.is_none())?;
        let lines: Vec<String> = differences.lines().collect();
        let message = format!("the files are not those of the release: {}", lines.join(", "));
        Some(Remark { level: Level::Warning, message })
    }

    fn unverified(&self) -> Option<Remark> {
        let is_crs = matches!(self.found.kind, Kind::Crs { .. });
        (is_crs && self.differences.is_none()).then(|| {
            let message = "the files are not verified: there is no list of hashes for this version".to_owned();
            Remark { level: Level::Notice, message }
        })
    }

    fn bodies_not_read(&self) -> Option<Remark> {
        let says =
            |kind: &DirectiveKind| matches!(kind, DirectiveKind::Setting { canonical: "SecRequestBodyAccess", .. });
        let said = self.program.directives.iter().any(|directive| says(&directive.kind));
        (!said).then(|| {
            let advice = "write `SecRequestBodyAccess On`, or `Include \"<embedded>/portcullis.conf\"`";
            Remark { level: Level::Warning, message: format!("request bodies are not inspected; {advice}") }
        })
    }

    /// No more than a notice: there is nothing to parse in a picture, and a rule may name a parser for the type.
    fn types_not_read(&self) -> Option<Remark> {
        let types = self.unread.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        (!types.is_empty()).then(|| {
            let what =
                "bodies of these types are allowed, and without a rule with `ctl:requestBodyProcessor` no parser";
            Remark { level: Level::Notice, message: format!("{what} looks for arguments in them: {types}") }
        })
    }

    fn compile(self) -> Result<LoadedSet, LoadError> {
        let Compiled { rules, diagnostics, scores_unheeded } = self.compiled();
        let render = |errors: bool| {
            let wanted = diagnostics.iter().filter(move |one| (one.level == Level::Error) == errors);
            wanted.map(|diagnostic| diagnostic.render(&self.program.sources))
        };
        let Some(rules) = rules else { return Err(LoadError { messages: render(true).collect() }) };
        Ok(LoadedSet {
            rule_count: rules.rules().len(),
            rules,
            warnings: self.remarks().iter().map(|remark| self.render(remark)).chain(render(false)).collect(),
            version: self.version().map(str::to_owned),
            fallback: self.found.fallback,
            scores_unheeded,
            verified: self.differences.as_ref().map(Differences::is_none),
            files: self.files.seen(),
            name: self.found.title,
        })
    }

    /// `NAME: warning: MESSAGE`.
    pub fn render(&self, remark: &Remark) -> String {
        format!("{}: {}: {}", self.found.title, remark.level.name(), remark.message)
    }

    /// The CRS version, when it is a CRS.
    pub fn version(&self) -> Option<&str> {
        match &self.found.kind {
            Kind::Crs { folder, .. } => folder.version.as_deref(),
            Kind::Baseline | Kind::File(_) => None,
        }
    }
}
