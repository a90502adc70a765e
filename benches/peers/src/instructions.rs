//! Instructions for each request, counted by callgrind: one run of valgrind for each engine and level.

use std::hint::black_box;

use super::callgrind::{self, Counter, Part};
use super::corpora::{classes, with_borrowed};
use super::figures::{self, Row};
use super::peers::{self, OURS, OURS_WITH_MEMO};
use super::report::{Report, thousands};
use super::{COMPARISONS, ENGINES, Inputs, LEVELS, VERSION, target};

/// Under valgrind everything takes fifty times as long.
const MOST: usize = 12;

/// What runs under valgrind: each class once to warm up, and once counted. A part is named after the class and the
/// verdicts.
///
/// # Errors
/// The engine cannot take part.
pub fn count(inputs: &Inputs, name: &str, level: u8, comparison: usize) -> Result<(), String> {
    let removed = COMPARISONS.get(comparison).map_or(&[][..], |comparison| comparison.removed);
    let mut peer = peers::load(name, inputs, level, removed)?;
    let mut counter = Counter::default();
    for class in classes(&inputs.benign, &inputs.crs)? {
        let class = class.thinned(MOST);
        with_borrowed(&class.requests, |requests| {
            let verdicts = requests.iter().map(|request| if peer.judge(request) { 'x' } else { '-' });
            let title = format!("{}|{}", class.name, verdicts.collect::<String>());
            counter.count(&title, requests.len(), || {
                for request in requests {
                    black_box(peer.judge(black_box(request)));
                }
            });
        });
    }
    Ok(())
}

/// Runs valgrind for every engine and level, and prints the tables.
///
/// # Errors
/// Ours could not be counted.
pub fn print() -> Result<(), String> {
    if !callgrind::is_there() {
        println!("SKIPPED: valgrind is not installed; no instructions were counted");
        return Ok(());
    }
    let mut report = Report::new("peers-instructions");
    report.line(&format!(
        "CRS {VERSION}, phases 1 and 2 with body, blocking, no audit log; instructions a request by callgrind, exact. In \
         brackets: how many verdicts are those of ours, where not all are."
    ));
    // Every engine once; ours again beside those that could not take part in the first comparison.
    let is_ours = |name: &str| [OURS, OURS_WITH_MEMO].contains(&name);
    let mut wanted = ENGINES.to_vec();
    for (number, comparison) in COMPARISONS.iter().enumerate() {
        if wanted.iter().all(|name| is_ours(name)) {
            break;
        }
        report.line(&format!("**{}**", comparison.title));
        let counted = all(number, &wanted, &mut report)?;
        let rows: Vec<Row> = counted.iter().flat_map(|(level, engines)| rows(*level, engines)).collect();
        let engines: Vec<&str> =
            counted.first().map_or_else(Vec::new, |(_, engines)| engines.iter().map(|(name, _)| *name).collect());
        report.table(&figures::table(&rows, &engines));
        wanted.retain(|name| is_ours(name) || !engines.contains(name));
    }
    report.save(&target())
}

/// An engine and its parts, a class each.
type Counted = (&'static str, Vec<Part>);

fn all(comparison: usize, wanted: &[&'static str], report: &mut Report) -> Result<Vec<(u8, Vec<Counted>)>, String> {
    let mut counted = Vec::new();
    for level in LEVELS {
        let mut engines = Vec::new();
        for &name in wanted {
            match callgrind::run(&["--count", name, &level.to_string(), &comparison.to_string()]) {
                Ok(parts) => engines.push((name, parts)),
                Err(message) if name == OURS => return Err(message),
                Err(message) if level == LEVELS[0] => report.line(&format!("SKIPPED: {name} is left out: {message}.")),
                Err(_) => {}
            }
        }
        counted.push((level, engines));
    }
    Ok(counted)
}

/// A row for each class.
fn rows(level: u8, engines: &[Counted]) -> Vec<Row> {
    let Some((_, ours)) = engines.first() else { return Vec::new() };
    let row = |(at, part): (usize, &Part)| {
        let (class, verdicts) = part.name.split_once('|').unwrap_or((&part.name, ""));
        let figure = |(name, parts): &Counted| {
            let theirs = parts.get(at)?;
            let same = theirs.name.chars().rev().zip(verdicts.chars().rev()).filter(|(a, b)| a == b).count();
            let remark = if same < verdicts.len() { format!(" [{same} of {}]", verdicts.len()) } else { String::new() };
            Some((*name, theirs.instructions, thousands(theirs.instructions) + &remark))
        };
        let title = format!("{class} ({})", part.requests);
        Row { title, class: "", level, figures: engines.iter().filter_map(figure).collect() }
    };
    ours.iter().enumerate().map(row).collect()
}
