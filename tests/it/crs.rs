//! `portcullis crs`: what is installed is found, verified and never overwritten.

use crate::command::Sandbox;

/// A CRS folder small enough to read, of a version without a list of hashes unless it claims another.
fn write_crs(sandbox: &Sandbox, root: &str, version: &str) {
    let signature = format!("SecComponentSignature \"OWASP_CRS/{version}\"\n");
    sandbox.write(&format!("{root}/rules/REQUEST-901-INITIALIZATION.conf"), &signature);
    sandbox.write(&format!("{root}/rules/some.data"), "phrase\n");
    sandbox.write(&format!("{root}/rules/notes.txt"), "not for the engine\n");
    sandbox.write(&format!("{root}/crs-setup.conf.example"), "# set-up\n");
    sandbox.write(&format!("{root}/LICENSE"), "the licence\n");
    sandbox.write(&format!("{root}/tests/a.yaml"), "---\n");
}

#[test]
fn an_installed_crs_is_listed_and_not_overwritten() {
    let sandbox = Sandbox::new();
    write_crs(&sandbox, "source", "9.8.7");
    let ran = sandbox.run(&["crs", "install", "--from", "source"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let target = sandbox.path().join("data/portcullis/crs/9.8.7");
    assert_eq!(ran.stdout, format!("crs 9.8.7 installed in {}, unverified\n", target.display()));
    for (name, there) in [("rules/some.data", true), ("LICENSE", true), ("rules/notes.txt", false), ("tests", false)] {
        assert_eq!(target.join(name).exists(), there, "{name}");
    }
    let first = sandbox.run(&["crs", "list"]).stdout;
    assert!(first.starts_with(&format!("crs 9.8.7 ({}) unverified\n", target.display())), "{first}");
    let again = sandbox.run(&["crs", "install", "--from", "source"]);
    assert!(again.code == 2 && again.stderr.contains("is there already; remove it"), "{again:?}");
}

#[test]
fn the_local_folder_comes_before_the_installed_one() {
    let sandbox = Sandbox::new();
    write_crs(&sandbox, "rules/crs", "9.0.0");
    write_crs(&sandbox, "source", "9.8.7");
    assert_eq!(sandbox.run(&["crs", "install", "--from", "source"]).code, 0);
    let listed = sandbox.run(&["crs", "list"]).stdout;
    assert!(listed.starts_with("crs 9.0.0 (rules/crs) unverified\ncrs 9.8.7 ("), "{listed}");
}

#[test]
fn files_that_are_not_those_of_the_release_are_named_and_not_installed() {
    let sandbox = Sandbox::new();
    write_crs(&sandbox, "source", "4.28.0");
    let verified = sandbox.run(&["crs", "verify", "source"]);
    assert_eq!(verified.code, 1, "{verified:?}");
    assert!(verified.stdout.contains("changed rules/REQUEST-901-INITIALIZATION.conf\n"), "{verified:?}");
    assert!(verified.stdout.contains("missing rules/ssrf.data\n"), "{verified:?}");
    assert!(verified.stdout.contains("extra rules/some.data\n"), "{verified:?}");
    assert!(verified.stdout.ends_with("crs 4.28.0 (source): altered, 0 files agree\n"), "{verified:?}");
    let ran = sandbox.run(&["crs", "install", "--from", "source", "--dir", "target"]);
    assert!(ran.code == 1 && ran.stderr.contains("not installed"), "{ran:?}");
    assert!(!sandbox.path().join("target").exists());
}

#[test]
fn a_version_without_a_list_of_hashes_is_not_called_verified() {
    let sandbox = Sandbox::new();
    write_crs(&sandbox, "source", "9.8.7");
    let ran = sandbox.run(&["crs", "verify", "source"]);
    assert_eq!((ran.code, ran.stdout.contains("unverified")), (1, true), "{ran:?}");
}

#[test]
fn archives_are_unpacked_and_leave_no_litter() {
    let sandbox = Sandbox::new();
    write_crs(&sandbox, "source/coreruleset-9.8.7", "9.8.7");
    let mut tar = std::process::Command::new("tar");
    tar.args(["-czf", "crs.tar.gz", "-C", "source", "coreruleset-9.8.7"]).current_dir(sandbox.path());
    assert!(tar.status().unwrap().success());
    let ran = sandbox.run(&["crs", "install", "--from", "crs.tar.gz", "--dir", "target"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(sandbox.path().join("target/rules/some.data").exists());
    sandbox.write("no.tar.gz", "this is no archive");
    let ran = sandbox.run(&["crs", "install", "--from", "no.tar.gz", "--dir", "other"]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot unpack `no.tar.gz`"), "{ran:?}");
    let names: Vec<_> = std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_str().unwrap().ends_with(".tmp")), "{names:?}");
}
