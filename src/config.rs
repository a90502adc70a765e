//! The configuration: what was written becomes what is meant ([`Config`]), or every error.
//!
//! Opens nothing but the file it is told to read and knows no async runtime. Precedence: defaults < file <
//! environment < `--set`.

mod check;
mod defaults;
mod env;
mod errors;
pub mod headers;
mod keys;
mod print;
mod raw;
mod schema;
#[cfg(test)]
mod tests;
mod values;
mod yaml;

pub use self::defaults::DEFAULT_POLICY;
pub use self::env::{Env, NoEnv, ProcessEnv};
pub use self::errors::{ConfigErrors, Place, Problem};
pub use self::schema::schema;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A checked configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Where to listen.
    pub listen: Listen,
    /// Proxies whose `X-Forwarded-For` entries are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Policies by name; `default` is always there.
    pub policies: BTreeMap<String, Policy>,
}

/// Addresses; `None` switches a door off.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listen {
    /// Envoy's gRPC `ext_authz`.
    pub ext_authz: Option<Address>,
    /// Forward-auth HTTP.
    pub forward_auth: Option<Address>,
    /// Health, metrics and status.
    pub admin: Option<Address>,
}

/// A TCP or Unix socket address; written `127.0.0.1:9191` or `unix:/run/portcullis.sock`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket's path.
    Unix(PathBuf),
}

/// An address with a prefix length: `10.0.0.0/8`, `192.0.2.7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpNet {
    /// The network address.
    pub addr: IpAddr,
    /// The number of leading bits that count.
    pub prefix: u8,
}

impl IpNet {
    /// Whether an address lies in this network. An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is taken as IPv4.
    pub fn contains(&self, addr: IpAddr) -> bool {
        let addr = addr.to_canonical();
        addr.is_ipv4() == self.addr.is_ipv4() && self.masked(addr) == self.masked(self.addr)
    }

    /// The address with all bits but the leading ones cleared.
    fn masked(&self, addr: IpAddr) -> IpAddr {
        let prefix = u32::from(self.prefix);
        match addr {
            IpAddr::V4(addr) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
                IpAddr::V4((addr.to_bits() & mask).into())
            }
            IpAddr::V6(addr) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
                IpAddr::V6((addr.to_bits() & mask).into())
            }
        }
    }
}

/// A policy: a rule set and how its outcome is used.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// The rule set, as in `--rules`; `None` takes the best one at hand.
    pub rules: Option<String>,
    /// Enforce, observe, or neither.
    pub mode: Mode,
    /// CRS settings.
    pub crs: CrsSettings,
    /// What happens to bodies that cannot be inspected.
    pub body: BodyPolicy,
    /// Built-in exclusions for applications, by name.
    pub profiles: Vec<String>,
    /// SecLang files with exclusions, loaded around the CRS.
    pub exclusions: Vec<PathBuf>,
    /// What our own failures do to a request.
    pub on_error: OnFailure,
    /// The time one decision may take.
    pub deadline: Duration,
    /// Replaces the status of denials (`403`); `None` keeps the rule's.
    pub deny_status: Option<u16>,
    /// What a client is told.
    pub expose: Expose,
    /// Which answers carry Envoy's dynamic metadata.
    pub metadata: Annotate,
    /// Which requests behind Envoy get our headers for the application.
    pub upstream_headers: Annotate,
    /// The verdict cache.
    pub cache: CachePolicy,
    /// The audit log.
    pub audit: AuditPolicy,
}

/// What a policy does with a denial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Enforce it.
    Block,
    /// Log it and let the request pass.
    Detect,
    /// Do not evaluate at all.
    Off,
}

impl Mode {
    /// The name as written in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Detect => "detect",
            Self::Off => "off",
        }
    }
}

/// CRS settings; all become `setvar:tx.…` before the rules.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CrsSettings {
    /// Blocking paranoia level, 1 to 4; `None` leaves the set's own.
    pub paranoia: Option<u8>,
    /// Detection paranoia level, 1 to 4.
    pub detection_paranoia: Option<u8>,
    /// Inbound anomaly score threshold.
    pub inbound_threshold: Option<u32>,
    /// Outbound anomaly score threshold.
    pub outbound_threshold: Option<u32>,
    /// Any other TX variable, names without `tx.`.
    pub tx: BTreeMap<String, String>,
}

/// What happens to a request whose body was not inspected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BodyPolicy {
    /// The largest body that is inspected, in bytes; the proxy's own limit should be the same.
    pub limit: usize,
    /// The body is over the limit.
    pub over_limit: OnFailure,
    /// The proxy cut the body.
    pub partial: OnFailure,
    /// The body could not be parsed.
    pub undecodable: OnFailure,
    /// The proxy handed over no body.
    pub absent: OnFailure,
    /// An XML body has a DOCTYPE.
    pub doctype: OnFailure,
}

/// Deny or allow when something cannot be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnFailure {
    /// Fail closed.
    Deny,
    /// Fail open.
    Allow,
}

impl OnFailure {
    /// The name as written in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allow => "allow",
        }
    }
}

/// What a client is told about a denial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expose {
    /// The request id only.
    None,
    /// The request id and the verdict's headers.
    Id,
    /// The rule ids too.
    Rules,
}

/// Which requests are let pass with something for Envoy or the application to read. To take it over costs Envoy CPU time,
/// so whoever reads only findings need not pay for the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Annotate {
    /// All.
    All,
    /// Those of which there is more to say than that nothing was found.
    Relevant,
}

/// The verdict cache of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachePolicy {
    /// Whether it is used.
    pub enabled: bool,
    /// Its size in bytes.
    pub max_bytes: u64,
    /// How long a verdict lives.
    pub ttl: Duration,
    /// Methods that are cached.
    pub methods: Vec<String>,
    /// Further headers that are never cached, lower case; those of [`headers::NEVER_CACHEABLE`] always apply.
    pub never_headers: Vec<String>,
    /// Volatile headers, screened afresh on each request, lower case.
    pub volatile_headers: Vec<String>,
    /// Headers whose value tells variants apart although they stand among the volatile ones, lower case.
    pub key_headers: Vec<String>,
}

/// The audit log of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditPolicy {
    /// Which transactions are written.
    pub when: AuditWhen,
    /// Where to.
    pub to: AuditTarget,
}

/// Which transactions are written to the audit log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuditWhen {
    /// None.
    Off,
    /// Those in which a rule with `auditlog` matched, or that were denied.
    Relevant,
    /// All.
    All,
}

/// Where audit records go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AuditTarget {
    /// Standard output.
    Stdout,
    /// A file, appended to.
    File(PathBuf),
}
