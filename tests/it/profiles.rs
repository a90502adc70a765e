//! Exclusion profiles: the application is quiet, and what stands beside it stays guarded.
//!
//! The application's requests are those of `tests/vectors/benign` for its hosts. Beside them `tests/vectors/profiles`
//! says what still matches and why, and which attacks close by must be found. Two things are tried out on every request:
//! an attack in a further parameter, and the same request at another path, where a profile must change nothing.
//!
//! The rules are read in place from `../shared/crs`; where they are absent, this test says so and checks nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portcullis::config::{CrsSettings, Policy};
use portcullis::engine::{self, Inputs, Scratch};
use portcullis::input::RequestBuf;
use portcullis::sets::files::Files;
use portcullis::sets::{self, LoadedSet, profiles};
use serde::Deserialize;

use crate::cases::data::Sent;
use crate::{benign, counted, shared};

/// What is known about a profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The hosts of the application among the ordinary requests.
    hosts: Vec<String>,
    /// The ordinary requests in which rules still match.
    rest: BTreeMap<String, Rest>,
    /// Attacks that the profile must not hide.
    protected: Vec<Attack>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    /// Why they are left on.
    why: String,
    /// The ids, by paranoia level.
    rules: BTreeMap<u8, Vec<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    about: String,
    send: Sent,
    /// Ids among those that must match, at level 1.
    log: Vec<u32>,
}

/// A parameter beside those of the application, and a rule that must find it.
const ATTACKS: [(&str, u32); 5] = [
    ("1'%20or%20'1'='1", 942_100),
    ("%3Cscript%3Ealert(1)%3C/script%3E", 941_110),
    ("%3Bcat%20/etc/passwd", 932_160),
    ("../../../../etc/passwd", 930_100),
    ("$%7Bjndi:ldap://x.example/a%7D", 944_150),
];

/// The levels at which applications are quiet.
const LEVELS: [u8; 2] = [1, 2];

struct Set {
    loaded: LoadedSet,
    scratch: Scratch,
}

impl Set {
    fn load(crs: &Path, level: u8, profiles: &[&str]) -> Self {
        let policy = Policy {
            rules: Some(format!("crs@{}", crs.display())),
            crs: CrsSettings { paranoia: Some(level), ..CrsSettings::default() },
            profiles: profiles.iter().map(|&name| name.to_owned()).collect(),
            ..Policy::default()
        };
        let loaded = sets::load(&policy).unwrap_or_else(|error| panic!("{error}"));
        Self { loaded, scratch: Scratch::default() }
    }

    fn detect(&mut self, request: &RequestBuf) -> Vec<u32> {
        let (rules, inputs) = (&self.loaded.rules, Inputs::default());
        let outcome = request.with_request(|request| engine::evaluate(rules, request, &inputs, &mut self.scratch));
        benign::detected(&outcome)
    }
}

/// What came out of one profile.
#[derive(Default)]
struct Tally {
    ran: usize,
    failures: Vec<String>,
    /// Rules that no longer match, over all requests and levels.
    lifted: usize,
}

impl Tally {
    fn check(&mut self, holds: bool, failure: impl FnOnce() -> String) {
        self.ran += 1;
        if !holds {
            self.failures.push(failure());
        }
    }
}

fn known(name: &str) -> Known {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/profiles/{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn requests(known: &Known) -> Vec<RequestBuf> {
    let host = |request: &RequestBuf| {
        let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(b"host")).unwrap();
        String::from_utf8(host.1.clone()).unwrap()
    };
    let requests = benign::requests().into_iter().filter(|request| known.hosts.contains(&host(request)));
    requests.collect()
}

fn with_target(request: &RequestBuf, target: Vec<u8>) -> RequestBuf {
    RequestBuf { target, ..request.clone() }
}

/// With the attacks in further parameters of the query.
fn with_attacks(request: &RequestBuf) -> RequestBuf {
    let mark = if request.target.contains(&b'?') { "&" } else { "?" };
    let attacks = ATTACKS.map(|(attack, id)| format!("neighbour{id}={attack}")).join("&");
    with_target(request, [&request.target[..], mark.as_bytes(), attacks.as_bytes()].concat())
}

/// The same query at a path that no profile knows.
fn elsewhere(request: &RequestBuf) -> RequestBuf {
    let query = request.target.iter().position(|byte| *byte == b'?').map_or(&[][..], |at| &request.target[at..]);
    with_target(request, [b"/elsewhere", query].concat())
}

/// At level 1 with the profile alone; at level 2 all together, since loading is what takes time.
fn check_profile(name: &str, sets: &mut [(u8, &mut Set, &mut Set)], tally: &mut Tally) {
    let known = known(name);
    let requests = requests(&known);
    let ids: BTreeSet<_> = requests.iter().map(|request| request.id.as_str()).collect();
    let unknown: Vec<_> = known.rest.keys().filter(|id| !ids.contains(id.as_str())).collect();
    tally.check(unknown.is_empty(), || format!("{name}: no requests {unknown:?}"));
    let unexplained = known.rest.values().any(|rest| rest.why.is_empty());
    tally.check(!unexplained, || format!("{name}: no reason"));
    for (level, set, plain) in sets {
        tally.check(set.loaded.warnings == plain.loaded.warnings, || {
            format!("{name} warns: {:#?}, not {:#?}", set.loaded.warnings, plain.loaded.warnings)
        });
        for request in &requests {
            let rest = known.rest.get(&request.id).and_then(|rest| rest.rules.get(level)).cloned().unwrap_or_default();
            let (found, before) = (set.detect(request), plain.detect(request));
            tally.lifted += before.len().saturating_sub(found.len());
            tally.check(found == rest, || {
                format!("{name}, level {level}: {}: expected {rest:?}, got {found:?}", request.id)
            });
        }
        if *level == 1 {
            check_neighbours(name, set, plain, &requests, tally);
            check_attacks(name, set, &known.protected, tally);
        }
    }
}

fn check_neighbours(name: &str, set: &mut Set, plain: &mut Set, requests: &[RequestBuf], tally: &mut Tally) {
    for request in requests {
        let found = set.detect(&with_attacks(request));
        for (attack, id) in ATTACKS {
            tally.check(found.contains(&id), || format!("{name}: {} hides {attack}: {found:?}", request.id));
        }
        let moved = elsewhere(request);
        let (found, expected) = (set.detect(&moved), plain.detect(&moved));
        tally.check(found == expected, || {
            format!("{name} acts elsewhere: {}: expected {expected:?}, got {found:?}", request.id)
        });
    }
}

fn check_attacks(name: &str, set: &mut Set, attacks: &[Attack], tally: &mut Tally) {
    tally.check(attacks.len() >= 4, || format!("{name}: only {} attacks", attacks.len()));
    for attack in attacks {
        let found = set.detect(&attack.send.request());
        let missed: Vec<_> = attack.log.iter().filter(|id| !found.contains(id)).collect();
        let says = !attack.log.is_empty() && missed.is_empty();
        tally.check(says, || format!("{name}: {}: {missed:?} missing among {found:?}", attack.about));
    }
}

#[test]
fn applications_are_quiet_and_their_neighbours_guarded() {
    let Some(crs) = shared::folder("crs/4.28.0") else { return };
    let profiles = profiles::all(&Files::default());
    let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let mut plain = LEVELS.map(|level| Set::load(&crs, level, &[]));
    let mut together = Set::load(&crs, 2, &names);
    check_ids(&plain[1].loaded, &together.loaded);
    let mut total = Tally::default();
    for name in names {
        let mut tally = Tally::default();
        let mut alone = Set::load(&crs, 1, &[name]);
        let [first, second] = &mut plain;
        let sets = &mut [(1, &mut alone, first), (2, &mut together, second)];
        check_profile(name, sets, &mut tally);
        println!("profile {name}: {} checks, {} matches fewer", tally.ran, tally.lifted);
        assert!(tally.lifted > 0, "{name} changes nothing");
        total.ran += tally.ran;
        total.failures.extend(tally.failures);
    }
    counted::say("exclusion profiles", total.ran, total.ran.saturating_sub(total.failures.len()), 0, 0);
    assert!(total.failures.is_empty(), "{} of {}\n{}", total.failures.len(), total.ran, total.failures.join("\n"));
    assert!(total.ran >= 1_700, "only {} checks", total.ran);
}

/// Neither the CRS, nor its plugins (9,500,000 to 9,999,999), nor rules of one's own (below 100,000).
fn check_ids(plain: &LoadedSet, together: &LoadedSet) {
    let of = |set: &LoadedSet| set.rules.rules().iter().map(|rule| rule.info.id.get()).collect::<BTreeSet<_>>();
    let own: BTreeSet<u32> = of(together).difference(&of(plain)).copied().collect();
    assert!(own.len() >= 40 && own.iter().all(|id| (5_280_000..5_281_000).contains(id)), "{own:?}");
}
