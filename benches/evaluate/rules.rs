//! The rules: the CRS that lies with its tests, else the one the server would use.

use std::path::PathBuf;

use portcullis::config::{CrsSettings, Policy};
use portcullis::ruleset::RuleSet;
use portcullis::sets::{self, LoadedSet, ReadSet};

use super::corpora::shared;

/// Paranoia levels, blocking and detection alike.
pub(crate) const LEVELS: [u8; 2] = [1, 4];

/// The CRS with its regression tests, if it is at hand.
pub(crate) fn crs_folder() -> Option<PathBuf> {
    Some(shared(super::ROOT.as_ref()).join("crs/4.28.0")).filter(|folder| folder.is_dir())
}

fn policy(level: u8) -> Policy {
    let crs = CrsSettings { paranoia: Some(level), detection_paranoia: Some(level), ..CrsSettings::default() };
    let rules = crs_folder().map(|folder| format!("crs@{}", folder.display()));
    Policy { rules, crs, ..Policy::default() }
}

/// Found and read, not compiled.
pub(crate) fn read(level: u8) -> ReadSet {
    sets::read(&policy(level)).unwrap()
}

/// Compiled from what was read.
pub(crate) fn compile(read: &ReadSet) -> RuleSet {
    read.check().0.unwrap()
}

/// What the rules are, for tables: without the place they lie in.
pub(crate) fn title() -> String {
    let set = load(LEVELS[0]);
    set.version.map_or(set.name, |version| format!("CRS {version}"))
}

/// Ready for requests.
pub(crate) fn load(level: u8) -> LoadedSet {
    sets::load(&policy(level)).unwrap()
}
