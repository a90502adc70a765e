//! Whole documents through the whole reader.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;

fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(text: &str, pairs: &[(&str, &str)], sets: &[&str]) -> Result<Config, Vec<String>> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Config::from_sources(Some((Path::new("p.yaml"), text)), &env(pairs), &sets).map_err(|errors| errors.messages())
}

fn policy(text: &str, pairs: &[(&str, &str)], sets: &[&str]) -> Policy {
    let mut config = read(text, pairs, sets).unwrap();
    config.policies.remove(DEFAULT_POLICY).unwrap()
}

/// Every key of the documented form, each away from its default.
const FULL: &str = r#"
listen: {ext_authz: "0.0.0.0:1", forward_auth: "unix:/run/p.sock", admin: off}
trusted_proxies: [10.0.0.0/8, "2001:db8::1"]
policies:
  default:
    rules: crs@3.3.10
    mode: detect
    crs: {paranoia: 2, detection_paranoia: 3, inbound_threshold: 7, outbound_threshold: 8, tx: {arg_length: 400, a: "x: 'y' #"}}
    body: {limit: 1MiB, over_limit: allow, partial: allow, undecodable: allow, absent: deny, doctype: deny}
    profiles: [graphql, wordpress]
    exclusions: [/etc/a.conf, /etc/b c.conf]
    on_error: allow
    deadline: 1500ms
    deny_status: 403
    expose: rules
    metadata: relevant
    upstream_headers: relevant
    cache: {enabled: false, max_bytes: 1GiB, ttl: 5m, methods: [GET], never_headers: [X_Mine], volatile_headers: [X-Request-Id, b3], key_headers: [B3]}
    audit: {when: all, to: /var/log/a.log}
"#;

#[test]
fn the_documented_form() {
    let config = read(FULL, &[], &[]).unwrap();
    assert_eq!(config.listen.admin, None);
    assert_eq!(config.listen.forward_auth, Some(Address::Unix("/run/p.sock".into())));
    assert!(config.trusted_proxies[0].contains("10.1.2.3".parse().unwrap()));
    let policy = &config.policies[DEFAULT_POLICY];
    assert_eq!(policy.rules.as_deref(), Some("crs@3.3.10"));
    assert_eq!(policy.crs.tx.get("a").map(String::as_str), Some("x: 'y' #"));
    assert_eq!(policy.crs.tx.get("arg_length").map(String::as_str), Some("400"));
    assert_eq!((policy.body.limit, policy.deadline), (1 << 20, Duration::from_millis(1500)));
    assert_eq!(policy.cache.never_headers, ["x-mine"]);
    assert_eq!(policy.cache.key_headers, ["b3"]);
    assert_eq!(policy.audit, AuditPolicy { when: AuditWhen::All, to: AuditTarget::File("/var/log/a.log".into()) });
}

#[test]
fn printed_configurations_read_back() {
    for text in ["", FULL] {
        let config = read(text, &[], &[]).unwrap();
        assert_eq!(read(&config.to_yaml(), &[], &[]).as_ref(), Ok(&config), "{}", config.to_yaml());
    }
}

#[test]
fn nothing_written_means_defaults() {
    for text in ["", "# nothing\n", "policies:\n", "policies:\n  default:\n    crs:\n      tx:\n    exclusions:\n"] {
        assert_eq!(read(text, &[], &[]), Ok(Config::default()), "{text}");
    }
}

#[test]
fn later_sources_win() {
    let text = "policies: {default: {mode: detect, crs: {paranoia: 2, detection_paranoia: 2}}}";
    let paranoia = |pairs, sets| policy(text, pairs, sets).crs.paranoia;
    assert_eq!(paranoia(&[], &[]), Some(2));
    assert_eq!(paranoia(&[("PARANOIA", "3")], &[]), Some(3));
    assert_eq!(paranoia(&[("PARANOIA", "3"), ("PORTCULLIS_CRS_PARANOIA", "1")], &[]), Some(1));
    let sets = ["crs.paranoia=4", "policies.default.crs.detection_paranoia=4"];
    assert_eq!(paranoia(&[("PARANOIA", "3")], &sets), Some(4));
    assert_eq!(policy(text, &[], &["mode=off"]).mode, Mode::Off);
    assert_eq!(policy(text, &[], &["tx.Arg_Length=9"]).crs.tx["arg_length"], "9");
    assert_eq!(policy(text, &[], &["cache.methods=[GET, HEAD,OPTIONS]"]).cache.methods.len(), 3);
    assert_eq!(read("", &[], &["listen.admin=off"]).unwrap().listen.admin, None);
    assert_eq!(read("", &[("PORTCULLIS_TRUSTED_PROXIES", "10.0.0.0/8,::1")], &[]).unwrap().trusted_proxies.len(), 2);
    assert_eq!(policy("", &[("ALLOWED_METHODS", "GET POST")], &[]).crs.tx["allowed_methods"], "GET POST");
}

#[test]
fn paths_start_where_they_are_written() {
    let text = "policies: {default: {rules: own/main.conf, exclusions: [a.conf], audit: {to: a.log}}}";
    let config = Config::from_sources(Some((Path::new("etc/p.yaml"), text)), &NoEnv, &[]).unwrap();
    let policy = &config.policies[DEFAULT_POLICY];
    assert_eq!(policy.rules.as_deref(), Some("etc/own/main.conf"));
    assert_eq!(policy.exclusions, [PathBuf::from("etc/a.conf")]);
    assert_eq!(policy.audit.to, AuditTarget::File("etc/a.log".into()));
    let sets = ["rules=own.conf".to_owned()];
    let config = Config::from_sources(Some((Path::new("etc/p.yaml"), "")), &NoEnv, &sets).unwrap();
    assert_eq!(config.policies[DEFAULT_POLICY].rules.as_deref(), Some("own.conf"));
}

/// Text, environment, `--set`; the messages in full.
type Wrong<'t> = (&'t str, &'t [(&'t str, &'t str)], &'t [&'t str], &'t [&'t str]);

const WRONG: &[Wrong<'_>] = &[
    (
        "policies:\n  default:\n    mod: block\n    cache:\n      ttl: 5 m\n    deadline: never\n",
        &[],
        &[],
        &[
            "p.yaml:3: policies.default.mod: unknown key; did you mean `mode`?",
            "p.yaml:5: policies.default.cache.ttl: `5 m` is not a duration; did you mean `5m`?",
            "p.yaml:6: policies.default.deadline: `never` is not a duration; write `200ms`, `60s`, `5m` or `1h` (at most one day)",
        ],
    ),
    (
        "policies:\n  shop: {mode: block}\nroutes: []\nlisten: 1\n",
        &[],
        &[],
        &[
            "p.yaml:2: policies.shop: policies of other names come with a later version; write `default`",
            "p.yaml:3: routes: this is not a setting here: policies by route come with a later version; this one knows the policy `default` alone; remove it",
            "p.yaml:4: listen: this must be a map; write keys below it: `ext_authz`, `forward_auth`, `admin`",
        ],
    ),
    (
        "policies:\n  default:\n    mode: blok\n    mode: detect\n    deny_status: 200\n    on_error:\n    rules: [a]\n",
        &[],
        &[],
        &[
            "p.yaml:4: policies.default.mode: this key is here twice; it stands on line 3 too; keep one",
            "p.yaml:6: policies.default.on_error: there is no value; write `deny` or `allow`, or remove the line",
            "p.yaml:7: policies.default.rules: this must be a single value; write `crs`, `crs@4.28.0`, `crs@DIR`, `baseline` or the path of a SecLang file",
            "p.yaml:3: policies.default.mode: `blok` is not one of the words known here; did you mean `block`?",
            "p.yaml:5: policies.default.deny_status: `200` is not a status; write `as_is` or a status from 400 to 599",
        ],
    ),
    (
        "trusted_proxies:\n  - 10.0.0.0/8\n  - 10.0.0.1/8\n  - x\n",
        &[],
        &[],
        &[
            "p.yaml:3: trusted_proxies: `10.0.0.1/8` is not a network; did you mean `10.0.0.0/8`?",
            "p.yaml:4: trusted_proxies: `x` is not a network; write `10.0.0.0/8`, `192.0.2.7` or `2001:db8::/32`",
        ],
    ),
    (
        "policies:\n  default:\n    cache:\n      key_headers: [Authorization, X_Mine]\n      volatile_headers: [Cookie]\n      never_headers: [x-mine]\n      include_uri: false\n",
        &[],
        &[],
        &[
            "p.yaml:7: policies.default.cache.include_uri: this is not a setting here: the URI is always part of the key, or a cached verdict could differ from a fresh one; remove it",
            "p.yaml:4: policies.default.cache.key_headers: `authorization` is a header whose values never enter the cache; remove it",
            "p.yaml:4: policies.default.cache.key_headers: `x-mine` is a header whose values never enter the cache; remove it",
            "p.yaml:5: policies.default.cache.volatile_headers: `cookie` is a header whose values never enter the cache; remove it",
        ],
    ),
    (
        "policies: {default: {crs: {paranoia: 3}}}\n",
        &[("DETECTION_PARANOIA", "2"), ("PORTCULLIS_MODE", "1"), ("PORTCULLIS_MODEE", "off")],
        &["crs.paranoja=1", "mode", "tx.a b=1"],
        &[
            "environment variable PORTCULLIS_MODEE: no such setting; did you mean `PORTCULLIS_MODE`?",
            "--set crs.paranoja=1: crs.paranoja: unknown key; did you mean `crs.paranoia`?",
            "--set mode: there is no `=`; write `key=value`, for example `mode=detect`",
            "--set tx.a b=1: tx.a b: this is no name of a TX variable; use letters, digits, `_`, `-` and `.`",
            "environment variable PORTCULLIS_MODE: policies.default.mode: `1` is not one of the words known here; write `block`, `detect` or `off`",
            "environment variable DETECTION_PARANOIA: policies.default.crs.detection_paranoia: 2 is below `crs.paranoia`, which is 3: CRS would refuse every request; write 3 or more",
        ],
    ),
    (
        "listen:\n  admin: 127.0.0.1:9191\n  ext_authz: 9191\n",
        &[],
        &[],
        &[
            "p.yaml:3: listen.ext_authz: `9191` is not an address to listen on; write `127.0.0.1:9191`, `[::1]:9191`, `unix:/run/portcullis.sock` or `off`",
            "p.yaml:2: listen.admin: this is the address of `listen.ext_authz` too; give each door an address of its own",
        ],
    ),
    ("a: [1\nb: 2\n", &[], &[], &["p.yaml:2: this is no YAML: "]),
];

#[test]
fn every_error_at_once_with_place_key_and_fix() {
    for (text, pairs, sets, expected) in WRONG {
        let messages = read(text, pairs, sets).unwrap_err();
        assert_eq!(messages.len(), expected.len(), "{messages:#?}");
        for (message, expected) in messages.iter().zip(*expected) {
            let fits = message == expected || expected.ends_with("YAML: ") && message.starts_with(expected);
            assert!(fits, "said:     {message}\nexpected: {expected}");
        }
    }
}

#[test]
fn a_file_that_is_not_there() {
    let error = Config::load(Some(Path::new("/nonexistent/p.yaml")), &NoEnv, &[]).unwrap_err();
    assert!(error.to_string().starts_with("/nonexistent/p.yaml: this file cannot be read: "), "{error}");
}

#[test]
fn networks_hold_addresses() {
    let table = [
        ("10.0.0.0/8", "10.255.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.0/8", "::ffff:10.1.1.1", true),
        ("0.0.0.0/0", "203.0.113.9", true),
        ("0.0.0.0/0", "::1", false),
        ("2001:db8::/32", "2001:db8:1::1", true),
        ("2001:db8::/32", "2001:db9::1", false),
        ("::/0", "2001:db9::1", true),
        ("192.0.2.7", "192.0.2.7", true),
        ("192.0.2.7", "192.0.2.6", false),
    ];
    for (network, addr, expected) in table {
        let network = values::network(network).unwrap();
        assert_eq!(network.contains(addr.parse().unwrap()), expected, "{network:?} {addr}");
    }
}

#[test]
fn the_schema_knows_every_key() {
    let schema = schema();
    let mut found = 0;
    let mut open = vec![&schema];
    while let Some(node) = open.pop() {
        match node.get("properties").and_then(serde_json::Value::as_object) {
            Some(properties) => open.extend(properties.values()),
            None => {
                assert!(node.get("description").is_some_and(serde_json::Value::is_string), "{node}");
                found += 1;
            }
        }
    }
    assert_eq!(found, keys::TOP.len() + keys::POLICY.len());
}
