//! The cases that all proxies share, and what each is to answer.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::backend::Backend;
use crate::support::http::{Ask, Connection, Reply};
use crate::support::sidecar::{Rules, Setup, Sidecar};
use crate::support::suite::Suite;
use crate::support::{Checked, ensure};

/// The body limit of `deploy/`, the same in every file.
pub(crate) const BODY_LIMIT: usize = 131_072;

/// A proxy in front of the sidecar and the backend, and what it can do.
pub(crate) struct Front<'f> {
    pub(crate) port: u16,
    pub(crate) sidecar: &'f Sidecar,
    pub(crate) backend: &'f Backend,
    /// It hands request bodies over.
    pub(crate) bodies: Bodies,
    /// It takes bytes above 0x7f in a request target; else it answers 400 itself.
    pub(crate) raw_targets: bool,
    /// It sets the X-Forwarded-* headers that name the request, over those of the client.
    pub(crate) forwards: bool,
    /// The client's address as the sidecar is to learn it, where the tests know it.
    pub(crate) client: &'static str,
    /// The status with which the client learns that the sidecar failed.
    pub(crate) failed: u16,
}

/// What becomes of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bodies {
    /// It is judged.
    Judged {
        /// The proxy's own status for a body over the limit.
        over: u16,
        /// A body exactly at the limit can be told from one that goes on.
        exact: bool,
    },
    /// The proxy never hands one over.
    Withheld,
}

/// What is to happen to a request.
#[derive(Clone, Copy)]
pub(crate) enum Want {
    /// It passes, and no rule is logged.
    Pass,
    /// It passes, and these rules are logged.
    PassLogged(&'static [u32]),
    /// It is refused with 403, and these rules are logged.
    Deny(&'static [u32]),
    /// It is refused with 403, and a rule of this family (its first three digits) is logged.
    DenyFamily(u32),
}

use Want::{Deny, DenyFamily, Pass, PassLogged};

/// A GET request: name, target, host, what is to happen at paranoia level 1 and at 4.
type Row = (&'static str, &'static str, &'static str, Want, Want);

/// An attack that every rule set here finds in any header.
pub(crate) const JAVA: &str = "${jndi:ldap://192.0.2.1/a} java.lang.Runtime";

const SHOP: &str = "shop.example";

/// The requests of a small shop's search page, harmless and otherwise.
const SEARCHES: &[Row] = &[
    ("closing a query", "/rest/products/search?q=apple'))--", SHOP, Deny(&[942100]), Deny(&[942100])),
    ("always true", "/rest/products/search?q='%20OR%201=1--", SHOP, Deny(&[942100]), Deny(&[942100])),
    (
        "a script",
        "/rest/products/search?q=%3Cscript%3Ealert(1)%3C/script%3E",
        SHOP,
        Deny(&[941100, 941110, 941160]),
        Deny(&[941100, 941110, 941160]),
    ),
    (
        "a frame",
        "/rest/products/search?q=%3Ciframe%20src=%22javascript:alert(1)%22%3E",
        SHOP,
        DenyFamily(941),
        DenyFamily(941),
    ),
    (
        "climbing up",
        "/rest/products/search?q=../../../etc/passwd",
        SHOP,
        Deny(&[930100, 930110, 930120, 932160]),
        Deny(&[930100, 930110, 930120, 932160]),
    ),
    (
        "a command",
        "/rest/products/search?q=a;cat%20/etc/passwd",
        SHOP,
        Deny(&[930120, 932160]),
        Deny(&[930120, 932160]),
    ),
    ("two words", "/rest/products/search?q=apple%20juice", SHOP, Pass, Deny(&[920273])),
    ("one word", "/rest/products/search?q=apple", SHOP, Pass, Pass),
    ("no query", "/rest/products/1", SHOP, Pass, Pass),
    ("numeric host", "/rest/products/search?q=apple", "192.0.2.10", PassLogged(&[920350]), PassLogged(&[920350])),
];

/// The table of searches.
pub(crate) fn searches(suite: &mut Suite, front: &Front<'_>) {
    let level = front.sidecar.paranoia;
    for (name, target, host, at_1, at_4) in SEARCHES {
        let want = if level == 1 { *at_1 } else { *at_4 };
        if front.sidecar.rules == Rules::Baseline && !holds_for_baseline(want, level) {
            suite.skip(1, &format!("{name} at level {level}: needs the CRS, and there is none in rules/crs"));
            continue;
        }
        suite.case(&format!("{name} at level {level}"), || judged(front, Ask::get(target).replace("Host", host), want));
    }
}

/// Levels and protocol notes are the CRS's.
fn holds_for_baseline(want: Want, level: u8) -> bool {
    level == 1 && !matches!(want, PassLogged(_))
}

/// Bytes that are no UTF-8, and headers that come more than once.
pub(crate) fn bytes(suite: &mut Suite, front: &Front<'_>) {
    let script = b"<script>alert(1)</script>";
    let cookie = |value: &[u8]| [b"b=", value].concat();
    let rows: Vec<(&str, Ask, Want)> = vec![
        ("a harmless byte in a header", Ask::get("/").header("X-Name", b"caf\xe9"), Pass),
        (
            "an attack after a byte in a header",
            Ask::get("/").replace("User-Agent", [b"caf\xe9 ", &script[..]].concat()),
            DenyFamily(941),
        ),
        (
            "an attack in the second of two headers",
            Ask::get("/").header("X-Tag", "summer").header("X-Tag", JAVA),
            DenyFamily(944),
        ),
        (
            "an attack in the second of two cookies",
            Ask::get("/").header("Cookie", "a=1").header("Cookie", cookie(script)),
            DenyFamily(941),
        ),
        (
            "an attack in the second of two values",
            Ask::get("/").header("Cookie", [b"a=1; ", &cookie(script)[..]].concat()),
            DenyFamily(941),
        ),
    ];
    for (name, ask, want) in rows {
        suite.case(name, || judged(front, ask, want));
    }
    let targets: [(&str, &[u8], Want); 2] = [
        ("a harmless byte in the path", b"/caf\xe9", PassLogged(&[920250])),
        ("an attack after a byte in the query", b"/?q=\xff%3Cscript%3Ealert(1)%3C/script%3E", DenyFamily(941)),
    ];
    for (name, target, want) in targets {
        suite.case(name, || {
            if front.raw_targets {
                return judged(front, Ask::get(target), want);
            }
            let reply = Ask::get(target).send(front.port)?;
            ensure(reply.status == 400 && !reply.is_backends(), || format!("400 expected, got {}", reply.summary()))
        });
    }
}

/// Bodies of each kind, harmless and not, and bodies about the limit.
pub(crate) fn bodies(suite: &mut Suite, front: &Front<'_>) {
    let attack = "<script>alert(1)</script>";
    let json = |value: &str| format!("{{\"user\": {{\"name\": \"{value}\"}}}}");
    let form = |value: &str| format!("id=1&name={value}");
    let rows: [(&str, &str, Vec<u8>, Want); 6] = [
        ("a form", FORM, form("Jane").into(), Pass),
        ("an attack in a form", FORM, form("%3Cscript%3Ealert(1)%3C%2Fscript%3E").into(), DenyFamily(941)),
        ("a JSON document", "application/json", json("Jane").into(), Pass),
        ("an attack in a JSON document", "application/json", json(attack).into(), DenyFamily(941)),
        ("a multipart form", MULTIPART, multipart("Jane", b"plain text"), Pass),
        ("an attack in a multipart form", MULTIPART, multipart(attack, b"plain text"), DenyFamily(941)),
    ];
    for (name, content_type, body, want) in rows {
        // Withheld bodies pass unjudged: the policy's `absent: allow`.
        let want = if front.bodies == Bodies::Withheld { Pass } else { want };
        suite.case(name, || judged(front, Ask::new("POST", "/profile").body(content_type, body), want));
    }
    suite.case("a body exactly at the limit", || {
        let ask = Ask::new("POST", "/profile").body(MULTIPART, upload(BODY_LIMIT));
        match front.bodies {
            // To be on the safe side.
            Bodies::Judged { exact: false, over } => refused(&ask.send(front.port)?, over),
            _ => judged(front, ask, Pass),
        }
    });
    suite.case("a body over the limit", || over_the_limit(front));
    suite.case("a body at the limit with more to come, by chunks", || more_to_come(front, true));
    suite.case("a body at the limit with more to come, by length", || more_to_come(front, false));
}

const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data; boundary=----e2e";

fn multipart(name: &str, file: &[u8]) -> Vec<u8> {
    let mut body = b"------e2e\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n".to_vec();
    body.extend(name.as_bytes());
    body.extend(b"\r\n------e2e\r\nContent-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n");
    body.extend(b"Content-Type: text/plain\r\n\r\n");
    body.extend(file);
    body.extend(b"\r\n------e2e--\r\n");
    body
}

/// A multipart form of exactly this size.
fn upload(size: usize) -> Vec<u8> {
    let frame = multipart("Jane", b"").len();
    multipart("Jane", &vec![b'x'; size - frame])
}

fn over_the_limit(front: &Front<'_>) -> Checked {
    let reply = Ask::new("POST", "/profile").body(MULTIPART, upload(BODY_LIMIT + 1)).send(front.port)?;
    match front.bodies {
        Bodies::Judged { over, .. } => refused(&reply, over),
        Bodies::Withheld => passed(&reply),
    }
}

/// The first part fills the proxy's buffer to the byte; an attack follows once the proxy may have asked.
fn more_to_come(front: &Front<'_>, chunked: bool) -> Checked {
    if front.bodies == Bodies::Withheld {
        return Ok(());
    }
    let body = upload(BODY_LIMIT);
    let rest = multipart("<script>alert(1)</script>", b"");
    let ask = Ask::new("POST", "/profile").header("Content-Type", MULTIPART);
    let length = (body.len() + rest.len()).to_string();
    let (ask, first, second) = if chunked {
        let chunk = |part: &[u8]| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat();
        (ask.header("Transfer-Encoding", "chunked"), chunk(&body), [&chunk(&rest)[..], b"0\r\n\r\n"].concat())
    } else {
        (ask.header("Content-Length", length), body, rest)
    };
    let mut connection = Connection::open(front.port)?;
    connection.send(&[ask.head(), first].concat())?;
    std::thread::sleep(std::time::Duration::from_millis(300));
    // The proxy may have refused already.
    let _ = connection.send(&second);
    let reply = connection.reply()?;
    ensure(!reply.is_backends() && (400..500).contains(&reply.status), || {
        format!("a refusal expected, got {}", reply.summary())
    })
}

/// A body that was announced and never handed over is counted, so that an operator finds out.
pub(crate) fn withheld(suite: &mut Suite, front: &Front<'_>) {
    suite.case("a body that is not handed over is counted", || {
        let count = || front.sidecar.metric("portcullis_not_inspected_requests_total", &["reason=\"body_absent\""]);
        let before = count();
        passed(&Ask::new("POST", "/profile").body(FORM, "name=Jane").send(front.port)?)?;
        passed(&Ask::get("/").send(front.port)?)?;
        let counted = count() - before;
        ensure((counted - 1.0).abs() < f64::EPSILON, || format!("{counted} counted after one POST and one GET"))
    });
}

/// Rules of the user's own beside the CRS, as `exclusions` of the policy.
const OWN_RULES: &str = "\
SecRule REQUEST_FILENAME \"@streq /old\" \"id:1001,phase:1,t:none,log,auditlog,redirect:'https://shop.example/new?a=1'\"
SecRule REQUEST_FILENAME \"@streq /later\" \"id:1002,phase:1,t:none,log,auditlog,deny,status:429\"
";

/// A sidecar with rules of the user's own.
pub(crate) fn with_own_rules(dir: &Path) -> Sidecar {
    let file = dir.join("own.conf");
    fs::write(&file, OWN_RULES).unwrap();
    let list = format!("exclusions: [{}]", file.display());
    Sidecar::start(Setup::at(1).with("exclusions: []", &list))
}

/// A redirect and another status reach the client, for proxies that pass them on.
pub(crate) fn own_rules(suite: &mut Suite, front: &Front<'_>) {
    suite.case("a redirect by a rule", || {
        let reply = Ask::get("/old").send(front.port)?;
        refused(&reply, 302)?;
        let location = reply.header("location").map(String::from_utf8_lossy);
        ensure(location.as_deref() == Some("https://shop.example/new?a=1"), || format!("location {location:?}"))
    });
    suite.case("a status of a rule's own", || refused(&Ask::get("/later").send(front.port)?, 429));
}

/// What a client says about itself must not stand for what the proxy knows.
pub(crate) fn spoofing(suite: &mut Suite, front: &Front<'_>) {
    let attack = "/search?q=%3Cscript%3Ealert(1)%3C/script%3E";
    let spoof = |ask: Ask| {
        ask.header("X-Forwarded-Uri", "/")
            .header("X-Forwarded-Method", "GET")
            .header("X-Forwarded-Host", "good.example")
    };
    suite.case("a clean URI in X-Forwarded-Uri", || judged(front, spoof(Ask::get(attack)), DenyFamily(941)));
    suite.case("an attack in X-Forwarded-Uri alone", || {
        // Overwritten by the proxy, or a header as any other.
        let want = if front.forwards { Pass } else { DenyFamily(944) };
        let uri = format!("/search?q={JAVA}");
        judged(front, Ask::get("/search?q=apple").header("X-Forwarded-Uri", uri), want)
    });
    suite.case("X_Forwarded_Uri and its like", || {
        let ask = Ask::get(attack).header("X_Forwarded_Uri", "/").header("X.Forwarded.Uri", "/");
        judged(front, ask, DenyFamily(941))
    });
    suite.case("X-Original-URI and its like", || {
        let ask =
            Ask::get(attack).header("X-Original-URI", "/").header("X-Original-URL", "/").header("X-Rewrite-URL", "/");
        judged(front, ask, DenyFamily(941))
    });
    suite.case("X-Forwarded-Uri named in Connection", || {
        judged(front, Ask::get(attack).header("Connection", "X-Forwarded-Uri, X-Forwarded-Method"), DenyFamily(941))
    });
    suite.case("the client's address", || {
        let (ask, mark) = front.sidecar.mark(Ask::get("/").header("X-Forwarded-For", "203.0.113.77"));
        passed(&ask.send(front.port)?)?;
        let client = front.sidecar.record(&mark)?.client;
        ensure(client != "203.0.113.77" && (front.client.is_empty() || client == front.client), || {
            format!("client {client:?} instead of {:?}", front.client)
        })
    });
    suite.case("a verdict of the client's own", || own_verdict(front));
}

/// The application gets the verdict of the sidecar, once, whatever the client wrote.
pub(crate) fn own_verdict(front: &Front<'_>) -> Checked {
    let ask = Ask::get("/").header("X-Waf-Verdict", "client").header("X-Waf-Score", "client");
    let reply = ask.header("X-Waf-Request-Id", "client").send(front.port)?;
    passed(&reply)?;
    let seen = reply.text().to_ascii_lowercase();
    let lines = |name: &str| seen.lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>();
    let ids = lines("x-waf-request-id:");
    let right = lines("x-waf-verdict:") == ["x-waf-verdict: allow"] && lines("x-waf-score:") == ["x-waf-score: 0"];
    ensure(right && ids.len() == 1 && !ids[0].contains("client"), || {
        format!("the application saw {:?}, {:?}, {ids:?}", lines("x-waf-verdict:"), lines("x-waf-score:"))
    })
}

/// Many clients at once: nobody gets another's verdict.
pub(crate) fn crowd(suite: &mut Suite, front: &Front<'_>) {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 20;
    let port = front.port;
    let ask = move |client: usize, number: usize| {
        let clean = (client + number).is_multiple_of(2);
        let query = if clean { "apple" } else { "%3Cscript%3Ealert(1)%3C/script%3E" };
        let reply = Ask::get(format!("/crowd/{client}/{number}?q={query}")).send(port)?;
        if clean { passed(&reply) } else { refused(&reply, 403) }
    };
    suite.case("many clients at once", || {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| thread::spawn(move || (0..REQUESTS).try_for_each(|number| ask(client, number))))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().unwrap_or_else(|_| Err("panicked".to_owned())))
    });
}

/// The sidecar cannot judge (the proxy asks for a policy that does not exist): nothing passes.
pub(crate) fn unknown_policy(suite: &mut Suite, front: &Front<'_>) {
    suite.case("a policy that does not exist", || {
        let before = front.backend.served();
        refused(&Ask::get("/").send(front.port)?, front.failed)?;
        ensure(front.backend.served() == before, || "the backend was asked".to_owned())
    });
}

/// Sends a request, and checks the answer and the audit record.
pub(crate) fn judged(front: &Front<'_>, ask: Ask, want: Want) -> Checked {
    let (ask, mark) = front.sidecar.mark(ask);
    let reply = ask.send(front.port)?;
    let outcome = match want {
        Pass | PassLogged(_) => passed(&reply),
        Deny(_) | DenyFamily(_) => refused(&reply, 403),
    };
    let record = front.sidecar.record(&mark)?;
    outcome.map_err(|message| format!("{message}; rules {:?}", record.rules))?;
    logged(front.sidecar, &record.rules, want)
}

fn logged(sidecar: &Sidecar, rules: &[u32], want: Want) -> Checked {
    let holds = match want {
        // With another CRS, or none, only the verdict is known.
        _ if sidecar.rules != Rules::Crs4 => true,
        Pass => rules.is_empty(),
        PassLogged(ids) | Deny(ids) => ids.iter().all(|id| rules.contains(id)),
        DenyFamily(family) => rules.iter().any(|id| id / 1000 == family),
    };
    ensure(holds, || format!("rules {rules:?}"))
}

/// The backend answered.
pub(crate) fn passed(reply: &Reply) -> Checked {
    ensure(reply.status == 200 && reply.is_backends(), || format!("200 expected, got {}", reply.summary()))
}

/// The proxy answered with this status.
pub(crate) fn refused(reply: &Reply, status: u16) -> Checked {
    ensure(reply.status == status && !reply.is_backends(), || format!("{status} expected, got {}", reply.summary()))
}

/// How many verdicts came from the cache so far.
pub(crate) fn cache_hits(sidecar: &Sidecar) -> f64 {
    sidecar.metric("portcullis_cache_hits_total", &[])
}

/// A sidecar that came back is used again within a few seconds.
pub(crate) fn recovers(port: u16) -> Checked {
    let start = Instant::now();
    loop {
        let outcome = passed(&Ask::get("/").send(port)?);
        if outcome.is_ok() || start.elapsed() > Duration::from_secs(10) {
            return outcome;
        }
        thread::sleep(Duration::from_millis(100));
    }
}
