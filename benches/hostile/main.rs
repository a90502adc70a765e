//! What requests cost that were made to cost as much as possible: values of hostile shapes, and everything else that a
//! client can make more of, up to the default limits.
//!
//! ```text
//! cargo bench --bench hostile               everything
//! cargo bench --bench hostile -- random     only the rows that have this in their name
//! ```
//!
//! Times are the thread's own CPU time. What is checked here is that nothing fails but by the work limit; that work grows
//! in step with the size is checked by `tests/it/hostile.rs`, without timing. The table goes to target/bench/ as well.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

#[path = "../common/clock.rs"]
mod clock;
#[path = "../common/report.rs"]
mod report;
#[allow(dead_code, reason = "what growth is allowed is for the tests to know")]
mod shapes;

use std::path::Path;
use std::time::Duration;

use clock::cpu_time;
use portcullis::config::Policy;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::model::{Fault, Outcome};
use portcullis::ruleset::RuleSet;
use portcullis::service::work_limit;
use portcullis::sets;
use report::{Report, micros, thousands};
use shapes::{Dimension, PARTS, VALUES};

/// Measured this often; the least counts.
const ROUNDS: usize = 4;

/// So that the clock and what others do to the caches matter little.
const ROUND: Duration = Duration::from_millis(10);

const HEAD: [&str; 8] = [
    "hostile part, its largest size",
    "PL1 µs",
    "ns each",
    "twice the size",
    "PL4 µs",
    "ns each",
    "twice the size",
    "PL4 work, of it each",
];

/// A row at one level: microseconds, so much each, growth from half the size, work.
struct Measured {
    micros: f64,
    growth: f64,
    work: u64,
    spent: bool,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let dimensions: Vec<&Dimension> = VALUES.iter().chain(&PARTS).filter(|part| is_wanted(part.name)).collect();
    let mut report = Report::new("hostile");
    let mut rows: Vec<Vec<String>> = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(
        dimensions.iter().map(|part| vec![format!("{}, {} {}", part.name, thousands(part.most as f64), part.unit)]),
    );
    let before = resident();
    for paranoia in [1, 4] {
        let (rules, name, limit) = load(paranoia);
        let loaded = resident();
        let mut worst = (0.0, "");
        for (part, row) in dimensions.iter().zip(rows.iter_mut().skip(1)) {
            let measured = measure(&rules, limit, part);
            if measured.micros > worst.0 {
                worst = (measured.micros, part.name);
            }
            row.extend(cells(&measured, part, paranoia == 4));
            eprintln!("{}", row.join(" | "));
        }
        report.line(&format!(
            "Paranoia level {paranoia}, {name}: the worst takes {:.0} ms ({}). Resident: {before} MB before the rules were \
             loaded, {loaded} MB after, {} MB after all this. Work limit {}.",
            worst.0 / 1e3,
            worst.1,
            resident(),
            thousands(limit as f64),
        ));
    }
    report.table(&rows);
    if words.is_empty() {
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        report.save(tmp.parent().unwrap_or(tmp)).unwrap();
    }
}

fn cells(measured: &Measured, part: &Dimension, with_work: bool) -> Vec<String> {
    let each = |total: f64| thousands(total / part.most as f64);
    let Measured { micros: time, growth, work, spent } = measured;
    let mut cells = vec![micros(*time), each(time * 1e3), format!("x {growth:.2}")];
    if with_work {
        let end = if *spent { ", limit reached" } else { "" };
        cells.push(format!("{}, {}{end}", thousands(*work as f64), each(*work as f64)));
    }
    cells
}

/// The CRS that lies beside the repository, else the one that the server would use.
fn load(paranoia: u8) -> (RuleSet, String, u64) {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), Into::into);
    let folder = Some(shared.join("crs/4.28.0")).filter(|folder| folder.is_dir());
    let rules = folder.map(|folder| format!("crs@{}", folder.display()));
    let mut policy = Policy { rules, ..Policy::default() };
    policy.crs.paranoia = Some(paranoia);
    policy.crs.detection_paranoia = Some(paranoia);
    let limit = work_limit(policy.body.limit);
    let set = sets::load(&policy).unwrap();
    (set.rules, set.version.map_or(set.name, |version| format!("CRS {version}")), limit)
}

/// Measures half of the largest size, and the largest.
fn measure(rules: &RuleSet, limit: u64, Dimension { name, most, make, .. }: &Dimension) -> Measured {
    let mut scratch = Scratch::without_memo();
    let [half, whole] = [most / 2, *most].map(|size| {
        let inputs = Inputs { work_limit: limit, ..Inputs::default() };
        make(size).with_request(|request| {
            let mut one = || evaluate(rules, request, &inputs, &mut scratch);
            let outcome = one();
            (least_micros(&mut one), outcome)
        })
    });
    let (micros, Outcome { work, faults, .. }) = whole;
    assert!(faults.iter().all(|fault| *fault == Fault::BudgetSpent), "{name}: {faults:?}");
    Measured { micros, growth: micros / half.0, work, spent: !faults.is_empty() }
}

/// The least CPU time of an evaluation.
fn least_micros(one: &mut impl FnMut() -> Outcome) -> f64 {
    let mut round = |times: u32| {
        let began = cpu_time();
        (0..times).for_each(|_| drop(one()));
        (cpu_time() - began) / times
    };
    let times = ROUND.div_duration_f64(round(1).max(Duration::from_micros(1))).ceil().max(1.0) as u32;
    let least = (0..ROUNDS).map(|_| round(times)).min().unwrap_or_default();
    least.as_secs_f64() * 1e6
}

/// The resident size in MB, 0 where it is not told.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes / 1024)
}
