//! What the suites share: processes, raw HTTP, the echo backend, the sidecar, the files of `deploy/`.

pub(crate) mod backend;
mod checked;
pub(crate) mod deploy;
pub(crate) mod envoy;
pub(crate) mod h2;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod sidecar;
pub(crate) mod suite;
pub(crate) mod tally;
pub(crate) mod traefik;
pub(crate) mod yaml;

pub(crate) use checked::{Checked, ensure};
