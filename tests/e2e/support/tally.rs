//! How cases ended, counted.

use std::ops::Add;

/// How many cases ended how.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    /// Came out otherwise, as a file beside the cases says they do.
    pub(crate) classified: usize,
    pub(crate) failed: usize,
    /// Not run, or accepted to fail.
    pub(crate) skipped: usize,
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            classified: self.classified + other.classified,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

/// Whether what is not installed is a failure; it is a skip on somebody's own machine.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}
