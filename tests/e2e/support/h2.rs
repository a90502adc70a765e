//! As much of HTTP/2 as one request needs: headers as literals, one DATA frame, the status of the answer.
//!
//! By hand, since libraries refuse the bytes that Envoy lets through.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use super::Checked;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// Sends one request with these headers, the pseudo headers first; returns the status.
pub(crate) fn status(port: u16, headers: &[(&[u8], &[u8])], body: &[u8]) -> Checked<u16> {
    exchange(port, headers, body)
        .map_err(|error| format!("HTTP/2: {error}"))?
        .ok_or_else(|| "stream was reset".to_owned())
}

fn exchange(port: u16, headers: &[(&[u8], &[u8])], body: &[u8]) -> std::io::Result<Option<u16>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    let block: Vec<u8> = headers.iter().flat_map(|(name, value)| literal(name, value)).collect();
    let last = if body.is_empty() { END_STREAM } else { 0 };
    bytes.extend(frame(HEADERS, END_HEADERS | last, 1, &block));
    if !body.is_empty() {
        bytes.extend(frame(DATA, END_STREAM, 1, body));
    }
    stream.write_all(&bytes)?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let mut payload = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload)?;
        match head[3] {
            HEADERS => return Ok(status_of(&payload)),
            RST_STREAM | GOAWAY => return Ok(None),
            SETTINGS if head[4] & ACK == 0 => stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?,
            _ => {}
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// A literal header field without indexing, with a literal name, nothing Huffman-coded (RFC 7541, 6.2.2).
fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    for part in [name, value] {
        integer(&mut bytes, part.len());
        bytes.extend(part);
    }
    bytes
}

/// An integer with a 7-bit prefix (RFC 7541, 5.1).
fn integer(bytes: &mut Vec<u8>, value: usize) {
    let Some(mut rest) = value.checked_sub(127) else {
        bytes.push(u8::try_from(value).unwrap());
        return;
    };
    bytes.push(127);
    while rest >= 128 {
        bytes.push(u8::try_from(rest % 128).unwrap() | 128);
        rest /= 128;
    }
    bytes.push(u8::try_from(rest).unwrap());
}

/// The status, the first field of the first header block: an entry of the static table, or a literal under its name.
fn status_of(block: &[u8]) -> Option<u16> {
    const STATIC: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    let block = match block.first()? {
        0x20..=0x3f => &block[1..], // a change of the table's size
        _ => block,
    };
    match *block {
        [index @ 0x88..=0x8e, ..] => Some(STATIC[usize::from(index - 0x88)]),
        [0x48..=0x4e | 0x08..=0x0e, length, ref rest @ ..] => {
            let value = rest.get(..usize::from(length & 0x7f))?;
            let digits = if length & 0x80 == 0 { value.to_vec() } else { huffman_digits(value) };
            std::str::from_utf8(&digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

/// Three decimal digits of RFC 7541's Huffman code: `0` to `2` have five bits, `3` to `9` six.
fn huffman_digits(bytes: &[u8]) -> Vec<u8> {
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1));
    let mut digits = Vec::new();
    while digits.len() < 3 {
        let code = bits.by_ref().take(5).fold(0, |code, bit| code << 1 | bit);
        digits.push(match code {
            0..=2 => b'0' + code,
            _ => b'0' + (code << 1 | bits.next().unwrap_or(0)) - 22,
        });
    }
    digits
}
