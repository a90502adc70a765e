//! Instructions counted by valgrind's callgrind: exact, whatever else the machine does.
//!
//! A program runs itself under valgrind. Counting is on only within functions whose names valgrind is told, one for each
//! part that is measured, and the profile says how much each of them took with all that it called.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the names of the functions begin with. Nothing else may have it in its name.
const MARK: &str = "callgrind_part_";

macro_rules! parts {
    ($($name:ident $number:literal)*) => {
        // The number keeps functions apart that a compiler would else find to be the same.
        $(
            #[inline(never)]
            fn $name(body: &mut dyn FnMut()) {
                black_box($number);
                body();
                black_box($number);
            }
        )*

        const PARTS: &[fn(&mut dyn FnMut())] = &[$($name),*];
    };
}

parts! {
    callgrind_part_00 0 callgrind_part_01 1 callgrind_part_02 2 callgrind_part_03 3 callgrind_part_04 4
    callgrind_part_05 5 callgrind_part_06 6 callgrind_part_07 7 callgrind_part_08 8 callgrind_part_09 9
    callgrind_part_10 10 callgrind_part_11 11 callgrind_part_12 12 callgrind_part_13 13 callgrind_part_14 14
    callgrind_part_15 15 callgrind_part_16 16 callgrind_part_17 17 callgrind_part_18 18 callgrind_part_19 19
    callgrind_part_20 20 callgrind_part_21 21 callgrind_part_22 22 callgrind_part_23 23 callgrind_part_24 24
}

/// The parts of one run, in the order in which they are measured.
#[derive(Default, Debug)]
pub(crate) struct Counter(usize);

impl Counter {
    /// Counts what `body` does; `requests` is what the sum is to be divided by.
    ///
    /// # Panics
    /// There are more parts than functions.
    pub(crate) fn count(&mut self, name: &str, requests: usize, mut body: impl FnMut()) {
        PARTS[self.0](&mut body);
        self.0 += 1;
        println!("{requests} {name}");
    }
}

/// A part that was counted.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Part {
    /// As the program named it.
    pub(crate) name: String,
    /// How many requests it was.
    pub(crate) requests: usize,
    /// Instructions for each of them.
    pub(crate) instructions: f64,
}

/// Whether valgrind can be started.
pub(crate) fn is_there() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs this program with these arguments under callgrind; it prints nothing but what [`Counter`] does.
///
/// # Errors
/// valgrind is missing, or the program failed; then its last line tells why.
pub(crate) fn run(arguments: &[&str]) -> Result<Vec<Part>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let out = folder.path().join("profile");
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--compress-strings=no", "--compress-pos=no"])
        .args([format!("--toggle-collect=*{MARK}*"), format!("--callgrind-out-file={}", out.display())])
        .arg(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&run.stdout);
    if !run.status.success() {
        let reason = said.lines().last().unwrap_or("valgrind failed");
        return Err(reason.trim_start_matches("FAILED: ").to_owned());
    }
    let costs = costs(&out)?;
    said.lines().enumerate().map(|(number, line)| part(line, costs.get(number).copied().unwrap_or(0))).collect()
}

fn part(line: &str, cost: u64) -> Result<Part, String> {
    let (count, name) = line.split_once(' ').ok_or_else(|| format!("unexpected output: {line}"))?;
    let requests: usize = count.parse().map_err(|_| format!("unexpected output: {line}"))?;
    if cost == 0 {
        return Err(format!("{name}: valgrind counted nothing"));
    }
    Ok(Part { name: name.to_owned(), requests, instructions: cost as f64 / requests as f64 })
}

/// The cost of each part with all that it called: the number in the line after the one that tells of its call.
fn costs(profile: &Path) -> Result<Vec<u64>, String> {
    let text = std::fs::read_to_string(profile).map_err(|error| format!("{}: {error}", profile.display()))?;
    let mut costs = vec![0; PARTS.len()];
    let (mut called, mut is_next) = (None, false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("cfn=") {
            called = number(name);
        } else if line.starts_with("calls=") {
            is_next = true;
        } else if std::mem::take(&mut is_next)
            && let Some(at) = called.take()
            && let Some(cost) = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok())
        {
            costs[at] += cost;
        }
    }
    Ok(costs)
}

/// The number in the name of a part's function.
fn number(name: &str) -> Option<usize> {
    let digits = name.split(MARK).nth(1)?.get(..2)?;
    digits.parse().ok().filter(|number| *number < PARTS.len())
}
