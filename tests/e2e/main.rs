//! End-to-end tests: our binary behind the real proxies, with the configurations that lie in `deploy/`.
//!
//! ```text
//! cargo test --test e2e                    all suites
//! cargo test --test e2e -- envoy nginx     these suites
//! ```
//! A proxy that is not installed is a loud, counted skip, and a failure where `CI=true`. Everything listens on loopback,
//! on ports that were free; all children end with the test, however it ends.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test program: a broken assumption is a failed test"
)]

mod caddy;
mod cases;
mod envoy;
mod envoy_http;
mod manifests;
mod nginx;
mod serve;
mod support;
mod traefik;

use std::process::ExitCode;
use std::time::Duration;

use support::process;
use support::suite::Suite;
use support::tally::Tally;

/// More than ten times what all suites take on two busy cores.
const LIMIT: Duration = Duration::from_secs(15 * 60);

/// A suite's cases.
type Body = fn(&mut Suite);

/// The suites by name.
const SUITES: &[(&str, Body)] = &[
    ("manifests", manifests::run),
    ("serve", serve::run),
    ("envoy", envoy::run),
    ("envoy-http", envoy_http::run),
    ("traefik", traefik::run),
    ("nginx", nginx::run),
    ("caddy", caddy::run),
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if let Some(unknown) = names.iter().find(|name| !SUITES.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = SUITES.iter().map(|(name, _)| *name).collect();
        eprintln!("no suite `{unknown}`; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    process::end_all_after(LIMIT);
    let mut total = Tally::default();
    for (name, run) in SUITES.iter().filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name)) {
        total = total + Suite::run(name, *run);
    }
    println!("\n{} passed, {} failed, {} skipped", total.passed, total.failed, total.skipped);
    ExitCode::from(u8::from(total.failed > 0 || total.passed == 0))
}
