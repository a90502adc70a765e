//! What a suite of cases counts, said in the one form that `tests/table.py` reads.

/// How many cases ran; how many of them passed; how many came out otherwise for a reason that stands in a file; how many
/// did not run. What is left of those that ran has failed. Lines of the same name add up.
pub(crate) fn say(suite: &str, run: usize, passed: usize, explained: usize, skipped: usize) {
    println!("COUNT: {suite}: {run} run, {passed} passed, {explained} explained, {skipped} skipped");
}
