//! The CRS regression tests through real proxies: sent raw to Envoy (gRPC) and Traefik (forward-auth), judged by the
//! running binary, compared by its audit log. What ends how, and why: `README.md`.
//!
//! ```text
//! cargo test --test doors                        both proxies, both versions of the CRS
//! cargo test --test doors -- envoy --every 10    every tenth test through Envoy
//! cargo test --test doors -- --only 920100-7     one test, with what was sent, what arrived, and what came of it
//! cargo test --test doors -- --freeze            write the classes that were found to classes.txt
//! ```

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test program: a broken assumption is a failed test"
)]

mod arrived;
mod backend;
mod classes;
mod client;
#[path = "../conformance/known.rs"]
#[expect(dead_code, reason = "the proofs are checked where the tests run in process")]
mod known;
mod proxies;
mod record;
mod report;
mod rewriting;
mod run;
#[expect(dead_code, reason = "shared with the end-to-end tests, which use all of it")]
mod support;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use classes::Classes;
use known::Known;
use proxies::Proxy;
use report::report;
use run::Choice;
use support::tally::Tally;

/// Ten times what it takes.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The versions of the CRS, and how many tests each has.
const VERSIONS: [(&str, usize); 2] = [("4.28.0", 5003), ("3.3.10", 2553)];

/// What to do.
struct Arguments {
    proxies: Vec<&'static Proxy>,
    choice: Choice,
    freeze: bool,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { proxies: Vec::new(), choice: Choice::Every(1), freeze: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--freeze" => arguments.freeze = true,
                "--every" => {
                    let count = words.next().and_then(|count| count.parse().ok()).filter(|count| *count > 0);
                    arguments.choice = Choice::Every(count.ok_or("--every needs a number")?);
                }
                "--only" => arguments.choice = Choice::Only(words.next().ok_or("--only needs a test's name")?),
                name => {
                    let known = proxies::ALL.iter().find(|proxy| proxy.name == name);
                    arguments.proxies.push(known.ok_or_else(|| format!("no proxy `{name}`"))?);
                }
            }
        }
        if arguments.proxies.is_empty() {
            arguments.proxies = proxies::ALL.iter().collect();
        }
        match arguments.freeze && arguments.choice != Choice::Every(1) {
            true => Err("--freeze needs all tests".to_owned()),
            false => Ok(arguments),
        }
    }
}

fn main() -> ExitCode {
    support::process::end_all_after(LIMIT);
    let arguments = Arguments::read(std::env::args().skip(1));
    let known = Known::read(include_str!("../conformance/known.toml"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors/classes.txt");
    let text = std::fs::read_to_string(&file).unwrap();
    match (arguments, known, Classes::read(&text)) {
        (Ok(arguments), Ok(known), Ok(mut classes)) => {
            let total = all(&arguments, &known, &mut classes);
            if arguments.freeze {
                std::fs::write(&file, classes.write(&classes::comment(&text))).unwrap();
            }
            let held = total.passed + total.classified;
            println!("{held} passed, {} failed, {} skipped", total.failed, total.skipped);
            let nothing = held + total.failed + total.skipped == 0;
            ExitCode::from(u8::from(total.failed > 0 || nothing))
        }
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn all(arguments: &Arguments, known: &Known, classes: &mut Classes) -> Tally {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let mut total = Tally::default();
    for proxy in &arguments.proxies {
        for (version, count) in VERSIONS {
            let folder = shared.join("crs").join(version);
            total = total + one(proxy, &folder, (version, count), arguments, known, classes);
        }
    }
    total
}

/// One version through one proxy.
fn one(
    proxy: &Proxy,
    folder: &Path,
    (version, count): (&str, usize),
    arguments: &Arguments,
    known: &Known,
    classes: &mut Classes,
) -> Tally {
    let run = format!("{} {version}", proxy.name);
    let count_here = arguments.choice.count(count);
    let Some(program) = support::process::find(proxy.name) else {
        return report::missing(&run, proxy, count_here);
    };
    if !folder.is_dir() {
        println!("SKIPPED: doors {run}: {} is not there; {count_here} tests were not run", folder.display());
        return Tally { skipped: count_here, ..Tally::default() };
    }
    match run::run(proxy, &program, folder, count, &arguments.choice) {
        Ok(ends) => {
            if arguments.freeze {
                classes.replace(&run, &report::classes(&ends));
            }
            report(&run, &ends, &known.of(version).into_keys().collect(), &classes.of(&run))
        }
        Err(message) => {
            println!("FAILED: doors {run}: {message}");
            Tally { failed: count_here, ..Tally::default() }
        }
    }
}
