//! The verdict cache: an outcome is remembered together with everything that led to it.
//!
//! INVARIANT: a cached answer equals the answer an evaluation would have given. A cache belongs to one policy in one
//! generation; a reload starts with an empty one. Its key holds method, scheme, host and target byte for byte, and a
//! keyed 128-bit fingerprint of every other input that the rules can read. What no key can hold is left aside: secrets
//! (requests with a never-cacheable header are neither looked up nor stored) and headers that change on every request
//! (their values are screened: only where no rule matches on any of them does the verdict not depend on them).

mod key;

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::config::headers::{NEVER_CACHEABLE, canonical_byte, never_cacheable};
use crate::config::{CachePolicy, Mode, Policy};
use crate::engine::{Scratch, Screen};
use crate::model::{Body, Matched, Outcome, RuleMatch, Verdict};
use crate::ruleset::RuleSet;

use super::Call;
use super::counts::Counts;

use self::key::ByFingerprint;
pub(super) use self::key::FingerprintKey;

/// Headers that most requests carry, so that their names need not be taken apart each time.
const USUAL: [&str; 27] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "dnt",
    "host",
    "origin",
    "pragma",
    "priority",
    "range",
    "referer",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "te",
    "upgrade-insecure-requests",
    "user-agent",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-requested-with",
];

/// Longer targets are not cached: they are rare, and would push out many others.
const MAX_TARGET_BYTES: usize = 16 << 10;

/// Why a request was not looked up, or an outcome not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(super) enum Bypass {
    /// The policy does not enforce.
    Detection,
    /// A rule reads something that no key can hold.
    RuleSet,
    /// The method is not among those cached.
    Method,
    /// There is a body, or there may be one.
    Body,
    /// The request carries a header whose value must not enter the cache.
    NeverCacheable,
    /// A rule reads a volatile header as a whole.
    Unscreenable,
    /// A rule matches on the value of a volatile header.
    Screened,
    /// The target is too long.
    Target,
    /// The outcome depends on time, chance or state.
    NotDeterministic,
    /// Something went wrong while evaluating.
    Fault,
    /// A part of the request was not inspected.
    NotInspected,
}

impl Bypass {
    /// Every reason there is.
    pub(super) const ALL: [Self; 11] = [
        Self::Detection,
        Self::RuleSet,
        Self::Method,
        Self::Body,
        Self::NeverCacheable,
        Self::Unscreenable,
        Self::Screened,
        Self::Target,
        Self::NotDeterministic,
        Self::Fault,
        Self::NotInspected,
    ];

    /// The name in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Detection => "detection",
            Self::RuleSet => "rule_set",
            Self::Method => "method",
            Self::Body => "body",
            Self::NeverCacheable => "never_cacheable_header",
            Self::Unscreenable => "volatile_header_unscreenable",
            Self::Screened => "volatile_header_matched",
            Self::Target => "target_too_long",
            Self::NotDeterministic => "not_deterministic",
            Self::Fault => "fault",
            Self::NotInspected => "not_inspected",
        }
    }
}

/// What the cache has done so far.
#[derive(Default, Debug)]
pub(super) struct CacheCounts {
    pub(super) hits: Counts<1>,
    pub(super) misses: Counts<1>,
    pub(super) bypasses: Counts<{ Bypass::ALL.len() }>,
}

/// What the cache has for a request.
pub(super) enum Lookup {
    /// The outcome an evaluation would have.
    Hit(Arc<Outcome>),
    /// Nothing; the outcome may be stored in this place.
    Miss(Place),
    /// The cache is left aside.
    Bypass,
}

/// Where an outcome would be stored.
pub(super) struct Place {
    key: Vec<u8>,
    /// How each header of the request is treated.
    classes: Vec<Class>,
}

/// How a header's value is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    /// Part of the key.
    Stable,
    /// Screened on each request. The place of its screen, where the name is written as it is listed: rules may tell
    /// `x_request_id` from `x-request-id`.
    Volatile(Option<usize>),
    /// Never here.
    Never,
}

/// Outcomes by key.
type Remembered = moka::sync::Cache<Box<[u8]>, Arc<Outcome>, ByFingerprint>;

/// The verdict cache of one policy in one generation.
pub(super) struct Cache {
    outcomes: Remembered,
    fingerprints: FingerprintKey,
    classes: FxHashMap<Box<[u8]>, Class>,
    screens: Vec<Screen>,
    methods: Vec<Box<[u8]>>,
    /// A reason that holds for all requests.
    shut: Option<Bypass>,
    counts: Arc<CacheCounts>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("entries", &self.outcomes.entry_count()).finish_non_exhaustive()
    }
}

impl Cache {
    /// The cache of a policy with these rules; `None` when the policy wants none.
    pub(super) fn new(
        policy: &Policy,
        rules: &RuleSet,
        fingerprints: FingerprintKey,
        counts: Arc<CacheCounts>,
    ) -> Option<Self> {
        let settings = &policy.cache;
        let shut = match policy.mode {
            Mode::Detect | Mode::Off => Some(Bypass::Detection),
            Mode::Block => rules.footprint().uncacheable.is_some().then_some(Bypass::RuleSet),
        };
        settings.enabled.then(|| {
            let (classes, screens) = classes(settings, rules);
            Self {
                outcomes: remembered(settings.max_bytes, settings.ttl),
                fingerprints,
                classes,
                screens,
                methods: settings.methods.iter().map(|method| method.as_bytes().into()).collect(),
                shut,
                counts,
            }
        })
    }

    /// Looks a request up.
    pub(super) fn look_up(&self, call: &Call<'_>, rules: &RuleSet, scratch: &mut Scratch) -> Lookup {
        let classes = match self.candidate(call, rules) {
            Ok(classes) => classes,
            Err(reason) => {
                self.bypass(reason);
                return Lookup::Bypass;
            }
        };
        let by_value = classes.iter().map(|class| *class == Class::Stable);
        let key = self.fingerprints.key(call, rules.footprint(), by_value);
        let Some(outcome) = self.outcomes.get(&*key) else {
            self.counts.misses.add(0);
            return Lookup::Miss(Place { key, classes });
        };
        if self.volatile_matches(call, &classes, rules, scratch) {
            self.bypass(Bypass::Screened);
            return Lookup::Bypass;
        }
        self.counts.hits.add(0);
        Lookup::Hit(outcome)
    }

    /// Stores the outcome of a request that was not found.
    pub(super) fn store(
        &self,
        place: Place,
        call: &Call<'_>,
        rules: &RuleSet,
        outcome: &Arc<Outcome>,
        scratch: &mut Scratch,
    ) {
        let refused = unstorable(outcome).or_else(|| {
            let matches = self.volatile_matches(call, &place.classes, rules, scratch);
            matches.then_some(Bypass::Screened)
        });
        match refused {
            Some(reason) => self.bypass(reason),
            None => self.outcomes.insert(place.key.into(), Arc::clone(outcome)),
        }
    }

    /// Verdicts remembered and the memory they take, in bytes; a moment old.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.outcomes.entry_count(), self.outcomes.weighted_size())
    }

    /// How each header of this request is treated, if it may be looked up at all.
    fn candidate(&self, call: &Call<'_>, rules: &RuleSet) -> Result<Vec<Class>, Bypass> {
        let request = &call.request;
        if let Some(reason) = self.shut {
            return Err(reason);
        }
        if !self.methods.iter().any(|method| **method == *request.method) {
            return Err(Bypass::Method);
        }
        if !matches!(request.body, Body::Complete([])) {
            return Err(Bypass::Body);
        }
        if request.target.len() > MAX_TARGET_BYTES {
            return Err(Bypass::Target);
        }
        let mut classes = Vec::with_capacity(request.headers.len());
        for header in request.headers {
            classes.push(match self.class(header.name) {
                Class::Never => return Err(Bypass::NeverCacheable),
                Class::Volatile(_) if !rules.footprint().screenable(header.name) => return Err(Bypass::Unscreenable),
                class => class,
            });
        }
        Ok(classes)
    }

    fn volatile_matches(&self, call: &Call<'_>, classes: &[Class], rules: &RuleSet, scratch: &mut Scratch) -> bool {
        call.request.headers.iter().zip(classes).any(|(header, class)| match class {
            Class::Stable | Class::Never => false,
            Class::Volatile(place) => match place.and_then(|place| self.screens.get(place)) {
                Some(screen) => screen.matches(rules, header.value, scratch),
                None => Screen::new(rules, header.name).matches(rules, header.value, scratch),
            },
        })
    }

    fn class(&self, name: &[u8]) -> Class {
        // Names come in lower case from all proxies but for a few headers.
        if let Some(class) = self.classes.get(name) {
            return *class;
        }
        let mut buffer = [0; 64];
        let Some(short) = buffer.get_mut(..name.len()) else { return unlisted(name) };
        for (to, from) in short.iter_mut().zip(name) {
            *to = canonical_byte(*from);
        }
        match self.classes.get(&*short) {
            Some(Class::Volatile(_)) => Class::Volatile(None),
            Some(class) => *class,
            None => unlisted(name),
        }
    }

    fn bypass(&self, reason: Bypass) {
        self.counts.bypasses.add(reason as usize);
    }
}

/// A name that is not listed, or too long to be.
fn unlisted(name: &[u8]) -> Class {
    if never_cacheable(name) { Class::Never } else { Class::Stable }
}

/// The class of each name that is listed, and the screens of the volatile ones.
fn classes(settings: &CachePolicy, rules: &RuleSet) -> (FxHashMap<Box<[u8]>, Class>, Vec<Screen>) {
    let mut screens = Vec::new();
    let usual = USUAL.iter().map(|name| (*name, unlisted(name.as_bytes())));
    let volatile = settings.volatile_headers.iter().map(|name| {
        let screen = Screen::new(rules, name.as_bytes());
        let place = screens.iter().position(|known| *known == screen).unwrap_or_else(|| {
            screens.push(screen);
            screens.len() - 1
        });
        (name.as_str(), Class::Volatile(Some(place)))
    });
    let stable = settings.key_headers.iter().map(|name| (name.as_str(), Class::Stable));
    let never = settings.never_headers.iter().map(String::as_str).chain(NEVER_CACHEABLE.iter().copied());
    // Later ones win: nothing takes a name off the list of those that are never cached.
    let all = usual.chain(volatile).chain(stable).chain(never.map(|name| (name, Class::Never)));
    let classes = all.map(|(name, class)| (name.as_bytes().into(), class)).collect();
    (classes, screens)
}

/// Why an outcome must not be stored.
fn unstorable(outcome: &Outcome) -> Option<Bypass> {
    if !outcome.faults.is_empty() {
        Some(Bypass::Fault)
    } else if !outcome.not_inspected.is_empty() {
        Some(Bypass::NotInspected)
    } else if outcome.would.is_some() {
        Some(Bypass::Detection)
    } else if !outcome.deterministic {
        Some(Bypass::NotDeterministic)
    } else {
        None
    }
}

fn remembered(max_bytes: u64, ttl: Duration) -> Remembered {
    moka::sync::Cache::<Box<[u8]>, Arc<Outcome>>::builder()
        .max_capacity(max_bytes)
        .weigher(|key, outcome| u32::try_from(ENTRY_BYTES + key.len() + weight(outcome)).unwrap_or(u32::MAX))
        .time_to_live(ttl)
        .build_with_hasher(ByFingerprint::default())
}

/// What an entry costs beside key and outcome: the map's and the policy's bookkeeping.
const ENTRY_BYTES: usize = 256;

/// The memory that an outcome takes, in bytes.
fn weight(outcome: &Outcome) -> usize {
    let rules: usize = outcome.rules.iter().map(rule_weight).sum();
    let location = match &outcome.verdict {
        Verdict::Redirect { location, .. } => location.capacity(),
        Verdict::Allow | Verdict::Deny { .. } => 0,
    };
    size_of::<Outcome>() + rules + location
}

fn rule_weight(rule: &RuleMatch) -> usize {
    let one =
        |one: &Matched| size_of::<Matched>() + one.variable.capacity() + one.value.capacity() + one.data.capacity();
    let tags = rule.expanded_tags.iter().flatten().map(|tag| size_of::<String>() + tag.capacity()).sum::<usize>();
    let matches = rule.matches.iter().map(one).sum::<usize>();
    size_of::<RuleMatch>() + rule.msg.capacity() + rule.data.capacity() + tags + matches
}

#[cfg(test)]
mod tests;
