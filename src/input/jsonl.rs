//! JSON lines: one request per line.
//!
//! `{"id":"a1","method":"POST","uri":"/p?q=1","version":"HTTP/1.1","headers":[["Host","x"]],"body":"...",
//! "remote_addr":"192.0.2.7"}`. Only `uri` is needed. `body_b64` stands for a body that is not UTF-8, and `uri` and the
//! values of headers may be `{"b64":"..."}`. `body_state` says `partial` or `absent` where the proxy cut the body or kept
//! it; `remote_port`, `server_addr` and `server_port` may follow. An unknown key is an error, since a misspelt one would
//! change the verdict unseen.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{BodyState, RequestBuf};

const KEYS: [&str; 12] = [
    "id",
    "method",
    "uri",
    "version",
    "headers",
    "body",
    "body_b64",
    "body_state",
    "remote_addr",
    "remote_port",
    "server_addr",
    "server_port",
];

type Step<T> = Result<T, String>;

/// Reads one line. `id` names the request where the line does not.
///
/// # Errors
/// What is wrong, and what to write instead.
pub fn parse_line(line: &[u8], id: &str) -> Result<RequestBuf, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| json_error(&error))?;
    let Value::Object(object) = &value else {
        return Err("not a JSON object; write `{\"uri\":\"/\"}`".to_owned());
    };
    check_keys(object)?;
    Ok(RequestBuf {
        id: text(object, "id")?.unwrap_or(id).to_owned(),
        method: text(object, "method")?.unwrap_or("GET").as_bytes().to_vec(),
        target: object.get("uri").map_or_else(
            || Err("`uri` is missing; write `\"uri\":\"/path?query\"`".to_owned()),
            |value| bytes(value, "uri"),
        )?,
        protocol: text(object, "version")?.unwrap_or("HTTP/1.1").as_bytes().to_vec(),
        headers: headers(object.get("headers"))?,
        body: body(object)?,
        body_state: body_state(object)?,
        remote_addr: address(object, "remote_addr")?,
        remote_port: port(object, "remote_port")?,
        server_addr: address(object, "server_addr")?,
        server_port: port(object, "server_port")?,
    })
}

/// Without serde's own line number, which counts within the line.
fn json_error(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {message} at column {}", error.column())
}

fn check_keys(object: &Map<String, Value>) -> Step<()> {
    match object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            Err(format!("unknown key `{key}`; the keys are {}", KEYS.map(|key| format!("`{key}`")).join(", ")))
        }
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Step<Option<&'a str>> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{key}` is not text; write `\"{key}\":\"...\"`")),
    }
}

/// Text, or `{"b64":"..."}`.
fn bytes(value: &Value, what: &str) -> Step<Vec<u8>> {
    let encoded = match value {
        Value::String(text) => return Ok(text.as_bytes().to_vec()),
        Value::Object(object) if object.len() == 1 => object.get("b64").and_then(Value::as_str),
        _ => None,
    };
    match encoded {
        Some(encoded) => base64(encoded, what),
        None => Err(format!("`{what}` is neither text nor `{{\"b64\":\"...\"}}`")),
    }
}

fn base64(encoded: &str, what: &str) -> Step<Vec<u8>> {
    STANDARD.decode(encoded).map_err(|error| format!("`{what}` is not base64 (with `+`, `/` and padding): {error}"))
}

fn headers(value: Option<&Value>) -> Step<Vec<(Vec<u8>, Vec<u8>)>> {
    const FIX: &str = "write `\"headers\":[[\"Host\",\"shop.example\"],[\"Accept\",\"*/*\"]]`";
    let Some(value) = value else { return Ok(Vec::new()) };
    let Value::Array(entries) = value else { return Err(format!("`headers` is not a list of pairs; {FIX}")) };
    let header = |entry: &Value| match entry.as_array().map(Vec::as_slice) {
        Some([Value::String(name), value]) => Ok((name.as_bytes().to_vec(), bytes(value, name)?)),
        _ => Err(format!("an entry of `headers` is not a pair of name and value; {FIX}")),
    };
    entries.iter().map(header).collect()
}

fn body(object: &Map<String, Value>) -> Step<Vec<u8>> {
    match (text(object, "body")?, text(object, "body_b64")?) {
        (Some(_), Some(_)) => Err("both `body` and `body_b64`; write one of them".to_owned()),
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(encoded)) => base64(encoded, "body_b64"),
        (None, None) => Ok(Vec::new()),
    }
}

fn body_state(object: &Map<String, Value>) -> Step<BodyState> {
    match text(object, "body_state")? {
        None | Some("complete") => Ok(BodyState::Complete),
        Some("partial") => Ok(BodyState::Partial),
        Some("absent") => Ok(BodyState::Absent),
        Some(other) => Err(format!("`body_state` is `{other}`; write `complete`, `partial` or `absent`")),
    }
}

fn address(object: &Map<String, Value>, key: &str) -> Step<Option<std::net::IpAddr>> {
    let Some(text) = text(object, key)? else { return Ok(None) };
    match text.parse() {
        Ok(address) => Ok(Some(address)),
        Err(_) => Err(format!("`{key}` is `{text}`, not an IP address; write `\"{key}\":\"192.0.2.7\"`")),
    }
}

fn port(object: &Map<String, Value>, key: &str) -> Step<u16> {
    match object.get(key) {
        None => Ok(0),
        Some(value) => value
            .as_u64()
            .and_then(|port| u16::try_from(port).ok())
            .ok_or_else(|| format!("`{key}` is not a port; write `\"{key}\":443`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line() {
        let line = br#"{"id":"a1","method":"POST","uri":"/p?q=1","version":"HTTP/2.0","headers":[["Host","x"],
            ["X-B",{"b64":"/w=="}]],"body_b64":"AP8=","remote_addr":"192.0.2.7","remote_port":1,"server_addr":"::1",
            "server_port":443,"body_state":"partial"}"#;
        let expected = RequestBuf {
            id: "a1".to_owned(),
            method: b"POST".to_vec(),
            target: b"/p?q=1".to_vec(),
            protocol: b"HTTP/2.0".to_vec(),
            headers: vec![(b"Host".to_vec(), b"x".to_vec()), (b"X-B".to_vec(), b"\xff".to_vec())],
            body: b"\0\xff".to_vec(),
            body_state: BodyState::Partial,
            remote_addr: "192.0.2.7".parse().ok(),
            remote_port: 1,
            server_addr: "::1".parse().ok(),
            server_port: 443,
        };
        assert_eq!(parse_line(line, "n"), Ok(expected));
    }

    #[test]
    fn defaults() {
        let expected = RequestBuf { id: "f:3".to_owned(), target: b"/\xff".to_vec(), ..RequestBuf::default() };
        assert_eq!(parse_line(br#"{"uri":{"b64":"L/8="}}"#, "f:3"), Ok(expected));
        assert_eq!(parse_line("{\"uri\":\"/\",\"body\":\"\u{fc}\"}".as_bytes(), "").map(|r| r.body.len()), Ok(2));
    }

    #[test]
    fn errors_say_what_to_write() {
        let cases = [
            ("{", "not JSON: EOF while parsing an object at column 1"),
            ("[]", "not a JSON object; write `{\"uri\":\"/\"}`"),
            ("{}", "`uri` is missing; write `\"uri\":\"/path?query\"`"),
            (r#"{"uri":1}"#, "`uri` is neither text nor `{\"b64\":\"...\"}`"),
            (r#"{"uri":{"b64":"/","x":1}}"#, "`uri` is neither text nor `{\"b64\":\"...\"}`"),
            (r#"{"uri":"/","hedaers":[]}"#, "unknown key `hedaers`; the keys are `id`, `method`, `uri`, "),
            (r#"{"uri":"/","method":1}"#, "`method` is not text; write `\"method\":\"...\"`"),
            (r#"{"uri":"/","headers":{}}"#, "`headers` is not a list of pairs; write `\"headers\":[[\"Host\","),
            (r#"{"uri":"/","headers":[["a"]]}"#, "an entry of `headers` is not a pair of name and value; write "),
            (r#"{"uri":"/","headers":[["a",1]]}"#, "`a` is neither text nor `{\"b64\":\"...\"}`"),
            (r#"{"uri":"/","body":"","body_b64":""}"#, "both `body` and `body_b64`; write one of them"),
            (r#"{"uri":"/","body_b64":"_"}"#, "`body_b64` is not base64 (with `+`, `/` and padding): "),
            (r#"{"uri":"/","body_state":"cut"}"#, "`body_state` is `cut`; write `complete`, `partial` or `absent`"),
            (r#"{"uri":"/","remote_addr":"x"}"#, "`remote_addr` is `x`, not an IP address; write "),
            (r#"{"uri":"/","remote_port":70000}"#, "`remote_port` is not a port; write `\"remote_port\":443`"),
        ];
        for (line, expected) in cases {
            let message = parse_line(line.as_bytes(), "").expect_err(line);
            assert!(message.starts_with(expected), "{line}: {message}");
        }
    }
}
