//! The integration tests: one binary, a module per area.

// `cfg(test)` tells the lints that helpers are tests too: they may panic.
#[cfg(test)]
#[cfg(feature = "server")]
mod command;
#[cfg(test)]
#[cfg(feature = "server")]
mod crs;
#[cfg(test)]
#[cfg(feature = "server")]
mod engine;
mod seclang;
#[cfg(test)]
mod tidy;
#[cfg(test)]
#[cfg(feature = "server")]
mod transport;
