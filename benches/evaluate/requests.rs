//! What is asked: the classes of the comparison with other engines where their files are at hand, else samples; and a few
//! requests made to cost much.

use portcullis::input::RequestBuf;
use portcullis::input::jsonl::parse_line;

use super::corpora::{Class, GETS, addressed, classes, shared};
use super::rules::crs_folder;

/// A browser's GET of a search page, with the headers and cookies that browsers send.
const BENIGN: &str = r#"{"id":"benign","method":"GET","uri":"/rest/products/search?q=apple%20juice&page=2&sort=price_asc",
"headers":[["Host","shop.example.com"],["Connection","keep-alive"],["sec-ch-ua-platform","\"Windows\""],
["User-Agent","Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"],
["Accept","text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"],
["Sec-Fetch-Site","same-origin"],["Sec-Fetch-Mode","navigate"],["Referer","https://shop.example.com/"],
["Accept-Encoding","gzip, deflate, br"],["Accept-Language","en-GB,en;q=0.9"],
["Cookie","session=s8Xk2mQ0dYtB7wRjLhNfA4; csrftoken=Zk3rVbN1uT6pWq8yEo5sXc0mJd7hGfLa; theme=dark; lang=en-GB"]]}"#;

/// The same page, asked for with SQL in the search field.
const ATTACK: &str = r#"{"id":"attack","method":"GET","uri":"/rest/products/search?q=%27%20OR%201=1--",
"headers":[["Host","shop.example.com"],["User-Agent","Mozilla/5.0 (Windows NT 10.0; Win64; x64)"],["Accept","*/*"]]}"#;

/// The classes, and a remark where they are not those of the corpora.
pub(crate) fn ordinary_and_attacks() -> (Vec<Class>, Option<String>) {
    let shared = shared(super::ROOT.as_ref());
    let benign = shared.join("corpus/benign.jsonl");
    match crs_folder() {
        Some(crs) if benign.is_file() => (classes(&benign, &crs).unwrap(), None),
        _ => (samples(), Some(format!("SKIPPED: no corpora in {}; built-in samples instead", shared.display()))),
    }
}

fn samples() -> Vec<Class> {
    let request = |line: &str| addressed(parse_line(line.replace('\n', "").as_bytes(), "").unwrap());
    vec![
        Class { name: GETS, requests: vec![request(BENIGN)] },
        Class { name: "2 KB JSON body", requests: vec![post("application/json", order())] },
        Class { name: "attack", requests: vec![request(ATTACK)] },
    ]
}

/// Two kilobytes of an honest order.
fn order() -> String {
    let items: Vec<String> = (0..45).map(|id| format!(r#"{{"id":{id},"name":"apple juice","count":2}}"#)).collect();
    format!(r#"{{"order":[{}]}}"#, items.join(","))
}

/// A few shapes that cost much, one request each.
pub(crate) fn hostile() -> Vec<Class> {
    let many: Vec<String> = (0..900).map(|number| format!("a{number}={}", noise(number, 20))).collect();
    let form = |name, body: String| Class { name, requests: vec![post("application/x-www-form-urlencoded", body)] };
    vec![
        form("hostile: 900 arguments of 20 bytes", many.join("&")),
        form("hostile: 100 KB of noise in an argument", format!("a={}", noise(1, 100_000))),
        form("hostile: 100 KB of ../ in an argument", format!("a={}", "../".repeat(33_333))),
    ]
}

/// Printable bytes without order, the same in every run; `&` and `%` would end the value or be more than a byte.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state % 95) as u8)
    };
    (0..length).map(|_| next()).map(|byte| if matches!(byte, '&' | '%' | '+') { '~' } else { byte }).collect()
}

fn post(content_type: &str, body: String) -> RequestBuf {
    let header = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    addressed(RequestBuf {
        method: b"POST".to_vec(),
        target: b"/rest/orders".to_vec(),
        headers: vec![
            header("Host", "shop.example.com"),
            header("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
            header("Accept", "*/*"),
            header("Content-Type", content_type),
            header("Content-Length", &body.len().to_string()),
        ],
        body: body.into_bytes(),
        ..RequestBuf::default()
    })
}
