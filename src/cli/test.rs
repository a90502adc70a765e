//! `portcullis test`: the regression tests of the CRS (go-ftw YAML), in process.

mod report;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::Exit;
use crate::ftw::{self, FtwError, Suite};
use crate::sets;
use report::Report;

/// The arguments of `test`.
#[derive(Args, Debug)]
#[command(after_help = "\
A CRS is loaded as its regression tests expect it: detection only, paranoia level 4, the limits of the CRS test set-up.
A rule set named by the path of its entry file is taken as it is.")]
pub struct TestArgs {
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// A go-ftw overrides file: what is expected of some tests instead of what they say
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Run only tests whose name (`942100-3`) fits this pattern, for example `942*`
    #[arg(long, value_name = "GLOB")]
    filter: Option<glob::Pattern>,
    /// Folders with tests, or single files
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// A line for each failure, then a summary
    Text,
    /// One JSON object
    Json,
    /// JUnit XML, for CI systems
    Junit,
}

/// Runs the command.
///
/// # Errors
/// Test files or rules that cannot be read, and a choice of tests that leaves none.
pub fn run(args: &TestArgs) -> anyhow::Result<Exit> {
    let suite = choose(args)?;
    let set = sets::load_as_written(&ftw::setup::policy(args.rules.as_deref()))
        .map_err(|error| anyhow::anyhow!("{}", error.messages.join("\n")))
        .context("the rules did not load")?;
    let started = Instant::now();
    let progress = Progress::new(suite.tests.len());
    let results = ftw::run(&suite.tests, &set.rules, &|done| progress.show(done));
    progress.clear();
    let report = Report { rules: &set.name, tests: &suite.tests, results: &results, elapsed: started.elapsed() };
    let mut out = io::BufWriter::new(io::stdout().lock());
    match args.format {
        Format::Text => report.text(&mut out)?,
        Format::Json => report.json(&mut out)?,
        Format::Junit => report.junit(&mut out)?,
    }
    out.flush()?;
    Ok(if report.failed() == 0 { Exit::Fine } else { Exit::No })
}

/// The tests that are to be run, overrides applied.
fn choose(args: &TestArgs) -> anyhow::Result<Suite> {
    let mut suite = ftw::load(&args.folders).map_err(|errors| all(&errors)).context("the tests cannot be read")?;
    if let Some(pattern) = &args.filter {
        suite.tests.retain(|test| pattern.matches(&test.name.to_string()));
    }
    if suite.tests.is_empty() {
        bail!("no tests found; name a folder with `.yaml` files, and a `--filter` that fits test names (`942100-3`)");
    }
    if let Some(path) = &args.overrides {
        let overrides = ftw::overrides::load(path).map_err(|errors| all(&errors)).context("bad overrides")?;
        let unused = ftw::overrides::apply(&overrides, &mut suite.tests);
        // With a filter most overrides fit none of the tests that are left, and that says nothing.
        for line in unused.iter().filter(|_| args.filter.is_none()) {
            writeln!(io::stderr(), "warning: {}: {line}", path.display())?;
        }
    }
    Ok(suite)
}

fn all(errors: &[FtwError]) -> anyhow::Error {
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("{}", lines.join("\n"))
}

/// One line on a terminal, rewritten a few times a second.
struct Progress {
    total: usize,
    /// When the line was last written; `None` when standard error is no terminal.
    last: Option<Mutex<Instant>>,
}

impl Progress {
    const PAUSE: Duration = Duration::from_millis(100);

    fn new(total: usize) -> Self {
        Self { total, last: io::stderr().is_terminal().then(|| Mutex::new(Instant::now())) }
    }

    fn show(&self, done: usize) {
        let Some(mut last) = self.last.as_ref().and_then(|last| last.try_lock().ok()) else { return };
        if last.elapsed() >= Self::PAUSE {
            *last = Instant::now();
            // A progress line that cannot be written is no loss.
            let _ = write!(io::stderr(), "\r{done} of {} tests", self.total);
        }
    }

    fn clear(&self) {
        if self.last.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
