//! Requests made of payloads by seeded chance.

use super::payloads::Payloads;
use portcullis::input::RequestBuf;

/// Marsaglia's xorshift: small, seeded, good enough to choose with.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// An ordinary request with a mutated payload in one to three places.
pub(super) fn mutation(random: &mut Random, payloads: &Payloads) -> RequestBuf {
    let mut request = random.one(&payloads.requests).clone();
    for _ in 0..=random.below(3) {
        let text = payload(random, payloads);
        place(random, &mut request, &text);
    }
    request
}

fn payload(random: &mut Random, payloads: &Payloads) -> Vec<u8> {
    let mut text = random.one(&payloads.texts).clone();
    for _ in 0..random.below(4) {
        text = change(random, payloads, text);
        text.truncate(4_000);
    }
    text
}

fn change(random: &mut Random, payloads: &Payloads, mut text: Vec<u8>) -> Vec<u8> {
    const SPACES: [&[u8]; 10] = [b" ", b"\t", b"\n", b"+", b"%20", b"/**/", b"\x0b", b"\xa0", b"\r\n", b"\0"];
    const PIECES: [&[u8]; 22] = [
        b"'",
        b"\"",
        b"\\",
        b"%",
        b"&#x41;",
        b"--",
        b"/*",
        b"*/",
        b"#",
        b";",
        b"%u0041",
        b"\\u0041",
        b"../",
        b"<",
        b">",
        b"${",
        b"\xc0\xaf",
        b"=",
        b"$IFS",
        b"^",
        b"%00",
        b"0x61",
    ];
    let at = random.below(text.len() + 1);
    match random.below(12) {
        0 => text.splice(at..at, random.one(&SPACES).iter().copied()).for_each(drop),
        1 => text.splice(at..at, random.one(&PIECES).iter().copied()).for_each(drop),
        2 => text.iter_mut().filter(|byte| byte.is_ascii_alphabetic()).for_each(|byte| {
            if random.below(2) == 0 {
                *byte ^= 0x20;
            }
        }),
        3 => text = encode(&text, |byte| !byte.is_ascii_alphanumeric()),
        4 => text = encode(&text, |_| random.below(3) == 0),
        5 => text = base64(&text),
        6 => text = html(random, &text),
        7 => text.truncate(at),
        8 => drop(text.drain(..at)),
        9 => {
            let other = random.one(&payloads.texts);
            let from = random.below(other.len());
            text.splice(at..at, other[from..].iter().copied()).for_each(drop);
        }
        10 => text.iter_mut().for_each(|byte| {
            if *byte == b' ' {
                *byte = b'\t';
            }
        }),
        _ => {
            let byte = random.next() as u8;
            text.insert(at, byte);
        }
    }
    text
}

fn encode(text: &[u8], mut which: impl FnMut(u8) -> bool) -> Vec<u8> {
    text.iter().flat_map(|byte| if which(*byte) { format!("%{byte:02x}").into_bytes() } else { vec![*byte] }).collect()
}

fn html(random: &mut Random, text: &[u8]) -> Vec<u8> {
    text.iter()
        .flat_map(|byte| match random.below(4) {
            0 => format!("&#{byte};").into_bytes(),
            1 => format!("&#x{byte:x};").into_bytes(),
            _ => vec![*byte],
        })
        .collect()
}

fn base64(text: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets = text.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0usize, |bits, place| bits << 8 | usize::from(chunk.get(place).copied().unwrap_or(0)));
        (0..=chunk.len()).map(move |place| ALPHABET[bits >> (18 - 6 * place) & 63])
    });
    sextets.collect()
}

/// What a URI may hold as it is, encoded otherwise.
fn for_uri(random: &mut Random, text: &[u8]) -> Vec<u8> {
    if random.below(3) == 0 {
        return text.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\r' | b'\n' | 0)).collect();
    }
    encode(text, |byte| byte <= b' ' || byte >= 0x7f || b"&#+%".contains(&byte))
}

fn place(random: &mut Random, request: &mut RequestBuf, text: &[u8]) {
    const HEADERS: [&str; 10] = [
        "User-Agent",
        "Referer",
        "X-Forwarded-For",
        "Cookie",
        "Accept",
        "Content-Type",
        "X-Custom",
        "Range",
        "Host",
        "Accept-Encoding",
    ];
    match random.below(11) {
        0 | 1 => {
            let mark: &[u8] = if request.target.contains(&b'?') { b"&" } else { b"?" };
            request.target.extend_from_slice(mark);
            let text = for_uri(random, text);
            request.target.extend_from_slice(if random.below(5) == 0 {
                b""
            } else {
                random.one::<&[u8]>(&[b"q=", b"id=", b"x[]="])
            });
            request.target.extend_from_slice(&text);
        }
        2 => {
            let text = for_uri(random, text);
            let at = request.target.iter().position(|byte| *byte == b'?').unwrap_or(request.target.len());
            request.target.splice(at..at, [b"/", text.as_slice()].concat()).for_each(drop);
        }
        3 => request.headers.push((b"Cookie".to_vec(), [b"a=1; b=", text].concat())),
        4 => {
            let name = random.one(&HEADERS).as_bytes();
            request.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            request.headers.push((name.to_vec(), text.to_vec()));
        }
        5 => request.headers.push((text.to_vec(), b"1".to_vec())),
        6 | 7 => {
            let text = for_uri(random, text);
            body(request, "application/x-www-form-urlencoded", &[b"a=1&q=", text.as_slice(), b"&b=2"].concat());
        }
        8 => {
            let quoted = serde_json::to_string(&String::from_utf8_lossy(text)).unwrap();
            let json = format!("{{\"a\":[1,{{\"q\":{quoted}}}],{quoted}:true}}");
            body(request, "application/json", json.as_bytes());
        }
        9 => body(request, "text/xml", &[b"<?xml version=\"1.0\"?><a b=\"c\"><d>", text, b"</d></a>"].concat()),
        _ => {
            let head = b"--xYz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"";
            let end = b"\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--xYz\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n";
            let multipart = [&head[..], text, end, text, b"\r\n--xYz--\r\n"].concat();
            body(request, "multipart/form-data; boundary=xYz", &multipart);
        }
    }
}

fn body(request: &mut RequestBuf, content_type: &str, bytes: &[u8]) {
    request.method = b"POST".to_vec();
    request.headers.retain(|(name, _)| {
        !name.eq_ignore_ascii_case(b"content-type") && !name.eq_ignore_ascii_case(b"content-length")
    });
    request.headers.push((b"Content-Type".to_vec(), content_type.into()));
    request.headers.push((b"Content-Length".to_vec(), bytes.len().to_string().into_bytes()));
    request.body = bytes.to_vec();
}
