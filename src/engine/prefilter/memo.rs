//! What was found for values that turn up again and again: names, pages, user agents.
//!
//! A value is compared whole before what is known of it is believed. Values of cookies, of bodies, and of headers that may
//! hold a secret never enter: of headers only those named here do.

use std::hash::Hasher as _;

use rustc_hash::FxHasher;

use crate::ruleset::prefilter::NodeIndex;
use crate::vocab::variables::Variable;

/// Places; a value drives out the one in its place.
const PLACES: usize = 4_096;

/// Shorter values cost less to look at than to compare.
const SHORTEST: usize = 4;

/// Longer values are not kept, so that the memory is bounded: together with [`PLACES`], 2 MiB for a worker.
const LONGEST: usize = 512;

/// Headers whose values are kept: what browsers send with every request, and what tells no more of who sends it than the
/// URI, which is kept as well.
const HEADERS: [&str; 23] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-type",
    "dnt",
    "host",
    "origin",
    "pragma",
    "priority",
    "referer",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "upgrade-insecure-requests",
    "user-agent",
    "x-requested-with",
];

/// The values kept by a worker.
#[derive(Default, Debug)]
pub(crate) struct Memo {
    kept: Vec<Kept>,
    off: bool,
}

#[derive(Clone, Default, Debug)]
struct Kept {
    /// The rule set and guards, and the kind of value.
    about: Option<((u64, u64), NodeIndex)>,
    value: Vec<u8>,
    found: Vec<u64>,
    /// The work it took.
    work: usize,
}

fn is_kept(variable: Variable, key: &[u8], value: &[u8]) -> bool {
    let harmless = match variable {
        Variable::RequestHeaders => HEADERS.iter().any(|name| name.as_bytes().eq_ignore_ascii_case(key)),
        Variable::RequestCookies
        | Variable::ArgsPost
        | Variable::Files
        | Variable::MultipartPartHeaders
        | Variable::RequestBody
        | Variable::Xml => false,
        _ => true,
    };
    harmless && (SHORTEST..=LONGEST).contains(&value.len())
}

impl Memo {
    /// A memo that keeps nothing.
    pub(crate) const OFF: Self = Self { kept: Vec::new(), off: true };

    /// Whether what is found for a value may be kept.
    pub(super) fn takes(&self, variable: Variable, key: &[u8], value: &[u8]) -> bool {
        !self.off && is_kept(variable, key, value)
    }

    /// Adds what is known of a value to `found`; returns the work it took to find out, if anything is known.
    pub(super) fn recall(&self, table: (u64, u64), kind: NodeIndex, value: &[u8], found: &mut [u64]) -> Option<usize> {
        let kept = self.kept.get(place(kind, value))?;
        if kept.about != Some((table, kind)) || kept.value != value {
            return None;
        }
        found.iter_mut().zip(&kept.found).for_each(|(word, more)| *word |= more);
        Some(kept.work)
    }

    /// Keeps what was found for a value.
    pub(super) fn keep(&mut self, table: (u64, u64), kind: NodeIndex, value: &[u8], found: &[u64], work: usize) {
        if self.kept.is_empty() {
            self.kept.resize(PLACES, Kept::default());
        }
        if let Some(kept) = self.kept.get_mut(place(kind, value)) {
            kept.about = Some((table, kind));
            kept.value.clear();
            kept.value.extend_from_slice(value);
            kept.found.clear();
            kept.found.extend_from_slice(found);
            kept.work = work;
        }
    }
}

/// Values that are made to meet in one place only drive each other out.
fn place(kind: NodeIndex, value: &[u8]) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write_u32(kind.0);
    hasher.write(value);
    (hasher.finish() >> 20) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_value_of_the_same_kind_is_recalled() {
        let mut memo = Memo::default();
        let kind = NodeIndex(1);
        assert_eq!(memo.recall((1, 0), kind, b"some value", &mut [0]), None);
        memo.keep((1, 0), kind, b"some value", &[6], 30);
        let mut found = [1];
        assert_eq!(memo.recall((1, 0), kind, b"some value", &mut found), Some(30));
        assert_eq!(found, [7]);
        for (table, kind, value) in
            [((2, 0), 1, "some value"), ((1, 1), 1, "some value"), ((1, 0), 2, "some value"), ((1, 0), 1, "some valuE")]
        {
            assert_eq!(memo.recall(table, NodeIndex(kind), value.as_bytes(), &mut found), None, "{value}");
        }
    }

    #[test]
    fn secrets_are_not_kept() {
        let value = b"0123456789abcdef";
        for (variable, key, expected) in [
            (Variable::RequestHeaders, "User-Agent", true),
            (Variable::RequestHeaders, "Referer", true),
            (Variable::RequestHeaders, "Authorization", false),
            (Variable::RequestHeaders, "X-Anything", false),
            (Variable::RequestCookies, "session", false),
            (Variable::RequestCookiesNames, "session", true),
            (Variable::ArgsGet, "q", true),
            (Variable::ArgsPost, "password", false),
        ] {
            assert_eq!(is_kept(variable, key.as_bytes(), value), expected, "{variable:?} {key}");
        }
        assert!(!is_kept(Variable::ArgsGet, b"q", b"abc"));
        assert!(!is_kept(Variable::ArgsGet, b"q", &[b'a'; 600]));
    }
}
