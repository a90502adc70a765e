//! Where in a request a text is placed, and the escapes that each place needs for the message to stay one.

use portcullis::input::RequestBuf;

use super::random::Random;

/// A place in a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    /// The request of a regression test as it is.
    AsIs,
    QueryValue,
    QueryName,
    FormValue,
    FormName,
    JsonString,
    JsonName,
    JsonArray,
    JsonRoot,
    XmlText,
    XmlAttribute,
    MultipartField,
    MultipartName,
    MultipartFile,
    MultipartFileName,
    Cookie,
    CookieName,
    Header,
    UserAgent,
    Referer,
    Path,
    LastOfPath,
    RawBody,
}

impl Place {
    pub(crate) const ALL: [Self; 22] = [
        Self::QueryValue,
        Self::QueryName,
        Self::FormValue,
        Self::FormName,
        Self::JsonString,
        Self::JsonName,
        Self::JsonArray,
        Self::JsonRoot,
        Self::XmlText,
        Self::XmlAttribute,
        Self::MultipartField,
        Self::MultipartName,
        Self::MultipartFile,
        Self::MultipartFileName,
        Self::Cookie,
        Self::CookieName,
        Self::Header,
        Self::UserAgent,
        Self::Referer,
        Self::Path,
        Self::LastOfPath,
        Self::RawBody,
    ];

    /// A request with the text in this place. `coded` texts keep their `%`, `+` and `&`.
    pub(crate) fn request(self, text: &[u8], coded: bool, random: &mut Random) -> RequestBuf {
        let in_url =
            || escape(text, |byte| must_be_escaped(byte) || !coded && matches!(byte, b'%' | b'+' | b'&' | b'='));
        match self {
            Self::AsIs | Self::QueryValue => get(&[b"/search?q=", &in_url()[..], b"&lang=en"].concat()),
            Self::QueryName => get(&[b"/search?", &in_url()[..], b"=1"].concat()),
            Self::FormValue => form(&[b"id=7&comment=", &in_url()[..]].concat()),
            Self::FormName => form(&[b"id=7&", &in_url()[..], b"=1"].concat()),
            Self::JsonString => json(&[br#"{"id":7,"comment":""#, &json_text(text)[..], br#""}"#].concat()),
            Self::JsonName => json(&[br#"{"id":7,""#, &json_text(text)[..], br#"":1}"#].concat()),
            Self::JsonArray => json(&[br#"{"list":["a",{"b":""#, &json_text(text)[..], br#""}]}"#].concat()),
            Self::JsonRoot => json(&[&br#"["#[..], br#"""#, &json_text(text)[..], br#""]"#].concat()),
            Self::XmlText => xml(&[b"<a><b>", &xml_text(text)[..], b"</b></a>"].concat()),
            Self::XmlAttribute => xml(&[br#"<a b=""#, &xml_text(text)[..], br#""/>"#].concat()),
            Self::MultipartField => multipart(b"comment", None, text),
            Self::MultipartName => multipart(&quoted(text), None, b"1"),
            Self::MultipartFile => multipart(b"upload", Some(b"notes.txt"), text),
            Self::MultipartFileName => multipart(b"upload", Some(&quoted(text)), b"hello"),
            Self::Cookie => with_header("Cookie", &[b"theme=dark; session=", &cookie_text(text)[..]].concat()),
            Self::CookieName => with_header("Cookie", &[b"theme=dark; ", &cookie_text(text)[..], b"=1"].concat()),
            Self::Header => with_header(random.pick(&HEADERS), &header_text(text)),
            Self::UserAgent => replacing("User-Agent", &header_text(text)),
            Self::Referer => with_header("Referer", &header_text(text)),
            Self::Path => get(&[b"/files/", &path_text(text, coded)[..], b"/view"].concat()),
            Self::LastOfPath => get(&[b"/", &path_text(text, coded)[..]].concat()),
            Self::RawBody => post("text/plain", text),
        }
    }
}

const HEADERS: [&str; 9] = [
    "X-Api-Version",
    "X-Forwarded-For",
    "Accept",
    "Accept-Language",
    "Range",
    "Origin",
    "X-File-Name",
    "Content-Encoding",
    "Authorization",
];

const BOUNDARY: &str = "----FormBoundaryX7mRq2";

fn base(method: &str, target: &[u8]) -> RequestBuf {
    let mut request = RequestBuf { method: method.into(), target: target.to_vec(), ..RequestBuf::default() };
    for (name, value) in [
        ("Host", "shop.example.com"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
    ] {
        request.headers.push((name.into(), value.into()));
    }
    request
}

fn get(target: &[u8]) -> RequestBuf {
    base("GET", target)
}

fn post(content_type: &str, body: &[u8]) -> RequestBuf {
    let mut request = base("POST", b"/submit");
    request.headers.push((b"Content-Type".to_vec(), content_type.into()));
    request.headers.push((b"Content-Length".to_vec(), body.len().to_string().into_bytes()));
    request.body = body.to_vec();
    request
}

fn form(body: &[u8]) -> RequestBuf {
    post("application/x-www-form-urlencoded", body)
}

fn json(body: &[u8]) -> RequestBuf {
    post("application/json", body)
}

fn xml(body: &[u8]) -> RequestBuf {
    post("application/xml", &[&b"<?xml version=\"1.0\"?>\n"[..], body].concat())
}

fn with_header(name: &str, value: &[u8]) -> RequestBuf {
    let mut request = get(b"/");
    request.headers.push((name.into(), value.to_vec()));
    request
}

fn replacing(name: &str, value: &[u8]) -> RequestBuf {
    let mut request = get(b"/");
    request.headers.retain(|(present, _)| !present.eq_ignore_ascii_case(name.as_bytes()));
    request.headers.push((name.into(), value.to_vec()));
    request
}

fn multipart(name: &[u8], file: Option<&[u8]>, content: &[u8]) -> RequestBuf {
    let mut body = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\n7\r\n--{BOUNDARY}\r\n")
        .into_bytes();
    body.extend_from_slice(b"Content-Disposition: form-data; name=\"");
    body.extend_from_slice(name);
    body.push(b'"');
    if let Some(file) = file {
        body.extend_from_slice(b"; filename=\"");
        body.extend_from_slice(file);
        body.extend_from_slice(b"\"\r\nContent-Type: text/plain");
    }
    body.extend_from_slice(b"\r\n\r\n");
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    post(&format!("multipart/form-data; boundary={BOUNDARY}"), &body)
}

fn escape(text: &[u8], must: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        if must(*byte) { out.extend_from_slice(format!("%{byte:02X}").as_bytes()) } else { out.push(*byte) }
    }
    out
}

/// What no front end takes in a request target.
const fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, 0..=32 | 127 | b'#')
}

fn path_text(text: &[u8], coded: bool) -> Vec<u8> {
    escape(text, |byte| must_be_escaped(byte) || byte == b'?' || !coded && byte == b'%')
}

/// A JSON string's inside; bytes that are no UTF-8 stay what they are.
fn json_text(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..=31 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            other => out.push(*other),
        }
    }
    out
}

/// Text or attribute value; bytes that XML does not have become blanks.
fn xml_text(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '<' => out.extend_from_slice(b"&lt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            '"' => out.extend_from_slice(b"&quot;"),
            '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push(b' '),
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out
}

/// Names in multipart headers: no line ends, quotes escaped.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 4);
    for byte in header_text(text) {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}

fn cookie_text(text: &[u8]) -> Vec<u8> {
    header_text(text).into_iter().map(|byte| if byte == b';' { b',' } else { byte }).collect()
}

/// Control bytes become blanks, and blanks around the value go: a front end would see to it.
fn header_text(text: &[u8]) -> Vec<u8> {
    let text: Vec<u8> =
        text.iter().map(|byte| if matches!(byte, 0..=8 | 10..=31 | 127) { b' ' } else { *byte }).collect();
    text.trim_ascii().to_vec()
}
