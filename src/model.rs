//! Plain data that every other module speaks in: requests in, outcomes out.
//!
//! Knows no other module, no proxy, no file and no clock.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// The id of a rule, as written in its `id:` action. Unique within a rule set, always above zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuleId(NonZeroU32);

impl RuleId {
    /// An id from its number, or `None` for zero, which SecLang does not allow.
    pub const fn new(number: u32) -> Option<Self> {
        match NonZeroU32::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number as written in the rule.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A processing phase of SecLang. Phases 3 and 4 belong to responses; their rules load and stay inert.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Phase {
    /// Phase 1: request line, headers, query arguments and cookies.
    RequestHeaders = 1,
    /// Phase 2: phase 1 and the request body.
    RequestBody = 2,
    /// Phase 3: response headers.
    ResponseHeaders = 3,
    /// Phase 4: response body.
    ResponseBody = 4,
    /// Phase 5: logging; runs after a block too and can no longer enforce anything.
    Logging = 5,
}

impl Phase {
    /// All phases in the order in which they run.
    pub const ALL: [Self; 5] =
        [Self::RequestHeaders, Self::RequestBody, Self::ResponseHeaders, Self::ResponseBody, Self::Logging];

    /// The phase with this number (1 to 5).
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| u32::from(phase.number()) == number)
    }

    /// The number used in `phase:`, 1 to 5.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The phase's place in arrays indexed by phase, 0 to 4.
    pub const fn index(self) -> usize {
        self as usize - 1
    }
}

/// The severity of a rule; a lower number is more severe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the syslog severities and say all there is to say")]
pub enum Severity {
    Emergency = 0,
    Alert = 1,
    Critical = 2,
    Error = 3,
    Warning = 4,
    Notice = 5,
    Info = 6,
    Debug = 7,
}

impl Severity {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Emergency, "EMERGENCY"),
        (Self::Alert, "ALERT"),
        (Self::Critical, "CRITICAL"),
        (Self::Error, "ERROR"),
        (Self::Warning, "WARNING"),
        (Self::Notice, "NOTICE"),
        (Self::Info, "INFO"),
        (Self::Debug, "DEBUG"),
    ];

    /// Reads `CRITICAL`, `critical` or `2`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::NAMES
            .into_iter()
            .find(|(severity, name)| name.eq_ignore_ascii_case(text) || severity.number().to_string() == text)
            .map(|(severity, _)| severity)
    }

    /// 0 (emergency) to 7 (debug).
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The upper-case name, as CRS writes it.
    pub fn name(self) -> &'static str {
        Self::NAMES.into_iter().find(|(severity, _)| *severity == self).map_or("", |(_, name)| name)
    }
}

/// One header line of a request: bytes as received, repeats are separate entries.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Header<'r> {
    /// The name as received, any case.
    pub name: &'r [u8],
    /// The value as received, without the blanks around it.
    pub value: &'r [u8],
}

/// What is known of a request's body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body<'r> {
    /// The request has, or may have, a body that the proxy did not hand over.
    NotSent,
    /// The whole body; empty when the request has none.
    Complete(&'r [u8]),
    /// The first bytes of a longer body.
    Partial(&'r [u8]),
}

impl<'r> Body<'r> {
    /// The bytes at hand, empty when there are none.
    pub const fn bytes(&self) -> &'r [u8] {
        match *self {
            Self::NotSent => &[],
            Self::Complete(bytes) | Self::Partial(bytes) => bytes,
        }
    }
}

/// An HTTP request as the rules see it, borrowed from whatever message carried it.
///
/// Everything is bytes: proxies deliver text that is not UTF-8 and targets that no URI parser takes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// The method as sent.
    pub method: &'r [u8],
    /// The request target as sent: path and query, undecoded (also `*`, `host:port` or an absolute URI).
    pub target: &'r [u8],
    /// The protocol as rules expect it: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2.0`, `HTTP/3.0`.
    pub protocol: &'r [u8],
    /// Header lines in order of arrival, `Host` among them.
    pub headers: &'r [Header<'r>],
    /// The body, or what is known of it.
    pub body: Body<'r>,
    /// The client's address (`REMOTE_ADDR`), never that of the proxy's call to us; `None` when it cannot be told.
    pub remote_addr: Option<IpAddr>,
    /// The client's port (`REMOTE_PORT`), 0 when unknown.
    pub remote_port: u16,
    /// The address the client connected to (`SERVER_ADDR`).
    pub server_addr: Option<IpAddr>,
    /// The port the client connected to (`SERVER_PORT`), 0 when unknown.
    pub server_port: u16,
}

impl Default for Request<'_> {
    /// `GET / HTTP/1.1` without headers, with an empty body.
    fn default() -> Self {
        Self {
            method: b"GET",
            target: b"/",
            protocol: b"HTTP/1.1",
            headers: &[],
            body: Body::Complete(b""),
            remote_addr: None,
            remote_port: 0,
            server_addr: None,
            server_port: 0,
        }
    }
}

impl<'r> Request<'r> {
    /// The value of the first header with this name, compared without regard to case.
    pub fn header(&self, name: &[u8]) -> Option<&'r [u8]> {
        self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }
}

/// What the rules decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The request may pass.
    Allow,
    /// The request is refused.
    Deny {
        /// The status the rule asked for (403 unless it says otherwise).
        status: u16,
        /// The rule that refused, `None` when an engine limit did (a body over the limit).
        rule: Option<RuleId>,
        /// The action was `drop`: the connection should be closed where the proxy can.
        close: bool,
    },
    /// The client is sent elsewhere.
    Redirect {
        /// 301, 302, 303 or 307.
        status: u16,
        /// The expanded URL, percent-encoded where needed; holds no control byte.
        location: String,
        /// The rule that redirected.
        rule: RuleId,
    },
}

impl Verdict {
    /// Whether the request may pass.
    pub const fn is_allow(&self) -> bool {
        matches!(self, Self::Allow)
    }

    /// The status it answers with; `None` where the request may pass.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Allow => None,
            Self::Deny { status, .. } | Self::Redirect { status, .. } => Some(*status),
        }
    }

    /// `allow`, `deny` or `redirect`, as written to logs and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny { .. } => "deny",
            Self::Redirect { .. } => "redirect",
        }
    }
}

/// The anomaly score of CRS, read from its TX variables after the last request phase.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Score {
    /// The blocking inbound score.
    pub inbound: i64,
    /// The inbound threshold; 0 when the rule set defines none.
    pub threshold: i64,
    /// The inbound score of each paranoia level, 1 to 4.
    pub per_pl: [i64; 4],
}

/// What is fixed about a rule once it is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleInfo {
    /// The rule's id.
    pub id: RuleId,
    /// The phase it runs in.
    pub phase: Phase,
    /// The file it was read from, as named when loading.
    pub file: Arc<str>,
    /// The first line of the directive, from 1.
    pub line: u32,
    /// `msg:` as written, macros unexpanded.
    pub msg: String,
    /// `severity:`.
    pub severity: Option<Severity>,
    /// `tag:`s as written, macros unexpanded.
    pub tags: Vec<String>,
    /// `ver:`.
    pub ver: String,
    /// `rev:`.
    pub rev: String,
    /// `maturity:`.
    pub maturity: String,
    /// `accuracy:`.
    pub accuracy: String,
}

/// One value that a rule matched on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matched {
    /// The variable, in the form of `MATCHED_VAR_NAME`: `ARGS:q`, `REQUEST_HEADERS:User-Agent`, `REQUEST_URI`.
    pub variable: Vec<u8>,
    /// The value after transformation, cut at [`Matched::MAX_VALUE_BYTES`].
    pub value: Vec<u8>,
    /// `logdata:` with macros expanded at this match, cut at [`Matched::MAX_DATA_BYTES`].
    pub data: Vec<u8>,
}

impl Matched {
    /// Longer values are cut here when they are recorded.
    pub const MAX_VALUE_BYTES: usize = 512;

    /// Longer texts are cut here, since they may hold whole values.
    pub const MAX_DATA_BYTES: usize = 4 << 10;

    /// So many matches of a rule are recorded: the first ones and the last.
    pub const MOST: usize = 200;
}

/// A rule that matched and is to be logged, with every value it matched on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleMatch {
    /// What is fixed about the rule.
    pub info: Arc<RuleInfo>,
    /// `msg:` with macros expanded, at the rule's last match.
    pub msg: Vec<u8>,
    /// `logdata:` with macros expanded, at the rule's last match.
    pub data: Vec<u8>,
    /// Tags with macros expanded; `None` when none holds a macro and those of `info` stand as they are.
    pub expanded_tags: Option<Vec<String>>,
    /// The values, in order; of a chain, those of its last link.
    pub matches: Vec<Matched>,
    /// The rule is to stand in the log (`log`).
    pub log: bool,
    /// The rule is to stand in the audit log and makes the transaction relevant (`auditlog`).
    pub audit: bool,
    /// The rule's disruptive action took effect, or would have in blocking mode.
    pub disruptive: bool,
}

impl RuleMatch {
    /// The rule's tags, macros expanded.
    pub fn tags(&self) -> &[String] {
        self.expanded_tags.as_deref().unwrap_or(&self.info.tags)
    }
}

/// A part of the request that was not inspected, and why.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum NotInspected {
    /// The proxy handed over no body though there may be one.
    BodyAbsent,
    /// The proxy handed over only the first bytes of the body.
    BodyPartial,
    /// The body is longer than the limit; what lies beyond it was not read.
    BodyOverLimit,
    /// The body processor refused the body (malformed JSON, XML or multipart).
    BodyUndecodable,
    /// A rule or setting says that bodies are not to be read, or none says how a body of this type is.
    BodySkipped,
    /// More arguments than `SecArgumentsLimit`; the rest was dropped.
    ArgumentsOverLimit,
}

impl NotInspected {
    /// Every reason there is, for tables and metrics.
    pub const ALL: [Self; 6] = [
        Self::BodyAbsent,
        Self::BodyPartial,
        Self::BodyOverLimit,
        Self::BodyUndecodable,
        Self::BodySkipped,
        Self::ArgumentsOverLimit,
    ];

    /// The name in output, metadata and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BodyAbsent => "body_absent",
            Self::BodyPartial => "body_partial",
            Self::BodyOverLimit => "body_over_limit",
            Self::BodyUndecodable => "body_undecodable",
            Self::BodySkipped => "body_skipped",
            Self::ArgumentsOverLimit => "arguments_over_limit",
        }
    }
}

/// Why an evaluation could not be finished or trusted; the failure policy decides what follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    /// A backtracking pattern of this rule ran into its step limit.
    MatchLimit(RuleId),
    /// The work budget was spent before the rules were done.
    BudgetSpent,
    /// The deadline passed before the rules were done.
    DeadlinePassed,
}

/// When audit records are written (`SecAuditEngine`, `ctl:auditEngine`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuditEngine {
    /// Never.
    #[default]
    Off,
    /// For every transaction.
    On,
    /// For transactions in which a rule with `auditlog` matched, or whose status is relevant.
    RelevantOnly,
}

/// Parts of the audit log: letters from `A` to `Z` (`SecAuditLogParts`).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditParts(u32);

impl AuditParts {
    /// The parts with these letters, any case; other characters name no part.
    pub fn of(letters: &str) -> Self {
        letters.bytes().fold(Self::default(), |parts, letter| parts.with(Self::one(letter)))
    }

    const fn one(letter: u8) -> Self {
        let letter = letter.to_ascii_uppercase();
        if letter.is_ascii_uppercase() { Self(1 << (letter - b'A')) } else { Self(0) }
    }

    /// Whether the part with this letter is among them.
    pub fn contains(self, letter: char) -> bool {
        u8::try_from(letter).is_ok_and(|letter| self.0 & Self::one(letter).0 != 0)
    }

    /// These and the others.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These without the others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }
}

impl fmt::Debug for AuditParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ('A'..='Z').filter(|letter| self.contains(*letter)).try_for_each(|letter| write!(f, "{letter}"))
    }
}

/// The result of evaluating one request: data only, nothing has been logged or counted yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What is to be enforced; [`Verdict::Allow`] in detection mode.
    pub verdict: Verdict,
    /// In detection mode: what blocking mode would have said.
    pub would: Option<Verdict>,
    /// The anomaly score.
    pub score: Score,
    /// Rules that matched and are logged or audited, in the order of their first match, each once.
    pub rules: Vec<RuleMatch>,
    /// Parts not inspected, sorted, each once.
    pub not_inspected: Vec<NotInspected>,
    /// What went wrong while evaluating.
    pub faults: Vec<Fault>,
    /// No rule that ran read the time, a random number, the unique id or persistent state.
    pub deterministic: bool,
    /// The audit engine's setting at the end of the transaction.
    pub audit_engine: AuditEngine,
    /// The audit log parts at the end of the transaction, e.g. `ABIJDEFHZ`.
    pub audit_parts: AuditParts,
    /// Units of work spent: bytes given to operators and transformations.
    pub work: u64,
}

impl Outcome {
    /// The ids of the rules that stand in the log, in order.
    pub fn logged_ids(&self) -> impl Iterator<Item = RuleId> + '_ {
        self.rules.iter().filter(|rule| rule.log).map(|rule| rule.info.id)
    }
}
