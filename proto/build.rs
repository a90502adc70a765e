//! The build script: embeds the rule files.

#[path = "../rules/embed.rs"]
mod embed;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    // The core alone has no rule sets.
    if env::var_os("CARGO_FEATURE_SERVER").is_none() {
        return Ok(());
    }
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from).unwrap_or_default();
    embed::write_table(&folder("CARGO_MANIFEST_DIR").join("rules"), &folder("OUT_DIR"))?;
    Ok(())
}
