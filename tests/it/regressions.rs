//! Inputs that once made a fuzz target fail, replayed.

use std::path::Path;

use crate::counted;

#[path = "../fuzz/checks/body.rs"]
mod body;
#[path = "../fuzz/checks/body_form.rs"]
mod body_form;
#[path = "../fuzz/checks/body_json.rs"]
mod body_json;
#[path = "../fuzz/checks/body_multipart.rs"]
mod body_multipart;
#[path = "../fuzz/checks/body_xml.rs"]
mod body_xml;
#[cfg(feature = "server")]
#[path = "../fuzz/checks/ext_authz.rs"]
mod ext_authz;
#[cfg(feature = "server")]
#[path = "../fuzz/checks/forward_auth.rs"]
mod forward_auth;
#[path = "../fuzz/checks/operators.rs"]
mod operators;
#[path = "../fuzz/checks/parse.rs"]
mod parse;
#[path = "../fuzz/checks/transformations.rs"]
mod transformations;

type Check = fn(&[u8]);

/// The fuzz targets there are, with their checks.
const TARGETS: &[(&str, Check)] = &[
    ("body_form", body_form::run),
    ("body_json", body_json::run),
    ("body_multipart", body_multipart::run),
    ("body_xml", body_xml::run),
    #[cfg(feature = "server")]
    ("ext_authz", ext_authz::run),
    #[cfg(feature = "server")]
    ("forward_auth", forward_auth::run),
    ("operators", operators::run),
    ("parse", parse::run),
    ("transformations", transformations::run),
];

#[test]
fn inputs_that_once_failed_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let mut ran = 0;
    for (name, check) in TARGETS {
        for entry in std::fs::read_dir(root.join("regressions").join(name)).expect("a folder for each target") {
            let path = entry.expect("an entry").path();
            println!("{}", path.display());
            check(&std::fs::read(&path).expect("an input"));
            ran += 1;
        }
    }
    counted::say("fuzz seeds", ran, ran, 0, 0);
    assert!(ran >= TARGETS.len(), "every target has at least a seed");
}

#[test]
#[cfg(feature = "server")]
fn every_target_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/targets");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("the targets")
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    let replayed: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, replayed);
}
