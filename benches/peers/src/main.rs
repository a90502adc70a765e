//! Portcullis, libmodsecurity 3 and zentinel-modsec in one process: the same rules, the same requests, one thread.
//!
//! `make bench-peers` prints CPU time for each request, `make bench-peers ARGS=--instructions` instructions counted by
//! valgrind. Before anything is measured the verdicts are compared. Method: benches/README.md.

#![allow(clippy::indexing_slicing, clippy::expect_used, reason = "a benchmark stops at the first surprise")]

mod agree;
mod figures;
mod instructions;
mod peers;
mod statistics;
mod time;

#[path = "../../common/callgrind.rs"]
mod callgrind;
#[path = "../../common/clock.rs"]
mod clock;
#[path = "../../common/corpora.rs"]
mod corpora;
#[path = "../../../tests/reference/modsecurity.rs"]
mod modsecurity;
#[path = "../../common/report.rs"]
mod report;
#[path = "../../../tests/differential/rules.rs"]
#[allow(dead_code, reason = "the comparison of rule ids also changes rules")]
mod rules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agree::Agreement;
use figures::Row;
use peers::{LIBMODSECURITY, OURS, OURS_WITH_MEMO, Peer, ZENTINEL};
use report::{Report, micros};

const VERSION: &str = "4.28.0";

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Paranoia levels, blocking and detection alike.
const LEVELS: [u8; 2] = [1, 4];

/// The engines, ours first.
const ENGINES: [&str; 4] = [OURS, OURS_WITH_MEMO, LIBMODSECURITY, ZENTINEL];

/// The same comparison twice: with the rules as they are, and without those at which an engine stops loading, for all
/// engines alike.
const COMPARISONS: [Comparison; 2] = [
    Comparison { title: "the rules as they are", removed: &[] },
    Comparison {
        title: "without rule 200004 of the engine's set-up (two boundaries in a multipart body), which zentinel-modsec cannot read",
        removed: &[200_004],
    },
];

/// What is compared.
struct Comparison {
    title: &'static str,
    removed: &'static [u32],
}

/// Where the rules, their tests and the benign requests lie.
struct Inputs {
    crs: PathBuf,
    benign: PathBuf,
    unicode_map: PathBuf,
}

fn main() -> ExitCode {
    let shared = corpora::shared(Path::new(ROOT));
    let inputs = Inputs {
        crs: shared.join("crs").join(VERSION),
        benign: shared.join("corpus/benign.jsonl"),
        unicode_map: shared.join("vectors/engine/modsecurity-v3/data/unicode.mapping"),
    };
    if !inputs.crs.is_dir() {
        println!("SKIPPED: {} is not there", inputs.crs.display());
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => times(&inputs),
        ["--instructions"] => instructions::print(),
        // How `--instructions` runs itself.
        ["--count", name, level, comparison] => {
            instructions::count(&inputs, name, level.parse().unwrap_or(1), comparison.parse().unwrap_or(0))
        }
        _ => Err("usage: peers [--instructions]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("FAILED: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Where reports go: the folder that `make bench-peers` builds in.
fn target() -> PathBuf {
    Path::new(ROOT).join("target")
}

fn times(inputs: &Inputs) -> Result<(), String> {
    let mut report = Report::new("peers");
    report.line(&format!(
        "CRS {VERSION}, phases 1 and 2 with body, blocking, no audit log, one thread; CPU microseconds a request: \
         median (quartiles) of the rounds."
    ));
    for comparison in COMPARISONS {
        report.line(&format!("**{}**", comparison.title));
        let (mut rows, mut agreements, mut engines) = (Vec::new(), Vec::new(), Vec::new());
        for level in LEVELS {
            let mut loaded = load(inputs, level, comparison.removed, &mut report)?;
            engines = loaded.iter().map(|peer| peer.name()).collect();
            if level == LEVELS[0] {
                let versions: Vec<String> = loaded.iter().map(|peer| peer.version()).collect();
                report.line(&format!("{}.", versions.join("; ")));
            }
            for class in corpora::classes(&inputs.benign, &inputs.crs)? {
                let (class, found) = agree::check(class, &mut loaded);
                agreements.extend(found.into_iter().map(|agreement| (level, agreement)));
                rows.push(row(&class, level, &mut loaded));
            }
        }
        report.table(&figures::table(&rows, &engines));
        if comparison.removed.is_empty() {
            figures::marks(&rows).iter().for_each(|line| report.line(&format!("- {line}")));
        }
        report.line("How far the others agree with ours, verdicts / sets of scoring rules:");
        report.table(&agreement_table(&agreements));
        let poor = |(_, one): &&(u8, Agreement)| one.is_poor() && one.engine == LIBMODSECURITY;
        if let Some((level, agreement)) = agreements.iter().find(poor) {
            return Err(format!("{}, level {level}: too many different verdicts for a comparison", agreement.class));
        }
    }
    report.save(&target())
}

/// Every engine that can take part; it is an error if ours cannot.
fn load(inputs: &Inputs, level: u8, removed: &[u32], report: &mut Report) -> Result<Vec<Box<dyn Peer>>, String> {
    let mut loaded = Vec::new();
    for name in ENGINES {
        match peers::load(name, inputs, level, removed) {
            Ok(peer) => loaded.push(peer),
            Err(message) if name == OURS => return Err(message),
            Err(message) if level == LEVELS[0] => report.line(&format!("SKIPPED: {name} is left out: {message}.")),
            Err(_) => {}
        }
    }
    Ok(loaded)
}

/// CPU microseconds for each request: the median of the rounds, and quartiles.
fn row(class: &corpora::Class, level: u8, peers: &mut [Box<dyn Peer>]) -> Row {
    let measured = time::measure(class, peers);
    let figure = |(peer, rounds): (&dyn Peer, &Vec<f64>)| {
        let [_, low, median, high] = statistics::quartiles(rounds);
        (peer.name(), median, format!("{} ({}–{})", micros(median), micros(low), micros(high)))
    };
    let title = format!("{} ({})", class.name, class.requests.len());
    Row {
        title,
        class: class.name,
        level,
        figures: peers.iter().map(AsRef::as_ref).zip(&measured).map(figure).collect(),
    }
}

/// A row for each class and level, a column for each other engine.
fn agreement_table(agreements: &[(u8, Agreement)]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = vec![vec!["requests".to_owned(), "PL".to_owned()]];
    for (level, one) in agreements {
        let start = [format!("{} ({})", one.class, one.requests), level.to_string()];
        if !rows[0].iter().any(|name| name == one.engine) {
            rows[0].push(one.engine.to_owned());
        }
        let at = rows.iter().position(|row| row[..2] == start).unwrap_or(rows.len());
        if at == rows.len() {
            rows.push(start.to_vec());
        }
        let rules = one.rules.map_or_else(|| "–".to_owned(), |rules| rules.to_string());
        rows[at].push(format!("{} / {rules}", one.verdicts));
    }
    rows
}
