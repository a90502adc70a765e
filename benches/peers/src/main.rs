//! Portcullis, libmodsecurity 3 and zentinel-modsec in one process: the same rules, the same requests, one thread.
//!
//! `make bench-peers` prints CPU time for each request, `make bench-peers ARGS=--instructions` instructions counted by
//! valgrind. Before anything is measured the verdicts are compared. Method: benches/README.md.

#![allow(clippy::indexing_slicing, clippy::expect_used, reason = "a benchmark stops at the first surprise")]

mod agree;
mod classes;
mod instructions;
mod peers;
mod statistics;
mod time;

#[path = "../../../tests/reference/modsecurity.rs"]
mod modsecurity;
#[path = "../../../tests/differential/rules.rs"]
#[allow(dead_code, reason = "the comparison of rule ids also changes rules")]
mod rules;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use classes::Class;
use peers::{NAMES, Peer};

const VERSION: &str = "4.28.0";

/// Paranoia levels, blocking and detection alike.
const LEVELS: [u8; 2] = [1, 4];

/// Where the rules, their tests and the benign requests lie.
struct Inputs {
    crs: PathBuf,
    benign: PathBuf,
    unicode_map: PathBuf,
}

fn main() -> ExitCode {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
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
        ["--count", name, level] => instructions::count(&inputs, name, level.parse().unwrap_or(1)),
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

fn times(inputs: &Inputs) -> Result<(), String> {
    println!("CRS {VERSION} as shipped, phases 1 and 2 with body, blocking, no audit log, one thread");
    for level in LEVELS {
        let mut loaded = Vec::new();
        for name in NAMES {
            match peers::load(name, inputs, level) {
                Ok(peer) => loaded.push(peer),
                Err(message) if name == peers::OURS => return Err(message),
                Err(message) => println!("paranoia level {level}: {name} is left out: {message}"),
            }
        }
        let versions: Vec<String> = loaded.iter().map(|peer| peer.version()).collect();
        println!("\nparanoia level {level}: {}", versions.join(", "));
        let classes = classes::all(inputs)?;
        let classes: Vec<Class> =
            classes.into_iter().map(|class| agree::check(class, &mut loaded)).collect::<Result<_, _>>()?;
        table(&classes, &mut loaded);
    }
    Ok(())
}

/// CPU microseconds for each request: the median of the rounds, and quartiles.
fn table(classes: &[Class], peers: &mut [Box<dyn Peer>]) {
    println!("{:<28}{:<18}{:>10}{:>22}{:>9}", "requests", "engine", "median us", "quartiles", "ratio");
    for class in classes {
        let measured = time::measure(class, peers);
        let ours = statistics::quartiles(&measured[0])[1];
        for (peer, rounds) in peers.iter().zip(&measured) {
            let [low, median, high] = statistics::quartiles(rounds);
            let title = format!("{} ({})", class.name, class.requests.len());
            let between = format!("{low:.1} to {high:.1}");
            println!("{title:<28}{:<18}{median:>10.1}{between:>22}{:>9.1}", peer.name(), median / ours);
        }
    }
}
