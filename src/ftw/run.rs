//! Runs tests on all cores, in process; the results come in the order of the tests, whatever the threads did.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::judge::{self, Observed};
use super::{Stage, Test};
use crate::engine::{self, Inputs, Scratch};
use crate::input::{RequestBuf, parse_raw};
use crate::ruleset::RuleSet;

/// The result of one test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestResult {
    /// How it ended.
    pub status: Status,
    /// The raw-request parser answered at least one stage itself.
    pub refused: bool,
}

/// How a test ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Status {
    /// Every stage gave what was expected.
    Passed,
    /// A stage did not.
    Failed {
        /// What was expected and did not happen.
        expected: String,
        /// The rules that were logged.
        got: Vec<u32>,
        /// What else happened: the message was refused or incomplete.
        note: Option<String>,
    },
    /// It was not run, or not all of it.
    Skipped {
        /// Why.
        reason: String,
    },
}

/// Tests are handed out in batches of this size: large enough to keep threads from meeting, small enough that none
/// waits long for the last one.
const BATCH: usize = 16;

/// The client is not on the loopback: the CRS trusts that (905100) and would be switched off by its own tests.
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Time, id and budget are fixed, so that a run can be repeated exactly.
const NOW_MICROS: i64 = 1_767_225_600_000_000;

/// Runs the tests; `progress` is told the number of tests done, from any thread.
pub fn run(tests: &[Test], rules: &RuleSet, progress: &(dyn Fn(usize) + Sync)) -> Vec<TestResult> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(tests.len().div_ceil(BATCH));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut scratch = Scratch::default();
        let mut results = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let batch = tests.get(start..tests.len().min(start + BATCH)).unwrap_or_default();
            if batch.is_empty() {
                return results;
            }
            results.push((start, batch.iter().map(|test| run_test(test, rules, &mut scratch)).collect::<Vec<_>>()));
            progress(done.fetch_add(batch.len(), Ordering::Relaxed) + batch.len());
        }
    };
    let mut batches: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    batches.sort_by_key(|(start, _)| *start);
    batches.into_iter().flat_map(|(_, results)| results).collect()
}

/// A failed stage decides; otherwise one that was skipped does.
fn run_test(test: &Test, rules: &RuleSet, scratch: &mut Scratch) -> TestResult {
    let mut result = TestResult { status: Status::Passed, refused: false };
    for stage in &test.stages {
        if let Some(reason) = &stage.skip {
            result.status = Status::Skipped { reason: reason.clone() };
            continue;
        }
        let observed = observe(stage, &test.name.to_string(), rules, scratch);
        result.refused |= matches!(observed, Observed::Refused { .. });
        if let Some(expected) = judge::judge(&stage.expected, &observed) {
            let (got, note) = (observed.logged(), judge::describe(&observed));
            return TestResult { status: Status::Failed { expected, got, note }, ..result };
        }
    }
    result
}

/// Sends what the stage sends to the raw-request parser and, unless that refuses it, to the rules.
fn observe(stage: &Stage, name: &str, rules: &RuleSet, scratch: &mut Scratch) -> Observed {
    match parse_raw(&stage.input.bytes()) {
        Err(refusal) => Observed::Refused { status: refusal.status, reason: refusal.reason.to_string() },
        Ok(received) => {
            let received = RequestBuf {
                remote_addr: Some(CLIENT),
                remote_port: 40_000,
                server_addr: Some(SERVER),
                server_port: 80,
                ..received
            };
            let inputs = Inputs {
                now_micros: NOW_MICROS,
                duration_micros: 1000,
                unique_id: name,
                work_limit: u64::MAX,
                expired: &|| false,
            };
            Observed::Judged(Box::new(
                received.with_request(|request| engine::evaluate(rules, request, &inputs, scratch)),
            ))
        }
    }
}
