//! What the end-to-end tests know of processes, raw HTTP, the sidecar and the proxies.

#[path = "../e2e/support/checked.rs"]
mod checked;
#[path = "../e2e/support/deploy.rs"]
pub(crate) mod deploy;
#[path = "../e2e/support/envoy.rs"]
pub(crate) mod envoy;
#[path = "../e2e/support/http.rs"]
pub(crate) mod http;
#[path = "../e2e/support/process.rs"]
pub(crate) mod process;
#[path = "../e2e/support/sidecar.rs"]
pub(crate) mod sidecar;
#[path = "../e2e/support/tally.rs"]
pub(crate) mod tally;
#[path = "../e2e/support/traefik.rs"]
pub(crate) mod traefik;

pub(crate) use checked::{Checked, ensure};
