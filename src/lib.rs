//! Portcullis: a web application firewall that stands beside the proxy.

pub mod engine;
pub mod model;
pub mod ruleset;
pub mod seclang;
pub mod vocab;

#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod config;
#[cfg(feature = "server")]
pub mod service;
#[cfg(feature = "server")]
pub mod sets;
#[cfg(feature = "server")]
pub mod transport;
