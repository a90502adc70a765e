//! `portcullis check`: requests in, verdicts out.
//!
//! Judges with the very functions that the server uses, but without its deadline, cache and audit log: the same request
//! gives the same verdict on a slow machine too.

mod report;
mod text;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::Exit;
use crate::config::{Config, DEFAULT_POLICY, Mode, Policy, ProcessEnv};
use crate::engine::{self, Inputs, Scratch};
use crate::input::{self, Item, RequestBuf};
use crate::model::Outcome;
use crate::ruleset::RuleSet;
use crate::service::{policy as service_policy, work_limit};
use crate::sets;
use report::Report;

/// The arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// The configuration file
    #[arg(long, value_name = "FILE", env = "PORTCULLIS_CONFIG")]
    config: Option<PathBuf>,
    /// The policy to judge by
    #[arg(long, value_name = "NAME", default_value = DEFAULT_POLICY)]
    policy: String,
    /// A configuration key, `tx.NAME` included; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Enforce, or only say what enforcing would do [default: the policy's mode]
    #[arg(long)]
    mode: Option<ModeArg>,
    /// How to print verdicts
    #[arg(long, default_value = "text")]
    format: Format,
    /// Exit with 1 when a request is denied or redirected
    #[arg(long)]
    fail_on_deny: bool,
    /// Say for each rule where it stands and what it added to the score
    #[arg(long)]
    explain: bool,
    /// Files of requests (JSON lines, HAR, or a raw HTTP message, `.http`), `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ModeArg {
    Block,
    Detect,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// For people
    Text,
    /// One line of JSON for each request
    Json,
}

/// Runs the command.
///
/// # Errors
/// The configuration, the rules or a file of requests cannot be read; everything that is wrong is said at once.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let policy = policy(args)?;
    let items = read_all(&args.files)?;
    let set = sets::load(&policy).map_err(|error| anyhow::anyhow!(error.messages.join("\n")))?;
    if !set.warnings.is_empty() {
        let count = set.warnings.len();
        writeln!(io::stderr(), "{}: {count} warnings; `portcullis rules lint` shows them", set.name)?;
    }
    let denied = judge_all(&items, &set.rules, &policy, args)?;
    Ok(if denied && args.fail_on_deny { Exit::No } else { Exit::Fine })
}

/// The policy named, with what the command line says over it.
fn policy(args: &CheckArgs) -> anyhow::Result<Policy> {
    let mut config = Config::load(args.config.as_deref(), &ProcessEnv, &args.set)?;
    let Some(mut policy) = config.policies.remove(&args.policy) else {
        let names: Vec<_> = config.policies.keys().map(|name| format!("`{name}`")).collect();
        bail!("no policy `{}`; there are {}", args.policy, names.join(", "));
    };
    if args.rules.is_some() {
        policy.rules.clone_from(&args.rules);
    }
    match args.mode {
        Some(ModeArg::Block) => policy.mode = Mode::Block,
        Some(ModeArg::Detect) => policy.mode = Mode::Detect,
        None => {}
    }
    Ok(policy)
}

/// Reads all files before anything is judged, so that all errors come at once.
fn read_all(files: &[PathBuf]) -> anyhow::Result<Vec<Item>> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    for file in files {
        let name = file.display().to_string();
        match content(file) {
            Err(error) => errors.push(format!("{name}: {error}")),
            Ok(content) => match input::read(&name, &content) {
                Ok(found) => items.extend(found),
                Err(found) => errors.extend(found.iter().map(ToString::to_string)),
            },
        }
    }
    if errors.is_empty() { Ok(items) } else { bail!(errors.join("\n")) }
}

fn content(file: &Path) -> io::Result<Vec<u8>> {
    if file != Path::new("-") {
        return std::fs::read(file);
    }
    let mut content = Vec::new();
    io::stdin().read_to_end(&mut content)?;
    Ok(content)
}

/// Judges and prints one after the other; whether any request was stopped.
fn judge_all(items: &[Item], rules: &RuleSet, policy: &Policy, args: &CheckArgs) -> anyhow::Result<bool> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut summary = text::Summary::default();
    let mut scratch = Scratch::default();
    for item in items {
        let (request, judged);
        let report = match item {
            Item::Refused { id, refusal } => {
                request = None;
                Report::refused(id, refusal.clone())
            }
            Item::Request(found) => {
                request = Some(found);
                judged = judge(found, rules, policy, &mut scratch);
                Report::new(&found.id, &judged, policy, args.explain)
            }
        };
        summary.count(&report);
        match args.format {
            Format::Json => {
                serde_json::to_writer(&mut out, &report).context("writing a verdict")?;
                writeln!(out)?;
            }
            Format::Text => text::write(&mut out, &report, request)?,
        }
    }
    if args.format == Format::Text {
        writeln!(out, "{summary}")?;
    }
    out.flush()?;
    Ok(summary.stopped > 0)
}

/// What the rules said about a request, and how long they took.
struct Judged {
    outcome: Option<Outcome>,
    evaluation: Duration,
}

fn judge(request: &RequestBuf, rules: &RuleSet, policy: &Policy, scratch: &mut Scratch) -> Judged {
    if policy.mode == Mode::Off {
        return Judged { outcome: None, evaluation: Duration::ZERO };
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let inputs = Inputs {
        now_micros: i64::try_from(now.as_micros()).unwrap_or_default(),
        duration_micros: 0,
        unique_id: &request.id,
        work_limit: work_limit(policy.body.limit),
        expired: &|| false,
    };
    let began = Instant::now();
    let mut outcome = request.with_request(|request| engine::evaluate(rules, request, &inputs, scratch));
    let evaluation = began.elapsed();
    service_policy::settle(&mut outcome, policy);
    Judged { outcome: Some(outcome), evaluation }
}
