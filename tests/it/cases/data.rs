//! The form of the files in `tests/vectors/cases`.

use portcullis::input::{BodyState, RequestBuf};
use serde::Deserialize;

/// A report from the public: what it is about, and the inputs that show it.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) id: String,
    /// What goes wrong elsewhere, in a few words.
    #[serde(rename = "about")]
    pub(super) _about: String,
    /// Why nothing of it can be run yet.
    pub(super) pending: Option<String>,
    /// Tests elsewhere that show it: `path of the file: name of the function`.
    #[serde(default)]
    pub(super) elsewhere: Vec<String>,
    #[serde(default)]
    pub(super) variants: Vec<Variant>,
}

/// One input, or several in a row, under one set-up.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// Tells the variants of a case apart.
    #[serde(default)]
    pub(super) name: String,
    pub(super) pending: Option<String>,
    #[serde(default)]
    pub(super) set: SetUp,
    /// The paranoia levels at which the same must come out.
    #[serde(default = "lowest")]
    pub(super) levels: Vec<u8>,
    pub(super) send: Option<Sent>,
    #[serde(default)]
    pub(super) expect: Expected,
    /// In the place of `send` and `expect`.
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// Texts that load warnings must hold.
    #[serde(default)]
    pub(super) warnings: Vec<String>,
    /// Lines of the metrics afterwards. Such a variant has a service of its own.
    #[serde(default)]
    pub(super) metrics: Vec<String>,
    /// No load warning at all, apart from those the set has without `rules`.
    #[serde(default)]
    pub(super) quiet: bool,
}

/// The rules and the policy.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SetUp {
    /// The version; the empty text is none: `rules` and the engine's set-up are all there is.
    pub(super) crs: Option<String>,
    /// SecLang lines: with a CRS, exclusions. `{crs}` stands for the CRS folder.
    pub(super) rules: Vec<String>,
    pub(super) mode: Mode,
    pub(super) limit: Option<usize>,
    pub(super) over_limit_allowed: bool,
    pub(super) undecodable_allowed: bool,
    /// `body.doctype: deny`.
    pub(super) no_doctype: bool,
    pub(super) cache: bool,
    /// There is a policy `second`.
    pub(super) second: bool,
    pub(super) tx: std::collections::BTreeMap<String, String>,
    pub(super) profiles: Vec<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    #[default]
    Block,
    Detect,
}

/// A step of several.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Before the request: the set's lines become these, and the service reloads.
    pub(super) reload: Option<Vec<String>>,
    /// Whether that reload must fail.
    #[serde(default)]
    pub(super) reload_fails: bool,
    pub(super) send: Sent,
    #[serde(default)]
    pub(super) expect: Expected,
}

/// A request. What is not said is that of an ordinary browser.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sent {
    pub(super) door: Door,
    pub(super) method: Option<String>,
    pub(super) uri: Option<Bytes>,
    pub(super) protocol: Option<String>,
    pub(super) scheme: Option<String>,
    /// The policy asked for by name: `second` is another one with the same rules.
    pub(super) policy: Option<String>,
    /// Headers in order; those of the same name that an ordinary request has are left out. `null` only leaves out.
    pub(super) headers: Vec<(String, Option<Bytes>)>,
    /// `Content-Type`.
    #[serde(rename = "type")]
    pub(super) content_type: Option<String>,
    pub(super) body: Option<Bytes>,
    /// A multipart body with the boundary `lab`: what follows `form-data; `, further header lines, the data.
    pub(super) parts: Vec<(String, Vec<String>, String)>,
    pub(super) body_is: BodyIs,
}

/// How the request comes in.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Door {
    /// No wire: the service is asked.
    #[default]
    None,
    /// Forward-auth as Traefik does it; the request is described in headers, which a case may replace.
    Verify,
    /// Envoy's gRPC.
    ExtAuthz,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BodyIs {
    #[default]
    Complete,
    Partial,
    Absent,
}

/// Bytes: a text, or pieces in a row.
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
pub(crate) enum Bytes {
    Text(String),
    Pieces(Vec<Piece>),
}

/// A text, a text so many times, or bytes in hexadecimal.
#[derive(Deserialize, Clone, Debug)]
#[serde(untagged)]
pub(crate) enum Piece {
    Text(String),
    Repeated(String, usize),
    Hex { hex: String },
}

/// What must come out. Rule ids are found among the logged ones; others may be there too.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expected {
    /// 200 when the request passes.
    pub(super) status: u16,
    pub(super) log: Vec<u32>,
    pub(super) silent: Vec<u32>,
    /// No other rules than `log`, those that do the scoring left aside.
    pub(super) only: bool,
    /// Parts not inspected, all of them.
    pub(super) gaps: Option<Vec<String>>,
    pub(super) cached: Option<bool>,
    /// What blocking mode had answered.
    pub(super) would: Option<u16>,
    /// The evaluation takes no longer, in a build with optimisation.
    pub(super) within_ms: Option<u64>,
}

impl Default for Expected {
    fn default() -> Self {
        Self {
            status: 200,
            log: Vec::new(),
            silent: Vec::new(),
            only: false,
            gaps: None,
            cached: None,
            would: None,
            within_ms: None,
        }
    }
}

fn lowest() -> Vec<u8> {
    vec![1]
}

impl Variant {
    /// The steps, one or several.
    pub(super) fn steps(&self) -> Vec<Step> {
        let one =
            self.send.clone().map(|send| Step { reload: None, reload_fails: false, send, expect: self.expect.clone() });
        one.into_iter().chain(self.steps.iter().cloned()).collect()
    }
}

impl Bytes {
    pub(super) fn get(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Pieces(pieces) => pieces.iter().flat_map(Piece::get).collect(),
        }
    }
}

impl Piece {
    fn get(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Repeated(text, times) => text.repeat(*times).into_bytes(),
            Self::Hex { hex } => {
                let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
                hex.as_bytes().chunks(2).map(pair).collect()
            }
        }
    }
}

impl Sent {
    /// The body's bytes; `None` when there is none.
    fn payload(&self) -> Option<Vec<u8>> {
        if self.parts.is_empty() {
            return self.body.as_ref().map(Bytes::get);
        }
        let mut body = String::new();
        for (disposition, headers, data) in &self.parts {
            body.push_str(&format!("--lab\r\nContent-Disposition: form-data; {disposition}\r\n"));
            headers.iter().for_each(|line| body.push_str(&format!("{line}\r\n")));
            body.push_str(&format!("\r\n{data}\r\n"));
        }
        Some(format!("{body}--lab--\r\n").into_bytes())
    }

    /// The request as its client sends it.
    pub(crate) fn request(&self) -> RequestBuf {
        let payload = self.payload();
        let length = payload.as_ref().map(|body| body.len().to_string());
        let multipart = (!self.parts.is_empty()).then_some("multipart/form-data; boundary=lab");
        let form = payload.is_some().then_some("application/x-www-form-urlencoded");
        let usual = [
            ("Host", Some("shop.example")),
            ("User-Agent", Some("Mozilla/5.0 lab")),
            ("Accept", Some("*/*")),
            ("Content-Type", self.content_type.as_deref().or(multipart).or(form)),
            ("Content-Length", length.as_deref()),
        ];
        let named = |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let usual = usual.into_iter().filter(|(name, _)| !named(name));
        let usual = usual.filter_map(|(name, value)| Some((name.into(), value?.into())));
        let own = self.headers.iter().filter_map(|(name, value)| Some((name.clone().into(), value.as_ref()?.get())));
        let method = if payload.is_some() { "POST" } else { "GET" };
        RequestBuf {
            method: self.method.as_deref().unwrap_or(method).into(),
            target: self.uri.as_ref().map_or_else(|| b"/".to_vec(), Bytes::get),
            protocol: self.protocol.as_deref().unwrap_or("HTTP/1.1").into(),
            headers: usual.chain(own).collect(),
            body: payload.unwrap_or_default(),
            body_state: match self.body_is {
                BodyIs::Complete => BodyState::Complete,
                BodyIs::Partial => BodyState::Partial,
                BodyIs::Absent => BodyState::Absent,
            },
            remote_addr: Some("203.0.113.9".parse().unwrap()),
            ..RequestBuf::default()
        }
    }
}
