//! What is done to an attack text before it is placed in a request: changes of the text, and encodings of it.

use super::payloads::Payload;
use super::random::Random;

/// A change of the text itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Change {
    None,
    Case,
    Upper,
    Blanks,
    Comments,
    Null,
    Foreign,
    Drop,
    Cut,
    Join,
    LineEnd,
    Quotes,
}

impl Change {
    const ALL: [Self; 12] = [
        Self::None,
        Self::Case,
        Self::Upper,
        Self::Blanks,
        Self::Comments,
        Self::Null,
        Self::Foreign,
        Self::Drop,
        Self::Cut,
        Self::Join,
        Self::LineEnd,
        Self::Quotes,
    ];

    pub(crate) const fn any(random: &mut Random) -> Self {
        random.pick(&Self::ALL)
    }

    pub(crate) fn apply(self, text: &[u8], others: &[Payload], random: &mut Random) -> Vec<u8> {
        match self {
            Self::None => text.to_vec(),
            Self::Case => {
                map(
                    text,
                    |byte| if random.one_in(2) { byte ^ (0x20 * u8::from(byte.is_ascii_alphabetic())) } else { byte },
                )
            }
            Self::Upper => text.to_ascii_uppercase(),
            Self::Blanks => {
                replace_blanks(text, &[b"\t", b"\n", b"\r\n", b"\x0b", b"\x0c", b"\xa0", b"  ", b"+", b""], random)
            }
            Self::Comments => replace_blanks(
                text,
                &[b"/**/", b"/*x*/", b"/*!50000*/", b" -- \n", b"#\n", b"<!-- -->", b" /* "],
                random,
            ),
            Self::Null => insert(text, b"\0", random),
            Self::Foreign => {
                let byte = random.below(256) as u8;
                insert(text, &[byte], random)
            }
            Self::Drop => {
                let at = random.below(text.len());
                [&text[..at], &text[at + 1..]].concat()
            }
            Self::Cut => {
                let (a, b) = (random.below(text.len() + 1), random.below(text.len() + 1));
                text[a.min(b)..a.max(b)].to_vec()
            }
            Self::Join => {
                let other = others[random.below(others.len())].text.as_slice();
                let between: &[u8] = random.pick(&[&b" "[..], b";", b"\n", b"&", b",", b"|", b"/"]);
                [text, between, other].concat()
            }
            Self::LineEnd => [text, random.pick::<&[u8]>(&[b"\n", b"\r\n", b"\n\n", b" \n"])].concat(),
            Self::Quotes => map(text, |byte| match byte {
                b'\'' => b'"',
                b'"' => b'\'',
                other => other,
            }),
        }
    }
}

fn map(text: &[u8], change: impl FnMut(u8) -> u8) -> Vec<u8> {
    text.iter().copied().map(change).collect()
}

fn replace_blanks(text: &[u8], with: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        if *byte == b' ' { out.extend_from_slice(random.pick(with)) } else { out.push(*byte) }
    }
    out
}

fn insert(text: &[u8], what: &[u8], random: &mut Random) -> Vec<u8> {
    let at = random.below(text.len() + 1);
    [&text[..at], what, &text[at..]].concat()
}

/// An encoding of the text that some rules undo, besides the one that its place in the request needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Coding {
    Plain,
    Url,
    UrlTwice,
    UrlSome,
    PercentU,
    FullWidth,
    EntityDecimal,
    EntityHex,
    EntityName,
    Overlong,
    Base64,
    Js,
    Css,
}

impl Coding {
    pub(crate) const ALL: [Self; 13] = [
        Self::Plain,
        Self::Url,
        Self::UrlTwice,
        Self::UrlSome,
        Self::PercentU,
        Self::FullWidth,
        Self::EntityDecimal,
        Self::EntityHex,
        Self::EntityName,
        Self::Overlong,
        Self::Base64,
        Self::Js,
        Self::Css,
    ];

    /// Half of all texts stay as they are, so that rules without decoding get their share.
    pub(crate) const fn any(random: &mut Random) -> Self {
        if random.one_in(2) { Self::Plain } else { random.pick(&Self::ALL) }
    }

    pub(crate) fn apply(self, text: &[u8], random: &mut Random) -> Vec<u8> {
        let every = |write: &dyn Fn(u8) -> String| text.iter().flat_map(|byte| write(*byte).into_bytes()).collect();
        let word = |byte: u8| byte.is_ascii_alphanumeric();
        let or_itself = |byte: u8, coded: String| if word(byte) { char::from(byte).to_string() } else { coded };
        match self {
            Self::Plain => text.to_vec(),
            Self::Url => every(&|byte| format!("%{byte:02x}")),
            Self::UrlTwice => every(&|byte| or_itself(byte, format!("%25{byte:02X}"))),
            Self::UrlSome => url_some(text, random),
            Self::PercentU => every(&|byte| or_itself(byte, format!("%u00{byte:02x}"))),
            Self::FullWidth => text.iter().flat_map(|byte| full_width(*byte)).collect(),
            Self::EntityDecimal => every(&|byte| or_itself(byte, format!("&#{byte};"))),
            Self::EntityHex => every(&|byte| format!("&#x{byte:x};")),
            Self::EntityName => text.iter().flat_map(|byte| entity_name(*byte)).collect(),
            Self::Overlong => text.iter().flat_map(|byte| overlong(*byte)).collect(),
            Self::Base64 => base64(text),
            Self::Js => every(&|byte| or_itself(byte, format!("\\u00{byte:02x}"))),
            Self::Css => every(&|byte| or_itself(byte, format!("\\{byte:x} "))),
        }
    }
}

fn url_some(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in text {
        if random.one_in(3) { out.extend_from_slice(format!("%{byte:02X}").as_bytes()) } else { out.push(*byte) }
    }
    out
}

/// U+FF01 to U+FF5E look like ASCII, and some back ends take them for it.
fn full_width(byte: u8) -> Vec<u8> {
    match byte {
        0x21..=0x7e => vec![0xef, 0xbc + (byte - 0x20) / 0x40, 0x80 + (byte - 0x20) % 0x40],
        other => vec![other],
    }
}

fn overlong(byte: u8) -> Vec<u8> {
    if byte.is_ascii_alphanumeric() || byte >= 0x80 {
        vec![byte]
    } else {
        vec![0xc0 + (byte >> 6), 0x80 + (byte & 0x3f)]
    }
}

fn entity_name(byte: u8) -> Vec<u8> {
    match byte {
        b'<' => b"&lt;".to_vec(),
        b'>' => b"&gt;".to_vec(),
        b'"' => b"&quot;".to_vec(),
        b'&' => b"&amp;".to_vec(),
        b' ' => b"&nbsp;".to_vec(),
        b':' => b"&colon;".to_vec(),
        other => vec![other],
    }
}

pub(crate) fn base64(text: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(text.len() * 4 / 3 + 4);
    for chunk in text.chunks(3) {
        let bytes = [chunk[0], *chunk.get(1).unwrap_or(&0), *chunk.get(2).unwrap_or(&0)];
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > chunk.len() { b'=' } else { digit });
        }
    }
    out
}
