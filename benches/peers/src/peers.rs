//! The engines behind one face: each takes the same rules and the same requests through phases 1 and 2.

use std::collections::BTreeSet;

use portcullis::config::{CrsSettings, Policy};
use portcullis::engine::{self, Scratch};
use portcullis::model::Request;
use portcullis::ruleset::RuleSet;
use portcullis::sets;

use super::modsecurity::{ModSecurity, Source};
use super::{Inputs, VERSION, rules};

/// The name of ours.
pub const OURS: &str = "portcullis";

/// The engines, ours first.
pub const NAMES: [&str; 4] = [OURS, OURS_WITH_MEMO, "libmodsecurity", "zentinel-modsec"];

/// The same with its memo of values on, as the server runs it; the other row is without.
pub const OURS_WITH_MEMO: &str = "portcullis, memo";

/// What an engine says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Said {
    /// It would refuse the request.
    pub denied: bool,
    /// The rules that it logged.
    pub rules: BTreeSet<u32>,
}

/// An engine with the rules loaded.
pub trait Peer {
    /// Its name in the table.
    fn name(&self) -> &'static str;
    /// Its name and version.
    fn version(&self) -> String;
    /// Judges a request; this alone is measured.
    fn judge(&mut self, request: &Request<'_>) -> bool;
    /// Judges a request and says which rules it logged.
    fn explain(&mut self, request: &Request<'_>) -> Said;
}

/// Loads the rules into an engine.
///
/// # Errors
/// Why it cannot take part.
pub fn load(name: &str, inputs: &Inputs, level: u8) -> Result<Box<dyn Peer>, String> {
    let policy = policy(inputs, level);
    let sources = rules::sources(&policy, &inputs.crs, &inputs.unicode_map)?;
    match name {
        OURS => {
            let set = sets::load(&policy).map_err(|error| error.to_string())?;
            Ok(Box::new(Ours { name: OURS, rules: set.rules, scratch: Scratch::without_memo() }))
        }
        OURS_WITH_MEMO => {
            let set = sets::load(&policy).map_err(|error| error.to_string())?;
            Ok(Box::new(Ours { name: OURS_WITH_MEMO, rules: set.rules, scratch: Scratch::default() }))
        }
        "libmodsecurity" => match ModSecurity::load(&sources)? {
            Some(engine) => Ok(Box::new(Theirs(engine))),
            None => Err("it is not installed (Debian: libmodsecurity-dev)".to_owned()),
        },
        "zentinel-modsec" => zentinel(&sources),
        _ => Err("unknown engine".to_owned()),
    }
}

fn policy(inputs: &Inputs, level: u8) -> Policy {
    let crs = CrsSettings { paranoia: Some(level), detection_paranoia: Some(level), ..CrsSettings::default() };
    Policy { rules: Some(format!("crs@{}", inputs.crs.display())), crs, ..Policy::default() }
}

struct Ours {
    name: &'static str,
    rules: RuleSet,
    scratch: Scratch,
}

impl Peer for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> String {
        format!("{} (this tree), CRS {VERSION}, {} rules", self.name, self.rules.rules().len())
    }

    fn judge(&mut self, request: &Request<'_>) -> bool {
        !engine::evaluate(&self.rules, request, &engine::Inputs::default(), &mut self.scratch).verdict.is_allow()
    }

    fn explain(&mut self, request: &Request<'_>) -> Said {
        let outcome = engine::evaluate(&self.rules, request, &engine::Inputs::default(), &mut self.scratch);
        Said { denied: !outcome.verdict.is_allow(), rules: outcome.logged_ids().map(|id| id.get()).collect() }
    }
}

struct Theirs(ModSecurity);

impl Peer for Theirs {
    fn name(&self) -> &'static str {
        "libmodsecurity"
    }

    fn version(&self) -> String {
        self.0.version()
    }

    fn judge(&mut self, request: &Request<'_>) -> bool {
        self.0.judge(request, "peers", false).denied
    }

    fn explain(&mut self, request: &Request<'_>) -> Said {
        let said = self.0.judge(request, "peers", false);
        Said { denied: said.denied, rules: said.logged.into_iter().collect() }
    }
}

struct Zentinel(zentinel_modsec::ModSecurity);

/// The version in Cargo.lock, which has no other line like it.
fn zentinel_version() -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = lock.split("name = \"zentinel-modsec\"\nversion = \"").nth(1).unwrap_or("?");
    entry.split('"').next().unwrap_or("?")
}

fn zentinel(sources: &[Source]) -> Result<Box<dyn Peer>, String> {
    // Engine directives that it does not know are the only difference to what the others are given.
    const UNKNOWN: [&str; 0] = [];
    let text = sources.iter().fold(String::new(), |text, source| match source {
        Source::File(path) => text + "Include " + path + "\n",
        Source::Text(lines) => {
            let known = lines.lines().filter(|line| !UNKNOWN.iter().any(|name: &&str| line.starts_with(name)));
            known.fold(text, |text, line| text + line + "\n")
        }
    });
    zentinel_modsec::ModSecurity::from_string(&text)
        .map(|engine| Box::new(Zentinel(engine)) as Box<dyn Peer>)
        .map_err(|error| format!("it does not load the CRS: {error}"))
}

impl Zentinel {
    fn transaction(&self, request: &Request<'_>) -> Option<zentinel_modsec::Transaction> {
        let text = String::from_utf8_lossy;
        let mut transaction = self.0.new_transaction();
        let (client, server) = (request.remote_addr?.to_string(), request.server_addr?.to_string());
        transaction.set_client_addr(&client, request.remote_port);
        transaction.set_server_addr(&server, request.server_port);
        transaction.process_uri(&text(request.target), &text(request.method), &text(request.protocol)).ok()?;
        for header in request.headers {
            transaction.add_request_header(&text(header.name), &text(header.value)).ok()?;
        }
        transaction.process_request_headers().ok()?;
        transaction.append_request_body(request.body.bytes()).ok()?;
        transaction.process_request_body().ok()?;
        Some(transaction)
    }
}

impl Peer for Zentinel {
    fn name(&self) -> &'static str {
        "zentinel-modsec"
    }

    fn version(&self) -> String {
        format!("zentinel-modsec v{}, {} rules", zentinel_version(), self.0.rule_count())
    }

    fn judge(&mut self, request: &Request<'_>) -> bool {
        self.transaction(request).is_some_and(|transaction| transaction.has_intervention())
    }

    fn explain(&mut self, request: &Request<'_>) -> Said {
        let Some(transaction) = self.transaction(request) else { return Said::default() };
        let rules = transaction.matched_rules().iter().filter_map(|rule| rule.parse().ok()).collect();
        Said { denied: transaction.has_intervention(), rules }
    }
}
