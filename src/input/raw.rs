//! Raw HTTP/1.x messages, read as a front end would: what Apache httpd refuses with 400 by default is refused.
//!
//! CRS counts on that: its tests expect the front end, not a rule, to stop a bad request line. Knows no connection: one
//! message, and how many bytes follow it.
//!
//! Like Apache: a bare LF ends a line, blank lines before the message are skipped, folded headers are joined, a length
//! beside `Transfer-Encoding: chunked` is dropped, HTTP/1.0 needs no Host. Unlike Apache there is no limit on sizes,
//! HTTP/0.9 is refused, and so is a repeated Host or Content-Length.

use std::fmt;

use super::RequestBuf;

/// A message that a front end does not let through to the rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The status it would be answered with.
    pub status: u16,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, self.reason)
    }
}

impl std::error::Error for Refusal {}

type Step<T> = Result<T, Refusal>;

const fn refuse<T>(reason: &'static str) -> Step<T> {
    Err(Refusal { status: 400, reason })
}

/// Reads one message; bytes after it are left aside.
///
/// # Errors
/// What a front end would refuse, and messages that end too early.
pub fn parse_raw(bytes: &[u8]) -> Result<RequestBuf, Refusal> {
    parse_raw_prefix(bytes).map(|(request, _)| request)
}

/// Reads one message and gives the bytes after it, which on a connection would be the next one: a message without
/// `Content-Length` and `Transfer-Encoding` has no body.
///
/// # Errors
/// As [`parse_raw`].
pub fn parse_raw_prefix(bytes: &[u8]) -> Result<(RequestBuf, &[u8]), Refusal> {
    let mut lines = Lines { rest: bytes };
    let mut line = lines.next()?;
    while line.is_empty() {
        line = lines.next()?;
    }
    let (method, target, protocol) = request_line(line)?;
    let headers = headers(&mut lines)?;
    check_target(method, target)?;
    check_host(&headers, protocol)?;
    let mut request = RequestBuf {
        method: method.to_vec(),
        target: target.to_vec(),
        protocol: protocol.to_vec(),
        headers,
        ..RequestBuf::default()
    };
    let rest = body(&mut request, lines.rest)?;
    Ok((request, rest))
}

/// Lines without their line ends.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Step<&'a [u8]> {
        let Some(at) = memchr::memchr(b'\n', self.rest) else {
            return refuse("the message ends before its headers do");
        };
        let (line, rest) = self.rest.split_at(at);
        self.rest = rest.get(1..).unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.contains(&b'\r') { refuse("a CR that no LF follows") } else { Ok(line) }
    }
}

fn request_line(line: &[u8]) -> Step<(&[u8], &[u8], &[u8])> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(protocol), None) = (words.next(), words.next(), words.next(), words.next())
    else {
        return refuse("the request line is not method, target and version with one blank between them");
    };
    if method.is_empty() || !method.iter().all(|byte| is_token(*byte)) {
        return refuse("the method is not a token");
    }
    if !is_known_version(protocol) {
        return refuse("unknown HTTP version");
    }
    Ok((method, target, protocol))
}

/// `HTTP/1.1` and the like, from 1.0 up; `HTTP/2` and `HTTP/3` as HTTP/2 front ends write them.
fn is_known_version(protocol: &[u8]) -> bool {
    match protocol.strip_prefix(b"HTTP/") {
        Some([b'2' | b'3']) => true,
        Some([b'1'..=b'9', b'.', minor]) => minor.is_ascii_digit(),
        _ => false,
    }
}

fn check_target(method: &[u8], target: &[u8]) -> Step<()> {
    if target.iter().any(|byte| matches!(byte, 0..=32 | 127)) {
        return refuse("blank or control byte in the target");
    }
    if target.contains(&b'#') {
        return refuse("fragment in the target");
    }
    let absolute = [&b"http://"[..], b"https://"]
        .iter()
        .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let well_formed = match method {
        b"CONNECT" => is_authority(target),
        b"OPTIONS" if target == b"*" => true,
        // A query without a path is no HTTP, but CRS tests expect rules to see it.
        _ => absolute || matches!(target, [b'/' | b'?', ..]),
    };
    if well_formed { Ok(()) } else { refuse("the target is no path, no URL and, for CONNECT, no host:port") }
}

/// `host:port`, both there.
fn is_authority(target: &[u8]) -> bool {
    let mut parts = target.rsplitn(2, |byte| *byte == b':');
    let port = parts.next().unwrap_or_default();
    !port.is_empty() && parts.next().is_some_and(|host| !host.is_empty()) && is_host(target)
}

fn headers(lines: &mut Lines<'_>) -> Step<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut headers: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let line = lines.next()?;
        if line.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 127)) {
            return refuse("control byte in a header");
        }
        match (line, headers.last_mut()) {
            ([], _) => return Ok(headers),
            ([b' ' | b'\t', ..], None) => return refuse("the first header is folded"),
            ([b' ' | b'\t', ..], Some((_, value))) => {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            }
            _ => headers.push(header(line)?),
        }
    }
}

fn header(line: &[u8]) -> Step<(Vec<u8>, Vec<u8>)> {
    let Some(colon) = memchr::memchr(b':', line) else { return refuse("a header without a colon") };
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return refuse("the name of a header is not a token");
    }
    Ok((name.to_vec(), value.get(1..).unwrap_or_default().trim_ascii().to_vec()))
}

/// The values of a header.
fn values<'a>(headers: &'a [(Vec<u8>, Vec<u8>)], name: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
}

fn check_host(headers: &[(Vec<u8>, Vec<u8>)], protocol: &[u8]) -> Step<()> {
    let mut hosts = values(headers, b"host");
    match (hosts.next(), hosts.next()) {
        (None | Some([]), None) if protocol == b"HTTP/1.0" => Ok(()),
        (None, _) => refuse("no Host header"),
        (Some([]), _) => refuse("empty Host header"),
        (Some(_), Some(_)) => refuse("more than one Host header"),
        (Some(host), None) if is_host(host) => Ok(()),
        (Some(_), None) => refuse("invalid Host header"),
    }
}

/// A name, an IPv4 address or an IPv6 address in brackets, then perhaps a port.
fn is_host(text: &[u8]) -> bool {
    let (host_is_valid, port) = match text {
        [b'[', rest @ ..] => {
            let end = memchr::memchr(b']', rest).unwrap_or(0);
            let (address, port) = rest.split_at(end);
            let address = std::str::from_utf8(address).unwrap_or_default();
            (address.parse::<std::net::Ipv6Addr>().is_ok(), port.get(1..).unwrap_or_default())
        }
        _ => {
            let (name, port) = text.split_at(memchr::memchr(b':', text).unwrap_or(text.len()));
            let valid = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
            (!name.is_empty() && !name.starts_with(b".") && name.iter().all(valid), port)
        }
    };
    host_is_valid && (port.is_empty() || is_port(port))
}

fn is_port(text: &[u8]) -> bool {
    match text {
        [b':', digits @ ..] => digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Puts the body into the request and gives what follows it.
fn body<'a>(request: &mut RequestBuf, rest: &'a [u8]) -> Step<&'a [u8]> {
    let codings: Vec<_> = values(&request.headers, b"transfer-encoding").map(<[u8]>::to_ascii_lowercase).collect();
    let lengths: Vec<_> = values(&request.headers, b"content-length").map(<[u8]>::to_vec).collect();
    match (&codings[..], &lengths[..]) {
        ([], []) => Ok(rest),
        ([], [length]) => {
            let length = content_length(length)?;
            let Some((body, rest)) = rest.split_at_checked(length) else { return refuse("the body is incomplete") };
            request.body = body.to_vec();
            Ok(rest)
        }
        ([], _) => refuse("more than one Content-Length header"),
        ([coding], _) if coding == b"chunked" => {
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(b"content-length"));
            chunks(rest, &mut request.body)
        }
        _ => refuse("a Transfer-Encoding other than chunked"),
    }
}

fn content_length(text: &[u8]) -> Step<usize> {
    let digits = std::str::from_utf8(text).unwrap_or_default();
    match digits.parse() {
        Ok(length) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Ok(length),
        _ => refuse("Content-Length is not a number"),
    }
}

/// Undoes chunked coding, trailers left out, and gives what follows.
fn chunks<'a>(mut rest: &'a [u8], body: &mut Vec<u8>) -> Step<&'a [u8]> {
    const INCOMPLETE: &str = "the chunked body is incomplete";
    loop {
        let Some(at) = memchr::memchr(b'\n', rest) else { return refuse(INCOMPLETE) };
        let (line, after) = rest.split_at(at);
        let size = chunk_size(line)?;
        rest = after.get(1..).unwrap_or_default();
        if size == 0 {
            let mut lines = Lines { rest };
            return match headers(&mut lines) {
                Ok(_) => Ok(lines.rest),
                Err(_) if memchr::memmem::find(rest, b"\n").is_none() => refuse(INCOMPLETE),
                Err(refusal) => Err(refusal),
            };
        }
        let Some((data, after)) = rest.split_at_checked(size) else { return refuse(INCOMPLETE) };
        body.extend_from_slice(data);
        rest = match after {
            [b'\r', b'\n', after @ ..] | [b'\n', after @ ..] => after,
            [] | [b'\r'] => return refuse(INCOMPLETE),
            _ => return refuse("a chunk is longer than its size"),
        };
    }
}

/// `1f`, `1f ; extension`.
fn chunk_size(line: &[u8]) -> Step<usize> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii_end();
    let hexadecimal = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).unwrap_or_default();
    match usize::from_str_radix(text, 16) {
        Ok(size) if hexadecimal => Ok(size),
        _ => refuse("the size of a chunk is not a number"),
    }
}

/// A token character of RFC 9110.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn good(message: &str) -> RequestBuf {
        match parse_raw(message.as_bytes()) {
            Ok(request) => request,
            Err(refusal) => panic!("{refusal}: {message:?}"),
        }
    }

    #[test]
    fn request_lines() {
        let targets = ["/", "//admin?x=%2F", "/a\\b\"<>|", "/\u{fc}", "http://h/p", "HTTPS://h", "/?q=a?b"];
        for target in targets {
            let request = good(&format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n"));
            assert_eq!((&request.method[..], &request.target[..]), (&b"GET"[..], target.as_bytes()));
        }
        for line in [
            "OPTIONS * HTTP/1.1",
            "CONNECT 1.2.3.4:80 HTTP/1.1",
            "CONNECT [::1]:443 HTTP/1.1",
            "|GET / HTTP/1.1",
            "GET / HTTP/1.0",
            "GET / HTTP/2",
            "GET / HTTP/2.0",
            "GET / HTTP/4.0",
            "POST ?a=b HTTP/1.1",
        ] {
            good(&format!("{line}\r\nHost: h\r\n\r\n"));
        }
        let line = "the request line is not method, target and version with one blank between them";
        let target = "the target is no path, no URL and, for CONNECT, no host:port";
        let bad = [
            ("     GET / HTTP/1.1", line),
            ("GET  / HTTP/1.1", line),
            ("GET / HTTP/1.1 ", line),
            ("GET /a b HTTP/1.1", line),
            ("GET /", line),
            ("GET / ", "unknown HTTP version"),
            ("\tGET / HTTP/1.1", "the method is not a token"),
            ("G\u{fc}T / HTTP/1.1", "the method is not a token"),
            ("GET / http/1.1", "unknown HTTP version"),
            ("GET / HTTP/0.9", "unknown HTTP version"),
            ("GET / HTTP/1", "unknown HTTP version"),
            ("GET / HTTP/1.10", "unknown HTTP version"),
            ("GET / 1.1", "unknown HTTP version"),
            ("GET / JUNK/1.0", "unknown HTTP version"),
            ("GET \\index.html HTTP\\1.0", "unknown HTTP version"),
            ("GET \\ HTTP/1.1", target),
            ("GET  HTTP/1.1", target),
            ("GET * HTTP/1.1", target),
            ("GET h:80 HTTP/1.1", target),
            ("CONNECT www.example.org HTTP/1.1", target),
            ("CONNECT www.example.org: HTTP/1.1", target),
            ("CONNECT / HTTP/1.1", target),
            ("GET /#x HTTP/1.1", "fragment in the target"),
            ("GET /\0 HTTP/1.1", "blank or control byte in the target"),
            ("GET /\t HTTP/1.1", "blank or control byte in the target"),
            ("GET /\x7f HTTP/1.1", "blank or control byte in the target"),
        ];
        for (line, reason) in bad {
            let result = parse_raw(format!("{line}\r\nHost: h\r\n\r\n").as_bytes());
            assert_eq!(result, Err(Refusal { status: 400, reason }), "{line:?}");
        }
    }

    #[test]
    fn header_lines() {
        let request =
            good("\r\n\nGET / HTTP/1.1\nHost: h\r\nX-A:  b c \t\r\nx-a:\r\nX-F: a\r\n\t b\r\nX-U: \u{fc}\r\n\r\n");
        let expected = [("Host", "h"), ("X-A", "b c"), ("x-a", ""), ("X-F", "a b"), ("X-U", "\u{fc}")];
        let expected: Vec<_> = expected.iter().map(|(n, v)| (n.as_bytes().to_vec(), v.as_bytes().to_vec())).collect();
        assert_eq!(request.headers, expected);
        let bad = [
            ("X\r\n\r\n", "a header without a colon"),
            (": x\r\n\r\n", "the name of a header is not a token"),
            ("X : x\r\n\r\n", "the name of a header is not a token"),
            ("X\u{fc}: x\r\n\r\n", "the name of a header is not a token"),
            ("X: \0\r\n\r\n", "control byte in a header"),
            ("X: a\rY: b\r\n\r\n", "a CR that no LF follows"),
            ("X: \x0b\r\n\r\n", "control byte in a header"),
            ("X: x\r\n", "the message ends before its headers do"),
            ("X: x", "the message ends before its headers do"),
            ("Host: h\r\n\r\n", "more than one Host header"),
        ];
        for (headers, reason) in bad {
            let result = parse_raw(format!("GET / HTTP/1.1\r\nHost: h\r\n{headers}").as_bytes());
            assert_eq!(result, Err(Refusal { status: 400, reason }), "{headers:?}");
        }
        let folded = parse_raw(b"GET / HTTP/1.1\r\n Host: h\r\n\r\n");
        assert_eq!(folded.unwrap_err().reason, "the first header is folded");
    }

    #[test]
    fn hosts() {
        for host in ["h", "a-b.example:80", "a_b", "192.0.2.1", "[::1]", "[2001:db8::1]:8080", "h:", "h."] {
            good(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        }
        for host in [
            "h%00",
            "localhost%1F",
            "a b",
            "a,b",
            "h:x",
            "h:123456",
            "[::1",
            "[x]",
            "[::1]x",
            ":80",
            ".h",
            "\u{fc}",
            "u@h",
        ] {
            let result = parse_raw(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
            assert_eq!(result.unwrap_err().reason, "invalid Host header", "{host}");
        }
        assert_eq!(parse_raw(b"GET / HTTP/1.1\r\n\r\n").unwrap_err().reason, "no Host header");
        assert_eq!(parse_raw(b"GET / HTTP/1.1\r\nHost:\r\n\r\n").unwrap_err().reason, "empty Host header");
        good("GET / HTTP/1.0\r\n\r\n");
        good("GET / HTTP/1.0\r\nHost:\r\n\r\n");
    }

    #[test]
    fn bodies() {
        let cases = [
            ("", "", ""),
            ("Content-Length: 3\r\n", "abc", "abc"),
            ("Content-Length: 0\r\n", "", ""),
            ("Transfer-Encoding: chunked\r\n", "3\r\nHi \r\n3;x=y\r\nCRS\r\n0\r\n\r\n", "Hi CRS"),
            ("Transfer-Encoding: Chunked\r\n", "A\n0123456789\n0\nTrailer: x\n\n", "0123456789"),
            ("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n", "7\r\nfoo=bar\r\n0\r\n\r\n", "foo=bar"),
        ];
        for (headers, body, expected) in cases {
            let message = format!("POST / HTTP/1.1\r\nHost: h\r\n{headers}\r\n{body}NEXT");
            let (request, rest) = parse_raw_prefix(message.as_bytes()).expect(&message);
            assert_eq!((&request.body[..], rest), (expected.as_bytes(), &b"NEXT"[..]), "{headers} {body}");
            let length = values(&request.headers, b"content-length").count();
            assert_eq!(length, usize::from(headers.starts_with("Content-Length") && !headers.contains("Transfer")));
        }
        let bad = [
            ("Content-Length: NotDigits\r\n", "", "Content-Length is not a number"),
            ("Content-Length: 3;\r\n", "abc", "Content-Length is not a number"),
            ("Content-Length: +3\r\n", "abc", "Content-Length is not a number"),
            ("Content-Length: -1\r\n", "abc", "Content-Length is not a number"),
            ("Content-Length:\r\n", "abc", "Content-Length is not a number"),
            ("Content-Length: 99999999999999999999999\r\n", "abc", "Content-Length is not a number"),
            ("Content-Length: 4\r\n", "abc", "the body is incomplete"),
            ("Content-Length: 3\r\nContent-Length: 3\r\n", "abc", "more than one Content-Length header"),
            ("Transfer-Encoding: gzip, chunked\r\n", "", "a Transfer-Encoding other than chunked"),
            ("Transfer-Encoding: identity\r\n", "", "a Transfer-Encoding other than chunked"),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                "",
                "a Transfer-Encoding other than chunked",
            ),
            ("Transfer-Encoding: chunked\r\n", "", "the chunked body is incomplete"),
            ("Transfer-Encoding: chunked\r\n", "3\r\nab", "the chunked body is incomplete"),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", "the chunked body is incomplete"),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n", "the chunked body is incomplete"),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabcd\r\n0\r\n\r\n", "a chunk is longer than its size"),
            ("Transfer-Encoding: chunked\r\n", "x\r\n", "the size of a chunk is not a number"),
            ("Transfer-Encoding: chunked\r\n", "+3\r\nabc\r\n0\r\n\r\n", "the size of a chunk is not a number"),
            ("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\n", "the size of a chunk is not a number"),
        ];
        for (headers, body, reason) in bad {
            let result = parse_raw(format!("POST / HTTP/1.1\r\nHost: h\r\n{headers}\r\n{body}").as_bytes());
            assert_eq!(result, Err(Refusal { status: 400, reason }), "{headers:?} {body:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok((request, rest)) = parse_raw_prefix(&bytes) {
                prop_assert!(bytes.ends_with(rest));
                prop_assert!(request.body.len() + rest.len() < bytes.len());
            }
        }

        #[test]
        fn pieces_of_messages(
            pieces in proptest::collection::vec(proptest::sample::select(vec![
                "\r\n", "\n", "Host: h\r\n", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "abc", "3\r\n",
                "0\r\n\r\n", "X: ", " ", "\0", "\r",
            ]), 0..12),
        ) {
            let message = format!("POST / HTTP/1.1\r\n{}", pieces.concat());
            if let Ok((request, rest)) = parse_raw_prefix(message.as_bytes()) {
                prop_assert!(request.body.len() + rest.len() < message.len());
            }
        }
    }
}
