//! The `portcullis` binary: everything is in the library, so that tests and benches can reach it.

use std::process::ExitCode;

/// Evaluation allocates little, but many threads do so at once; mimalloc keeps them from waiting for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    portcullis::cli::main().into()
}
