//! The defaults of every setting: what a server without any configuration does.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::headers::VOLATILE;
use super::{
    Address, Annotate, AuditPolicy, AuditTarget, AuditWhen, BodyPolicy, CachePolicy, Config, CrsSettings, Expose,
    Listen, Mode, OnFailure, Policy,
};

/// The name of the policy that applies when none is asked for.
pub const DEFAULT_POLICY: &str = "default";

impl Default for Config {
    /// Loopback listeners, no trusted proxies, one policy.
    fn default() -> Self {
        Self {
            listen: Listen::default(),
            trusted_proxies: Vec::new(),
            policies: BTreeMap::from([(DEFAULT_POLICY.to_owned(), Policy::default())]),
        }
    }
}

impl Default for Listen {
    fn default() -> Self {
        let loopback = |port| Some(Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
        Self { ext_authz: loopback(9191), forward_auth: loopback(9292), admin: loopback(9393) }
    }
}

impl Default for Policy {
    /// The best rule set at hand, enforced, failing closed.
    fn default() -> Self {
        Self {
            rules: None,
            mode: Mode::Block,
            crs: CrsSettings::default(),
            body: BodyPolicy::default(),
            profiles: Vec::new(),
            exclusions: Vec::new(),
            on_error: OnFailure::Deny,
            deadline: Duration::from_millis(200),
            deny_status: None,
            expose: Expose::None,
            metadata: Annotate::All,
            upstream_headers: Annotate::All,
            cache: CachePolicy::default(),
            audit: AuditPolicy::default(),
        }
    }
}

impl Default for BodyPolicy {
    /// Everything that was cut or garbled is refused; a body that never comes is let through, since nginx and Caddy
    /// never send one.
    fn default() -> Self {
        Self {
            limit: 131_072,
            over_limit: OnFailure::Deny,
            partial: OnFailure::Deny,
            undecodable: OnFailure::Deny,
            absent: OnFailure::Allow,
            doctype: OnFailure::Allow,
        }
    }
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            enabled: true,
            max_bytes: 64 << 20,
            ttl: Duration::from_secs(60),
            methods: vec!["GET".to_owned(), "HEAD".to_owned()],
            never_headers: Vec::new(),
            volatile_headers: VOLATILE.iter().map(|&name| name.to_owned()).collect(),
            key_headers: Vec::new(),
        }
    }
}

impl Default for AuditPolicy {
    fn default() -> Self {
        Self { when: AuditWhen::Relevant, to: AuditTarget::Stdout }
    }
}
