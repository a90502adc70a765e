//! `/status`: what is running, as JSON for people and scripts.

use serde_json::{Value, json};

use super::Service;
use super::snapshot::Active;

impl Service {
    /// The status document.
    pub fn status_json(&self) -> String {
        let snapshot = self.snapshot.load();
        let history = self.history.record();
        let policies: serde_json::Map<String, Value> =
            snapshot.policies.iter().map(|(name, active)| (name.clone(), policy(active))).collect();
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "ready": self.ready(),
            "draining": !self.ready(),
            "generation": snapshot.generation,
            "uptime_seconds": self.started.elapsed().as_secs(),
            "stale": !history.stale.is_empty(),
            "stale_reasons": history.stale,
            "reloads": {"succeeded": history.succeeded, "failed": history.failed},
            "in_flight": {"calls": self.gate.calls(), "body_bytes": self.gate.bytes()},
            "policies": policies,
        });
        status.to_string()
    }
}

fn policy(active: &Active) -> Value {
    let set = &active.set;
    let footprint = set.rules.footprint();
    let whole = |(name, reason): &(Vec<u8>, String)| (String::from_utf8_lossy(name).into_owned(), json!(reason));
    let (entries, bytes) = active.cache_size();
    json!({
        "mode": active.policy.mode.name(),
        "on_error": active.policy.on_error.name(),
        "rules": {
            "set": set.name,
            "version": set.version,
            "fallback": set.fallback,
            "scoring_disabled": set.scores_unheeded,
            "verified": set.verified,
            "loaded": set.rule_count,
            "warnings": set.warnings,
        },
        "cache": {
            "enabled": active.cache.is_some(),
            "entries": entries,
            "bytes": bytes,
            "uncacheable": footprint.uncacheable,
            "all_headers_read_whole": footprint.all_headers_whole,
            "headers_read_whole": footprint.whole_headers.iter().map(whole).collect::<serde_json::Map<_, _>>(),
        },
    })
}
