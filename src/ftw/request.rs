//! What a stage sends, byte for byte as the runner of the CRS sends it.
//!
//! That runner rewrites a message before it sends it (unless `autocompletion: Completion::Off`): it adds headers,
//! form-encodes bodies that look unencoded, and gives multipart bodies the line ends HTTP asks for. The tests' expected
//! results depend on it.

/// What is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// These bytes (`encoded_request`, `raw_request`).
    Raw(Vec<u8>),
    /// A message made of its parts.
    Message(Message),
}

/// The parts of a message as a test gives them. Nothing is checked: many tests send what is no HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The method.
    pub method: String,
    /// The request target.
    pub uri: String,
    /// The protocol version token.
    pub version: String,
    /// Header lines, in the order in which they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub data: Vec<u8>,
    /// What is added before it is sent.
    pub completion: Completion,
}

/// What the runner adds to a message of its own accord.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Completion {
    /// Nothing: the message is sent as the test gives it.
    Off,
    /// Missing headers, and form-encoding; a length only where there is a body. So did the runner of CRS 3.3's time.
    Bodies,
    /// The same, and a length of 0 where the method may have a body.
    Methods,
}

impl Input {
    /// The bytes on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Raw(bytes) => bytes.clone(),
            Self::Message(message) => message.bytes(),
        }
    }
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let mut headers = self.headers.clone();
        let mut data = self.data.clone();
        if self.completion != Completion::Off && !data.is_empty() {
            if !has(&headers, "Content-Type") {
                add(&mut headers, "Content-Type", FORM);
            }
            if content_types(&headers).any(|value| value.eq_ignore_ascii_case(FORM)) {
                data = form_encoded(data);
            }
        }
        if content_types(&headers).any(|value| value.to_ascii_lowercase().contains("multipart/form-data;")) {
            data = crlf_line_ends(&data);
        }
        self.complete(&mut headers, data.len());
        self.assemble(&headers, &data)
    }

    fn complete(&self, headers: &mut Vec<(String, String)>, length: usize) {
        let with_length = match self.completion {
            Completion::Off => return,
            Completion::Bodies => length > 0,
            Completion::Methods => length > 0 || may_have_body(&self.method),
        };
        if !has(headers, "Connection") {
            add(headers, "Connection", "close");
        }
        if with_length && !has(headers, "Content-Length") {
            add(headers, "Content-Length", length.to_string());
        }
    }

    fn assemble(&self, headers: &[(String, String)], data: &[u8]) -> Vec<u8> {
        let mut bytes = format!("{} {} {}\r\n", self.method, self.uri, self.version).into_bytes();
        for (name, value) in headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(data);
        bytes
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

fn has(headers: &[(String, String)], wanted: &str) -> bool {
    headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
}

fn add(headers: &mut Vec<(String, String)>, name: &str, value: impl Into<String>) {
    headers.push((name.to_owned(), value.into()));
}

fn content_types(headers: &[(String, String)]) -> impl Iterator<Item = &str> {
    headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Content-Type")).map(|(_, value)| value.as_str())
}

/// The runner's own pattern, `^POST|PUT|PATCH|DELETE$`, which is wider than it looks.
fn may_have_body(method: &str) -> bool {
    method.starts_with("POST") || method.contains("PUT") || method.contains("PATCH") || method.ends_with("DELETE")
}

/// Encodes keys and values, unless the data seems to be encoded already: decoding it changes it, or fails.
fn form_encoded(data: Vec<u8>) -> Vec<u8> {
    // Without `%` and `+` decoding changes nothing; with either it changes something or fails.
    if data.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return data;
    }
    let mut encoded = Vec::with_capacity(data.len() * 2);
    // A trailing `&` is dropped, as the runner does.
    for (index, pair) in data.strip_suffix(b"&").unwrap_or(&data).split(|byte| *byte == b'&').enumerate() {
        if index > 0 {
            encoded.push(b'&');
        }
        for (index, part) in pair.splitn(2, |byte| *byte == b'=').enumerate() {
            if index > 0 {
                encoded.push(b'=');
            }
            percent_encode(part, &mut encoded);
        }
    }
    encoded
}

fn percent_encode(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

fn crlf_line_ends(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + data.len() / 16);
    for byte in data {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

/// The longest text that a template may ask for; the longest in the CRS is 64,200 bytes.
const MAX_REPEAT: usize = 16 << 20;

/// Expands `{{ "text" | repeat N }}`, the one template that tests use; any other `{{…}}` is an attack and stays.
pub(super) fn expand_repeats(data: &str) -> Vec<u8> {
    let mut out = String::with_capacity(data.len());
    let mut rest = data;
    while let Some(start) = rest.find("{{") {
        let (before, tail) = rest.split_at(start);
        out.push_str(before);
        match repeat(tail) {
            Some((text, count, after)) => {
                out.push_str(&text.repeat(count));
                rest = after;
            }
            None => {
                out.push_str("{{");
                rest = tail.get(2..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out.into_bytes()
}

/// Text, count and what follows, if `tail` begins with the template.
fn repeat(tail: &str) -> Option<(&str, usize, &str)> {
    let (inside, after) = tail.strip_prefix("{{")?.split_once("}}")?;
    let (text, count) = inside.trim().strip_prefix('"')?.split_once('"')?;
    let count = count.trim_start().strip_prefix('|')?.trim_start().strip_prefix("repeat")?;
    let count: usize = count.strip_prefix(' ')?.trim().parse().ok()?;
    (text.len().saturating_mul(count) <= MAX_REPEAT).then_some((text, count, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(method: &str, headers: &[(&str, &str)], data: &str) -> Message {
        Message {
            method: method.to_owned(),
            uri: "/p?q".to_owned(),
            version: "HTTP/1.1".to_owned(),
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            data: data.as_bytes().to_vec(),
            completion: Completion::Methods,
        }
    }

    #[test]
    fn messages_are_completed_as_the_runner_does() {
        let multipart = [("Content-Type", "Multipart/Form-Data; boundary=x")];
        let cases: [(Message, &str); 8] = [
            (message("GET", &[("Host", "h")], ""), "GET /p?q HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"),
            (message("POST", &[], ""), "POST /p?q HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
            (
                Message { completion: Completion::Bodies, ..message("POST", &[], "") },
                "POST /p?q HTTP/1.1\r\nConnection: close\r\n\r\n",
            ),
            (
                message("POST", &[], "a=b c&d"),
                "POST /p?q HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n\
                 Content-Length: 7\r\n\r\na=b+c&d",
            ),
            (
                message("POST", &[("content-type", "text/plain"), ("content-length", "3")], "a b"),
                "POST /p?q HTTP/1.1\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nConnection: close\r\n\r\na b",
            ),
            (
                message("PUT", &[("Connection", "x"), multipart[0]], "--x\n\n"),
                "PUT /p?q HTTP/1.1\r\nConnection: x\r\nContent-Type: Multipart/Form-Data; boundary=x\r\n\
                 Content-Length: 7\r\n\r\n--x\r\n\r\n",
            ),
            (
                Message { completion: Completion::Off, ..message("POST", &multipart, "a\n") },
                "POST /p?q HTTP/1.1\r\nContent-Type: Multipart/Form-Data; boundary=x\r\n\r\na\r\n",
            ),
            (Message { completion: Completion::Off, ..message("POST", &[], "a b") }, "POST /p?q HTTP/1.1\r\n\r\na b"),
        ];
        for (message, expected) in cases {
            assert_eq!(String::from_utf8(Input::Message(message).bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn forms_are_encoded_unless_they_seem_to_be() {
        for (data, expected) in [
            ("a=<b>&c d=e=f", "a=%3Cb%3E&c+d=e%3Df"),
            ("a=%41", "a=%41"),
            ("a=b+c<", "a=b+c<"),
            ("a=%w20 b", "a=%w20 b"),
            ("a=b&", "a=b"),
            ("&&a", "&&a"),
            ("&", ""),
            ("é~-_.", "%C3%A9~-_."),
        ] {
            assert_eq!(String::from_utf8(form_encoded(data.into())).unwrap(), expected, "{data}");
        }
    }

    #[test]
    fn only_the_repeat_template_is_expanded() {
        for (data, expected) in [
            ("a{{ \"xy\" | repeat 3 }}b", "axyxyxyb"),
            ("{{\"-\"|repeat 2}}{{ \"+\" | repeat 1 }}", "--+"),
            ("{{ 7*7 }}", "{{ 7*7 }}"),
            ("{{ \"a\" | repeat 99999999999 }}", "{{ \"a\" | repeat 99999999999 }}"),
            ("a {{ b", "a {{ b"),
            ("{{{\"a\"|repeat 2}}", "{{{\"a\"|repeat 2}}"),
        ] {
            assert_eq!(String::from_utf8(expand_repeats(data)).unwrap(), expected, "{data}");
        }
    }
}
