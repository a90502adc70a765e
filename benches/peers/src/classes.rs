//! The requests, in classes: ordinary ones, and those of the CRS's own tests.

use std::net::{IpAddr, Ipv4Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis::ftw;
use portcullis::input::{RequestBuf, parse_raw};

use super::Inputs;

/// Requests that are measured together.
pub struct Class {
    /// Its name in the table.
    pub name: &'static str,
    /// The requests.
    pub requests: Vec<RequestBuf>,
}

/// Of the thousands of CRS tests, so many are measured, evenly spread.
const ATTACKS: usize = 200;

/// Larger messages are left out: the tests of size limits would outweigh all others.
const MAX_BODY: usize = 4096;

/// Every class.
///
/// # Errors
/// A file that cannot be read.
pub fn all(inputs: &Inputs) -> Result<Vec<Class>, String> {
    let text =
        std::fs::read_to_string(&inputs.benign).map_err(|error| format!("{}: {error}", inputs.benign.display()))?;
    let benign: Vec<(String, RequestBuf)> =
        text.lines().map(benign_line).collect::<Option<_>>().ok_or("benign corpus")?;
    let of =
        |class: &str| benign.iter().filter(|(name, _)| name == class).map(|(_, request)| request.clone()).collect();
    Ok(vec![
        Class { name: "benign GET", requests: of("get") },
        Class { name: "benign corpus", requests: benign.iter().map(|(_, request)| request.clone()).collect() },
        Class { name: "2 KB JSON body", requests: of("json2k") },
        Class { name: "CRS attacks", requests: attacks(inputs)? },
    ])
}

fn benign_line(line: &str) -> Option<(String, RequestBuf)> {
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

fn attacks(inputs: &Inputs) -> Result<Vec<RequestBuf>, String> {
    let suite = ftw::load(&[inputs.crs.join("tests/regression/tests")]).map_err(|errors| errors[0].to_string())?;
    let stages = suite.tests.iter().flat_map(|test| &test.stages);
    let parsed = stages.filter_map(|stage| parse_raw(&stage.input.bytes()).ok());
    let requests: Vec<RequestBuf> = parsed.filter(|request| request.body.len() <= MAX_BODY).map(addressed).collect();
    let step = (requests.len() / ATTACKS).max(1);
    Ok(requests.into_iter().step_by(step).take(ATTACKS).collect())
}

/// The client is not on the loopback: the CRS would switch itself off.
fn addressed(request: RequestBuf) -> RequestBuf {
    RequestBuf {
        remote_addr: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7))),
        remote_port: 40_000,
        server_addr: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        server_port: 80,
        ..request
    }
}
