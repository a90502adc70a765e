//! Where mutations take their material from.

use std::path::Path;

use portcullis::ftw;
use portcullis::input::{RequestBuf, jsonl, parse_raw};

/// Texts and whole requests.
pub(super) struct Payloads {
    pub(super) texts: Vec<Vec<u8>>,
    pub(super) requests: Vec<RequestBuf>,
}

impl Payloads {
    /// The values that these requests carry, and the ordinary requests to carry them.
    pub(super) fn new(ordinary: &[RequestBuf], tests: &[RequestBuf]) -> Self {
        let mut texts: Vec<Vec<u8>> = ordinary.iter().chain(tests).flat_map(values).collect();
        texts.retain(|text| (2..2_000).contains(&text.len()));
        texts.sort();
        texts.dedup();
        Self { texts, requests: ordinary.to_vec() }
    }
}

/// The parts of a request that hold something of the client's, undecoded and decoded.
fn values(request: &RequestBuf) -> Vec<Vec<u8>> {
    let split =
        |text: &[u8]| text.split(|byte| matches!(byte, b'?' | b'&' | b'=')).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let mut values = [split(&request.target), split(&request.body)].concat();
    values.push(request.body.clone());
    values.extend(request.headers.iter().map(|(_, value)| value.clone()));
    let decoded: Vec<Vec<u8>> = values.iter().map(|value| decode(value)).collect();
    values.extend(decoded);
    values
}

fn decode(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::new();
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match (first, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                rest = &tail[2..];
            }
            _ => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    decoded
}

/// The requests of the regression tests that the raw parser takes.
pub(super) fn of_tests(folder: &Path) -> Vec<RequestBuf> {
    let suite = ftw::load(&[folder.to_path_buf()]).unwrap_or_else(|errors| panic!("{errors:?}"));
    let stages = suite.tests.iter().flat_map(|test| &test.stages);
    stages.filter_map(|stage| parse_raw(&stage.input.bytes()).ok()).collect()
}

/// The ordinary requests of this repository.
pub(super) fn benign() -> Vec<RequestBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/benign");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let requests: Vec<_> = lines.map(|line| request(&line)).collect();
    assert!(requests.len() >= 40, "only {} ordinary requests in {}", requests.len(), folder.display());
    requests
}

/// The first of these files holds more than a line of requests does, and its bodies in base64.
fn request(line: &str) -> RequestBuf {
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    if object.contains_key("class") {
        if let Some(body) = object.remove("body") {
            object.insert("body_b64".into(), body);
        }
        object.retain(|key, _| ["id", "method", "uri", "version", "headers", "body_b64"].contains(&key.as_str()));
    }
    let text = serde_json::Value::Object(object).to_string();
    jsonl::parse_line(text.as_bytes(), "").unwrap_or_else(|error| panic!("{error}: {line}"))
}
