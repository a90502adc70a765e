//! The results in words and numbers, held against what is frozen in `classes.txt`.

use std::collections::{BTreeMap, BTreeSet};

use crate::proxies::Proxy;
use crate::support::tally::{Tally, in_ci};
use crate::verdict::End;

/// How each test ended; `None` when it was not run because it is about responses.
pub(crate) type Ends = Vec<(String, Option<End>)>;

/// The tests that ended in a class, with it.
pub(crate) fn classes(ends: &Ends) -> Vec<(String, String)> {
    let class = |(test, end): &(String, Option<End>)| match end {
        Some(End::Class(class)) => Some((test.clone(), class.clone())),
        _ => None,
    };
    ends.iter().filter_map(class).collect()
}

/// A proxy that is not installed is a skip on somebody's own machine, and a failure in CI.
pub(crate) fn missing(run: &str, proxy: &Proxy, count: usize) -> Tally {
    let word = if in_ci() { "FAILED" } else { "SKIPPED" };
    println!("{word}: doors {run}: no `{}` here; {}; {count} tests were not run", proxy.name, proxy.install);
    match in_ci() {
        true => Tally { failed: count, ..Tally::default() },
        false => Tally { skipped: count, ..Tally::default() },
    }
}

/// Prints and counts.
pub(crate) fn report(run: &str, ends: &Ends, known: &BTreeSet<&str>, frozen: &BTreeMap<&str, &str>) -> Tally {
    let mut tally = Tally::default();
    let mut rows: BTreeMap<&str, usize> = BTreeMap::new();
    let fail = |tally: &mut Tally, test: &str, message: &str| {
        tally.failed += 1;
        println!("FAILED: doors {run}: {test}: {message}");
    };
    for (test, end) in ends {
        let class = frozen.get(test.as_str()).copied();
        match (end, class) {
            (None, None) => tally.skipped += 1,
            (Some(End::Passed), None) => tally.passed += 1,
            (Some(End::Unmet(_)), None) if known.contains(test.as_str()) => tally.skipped += 1,
            (Some(End::Class(found)), Some(class)) if found == class => {
                tally.classified += 1;
                *rows.entry(class).or_default() += 1;
            }
            (Some(End::Class(found)), _) => {
                fail(&mut tally, test, &format!("`{found}`, but in classes.txt it is {class:?}"))
            }
            (Some(End::Unmet(message)), _) => {
                fail(&mut tally, test, &format!("expected {message}; so it does not hold without a proxy either"))
            }
            (Some(End::Failed(message)), _) => fail(&mut tally, test, message),
            (None | Some(End::Passed), Some(class)) => {
                fail(&mut tally, test, &format!("not `{class}` any more; take it out of classes.txt"))
            }
        }
    }
    let Tally { passed, classified, failed, skipped } = tally;
    println!("{run}: {skipped} not counted: about responses, or in tests/conformance/known.toml");
    println!("{passed:>8}  passed");
    rows.iter().for_each(|(class, count)| println!("{count:>8}  {class}"));
    let ran = passed + classified + failed;
    println!("conformance-{run}: {ran} run, {passed} passed, {classified} classified, {failed} failed");
    tally
}
