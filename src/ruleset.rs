//! The compiled, immutable rules. (Skeleton: compile and engine fill it in.)

/// A compiled rule set: immutable, shared by all workers.
#[derive(Debug)]
pub struct RuleSet {
    footprint: Footprint,
}

impl RuleSet {
    /// Which parts of a request the rules can read.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }
}

/// Which parts of a request the rules can read, beyond those every cache key holds (method, target, host).
#[derive(Clone, Default, Debug)]
pub struct Footprint {
    /// Some rule reads `REMOTE_ADDR` or another client address variable.
    pub remote_addr: bool,
    /// Some rule reads something that no key can hold at all (persistent state); nothing may be cached.
    pub uncacheable: Option<String>,
    /// Lower-case header names that some rule reads in a way a look at each value alone cannot decide (a macro, a
    /// length, `FULL_REQUEST`), each with the reason for `/status`.
    pub whole_headers: Vec<(Vec<u8>, String)>,
    /// A rule reads all headers at once (`FULL_REQUEST`): no header can be screened by its value alone.
    pub all_headers_whole: bool,
}

impl Footprint {
    /// Whether the rules read this header (any case) only value by value, so that [`crate::engine::screen`] decides.
    pub fn screenable(&self, name: &[u8]) -> bool {
        !self.all_headers_whole && !self.whole_headers.iter().any(|(whole, _)| whole.eq_ignore_ascii_case(name))
    }
}
