//! How long a value takes, ours and C's, on honest values, on attacks, and on those of both that no gate answers at once.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::{Ours, c, corpus};

/// The best of so many rounds counts: what disturbs a round only makes it slower.
const ROUNDS: usize = 50;

pub(crate) fn run(ours: &Ours) {
    if cfg!(debug_assertions) {
        println!("NOTE: not optimised; use --release for times that mean something");
    }
    let corpora = [("honest", corpus::honest()), ("attacks", corpus::attacks())];
    println!("{:<32}{:>8}{:>8}{:>10}{:>10}{:>8}", "", "values", "bytes", "ours, ns", "C, ns", "C/ours");
    for (name, values) in corpora {
        let open_to_sql = |value: &&Vec<u8>| !value.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        let open_to_html = |value: &&Vec<u8>| value.iter().any(|byte| matches!(byte, b'<' | b'='));
        let ungated = |is_open: &dyn Fn(&&Vec<u8>) -> bool| values.iter().filter(is_open).cloned().collect::<Vec<_>>();
        row(&format!("{name}, @detectSQLi"), &values, &|value| ours.is_sqli(value), &c::Value::is_sqli);
        let open = ungated(&open_to_sql);
        row(&format!("{name}, @detectSQLi, ungated"), &open, &|value| ours.is_sqli(value), &c::Value::is_sqli);
        row(&format!("{name}, @detectXSS"), &values, &|value| ours.xss(value), &c::Value::xss);
        row(&format!("{name}, @detectXSS, ungated"), &ungated(&open_to_html), &|value| ours.xss(value), &c::Value::xss);
    }
}

fn row(name: &str, values: &[Vec<u8>], ours: &dyn Fn(&[u8]) -> bool, theirs: &dyn Fn(&c::Value) -> bool) {
    let padded: Vec<c::Value> = values.iter().map(|value| c::Value::new(value)).collect();
    let (mut best, mut best_of_c) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best = best.min(time(|| values.iter().filter(|value| ours(black_box(value))).count()));
        best_of_c = best_of_c.min(time(|| padded.iter().filter(|value| theirs(black_box(value))).count()));
    }
    let per_value = |time: Duration| time.as_secs_f64() * 1e9 / values.len().max(1) as f64;
    let bytes = values.iter().map(Vec::len).sum::<usize>() as f64 / values.len().max(1) as f64;
    let (best, best_of_c) = (per_value(best), per_value(best_of_c));
    println!("{name:<32}{:>8}{bytes:>8.1}{best:>10.1}{best_of_c:>10.1}{:>8.1}", values.len(), best_of_c / best);
}

fn time(work: impl FnOnce() -> usize) -> Duration {
    let started = Instant::now();
    black_box(work());
    started.elapsed()
}
