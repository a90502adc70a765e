//! The requests that benchmarks and comparisons share: ordinary ones, and those of the CRS's own tests.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis::ftw;
use portcullis::input::{RequestBuf, parse_raw};
use portcullis::model::{Body, Header, Request};

/// Requests that are measured together.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Its name in the tables.
    pub(crate) name: &'static str,
    /// The requests.
    pub(crate) requests: Vec<RequestBuf>,
}

impl Class {
    /// At most so many of its requests, evenly spread.
    pub(crate) fn thinned(&self, most: usize) -> Self {
        let step = self.requests.len().div_ceil(most).max(1);
        Self { name: self.name, requests: self.requests.iter().step_by(step).cloned().collect() }
    }
}

/// The ordinary GETs, by which the engine is judged first.
pub(crate) const GETS: &str = "benign GET";

/// Of the thousands of CRS tests, so many are measured, evenly spread.
const ATTACKS: usize = 200;

/// Larger messages are left out: the tests of size limits would outweigh all others.
const MAX_BODY: usize = 4096;

/// Where third-party inputs lie, beside the root of this repository if nobody says otherwise.
pub(crate) fn shared(root: &Path) -> PathBuf {
    std::env::var_os("PORTCULLIS_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from)
}

/// Every class.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn classes(benign: &Path, crs: &Path) -> Result<Vec<Class>, String> {
    let text = std::fs::read_to_string(benign).map_err(|error| format!("{}: {error}", benign.display()))?;
    let all: Vec<(String, RequestBuf)> = text.lines().map(benign_line).collect::<Result<_, _>>()?;
    let of = |class: &str| all.iter().filter(|(name, _)| name == class).map(|(_, request)| request.clone()).collect();
    Ok(vec![
        Class { name: GETS, requests: of("get") },
        Class { name: "benign corpus", requests: all.iter().map(|(_, request)| request.clone()).collect() },
        Class { name: "2 KB JSON body", requests: of("json2k") },
        Class { name: "CRS attacks", requests: attacks(crs)? },
    ])
}

/// A line of the benign corpus, JSON with the body in base64: its class and the request.
///
/// # Errors
/// The line is not of this form.
pub(crate) fn benign_line(line: &str) -> Result<(String, RequestBuf), String> {
    read_line(line).ok_or_else(|| format!("not a line of the benign corpus: {line}"))
}

fn read_line(line: &str) -> Option<(String, RequestBuf)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| Some(value.get(name)?.as_str()?.as_bytes().to_vec());
    let header = |pair: &serde_json::Value| {
        Some((pair.get(0)?.as_str()?.as_bytes().to_vec(), pair.get(1)?.as_str()?.as_bytes().to_vec()))
    };
    let headers = value.get("headers")?.as_array()?.iter().map(header).collect::<Option<_>>()?;
    let (method, target, protocol) = (text("method")?, text("uri")?, text("version")?);
    let body = STANDARD.decode(text("body")?).ok()?;
    let request = RequestBuf { method, target, protocol, headers, body, ..RequestBuf::default() };
    Some((value.get("class")?.as_str()?.to_owned(), addressed(request)))
}

fn attacks(crs: &Path) -> Result<Vec<RequestBuf>, String> {
    let suite = ftw::load(&[crs.join("tests/regression/tests")])
        .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))?;
    let stages = suite.tests.iter().flat_map(|test| &test.stages);
    let parsed = stages.filter_map(|stage| parse_raw(&stage.input.bytes()).ok());
    let requests: Vec<RequestBuf> = parsed.filter(|request| request.body.len() <= MAX_BODY).map(addressed).collect();
    let step = (requests.len() / ATTACKS).max(1);
    Ok(requests.into_iter().step_by(step).take(ATTACKS).collect())
}

/// The client is not on the loopback: the CRS trusts that (905100) and would switch itself off.
pub(crate) fn addressed(request: RequestBuf) -> RequestBuf {
    RequestBuf {
        remote_addr: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))),
        remote_port: 40_000,
        server_addr: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        server_port: 80,
        ..request
    }
}

/// The requests as engines take them, borrowed once, outside of what is measured.
pub(crate) fn with_borrowed<T>(requests: &[RequestBuf], read: impl FnOnce(&[Request<'_>]) -> T) -> T {
    let headers: Vec<Vec<Header<'_>>> = requests
        .iter()
        .map(|request| request.headers.iter().map(|(name, value)| Header { name, value }).collect())
        .collect();
    let borrowed: Vec<Request<'_>> = requests
        .iter()
        .zip(&headers)
        .map(|(request, headers)| Request {
            method: &request.method,
            target: &request.target,
            protocol: &request.protocol,
            headers,
            body: Body::Complete(&request.body),
            remote_addr: request.remote_addr,
            remote_port: request.remote_port,
            server_addr: request.server_addr,
            server_port: request.server_port,
        })
        .collect();
    read(&borrowed)
}
