//! Instructions by callgrind: one run of valgrind for each level.

use portcullis::engine::Scratch;

use super::callgrind::{self, Counter, Part};
use super::corpora::{Class, GETS, with_borrowed};
use super::report::{Report, thousands};
use super::{all_hostile, pass, requests, rules, target, time};

/// Under valgrind everything takes fifty times as long.
const MOST: usize = 24;

/// Instructions for an ordinary GET at paranoia level 1 without memo: at most, and the aim.
const MARKS: [(f64, &str); 2] = [(300_000.0, "at most 300,000"), (200_000.0, "the aim of 200,000")];

/// What runs under valgrind. The names of the parts are a class and a state.
pub(crate) fn count(level: u8) {
    let rules = rules::load(level).rules;
    let mut counter = Counter::default();
    let classes: Vec<Class> = requests::ordinary_and_attacks().0.iter().map(|class| class.thinned(MOST)).collect();
    let hostile = requests::hostile();
    let gets = &classes[0];
    let mut once = |class: &Class, state: &str, scratch: &mut Scratch| {
        with_borrowed(&class.requests, |requests| {
            counter.count(&format!("{}|{state}", class.name), requests.len(), || pass(&rules, requests, scratch));
        });
    };
    let unmeasured = |class: &Class, scratch: &mut Scratch| {
        with_borrowed(&class.requests, |requests| pass(&rules, requests, scratch));
    };
    once(gets, "loading", &mut Scratch::without_memo());
    for class in &classes {
        for (state, mut scratch) in [("off", Scratch::without_memo()), ("on", Scratch::default())] {
            unmeasured(class, &mut scratch);
            once(class, state, &mut scratch);
        }
    }
    let mut scratch = Scratch::without_memo();
    for class in &hostile {
        unmeasured(class, &mut scratch);
        once(class, "off", &mut scratch);
    }
    unmeasured(&all_hostile(), &mut scratch);
    once(gets, "hostile", &mut scratch);
}

/// Runs valgrind and prints the table.
pub(crate) fn table() {
    if !callgrind::is_there() {
        println!("SKIPPED: valgrind is not installed; no instructions were counted");
        return;
    }
    let counted: Vec<Vec<Part>> =
        rules::LEVELS.iter().map(|level| callgrind::run(&["--count", &level.to_string()]).unwrap()).collect();
    let mut report = Report::new("instructions");
    report.line(&format!("{}, instructions a request by callgrind:", rules::title()));
    requests::ordinary_and_attacks().1.iter().for_each(|remark| report.line(remark));
    let mut rows = vec![time::head("requests")];
    // What is cold comes first in the run, and after what is warm in the table.
    let (warm, once): (Vec<&Part>, Vec<&Part>) = counted[0].iter().partition(|part| part.name.ends_with("|off"));
    for part in warm.into_iter().chain(once) {
        let (class, state) = part.name.split_once('|').unwrap();
        let (title, states) = match state {
            "off" => (format!("{class} ({})", part.requests), ["off", "on"]),
            "loading" => (format!("{class}, first after loading"), ["loading", ""]),
            "hostile" => (format!("{class}, first after hostile requests"), ["hostile", ""]),
            _ => continue,
        };
        let cells = counted.iter().flat_map(|level| states.map(|state| instructions(level, class, state)));
        let cells = cells.map(|figure| figure.map(thousands).unwrap_or_default());
        rows.push(std::iter::once(title).chain(cells).collect());
    }
    report.table(&rows);
    let gets = instructions(&counted[0], GETS, "off").unwrap();
    for (mark, words) in MARKS {
        let word = if gets <= mark { "met" } else { "MISSED" };
        report.line(&format!(
            "Mark, {words} instructions for an ordinary GET at level 1 without memo: {}: {word}.",
            thousands(gets)
        ));
    }
    report.save(target()).unwrap();
}

fn instructions(counted: &[Part], class: &str, state: &str) -> Option<f64> {
    counted.iter().find(|part| part.name.split_once('|') == Some((class, state))).map(|part| part.instructions)
}
