//! Portcullis: a web application firewall that stands beside the proxy.
//!
//! A proxy (Envoy, Traefik, nginx, Caddy) asks about each request before it passes it on; Portcullis judges it with the
//! rules of the OWASP Core Rule Set, written in SecLang, and answers allow or deny. This page is the map of the code.
//!
//! # From above
//!
//! ```text
//! rules text ─ seclang ─► AST ─ compile ─► RuleSet ──────┐      start-up and reload: may be slow, may fail, says why
//!                 ▲                                      ▼
//!      sets: which files, with whose settings      engine(RuleSet, Request, Scratch) ─► Outcome      pure, no I/O
//!                                                        ▲                                │
//! proxy ─ transport ─► Request ─ service ─ cache, limits ┘        audit, metrics, mode ◄──┘
//!                                   └─► Decision ─ transport ─► answer in the proxy's words
//! ```
//!
//! Data flows one way. What the rules found is *returned* by the engine as an [`Outcome`](model::Outcome); cache, audit
//! and metrics read that value, so that the server, the command line, the tests and the benches run the same engine.
//! Two types carry the boundary: a [`Request`](model::Request) is all that a rule can know of a request, whatever proxy
//! sent it; a `Decision` (in `service`) is the only place that knows about detection mode and failing open or closed.
//!
//! # The modules
//!
//! In reading order. The first six are the core and build alone with `--no-default-features`; the rest is the rim,
//! behind the feature `server`.
//!
//! | module | what lives there | does not know |
//! |---|---|---|
//! | [`model`] | requests, bodies, verdicts, outcomes, rule ids | any other module, any proxy |
//! | [`seclang`] | rule text: sources, lexer, syntax tree, printer, diagnostics | what an operator does, the file system |
//! | [`vocab`] | the words: operators, transformations, variables, actions; pure functions over bytes | phases, transactions |
//! | [`ruleset`] | the compiled rules, immutable, and their footprint: what they read of a request | the text they came from |
//! | [`compile`] | from syntax tree to rule set; the only place that sees both | requests |
//! | [`engine`] | a request through the rules: body parsing, targets, phases, scores | text, clock, log, cache, tokio |
//! | `config` | what was written in the file, environment and flags; what it means; or every error | tokio; it opens nothing |
//! | `sets` | rule sets by name, found on disk or in the binary, with a policy's settings around them | requests |
//! | `service` | one decision: limits, cache, evaluation, mode, failure policy; reload | protobuf, any proxy's HTTP |
//! | `transport` | per proxy: wire to request, decision to wire; listeners, health, metrics endpoint | rules, cache |
//! | `input` | requests from files: JSON lines, HAR, raw HTTP messages | rules, any proxy |
//! | `ftw` | the regression tests of the CRS: read, send, judge | where rule sets come from, how results are printed |
//! | `cli` | one file per command | – |
//!
//! Most rules never run: `ruleset::prefilter`, built by `compile::prefilter` and run by `engine::prefilter`, tells from one
//! pass over a request's values which rules may match at all. It only rules out; everything else is evaluated as if it
//! did not exist, and `tests/prefilter` compares the two paths.
//!
//! `tests/it/tidy.rs` holds the table of who may use whom, and the build of the core alone holds the line between core
//! and rim. Rule files of ours are in `rules/`, the wire formats in `proto/`, and the configurations that the end-to-end
//! tests start in `deploy/`.
//!
//! # What never happens
//!
//! - A request never takes the process down: no `unsafe`, no unchecked index, no `unwrap` outside tests; a panic that
//!   happens all the same is caught by `service` and decided by the failure policy.
//! - The engine never reads a clock, a random number or a global: the same inputs give the same outcome.
//! - Rules never load by half: one error anywhere, and the set that was running stays.
//! - A part of a request that was not inspected is never passed over in silence: it stands in the outcome.
//! - No file of the CRS is committed to this repository.
//! - Whether to fail open or closed is never decided in more than one function.

pub mod model;

pub mod seclang;

pub mod vocab;

pub mod ruleset;

pub mod compile;

pub mod engine;

#[cfg(feature = "server")]
pub mod config;

#[cfg(feature = "server")]
pub mod sets;

#[cfg(feature = "server")]
pub mod service;

#[cfg(feature = "server")]
pub mod transport;

#[cfg(feature = "server")]
pub mod input;

#[cfg(feature = "server")]
pub mod ftw;

#[cfg(feature = "server")]
pub mod cli;
