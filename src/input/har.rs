//! HAR archives, as browsers save them.
//!
//! Entries whose URL is not `http:` or `https:` (`data:`, extensions) are left out. Pseudo headers of HTTP/2 become what
//! they stand for. An entry that tells of a body without holding it gets [`BodyState::Absent`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{BodyState, RequestBuf};

type Step<T> = Result<T, String>;

/// Whether this is a HAR archive: an object with `log.entries`.
pub fn is_har(value: &Value) -> bool {
    value.pointer("/log/entries").is_some()
}

/// Reads the requests of an archive; each error names its entry. Requests are called `file#1`, `file#2`, ...
///
/// # Errors
/// Everything that is wrong, one message per entry.
pub fn parse(archive: &Value, file: &str) -> Result<Vec<RequestBuf>, Vec<String>> {
    let Some(entries) = archive.pointer("/log/entries").and_then(Value::as_array) else {
        return Err(vec!["no `log.entries`; is this a HAR archive?".to_owned()]);
    };
    let mut requests = Vec::new();
    let mut errors = Vec::new();
    for (number, entry) in (1..).zip(entries) {
        match request(entry, format!("{file}#{number}")) {
            Ok(found) => requests.extend(found),
            Err(message) => errors.push(format!("entry {number}: {message}")),
        }
    }
    if errors.is_empty() { Ok(requests) } else { Err(errors) }
}

fn request(entry: &Value, id: String) -> Step<Option<RequestBuf>> {
    let request = entry.get("request").ok_or("no `request`")?;
    let url = text(request, "url")?;
    let Some((authority, target)) = split_url(url) else { return Ok(None) };
    let (body, body_state) = body(request)?;
    Ok(Some(RequestBuf {
        id,
        method: text(request, "method")?.as_bytes().to_vec(),
        target: target.into_bytes(),
        protocol: protocol(request.get("httpVersion").and_then(Value::as_str).unwrap_or_default()),
        headers: headers(request, authority)?,
        body,
        body_state,
        ..RequestBuf::default()
    }))
}

fn text<'a>(value: &'a Value, key: &str) -> Step<&'a str> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` is missing or no text"))
}

/// Host and port, and the target without a fragment; `None` for other schemes.
fn split_url(url: &str) -> Option<(&str, String)> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or_default();
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let slash = if target.starts_with('/') { "" } else { "/" };
    Some((authority, format!("{slash}{target}")))
}

/// `h2`, `http/2.0` and `HTTP/2` all mean `HTTP/2.0`.
fn protocol(version: &str) -> Vec<u8> {
    let version = match version.to_ascii_lowercase().as_str() {
        "h2" | "http/2" | "http/2.0" => "HTTP/2.0",
        "h3" | "http/3" | "http/3.0" => "HTTP/3.0",
        "http/1.0" => "HTTP/1.0",
        _ => "HTTP/1.1",
    };
    version.as_bytes().to_vec()
}

fn headers(request: &Value, authority: &str) -> Step<Vec<(Vec<u8>, Vec<u8>)>> {
    let entries = request.get("headers").and_then(Value::as_array).ok_or("`headers` is missing or no list")?;
    let mut headers = Vec::with_capacity(entries.len() + 1);
    for entry in entries {
        let (name, value) = (text(entry, "name")?, text(entry, "value")?);
        if !name.starts_with(':') {
            headers.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
    }
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        headers.insert(0, (b"Host".to_vec(), authority.as_bytes().to_vec()));
    }
    Ok(headers)
}

fn body(request: &Value) -> Step<(Vec<u8>, BodyState)> {
    let data = request.get("postData").filter(|data| !data.is_null());
    let text = data.and_then(|data| data.get("text")).and_then(Value::as_str).unwrap_or_default();
    if data.and_then(|data| data.get("encoding")).and_then(Value::as_str) == Some("base64") {
        let decoded = STANDARD.decode(text).map_err(|error| format!("`postData.text` is not base64: {error}"))?;
        return Ok((decoded, BodyState::Complete));
    }
    if !text.is_empty() {
        return Ok((text.as_bytes().to_vec(), BodyState::Complete));
    }
    let parameters = data.and_then(|data| data.get("params")).and_then(Value::as_array);
    let is_form = data
        .and_then(|data| data.get("mimeType"))
        .and_then(Value::as_str)
        .is_some_and(|mime| mime.to_ascii_lowercase().starts_with("application/x-www-form-urlencoded"));
    match parameters {
        Some(parameters) if is_form => Ok((form(parameters)?, BodyState::Complete)),
        Some(parameters) if !parameters.is_empty() => Ok((Vec::new(), BodyState::Absent)),
        _ => {
            let size = request.get("bodySize").and_then(Value::as_i64).unwrap_or(0);
            Ok((Vec::new(), if size > 0 { BodyState::Absent } else { BodyState::Complete }))
        }
    }
}

/// Parameters stand decoded in the archive; encoding everything but letters and digits is always right.
fn form(parameters: &[Value]) -> Step<Vec<u8>> {
    let mut body = String::new();
    for parameter in parameters {
        if !body.is_empty() {
            body.push('&');
        }
        encode(text(parameter, "name")?, &mut body);
        body.push('=');
        encode(parameter.get("value").and_then(Value::as_str).unwrap_or_default(), &mut body);
    }
    Ok(body.into_bytes())
}

fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(request: Value) -> RequestBuf {
        let archive = json!({"log": {"entries": [{"request": request}]}});
        assert!(is_har(&archive));
        parse(&archive, "f.har").expect("no errors").pop().expect("one request")
    }

    fn shown(request: &RequestBuf) -> (String, Vec<String>, String) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let line = [&request.method, &request.target, &request.protocol].map(|part| text(part)).join(" ");
        let headers = request.headers.iter().map(|(name, value)| format!("{}: {}", text(name), text(value)));
        (line, headers.collect(), text(&request.body))
    }

    #[test]
    fn requests() {
        let request = one(json!({
            "method": "GET", "url": "https://u:p@shop.example:8443/a?b=c#d", "httpVersion": "h2",
            "headers": [{"name": ":authority", "value": "shop.example:8443"}, {"name": "accept", "value": "*/*"}],
        }));
        let headers = vec!["Host: shop.example:8443".to_owned(), "accept: */*".to_owned()];
        assert_eq!(shown(&request), ("GET /a?b=c HTTP/2.0".to_owned(), headers, String::new()));
        assert_eq!(request.id, "f.har#1");
        for (url, target) in [("http://h", "/"), ("http://h?q", "/?q"), ("HTTP://h//x", "//x")] {
            let request = one(json!({"method": "GET", "url": url, "headers": [{"name": "host", "value": "h"}]}));
            assert_eq!((&request.target[..], request.headers.len()), (target.as_bytes(), 1), "{url}");
        }
    }

    #[test]
    fn bodies() {
        let cases = [
            (json!({}), "", BodyState::Complete),
            (json!({"bodySize": 5}), "", BodyState::Absent),
            (json!({"bodySize": -1, "postData": null}), "", BodyState::Complete),
            (json!({"postData": {"text": "{}"}}), "{}", BodyState::Complete),
            (json!({"postData": {"text": "e30=", "encoding": "base64"}}), "{}", BodyState::Complete),
            (
                json!({"postData": {"mimeType": "application/x-www-form-urlencoded; charset=x",
                    "params": [{"name": "a b", "value": "<&>"}, {"name": "c"}]}}),
                "a%20b=%3C%26%3E&c=",
                BodyState::Complete,
            ),
            (
                json!({"postData": {"mimeType": "multipart/form-data; boundary=b", "params": [{"name": "f"}]}}),
                "",
                BodyState::Absent,
            ),
        ];
        for (mut request, body, state) in cases {
            let object = request.as_object_mut().expect("object");
            object.insert("method".to_owned(), json!("POST"));
            object.insert("url".to_owned(), json!("http://h/"));
            object.insert("headers".to_owned(), json!([]));
            let found = one(request.clone());
            assert_eq!((&shown(&found).2[..], found.body_state), (body, state), "{request}");
        }
    }

    #[test]
    fn other_schemes_are_left_out_and_errors_name_the_entry() {
        let data = json!({"log": {"entries": [{"request": {"url": "data:x", "method": "GET", "headers": []}}]}});
        assert_eq!(parse(&data, ""), Ok(vec![]));
        let bad = json!({"log": {"entries": [{}, {"request": {"url": "http://h/", "headers": []}}]}});
        assert_eq!(
            parse(&bad, ""),
            Err(vec!["entry 1: no `request`".to_owned(), "entry 2: `method` is missing or no text".to_owned()])
        );
        assert!(parse(&json!({"log": 1}), "").is_err() && !is_har(&json!([])));
    }
}
