//! What the suites share: processes, raw HTTP, the echo backend, the sidecar, the files of `deploy/`.

pub(crate) mod backend;
pub(crate) mod deploy;
pub(crate) mod h2;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod sidecar;
pub(crate) mod suite;
pub(crate) mod yaml;

/// What a check says when it does not hold.
pub(crate) type Checked<T = ()> = Result<T, String>;

/// `Err(message)` unless the condition holds.
pub(crate) fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}
