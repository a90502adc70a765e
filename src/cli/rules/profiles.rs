//! `portcullis rules profiles`: the exclusion profiles that a policy can name.

use std::io::{self, Write as _};

use serde_json::json;

use super::Format;
use crate::cli::Exit;
use crate::sets::files::Files;
use crate::sets::profiles;

/// Prints a line for each profile.
pub(super) fn run(format: Format) -> anyhow::Result<Exit> {
    let mut out = io::stdout().lock();
    for profile in profiles::all(&Files::default()) {
        match format {
            Format::Text => writeln!(out, "{:<10} {}", profile.name, profile.about)?,
            Format::Json => writeln!(out, "{}", json!({"name": profile.name, "about": profile.about}))?,
        }
    }
    Ok(Exit::Fine)
}
