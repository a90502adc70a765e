//! Instructions for each request, counted by callgrind: exact, whatever else the machine does.
//!
//! The benchmark runs itself under valgrind, once for each engine and level. Counting is on only within functions whose
//! names valgrind is told (`measured_…`), one for each class, and each of them ends with a dump of its own.

#![expect(unsafe_code, reason = "valgrind finds functions by their names, so these keep them")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use portcullis::model::Request;

use super::peers::{self, NAMES, Peer};
use super::{Inputs, LEVELS, classes, time};

/// Under valgrind everything takes fifty times as long.
const MOST: usize = 24;

macro_rules! measured {
    ($($name:ident),*) => {
        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            extern "C" fn $name(run: &mut Run<'_, '_>) {
                run.pass();
            }
        )*

        /// The functions, in the order of the classes.
        const MEASURED: &[(&str, extern "C" fn(&mut Run<'_, '_>))] = &[$((stringify!($name), $name)),*];
    };
}

measured!(measured_0, measured_1, measured_2, measured_3);

struct Run<'a, 'r> {
    peer: &'a mut dyn Peer,
    requests: &'a [Request<'r>],
}

impl Run<'_, '_> {
    fn pass(&mut self) {
        for request in self.requests {
            black_box(self.peer.judge(black_box(request)));
        }
    }
}

/// What runs under valgrind: each class once to warm up, and once within its function.
///
/// # Errors
/// The engine cannot take part.
pub fn count(inputs: &Inputs, name: &str, level: u8) -> Result<(), String> {
    let mut peer = peers::load(name, inputs, level)?;
    for (class, (_, measured)) in classes::all(inputs)?.iter().zip(MEASURED) {
        let step = class.requests.len().div_ceil(MOST);
        let chosen: Vec<_> = class.requests.iter().step_by(step).cloned().collect();
        time::with_borrowed(&chosen, |requests| {
            let mut run = Run { peer: peer.as_mut(), requests };
            run.pass();
            measured(&mut run);
        });
        println!("{} {}", chosen.len(), class.name);
    }
    Ok(())
}

/// Runs valgrind for every engine and level, and prints the table.
///
/// # Errors
/// valgrind is missing, or failed.
pub fn print() -> Result<(), String> {
    println!("{:<8}{:<28}{:<18}{:>16}{:>9}", "level", "requests", "engine", "instructions", "ratio");
    for level in LEVELS {
        let mut ours: Vec<f64> = Vec::new();
        for name in NAMES {
            let counted = match valgrind(name, level) {
                Ok(counted) => counted,
                Err(message) if name == peers::OURS => return Err(message),
                Err(message) => {
                    println!("{level:<8}{name} is left out: {message}");
                    continue;
                }
            };
            if ours.is_empty() {
                ours = counted.iter().map(|(_, instructions)| *instructions).collect();
            }
            for ((title, instructions), ours) in counted.iter().zip(&ours) {
                println!("{level:<8}{title:<28}{name:<18}{instructions:>16.0}{:>9.1}", instructions / ours);
            }
        }
    }
    Ok(())
}

/// Title and instructions for each request, for each class.
fn valgrind(name: &str, level: u8) -> Result<Vec<(String, f64)>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let out = folder.path().join("out");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=measured_*", "--dump-after=measured_*"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(["--count", name, &level.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    if !run.status.success() {
        return Err(said.lines().last().unwrap_or("valgrind failed").to_owned());
    }
    let mut counted = Vec::new();
    for (place, line) in said.lines().enumerate() {
        let (count, class) = line.split_once(' ').ok_or("unexpected output")?;
        let count: f64 = count.parse().map_err(|_| format!("unexpected output: {line}"))?;
        let all = total(&folder.path().join(format!("out.{}", place + 1)))?;
        counted.push((format!("{class} ({count})"), all / count));
    }
    Ok(counted)
}

/// The instructions of one dump.
fn total(dump: &Path) -> Result<f64, String> {
    let text = std::fs::read_to_string(dump).map_err(|error| format!("{}: {error}", dump.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("totals: ").or_else(|| line.strip_prefix("summary: ")));
    line.and_then(|number| number.trim().parse().ok()).ok_or_else(|| format!("{}: no total", dump.display()))
}
