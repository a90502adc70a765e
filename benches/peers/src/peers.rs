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

/// The same with its memo of values on, as the server runs it; the other is without.
pub const OURS_WITH_MEMO: &str = "portcullis, memo";

/// Debian's.
pub const LIBMODSECURITY: &str = "libmodsecurity";

/// The one in Rust.
pub const ZENTINEL: &str = "zentinel-modsec";

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

/// Loads the rules, without those of the set-up that `removed` lists, into an engine.
///
/// # Errors
/// Why it cannot take part.
pub fn load(name: &str, inputs: &Inputs, level: u8, removed: &[u32]) -> Result<Box<dyn Peer>, String> {
    let policy = policy(inputs, level);
    let sources = without(rules::sources(&policy, &inputs.crs, &inputs.unicode_map)?, removed);
    match name {
        OURS => ours(OURS, &policy, removed, Scratch::without_memo()),
        OURS_WITH_MEMO => ours(OURS_WITH_MEMO, &policy, removed, Scratch::default()),
        LIBMODSECURITY => match ModSecurity::load(&sources)? {
            Some(engine) => Ok(Box::new(Theirs(engine))),
            None => Err("it is not installed (Debian: libmodsecurity-dev)".to_owned()),
        },
        ZENTINEL => zentinel(&sources),
        _ => Err("unknown engine".to_owned()),
    }
}

fn ours(name: &'static str, policy: &Policy, removed: &[u32], scratch: Scratch) -> Result<Box<dyn Peer>, String> {
    let text: String = removed.iter().map(|id| format!("SecRuleRemoveById {id}\n")).collect();
    let set = sets::load_with(policy, "peers.conf", &text).map_err(|error| error.to_string())?;
    Ok(Box::new(Ours { name, rules: set.rules, scratch }))
}

/// The set-up without these rules, for an engine that stops at a rule it does not know even if it is to be removed.
fn without(sources: Vec<Source>, removed: &[u32]) -> Vec<Source> {
    let is_removed = |paragraph: &str| removed.iter().any(|id| paragraph.contains(&format!("\"id:{id},")));
    let keep = |text: String| text.split("\n\n").filter(|part| !is_removed(part)).collect::<Vec<_>>().join("\n\n");
    let changed = sources.into_iter().map(|source| match source {
        Source::Text(text) if !removed.is_empty() => Source::Text(keep(text)),
        other => other,
    });
    changed.collect()
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
    let text = sources.iter().fold(String::new(), |text, source| match source {
        Source::File(path) => text + "Include " + path + "\n",
        Source::Text(lines) => text + lines + "\n",
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
