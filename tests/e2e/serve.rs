//! `portcullis serve` without a proxy: start, probes, health check of the image, draining, and refusing to start.

use std::process::Command;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::manifests;
use crate::support::http::{Ask, Connection};
use crate::support::process::{self, Process};
use crate::support::sidecar::{self, Rules, Setup, Sidecar};
use crate::support::suite::Suite;
use crate::support::{Checked, deploy, ensure};

const ENDS: Duration = Duration::from_secs(15);

/// The suite.
pub(crate) fn run(suite: &mut Suite) {
    let sidecar = Sidecar::start(Setup::at(1));
    if sidecar.rules != Rules::Crs4 {
        println!(
            "NOTE: e2e: the rules are {:?}: where a rule id is expected, only verdicts are checked",
            sidecar.rules
        );
    }
    suite.case("probes", || probes(&sidecar));
    suite.case("status and metrics", || status_and_metrics(&sidecar));
    suite.case("the image's health check", || health_check(&sidecar));
    suite.case("calls that name no request", || calls_that_name_no_request(&sidecar));
    drop(sidecar);
    suite.case("SIGTERM when idle", || {
        let mut idle = Sidecar::start(Setup::at(1));
        idle.process.signal("TERM");
        ends_well(&mut idle.process)
    });
    suite.case("SIGTERM drains", drains);
    suite.case("a configuration with errors", || refuses(&[("mode: block", "mode: blok")], &["mode", "blok"]));
    suite.case("a rule set that is not there", || {
        refuses(&[("rules: crs", "rules: /nowhere/rules.conf")], &["/nowhere"])
    });
    suite.case("rules with errors", rules_with_errors);
    suite.case("a port that is taken", a_port_that_is_taken);
}

fn probes(sidecar: &Sidecar) -> Checked {
    for path in ["/livez", "/readyz"] {
        let reply = Ask::get(path).send(sidecar.admin)?;
        ensure(reply.status == 200, || format!("{path}: {}", reply.summary()))?;
    }
    Ok(())
}

fn status_and_metrics(sidecar: &Sidecar) -> Checked {
    let status = sidecar.status();
    let rules = &status["policies"]["default"]["rules"];
    ensure(rules["loaded"].as_u64().is_some_and(|count| count > 50), || status.to_string())?;
    let lines = sidecar.metrics();
    let broken = lines.lines().find(|line| {
        let number = line.rsplit(' ').next().unwrap_or_default();
        !line.starts_with('#') && (!line.starts_with("portcullis_") || number.parse::<f64>().is_err())
    });
    ensure(broken.is_none() && lines.len() > 200, || format!("not Prometheus: {broken:?} in {} bytes", lines.len()))
}

/// The command as the image runs it, against this server's port.
fn health_check(sidecar: &Sidecar) -> Checked {
    let words = manifests::health_check();
    let run = |port: u16| {
        let words: Vec<String> = words.iter().map(|word| word.replace("/9393", &format!("/{port}"))).collect();
        process::succeed(Command::new(&words[0]).args(&words[1..]))
    };
    run(sidecar.admin)?;
    ensure(run(process::free_port()).is_err(), || "it is content with a closed port".to_owned())
}

fn calls_that_name_no_request(sidecar: &Sidecar) -> Checked {
    let call = || Ask::get("/verify").header("X-Forwarded-Host", "shop.example");
    let rows: [(&str, Ask); 5] = [
        ("nothing", call()),
        ("no URI", call().header("X-Forwarded-Method", "GET")),
        ("no method", call().header("X-Forwarded-Uri", "/")),
        (
            "two URIs",
            call().header("X-Forwarded-Method", "GET").header("X-Forwarded-Uri", "/").header("X-Forwarded-Uri", "/"),
        ),
        ("no path", call().header("X-Forwarded-Method", "GET").header("X-Forwarded-Uri", "shop.example/")),
    ];
    for (name, ask) in rows {
        let reply = ask.send(sidecar.forward_auth)?;
        ensure(reply.status == 403, || format!("{name}: {}", reply.summary()))?;
    }
    Ok(())
}

/// A call whose body is under way when the signal comes is answered; new ones are not taken; then the process ends.
fn drains() -> Checked {
    let mut sidecar = Sidecar::start(Setup::at(1));
    let body = b"name=Jane+Doe";
    let head = Ask::new("POST", "/verify").header("X-Forwarded-Method", "POST").header("X-Forwarded-Uri", "/profile");
    let head = head.header("X-Forwarded-Host", "shop.example").header("X-Forwarded-For", "192.0.2.1");
    let head = head
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Content-Length", body.len().to_string());
    let mut connection = Connection::open(sidecar.forward_auth)?;
    connection.send(&[&head.head()[..], &body[..5]].concat())?;
    thread::sleep(Duration::from_millis(300));
    sidecar.process.signal("TERM");
    thread::sleep(Duration::from_millis(300));
    let ready = Ask::get("/readyz").send(sidecar.admin);
    ensure(ready.as_ref().is_ok_and(|reply| reply.status == 503), || {
        format!("/readyz while draining: {:?}", ready.map(|reply| reply.status))
    })?;
    connection.send(&body[5..])?;
    let reply = connection.reply()?;
    ensure(reply.status == 200, || format!("the call under way: {}", reply.summary()))?;
    ends_well(&mut sidecar.process)
}

fn ends_well(process: &mut Process) -> Checked {
    let status = process.wait(ENDS).ok_or_else(|| format!("still there after {ENDS:?}"))?;
    ensure(status.success(), || format!("{status}: {}", process.errors()))
}

/// Exit code 2, and a message that holds these words.
fn refuses(changes: &[(&str, &str)], words: &[&str]) -> Checked {
    let dir = TempDir::new().unwrap();
    let mut all: Vec<(&str, String)> = changes.iter().map(|(from, to)| (*from, (*to).to_owned())).collect();
    for port in ["127.0.0.1:9191", "127.0.0.1:9292", "127.0.0.1:9393"] {
        all.push((port, format!("127.0.0.1:{}", process::free_port())));
    }
    let file = deploy::write(dir.path(), "portcullis.yaml", &all);
    let mut process =
        Process::start("portcullis", dir.path(), sidecar::command().arg("serve").arg("--config").arg(file));
    let status = process.wait(ENDS).ok_or("it serves")?;
    let errors = process.errors();
    let says = words.iter().all(|word| errors.contains(word));
    ensure(status.code() == Some(2) && says, || format!("{status}: {errors}"))
}

fn rules_with_errors() -> Checked {
    let dir = TempDir::new().unwrap();
    let rules = dir.path().join("local.conf");
    std::fs::write(&rules, "SecRule ARGS \"@beginWith x\" \"id:1,phase:2,deny\"\n").unwrap();
    let set = format!("rules: {}", rules.display());
    refuses(&[("rules: crs", &set)], &["local.conf:1", "beginWith"])
}

fn a_port_that_is_taken() -> Checked {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = taken.local_addr().map_err(|error| error.to_string())?.port();
    let rules = if deploy::root().join("rules/crs/rules").is_dir() { "rules: crs" } else { "rules: baseline" };
    let dir = TempDir::new().unwrap();
    let changes = [
        ("127.0.0.1:9191", format!("127.0.0.1:{}", process::free_port())),
        ("127.0.0.1:9292", format!("127.0.0.1:{port}")),
        ("127.0.0.1:9393", format!("127.0.0.1:{}", process::free_port())),
        ("rules: crs", rules.to_owned()),
    ];
    let file = deploy::write(dir.path(), "portcullis.yaml", &changes);
    let mut process =
        Process::start("portcullis", dir.path(), sidecar::command().arg("serve").arg("--config").arg(file));
    let status = process.wait(ENDS).ok_or("it serves")?;
    let errors = process.errors();
    ensure(status.code() == Some(2) && errors.contains(&port.to_string()), || format!("{status}: {errors}"))
}
