//! A suite: named cases, run one after the other and counted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::Checked;
use super::tally::{Tally, in_ci};

/// A running suite.
pub(crate) struct Suite {
    name: &'static str,
    tally: Tally,
}

impl Suite {
    /// Runs a suite. A panic outside its cases (a proxy that does not start) is one failure.
    pub(crate) fn run(name: &'static str, body: fn(&mut Self)) -> Tally {
        let start = Instant::now();
        let mut suite = Self { name, tally: Tally::default() };
        if catch_unwind(AssertUnwindSafe(|| body(&mut suite))).is_err() {
            suite.fail("suite", "panicked; see above");
        }
        let Tally { passed, failed, skipped, .. } = suite.tally;
        let seconds = start.elapsed().as_secs_f32();
        println!(
            "e2e {name}: {} ran, {passed} passed, {failed} failed, {skipped} skipped in {seconds:.1} s",
            passed + failed
        );
        suite.tally
    }

    /// Runs one case.
    pub(crate) fn case(&mut self, name: &str, body: impl FnOnce() -> Checked) {
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(())) => self.tally.passed += 1,
            Ok(Err(message)) => self.fail(name, &message),
            Err(_) => self.fail(name, "panicked; see above"),
        }
    }

    /// Counts cases that cannot run here, and says why.
    pub(crate) fn skip(&mut self, count: usize, reason: &str) {
        println!("SKIPPED: e2e {}: {reason}", self.name);
        self.tally.skipped += count;
    }

    /// A program is missing: a skip on somebody's own machine, a failure in CI.
    pub(crate) fn missing(&mut self, program: &str, install: &str) {
        let reason = format!("no `{program}` here; {install}");
        if in_ci() {
            self.fail("suite", &reason);
        } else {
            self.skip(1, &reason);
        }
    }

    fn fail(&mut self, name: &str, message: &str) {
        println!("FAILED: e2e {}: {name}: {message}", self.name);
        self.tally.failed += 1;
    }
}
