//! The build script: compiles the `.proto` files and embeds the rule files.

#[path = "../rules/embed.rs"]
mod embed;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // The core alone has no doors and no rule sets, so it needs neither.
    if env::var_os("CARGO_FEATURE_SERVER").is_none() {
        return Ok(());
    }
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from).unwrap_or_default();
    embed::write_table(&folder("CARGO_MANIFEST_DIR").join("rules"), &folder("OUT_DIR"))?;
    compile_protos()
}

/// With a compiler written in Rust, so that no `protoc` has to be installed.
#[cfg(feature = "server")]
fn compile_protos() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto/check_request.proto");
    let files = protox::compile(["proto/check_request.proto"], ["proto"])?;
    // `Bytes` fields are slices of the received message: decoding copies no path, header or body.
    prost_build::Config::new().bytes(["."]).compile_fds(files)?;
    Ok(())
}

#[cfg(not(feature = "server"))]
fn compile_protos() -> Result<(), Box<dyn Error>> {
    Ok(())
}
