//! One whole-engine case as its file gives it: rules, a request, what is expected.

use std::net::IpAddr;

use portcullis::model::{Body, Header, Request};

use super::json::Json;

pub(super) struct Case {
    /// The file's name without folder.
    pub(super) file: String,
    /// The place within the file, from 0.
    pub(super) index: usize,
    pub(super) rules: String,
    pub(super) sent: Option<Sent>,
    pub(super) expected: Expected,
}

pub(super) struct Sent {
    method: String,
    uri: String,
    protocol: String,
    headers: Vec<(String, String)>,
    body: String,
    client: (Option<IpAddr>, u16),
    server: (Option<IpAddr>, u16),
}

#[derive(Default)]
pub(super) struct Expected {
    pub(super) status: Option<u16>,
    pub(super) location: Option<String>,
    /// Loading has to fail. The message is upstream's own and not compared.
    pub(super) load_error: bool,
    /// Patterns that are not empty.
    pub(super) debug_log: Option<String>,
    pub(super) error_log: Option<String>,
    pub(super) audit_log: Option<String>,
}

impl Case {
    pub(super) fn read(file: &str, index: usize, json: &Json) -> Self {
        let lines = json.get("rules").map(Json::items).unwrap_or_default();
        let rules: Vec<_> = lines.iter().filter_map(Json::text).collect();
        Self {
            file: file.to_owned(),
            index,
            rules: rules.join("\n"),
            sent: json.get("request").map(|request| Sent::read(json, request)),
            expected: Expected::read(json),
        }
    }

    pub(super) fn name(&self) -> String {
        format!("{} {}", self.file, self.index)
    }
}

impl Expected {
    fn read(json: &Json) -> Self {
        let find = |key: &str| json.all("expected").find_map(|expected| expected.get(key));
        let text = |key| find(key).and_then(Json::text).filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            status: find("http_code").and_then(Json::number).map(|status| status as u16),
            location: text("redirect_url"),
            load_error: text("parser_error").is_some(),
            debug_log: text("debug_log"),
            error_log: text("error_log"),
            audit_log: text("audit_log"),
        }
    }
}

impl Sent {
    fn read(case: &Json, request: &Json) -> Self {
        let text = |key, default: &str| request.get(key).and_then(Json::text).unwrap_or(default).to_owned();
        let version = request.get("http_version").and_then(Json::number).unwrap_or(1.1);
        Self {
            method: text("method", "GET"),
            uri: text("uri", "/"),
            protocol: format!("HTTP/{version:.1}"),
            headers: request.get("headers").map(headers).unwrap_or_default(),
            body: request.get("body").map(body).unwrap_or_default(),
            client: address(case.get("client")),
            server: address(case.get("server")),
        }
    }

    /// Gives the request to `run`.
    pub(super) fn with<T>(&self, run: impl FnOnce(&Request<'_>) -> T) -> T {
        let header = |(name, value): &'_ (String, String)| (name.clone(), value.clone());
        let owned: Vec<_> = self.headers.iter().map(header).collect();
        let headers: Vec<_> =
            owned.iter().map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() }).collect();
        run(&Request {
            method: self.method.as_bytes(),
            target: self.uri.as_bytes(),
            protocol: self.protocol.as_bytes(),
            headers: &headers,
            body: Body::Complete(self.body.as_bytes()),
            remote_addr: self.client.0,
            remote_port: self.client.1,
            server_addr: self.server.0,
            server_port: self.server.1,
        })
    }
}

/// Header lines as a proxy hands them over: without the blanks around the value.
fn headers(json: &Json) -> Vec<(String, String)> {
    let value = |value: &Json| value.text().unwrap_or_default().trim_matches([' ', '\t']).to_owned();
    json.entries().iter().map(|(name, text)| (name.clone(), value(text))).collect()
}

/// Each line of a body ends with LF, the last one too; a text instead of lines is always empty.
fn body(json: &Json) -> String {
    json.items().iter().filter_map(Json::text).map(|line| format!("{line}\n")).collect()
}

fn address(json: Option<&Json>) -> (Option<IpAddr>, u16) {
    let ip = json.and_then(|json| json.get("ip")).and_then(Json::text).and_then(|ip| ip.parse().ok());
    let port = json.and_then(|json| json.get("port")).and_then(Json::number);
    (ip, port.map_or(0, |port| port as u16))
}
