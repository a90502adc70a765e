//! The integration tests: one binary, a module per area.

// `cfg(test)` tells the lints that helpers are tests too: they may panic.
#[cfg(test)]
#[cfg(feature = "server")]
mod baseline;
#[cfg(test)]
#[cfg(feature = "server")]
mod benign;
#[cfg(test)]
#[cfg(feature = "server")]
mod blocking;
#[cfg(test)]
#[cfg(feature = "server")]
mod cases;
#[cfg(test)]
#[cfg(feature = "server")]
mod check;
#[cfg(test)]
#[cfg(feature = "server")]
mod command;
#[cfg(test)]
mod counted;
#[cfg(test)]
#[cfg(feature = "server")]
mod crs;
#[cfg(test)]
#[cfg(feature = "server")]
mod crs_table;
#[cfg(test)]
#[cfg(feature = "server")]
mod engine;
#[cfg(test)]
#[cfg(feature = "server")]
mod engine_vectors;
#[cfg(test)]
#[cfg(feature = "server")]
mod exclusions;
#[cfg(test)]
#[cfg(feature = "server")]
mod ftw;
#[cfg(test)]
#[cfg(feature = "server")]
mod hostile;
#[cfg(test)]
#[cfg(feature = "server")]
mod memory;
#[cfg(test)]
mod patterns;
#[cfg(test)]
#[cfg(feature = "server")]
mod profiles;
#[cfg(test)]
mod regressions;
#[cfg(test)]
#[cfg(feature = "server")]
mod rules;
#[cfg(test)]
#[cfg(feature = "server")]
mod seclang;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod tidy;
#[cfg(test)]
#[cfg(feature = "server")]
mod transport;
#[cfg(test)]
mod vectors;
