//! What the real server holds once the rules are loaded, and loaded anew.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shared;

/// What the CRS at paranoia level 4 may take of memory that is not the binary's own, which differs by build profile. What
/// loading leaves behind is half as much again.
const LOADED_KB: u64 = 36_000;

/// The same after a reload: the new rules lie where the old ones left room, so more pages are only partly used.
const RELOADED_KB: u64 = 46_000;

/// A server that is stopped whatever happens.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn anonymous_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Waits until the server holds no more than the bound; what it held at last if it never does.
    fn settles(&self, bound: u64) -> Result<u64, u64> {
        let start = Instant::now();
        loop {
            match self.anonymous_kb() {
                held if held < bound => return Ok(held),
                held if start.elapsed() > Duration::from_secs(10) => return Err(held),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

#[test]
fn what_loading_leaves_behind_is_given_back() {
    let Some(crs) = shared::folder("crs/4.28.0") else { return };
    if cfg!(not(target_os = "linux")) {
        println!("SKIPPED: only Linux tells what a process holds");
        return;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
    command.args(["serve", "--rules", &format!("crs@{}", crs.display())]);
    for setting in ["listen.ext_authz=127.0.0.1:0", "listen.forward_auth=off", "listen.admin=off", "crs.paranoia=4"] {
        command.args(["--set", setting]);
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let server = Server(child);
    let mut log = log.lines().map(Result::unwrap);
    assert!(log.any(|line| line.contains(r#""message":"ready""#)), "it ends before it is ready");
    let ready = server.anonymous_kb();
    let loaded = server.settles(LOADED_KB).unwrap_or_else(|held| panic!("{held} kB after loading"));
    let hang_up = Command::new("kill").args(["-HUP", &server.0.id().to_string()]).status().unwrap();
    assert!(hang_up.success());
    assert!(log.any(|line| line.contains(r#""message":"reloaded""#)), "it ends instead of reloading");
    // Both generations are there for a moment.
    std::thread::sleep(Duration::from_millis(500));
    let reloaded = server.settles(RELOADED_KB).unwrap_or_else(|held| panic!("{held} kB after reloading"));
    println!("anonymous memory: {ready} kB when ready, {loaded} kB soon after, {reloaded} kB after a reload");
}
