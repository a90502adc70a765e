//! The table of all settings: one row each, from which checker, printer, JSON Schema and environment names are made.

use std::path::Path;

use super::values::{self, Kind};
use super::{Annotate, AuditWhen, Config, Expose, Mode, OnFailure, Policy};

/// A setting of a `T`: of the whole configuration or of a policy.
pub(super) struct Key<T: 'static> {
    /// The dotted path within the `T`.
    pub(super) path: &'static str,
    pub(super) kind: Kind,
    /// What it does, for the JSON Schema.
    pub(super) doc: &'static str,
    /// Reads what was given into the `T`.
    pub(super) put: fn(&mut T, &Given<'_>) -> Result<(), Vec<Wrong>>,
    /// The value at work.
    pub(super) show: fn(&T) -> Shown,
}

/// What was written for a setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given<'b> {
    /// One text, or the items of a list, each with its line (0 where there are no lines).
    pub(super) items: Vec<(usize, String)>,
    /// The folder at which relative paths start, when it is not the working directory.
    pub(super) base: Option<&'b Path>,
}

/// A value that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Wrong {
    /// The line of the item, 0 to take that of the setting.
    pub(super) line: usize,
    pub(super) text: String,
}

/// A value as it is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// Left to the rules; what that means.
    Unset(&'static str),
    /// A YAML boolean or number: shown as is.
    Plain(String),
    Text(String),
    List(Vec<String>),
    Map(Vec<(String, String)>),
}

impl Given<'_> {
    /// The one value, read by `read`.
    fn one<V>(&self, read: impl Fn(&str) -> Option<V>) -> Result<V, Vec<Wrong>> {
        let text = self.items.first().map(|(_, text)| text.as_str()).unwrap_or_default();
        read(text).ok_or_else(|| vec![Wrong { line: 0, text: text.to_owned() }])
    }

    /// Every item, read by `read`; every one that does not fit.
    fn each<V>(&self, read: impl Fn(&str) -> Option<V>) -> Result<Vec<V>, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let mut values = Vec::new();
        for (line, text) in &self.items {
            match read(text) {
                Some(value) => values.push(value),
                None => wrongs.push(Wrong { line: *line, text: text.clone() }),
            }
        }
        if wrongs.is_empty() { Ok(values) } else { Err(wrongs) }
    }
}

/// A word out of a table, and the other way round.
fn word<V: Copy>(table: &'static [(&'static str, V)]) -> impl Fn(&str) -> Option<V> {
    move |text| table.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

fn name_of<V: Copy + PartialEq>(table: &'static [(&'static str, V)], value: V) -> Shown {
    let name = table.iter().find(|(_, known)| *known == value).map(|(name, _)| *name);
    Shown::Text(name.unwrap_or_default().to_owned())
}

const MODES: &[(&str, Mode)] = &[("block", Mode::Block), ("detect", Mode::Detect), ("off", Mode::Off)];
const ON_FAILURE: &[(&str, OnFailure)] = &[("deny", OnFailure::Deny), ("allow", OnFailure::Allow)];
const EXPOSE: &[(&str, Expose)] = &[("none", Expose::None), ("id", Expose::Id), ("rules", Expose::Rules)];
const ANNOTATE: &[(&str, Annotate)] = &[("all", Annotate::All), ("relevant", Annotate::Relevant)];
const AUDIT_WHEN: &[(&str, AuditWhen)] =
    &[("off", AuditWhen::Off), ("relevant", AuditWhen::Relevant), ("all", AuditWhen::All)];

const DENY_OR_ALLOW: Kind = Kind::Word(&["deny", "allow"]);
const ALL_OR_RELEVANT: Kind = Kind::Word(&["all", "relevant"]);
const LEVEL: (u64, u64) = (1, 4);
const THRESHOLD: (u64, u64) = (1, 1_000_000);
const BODY: (u64, u64) = (1, 1 << 30);
const CACHE: (u64, u64) = (64 << 10, 1 << 40);

fn level(text: &str) -> Option<u8> {
    values::number(text, LEVEL.0, LEVEL.1).and_then(|level| u8::try_from(level).ok())
}

fn threshold(text: &str) -> Option<u32> {
    values::number(text, THRESHOLD.0, THRESHOLD.1).and_then(|threshold| u32::try_from(threshold).ok())
}

fn number_or_unset(number: Option<impl ToString>) -> Shown {
    number.map_or(Shown::Unset("as the rule set says"), |number| Shown::Plain(number.to_string()))
}

/// The settings of the whole configuration.
pub(super) const TOP: &[Key<Config>] = &[
    Key {
        path: "listen.ext_authz",
        kind: Kind::Address,
        doc: "Where Envoy's ext_authz gRPC calls arrive.",
        put: |config, given| given.one(values::address).map(|address| config.listen.ext_authz = address),
        show: |config| Shown::Text(values::address_text(config.listen.ext_authz.as_ref())),
    },
    Key {
        path: "listen.forward_auth",
        kind: Kind::Address,
        doc: "Where forward-auth calls of Traefik, nginx and Caddy arrive, and those of Envoy's HTTP flavour.",
        put: |config, given| given.one(values::address).map(|address| config.listen.forward_auth = address),
        show: |config| Shown::Text(values::address_text(config.listen.forward_auth.as_ref())),
    },
    Key {
        path: "listen.admin",
        kind: Kind::Address,
        doc: "Where /livez, /readyz, /metrics and /status are served.",
        put: |config, given| given.one(values::address).map(|address| config.listen.admin = address),
        show: |config| Shown::Text(values::address_text(config.listen.admin.as_ref())),
    },
    Key {
        path: "trusted_proxies",
        kind: Kind::Networks,
        doc: "Proxies whose X-Forwarded-For entries are believed.",
        put: |config, given| given.each(values::network).map(|networks| config.trusted_proxies = networks),
        show: |config| Shown::List(config.trusted_proxies.iter().map(values::network_text).collect()),
    },
];

/// The settings of a policy.
pub(super) const POLICY: &[Key<Policy>] = &[
    Key {
        path: "rules",
        kind: Kind::RuleSet,
        doc: "The rule set; without it the CRS at hand, else the baseline rules. A path starts at this file's folder.",
        put: |policy, given| given.one(|text| values::rule_set(text, given.base)).map(|set| policy.rules = Some(set)),
        show: |policy| {
            policy.rules.clone().map_or(Shown::Unset("the CRS at hand, else the baseline rules"), Shown::Text)
        },
    },
    Key {
        path: "mode",
        kind: Kind::Word(&["block", "detect", "off"]),
        doc: "Enforce denials, log them only, or do not evaluate at all.",
        put: |policy, given| given.one(word(MODES)).map(|mode| policy.mode = mode),
        show: |policy| name_of(MODES, policy.mode),
    },
    Key {
        path: "crs.paranoia",
        kind: Kind::Number(LEVEL.0, LEVEL.1),
        doc: "The paranoia level up to which rules count for blocking.",
        put: |policy, given| given.one(level).map(|level| policy.crs.paranoia = Some(level)),
        show: |policy| number_or_unset(policy.crs.paranoia),
    },
    Key {
        path: "crs.detection_paranoia",
        kind: Kind::Number(LEVEL.0, LEVEL.1),
        doc: "The paranoia level up to which rules run; not below `paranoia`.",
        put: |policy, given| given.one(level).map(|level| policy.crs.detection_paranoia = Some(level)),
        show: |policy| number_or_unset(policy.crs.detection_paranoia),
    },
    Key {
        path: "crs.inbound_threshold",
        kind: Kind::Number(THRESHOLD.0, THRESHOLD.1),
        doc: "The anomaly score at which a request is denied.",
        put: |policy, given| given.one(threshold).map(|score| policy.crs.inbound_threshold = Some(score)),
        show: |policy| number_or_unset(policy.crs.inbound_threshold),
    },
    Key {
        path: "crs.outbound_threshold",
        kind: Kind::Number(THRESHOLD.0, THRESHOLD.1),
        doc: "The anomaly score at which a response is denied (responses are not inspected yet).",
        put: |policy, given| given.one(threshold).map(|score| policy.crs.outbound_threshold = Some(score)),
        show: |policy| number_or_unset(policy.crs.outbound_threshold),
    },
    Key {
        path: "crs.tx",
        kind: Kind::Variables,
        doc: "Any other TX variable of the rule set, names without `tx.`.",
        // The variables arrive one by one: see `put_variable`.
        put: |_, _| Ok(()),
        show: |policy| Shown::Map(policy.crs.tx.iter().map(|(name, value)| (name.clone(), value.clone())).collect()),
    },
    Key {
        path: "body.limit",
        kind: Kind::Size(BODY.0, BODY.1),
        doc: "The largest body that is inspected; give the proxy the same limit.",
        put: |policy, given| {
            let read = |text: &str| values::size(text, BODY.0, BODY.1).and_then(|size| usize::try_from(size).ok());
            given.one(read).map(|limit| policy.body.limit = limit)
        },
        show: |policy| Shown::Text(values::size_text(policy.body.limit as u64)),
    },
    Key {
        path: "body.over_limit",
        kind: DENY_OR_ALLOW,
        doc: "What happens to a request whose body is over the limit (413).",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.body.over_limit = then),
        show: |policy| name_of(ON_FAILURE, policy.body.over_limit),
    },
    Key {
        path: "body.partial",
        kind: DENY_OR_ALLOW,
        doc: "What happens to a request of whose body the proxy handed over a part (413).",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.body.partial = then),
        show: |policy| name_of(ON_FAILURE, policy.body.partial),
    },
    Key {
        path: "body.undecodable",
        kind: DENY_OR_ALLOW,
        doc: "What happens to a request whose body cannot be parsed (400).",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.body.undecodable = then),
        show: |policy| name_of(ON_FAILURE, policy.body.undecodable),
    },
    Key {
        path: "body.absent",
        kind: DENY_OR_ALLOW,
        doc: "What happens to a request whose body the proxy keeps to itself, as nginx and Caddy do (403).",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.body.absent = then),
        show: |policy| name_of(ON_FAILURE, policy.body.absent),
    },
    Key {
        path: "body.doctype",
        kind: DENY_OR_ALLOW,
        doc: "What happens to a request whose XML body has a DOCTYPE (400); entities are never expanded or fetched.",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.body.doctype = then),
        show: |policy| name_of(ON_FAILURE, policy.body.doctype),
    },
    Key {
        path: "profiles",
        kind: Kind::Profiles,
        doc: "Built-in exclusions for applications; `portcullis rules profiles` lists them.",
        put: |policy, given| given.each(values::profile).map(|profiles| policy.profiles = profiles),
        show: |policy| Shown::List(policy.profiles.clone()),
    },
    Key {
        path: "exclusions",
        kind: Kind::Files,
        doc: "SecLang files loaded around the CRS; relative paths start at this file's folder.",
        put: |policy, given| given.each(|text| values::path(text, given.base)).map(|files| policy.exclusions = files),
        show: |policy| Shown::List(policy.exclusions.iter().map(|path| path.display().to_string()).collect()),
    },
    Key {
        path: "on_error",
        kind: DENY_OR_ALLOW,
        doc: "What our own failures do to a request: fail closed or open.",
        put: |policy, given| given.one(word(ON_FAILURE)).map(|then| policy.on_error = then),
        show: |policy| name_of(ON_FAILURE, policy.on_error),
    },
    Key {
        path: "deadline",
        kind: Kind::Duration,
        doc: "The time one decision may take; below the proxy's own time limit.",
        put: |policy, given| given.one(values::duration).map(|deadline| policy.deadline = deadline),
        show: |policy| Shown::Text(values::duration_text(policy.deadline)),
    },
    Key {
        path: "deny_status",
        kind: Kind::Status,
        doc: "The status of denials, whatever the rule says; nginx passes only 401 and 403 on.",
        put: |policy, given| given.one(values::status).map(|status| policy.deny_status = status),
        show: |policy| match policy.deny_status {
            None => Shown::Text("as_is".to_owned()),
            Some(status) => Shown::Plain(status.to_string()),
        },
    },
    Key {
        path: "expose",
        kind: Kind::Word(&["none", "id", "rules"]),
        doc: "What a client is told about a denial: nothing but the request id, the verdict, the rule ids.",
        put: |policy, given| given.one(word(EXPOSE)).map(|expose| policy.expose = expose),
        show: |policy| name_of(EXPOSE, policy.expose),
    },
    Key {
        path: "metadata",
        kind: ALL_OR_RELEVANT,
        doc: "Which answers carry Envoy's dynamic metadata: all, or those that tell of a rule, a score, an error or a part not \
              inspected.",
        put: |policy, given| given.one(word(ANNOTATE)).map(|metadata| policy.metadata = metadata),
        show: |policy| name_of(ANNOTATE, policy.metadata),
    },
    Key {
        path: "upstream_headers",
        kind: ALL_OR_RELEVANT,
        doc: "Which requests behind Envoy get x-waf-verdict, x-waf-score and x-waf-request-id: all, or those of which there is \
              something to say and those that brought such headers.",
        put: |policy, given| given.one(word(ANNOTATE)).map(|headers| policy.upstream_headers = headers),
        show: |policy| name_of(ANNOTATE, policy.upstream_headers),
    },
    Key {
        path: "cache.enabled",
        kind: Kind::Bool,
        doc: "Whether verdicts are remembered.",
        put: |policy, given| given.one(values::boolean).map(|enabled| policy.cache.enabled = enabled),
        show: |policy| Shown::Plain(policy.cache.enabled.to_string()),
    },
    Key {
        path: "cache.max_bytes",
        kind: Kind::Size(CACHE.0, CACHE.1),
        doc: "The memory the remembered verdicts may take.",
        put: |policy, given| {
            given.one(|text| values::size(text, CACHE.0, CACHE.1)).map(|size| policy.cache.max_bytes = size)
        },
        show: |policy| Shown::Text(values::size_text(policy.cache.max_bytes)),
    },
    Key {
        path: "cache.ttl",
        kind: Kind::Duration,
        doc: "How long a verdict is remembered.",
        put: |policy, given| given.one(values::duration).map(|ttl| policy.cache.ttl = ttl),
        show: |policy| Shown::Text(values::duration_text(policy.cache.ttl)),
    },
    Key {
        path: "cache.methods",
        kind: Kind::Methods,
        doc: "Methods whose verdicts are remembered; requests with a body never are.",
        put: |policy, given| given.each(values::method).map(|methods| policy.cache.methods = methods),
        show: |policy| Shown::List(policy.cache.methods.clone()),
    },
    Key {
        path: "cache.never_headers",
        kind: Kind::Headers,
        doc: "Further headers whose values are secret: requests that carry one are never cached, the value is redacted.",
        put: |policy, given| given.each(values::header).map(|names| policy.cache.never_headers = names),
        show: |policy| Shown::List(policy.cache.never_headers.clone()),
    },
    Key {
        path: "cache.volatile_headers",
        kind: Kind::Headers,
        doc: "Headers that change on every request: their values are put before the rules each time, not into the key.",
        put: |policy, given| given.each(values::header).map(|names| policy.cache.volatile_headers = names),
        show: |policy| Shown::List(policy.cache.volatile_headers.clone()),
    },
    Key {
        path: "cache.key_headers",
        kind: Kind::Headers,
        doc: "Headers taken into the key by value although they stand among the volatile ones.",
        put: |policy, given| given.each(values::header).map(|names| policy.cache.key_headers = names),
        show: |policy| Shown::List(policy.cache.key_headers.clone()),
    },
    Key {
        path: "audit.when",
        kind: Kind::Word(&["off", "relevant", "all"]),
        doc: "Which requests are written to the audit log.",
        put: |policy, given| given.one(word(AUDIT_WHEN)).map(|when| policy.audit.when = when),
        show: |policy| name_of(AUDIT_WHEN, policy.audit.when),
    },
    Key {
        path: "audit.to",
        kind: Kind::AuditTarget,
        doc: "Where the audit log goes; a relative path starts at this file's folder.",
        put: |policy, given| {
            given.one(|text| values::audit_target(text, given.base)).map(|target| policy.audit.to = target)
        },
        show: |policy| match &policy.audit.to {
            super::AuditTarget::Stdout => Shown::Text("stdout".to_owned()),
            super::AuditTarget::File(path) => Shown::Text(path.display().to_string()),
        },
    },
];

/// Keys that people bring along from elsewhere, and why they are not here; relative to a policy or to the top.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("cache.include_body", "requests with a body are never cached"),
    (
        "cache.include_header_list",
        "all headers are part of the key; volatile ones are named in `cache.volatile_headers`",
    ),
    ("cache.include_headers", "all headers are part of the key, or a cached verdict could differ from a fresh one"),
    ("cache.include_host", "the host is always part of the key, or a cached verdict could differ from a fresh one"),
    ("cache.include_method", "the method is always part of the key; `cache.methods` says which are cached"),
    ("cache.include_remote_addr", "the client's address is part of the key whenever a rule reads it"),
    ("cache.include_uri", "the URI is always part of the key, or a cached verdict could differ from a fresh one"),
    ("cache.match_all", "every request that can be cached soundly is a candidate; there is nothing to switch on"),
    ("routes", "policies by route come with a later version; this one knows the policy `default` alone"),
];

/// Sets a TX variable.
pub(super) fn put_variable(policy: &mut Policy, name: String, given: &Given<'_>) -> Result<(), Vec<Wrong>> {
    given.one(values::variable).map(|value| {
        policy.crs.tx.insert(name, value);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fits and what does not, for each kind.
    fn examples(kind: Kind) -> (Vec<String>, Vec<&'static str>) {
        let some = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        match kind {
            Kind::Bool => (some(&["true", "false"]), vec!["yes", "1", ""]),
            Kind::Word(words) => (some(words), vec!["maybe", "", "Block"]),
            Kind::Number(low, high) => (vec![low.to_string(), high.to_string()], vec!["0", "", "x", "9999999999"]),
            Kind::Status => (some(&["as_is", "403", "599"]), vec!["200", "x", "99999"]),
            Kind::Size(low, high) => (vec![low.to_string(), high.to_string()], vec!["0", "x", "64 MiB"]),
            Kind::Duration => (some(&["200ms", "24h"]), vec!["0s", "200", "5 m"]),
            Kind::Address => (some(&["off", "127.0.0.1:1"]), vec!["on", "9191"]),
            Kind::Networks => (some(&["10.0.0.0/8"]), vec!["10.0.0.0/40", ""]),
            Kind::RuleSet => (some(&["crs", "a.conf"]), vec!["", "crs@"]),
            Kind::Files | Kind::AuditTarget => (some(&["a", "/b"]), vec!["", "a\nb"]),
            Kind::Profiles => (some(&["wordpress", "a-2"]), vec!["", "a b", "A", "../a"]),
            Kind::Methods | Kind::Headers => (some(&["GET", "x-a"]), vec!["", "a b", "a:"]),
            Kind::Variables => (Vec::new(), Vec::new()),
        }
    }

    fn given(text: &str) -> Given<'static> {
        Given { items: vec![(0, text.to_owned())], base: None }
    }

    fn check<T>(keys: &[Key<T>], make: fn() -> T) -> usize {
        let mut ran = 0;
        for key in keys {
            let (good, bad) = examples(key.kind);
            for text in good {
                let mut target = make();
                assert_eq!((key.put)(&mut target, &given(&text)), Ok(()), "{} takes {text}", key.path);
                let expected = match key.kind {
                    Kind::Size(..) => values::size_text(text.parse().unwrap()),
                    Kind::Headers => text.to_ascii_lowercase(),
                    _ => text,
                };
                let shown = match (key.show)(&target) {
                    Shown::Plain(text) | Shown::Text(text) => text,
                    Shown::List(items) => items.concat(),
                    other => panic!("{}: {other:?}", key.path),
                };
                assert_eq!(shown, expected, "{} shows what it took", key.path);
                ran += 1;
            }
            for text in bad {
                assert!((key.put)(&mut make(), &given(text)).is_err(), "{} refuses {text:?}", key.path);
                ran += 1;
            }
        }
        ran
    }

    #[test]
    fn every_key_reads_and_shows_what_its_kind_says() {
        let ran = check(TOP, Config::default) + check(POLICY, Policy::default);
        assert!(ran > 100, "{ran}");
    }

    #[test]
    fn paths_are_unique_and_documented() {
        let mut paths: Vec<&str> = TOP.iter().map(|key| key.path).chain(POLICY.iter().map(|key| key.path)).collect();
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count);
        assert!(TOP.iter().map(|key| key.doc).chain(POLICY.iter().map(|key| key.doc)).all(|doc| doc.ends_with('.')));
        assert!(REFUSED.iter().all(|(path, _)| !paths.contains(path)));
    }
}
