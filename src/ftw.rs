//! Regression tests of the OWASP CRS, in the YAML format of its runner (go-ftw), run in process.
//!
//! ```text
//! *.yaml ─ yaml ─► tree ─ v1 | v2 ─► Test ─ request ─► bytes on the wire ─ raw parser, engine ─► judge ─► TestResult
//! ```
//!
//! Two schemas are read: the present one (`v2`: `rule_id`, numeric `test_id`, `log.expect_ids`) and that of CRS 3.3
//! (`v1`: `test_title`, `log_contains`). Unknown fields and duplicate names are refused with file and line. Every
//! message is built byte for byte as the CRS runner sends it and goes through the raw-request parser first, so that
//! the tests that expect a front end's own 400 are judged as well. Does not know where rule sets come from, nor how
//! results are printed.

mod judge;
mod load;
mod log;
pub mod overrides;
mod request;
mod run;
pub mod setup;
mod stage;
mod v1;
mod v2;
mod yaml;

use std::fmt;
use std::sync::Arc;

pub use judge::{Expected, Observed, judge};
pub use load::{Suite, load};
pub use request::{Completion, Input, Message};
pub use run::{Status, TestResult, run};

/// Something wrong with a test or overrides file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FtwError {
    /// The file.
    pub file: Arc<str>,
    /// The line, from 1; 0 when the file as a whole is meant.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for FtwError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

/// The name of a test: the rule it is about and its number there. CRS 3.3 has a few that are no numbers (`0FP`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TestName {
    /// The rule the test is about.
    pub rule_id: u32,
    /// Its number or name within that rule's tests.
    pub test_id: String,
}

impl fmt::Display for TestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rule_id, self.test_id)
    }
}

/// One regression test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its name, unique within a [`Suite`].
    pub name: TestName,
    /// The file it was read from.
    pub file: Arc<str>,
    /// The line it starts on.
    pub line: u32,
    /// Its requests, each judged by itself; the test passes when all do.
    pub stages: Vec<Stage>,
}

/// One request of a test and what is expected of it.
#[derive(Clone, Debug)]
pub struct Stage {
    /// What is sent.
    pub input: Input,
    /// What must and must not come of it.
    pub expected: Expected,
    /// Why this stage cannot be run in process, if so.
    pub skip: Option<String>,
}
