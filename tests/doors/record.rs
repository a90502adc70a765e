//! Audit records, as far as these tests read them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::support::Checked;

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";

/// What the sidecar says of one request: what it was, as its adapter made it, and what came of it.
#[derive(Deserialize)]
pub(crate) struct Record {
    pub(crate) unique_id: String,
    client_ip: String,
    pub(crate) client_port: u16,
    host_ip: String,
    pub(crate) host_port: u16,
    pub(crate) request: Request,
    pub(crate) messages: Vec<Message>,
    pub(crate) portcullis: Ours,
}

#[derive(Deserialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    http_version: Value,
    pub(crate) uri: String,
    pub(crate) headers: Lines,
}

#[derive(Deserialize)]
pub(crate) struct Message {
    pub(crate) message: String,
    pub(crate) details: Details,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    pub(crate) rule_id: String,
    pub(crate) data: String,
    pub(crate) severity: String,
    pub(crate) tags: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Ours {
    pub(crate) verdict: String,
    #[serde(default)]
    pub(crate) failure: Option<String>,
    #[serde(default)]
    pub(crate) faults: Vec<String>,
    #[serde(default)]
    pub(crate) would: Option<String>,
    #[serde(default)]
    pub(crate) score: Score,
    #[serde(default)]
    pub(crate) not_inspected: Vec<String>,
}

#[derive(Deserialize, Default)]
pub(crate) struct Score {
    pub(crate) inbound: i64,
}

/// Header lines in order; in JSON an object with repeated keys.
pub(crate) struct Lines(pub(crate) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Lines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Lines;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("header lines")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lines, A::Error> {
                let mut lines = Vec::new();
                while let Some(line) = map.next_entry()? {
                    lines.push(line);
                }
                Ok(Lines(lines))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl Record {
    /// The client's address.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.client_ip.parse().ok()
    }

    /// The address the client connected to.
    pub(crate) fn host(&self) -> Option<IpAddr> {
        self.host_ip.parse().ok()
    }

    /// The protocol as rules see it.
    pub(crate) fn protocol(&self) -> String {
        match &self.request.http_version {
            Value::String(text) => format!("HTTP/{text}"),
            number => format!("HTTP/{number}"),
        }
    }
}

/// All whole records of a log by their request id.
pub(crate) fn read_all(log: &[u8]) -> Checked<HashMap<String, Record>> {
    #[derive(Deserialize)]
    struct Line {
        transaction: Record,
    }
    let end = log.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = log[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let records = lines.map(|line| {
        let line: Line = serde_json::from_slice(line)
            .map_err(|error| format!("audit record: {error}: {}", String::from_utf8_lossy(line)))?;
        Ok((line.transaction.unique_id.clone(), line.transaction))
    });
    records.collect()
}

/// A text as a record shows it: bytes that are no UTF-8 as `\xHH`.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}
