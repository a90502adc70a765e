//! One version of the CRS through one proxy: send everything, wait for the audit log, judge.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use portcullis::engine::Scratch;
use portcullis::ftw::{self, Stage, Test};
use portcullis::input::parse_raw;
use portcullis::{config::Policy, sets};

use crate::backend::Backend;
use crate::client::{Answer, Client, LITTLE_PATIENCE, PATIENCE};
use crate::proxies::Proxy;
use crate::record::{self, Record, shown};
use crate::report::Ends;
use crate::support::sidecar::{Setup, Sidecar};
use crate::support::{Checked, ensure};
use crate::verdict::{End, Let, Oracle};

/// Requests at a time.
const CROWD: usize = 8;
/// The audit log is written behind the answers' back.
const WRITTEN: Duration = Duration::from_secs(20);

/// Which tests to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// Every n-th.
    Every(usize),
    /// The one of this name, and tell all about it.
    Only(String),
}

impl Choice {
    /// How many of so many tests are chosen.
    pub(crate) fn count(&self, all: usize) -> usize {
        match self {
            Self::Every(n) => all.div_ceil(*n),
            Self::Only(_) => 1,
        }
    }

    fn of<'t>(&self, tests: &'t [Test]) -> Vec<&'t Test> {
        match self {
            Self::Every(n) => tests.iter().step_by(*n).collect(),
            Self::Only(name) => tests.iter().filter(|test| test.name.to_string() == *name).collect(),
        }
    }
}

/// One stage and who answered it.
struct Sent<'t> {
    stage: &'t Stage,
    bytes: Vec<u8>,
    answer: Checked<Answer>,
}

impl Sent<'_> {
    /// Everything about it, for somebody who looks for a reason.
    fn tell(&self, sidecar: &Sidecar, kept: &HashMap<String, Vec<u8>>) {
        println!("sent:\n{}\nexpected: {:?}\nanswer: {:?}", shown(&self.bytes), self.stage.expected, self.answer);
        if let Ok(Answer::Passed(id)) = &self.answer {
            let arrived = kept.get(id).map(Vec::as_slice).unwrap_or_default();
            let log = String::from_utf8_lossy(&sidecar.audit()).into_owned();
            let record = log.lines().find(|line| line.contains(id)).unwrap_or_default();
            println!("the application got:\n{}\naudit record:\n{record}", shown(arrived));
        }
    }
}

/// Sends the chosen tests of a version; how each ended.
pub(crate) fn run(proxy: &Proxy, program: &Path, folder: &Path, count: usize, choice: &Choice) -> Checked<Ends> {
    let started = Instant::now();
    let suite = ftw::load(&[folder.join("tests/regression/tests")])
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    if suite.tests.len() != count {
        return Err(format!("{} tests found instead of {count}", suite.tests.len()));
    }
    let tests = choice.of(&suite.tests);
    let policy = ftw::setup::policy(Some(&format!("crs@{}", folder.display())));
    let backend = Backend::start();
    let sidecar = Sidecar::start(setup(&policy));
    let running = proxy.start(program, &sidecar, backend.port);
    let ready = started.elapsed();
    let sent = in_parallel(CROWD, &tests, || Client::new(running.port()), send);
    let answered = started.elapsed();
    let records = records(&sidecar, &sent)?;
    let kept = backend.take();
    all_arrived(&records, &kept)?;
    if matches!(choice, Choice::Only(_)) {
        sent.iter().flatten().for_each(|sent| sent.tell(&sidecar, &kept));
    }
    let set = sets::load(&policy).map_err(|error| error.messages.join("\n"))?;
    let oracle = || Oracle { rules: &set.rules, seen: &proxy.seen, scratch: Scratch::default() };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let numbered: Vec<usize> = (0..tests.len()).collect();
    let ends = in_parallel(threads, &numbered, oracle, |oracle, at| {
        (tests[*at].name.to_string(), judge(oracle, &sent[*at], &records, &kept))
    });
    println!(
        "{} {}: {ready:.1?} to start, {:.1?} to send, {:.1?} to judge",
        proxy.name,
        folder.file_name().unwrap_or_default().display(),
        answered - ready,
        started.elapsed() - answered,
    );
    Ok(ends)
}

/// The set-up of the in-process tests, in the file's words.
fn setup(policy: &Policy) -> Setup {
    let crs = &policy.crs;
    let pairs: Vec<String> = crs.tx.iter().map(|(name, value)| format!("{name}: \"{value}\"")).collect();
    let level = crs.paranoia.expect("the tests' set-up has a paranoia level");
    let rules = policy.rules.clone();
    Setup { rules, ..Setup::at(level) }
        .with("mode: block ", "mode: detect ")
        .with("tx: {} ", &format!("tx: {{{}}} ", pairs.join(", ")))
}

fn send<'t>(client: &mut Client, test: &&'t Test) -> Vec<Sent<'t>> {
    let stages = test.stages.iter().filter(|stage| stage.skip.is_none());
    let send = |stage: &'t Stage| {
        let bytes = stage.input.bytes();
        let answer = client.send(&bytes, patience(&bytes));
        Sent { stage, bytes, answer }
    };
    stages.map(send).collect()
}

/// A proxy waits for the rest of a message that ends too early.
fn patience(bytes: &[u8]) -> Duration {
    match parse_raw(bytes) {
        Err(refusal) if refusal.reason.contains("incomplete") || refusal.reason.contains("ends before") => {
            LITTLE_PATIENCE
        }
        _ => PATIENCE,
    }
}

/// The audit records, once all that are to come are there.
fn records<'s>(sidecar: &Sidecar, sent: &'s [Vec<Sent<'_>>]) -> Checked<HashMap<String, Record>> {
    let id = |sent: &'s Sent<'_>| match &sent.answer {
        Ok(Answer::Passed(id)) => Some(id.as_str()),
        _ => None,
    };
    let ids: Vec<&str> = sent.iter().flatten().filter_map(id).collect();
    let start = Instant::now();
    loop {
        let records = record::read_all(&sidecar.audit())?;
        // What is missing then is missed, and said, where it is judged.
        if ids.iter().all(|id| records.contains_key(*id)) || start.elapsed() > WRITTEN {
            return Ok(records);
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// Whatever the sidecar judged it let pass, and a proxy that answered for itself did not ask. A call that the door could
/// not read, such as one whose target holds a `#`, is refused unjudged; its record holds no request.
fn all_arrived(records: &HashMap<String, Record>, kept: &HashMap<String, Vec<u8>>) -> Checked {
    let judged = records.values().filter(|record| !record.request.method.is_empty());
    let lost: Vec<&Record> = judged.filter(|record| !kept.contains_key(&record.unique_id)).collect();
    let shown = |record: &&Record| format!("{} {}", record.request.method, record.request.uri);
    ensure(lost.is_empty(), || {
        let some: Vec<String> = lost.iter().take(5).map(shown).collect();
        format!("{} requests were judged and did not reach the application: {}", lost.len(), some.join(", "))
    })
}

/// The first stage that does not pass decides; `None` when none was run.
fn judge(
    oracle: &mut Oracle<'_>,
    stages: &[Sent<'_>],
    records: &HashMap<String, Record>,
    kept: &HashMap<String, Vec<u8>>,
) -> Option<End> {
    let ends = stages.iter().map(|sent| match &sent.answer {
        Err(error) => End::Failed(error.clone()),
        Ok(answer) => {
            let id = if let Answer::Passed(id) = answer { id.as_str() } else { "" };
            let found = Let { record: records.get(id), backend: kept.get(id).map(Vec::as_slice) };
            oracle.judge(&sent.bytes, &sent.stage.expected, answer, found)
        }
    });
    let ends: Vec<End> = ends.collect();
    ends.iter().find(|end| **end != End::Passed).or(ends.first()).cloned()
}

/// Works on all items in so many threads, each with a worker of its own; the results are in the items' order.
fn in_parallel<T: Sync, W, R: Send>(
    threads: usize,
    items: &[T],
    worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut worker = worker();
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return results };
            results.push((at, work(&mut worker, item)));
        }
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker panicked")).collect()
    });
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
