//! Which parts of a request a rule set can read: what the verdict cache has to tell requests apart by.

/// The parts of a request that the rules can read, beyond those every cache key holds (method, target, host).
#[derive(Clone, Default, Debug)]
pub struct Footprint {
    /// Some rule reads the client's address.
    pub remote_addr: bool,
    /// Some rule reads the client's port, which differs from connection to connection.
    pub remote_port: bool,
    /// Some rule reads the address or port the client connected to.
    pub server_addr: bool,
    /// Why nothing may be cached at all, when that is so.
    pub uncacheable: Option<String>,
    /// Lower-case header names that some rule reads in a way that a look at each value alone cannot decide (a macro, a
    /// parser), each with the reason, for `/status`.
    pub whole_headers: Vec<(Vec<u8>, String)>,
    /// A rule reads all headers at once (`FULL_REQUEST`): no header can be screened by its value alone.
    pub all_headers_whole: bool,
    /// The links (rule, link) that read members of `REQUEST_HEADERS` by value; what [`crate::engine::Screen`] runs.
    pub(crate) header_links: Vec<(super::index::RuleIndex, usize)>,
}

/// Headers that the engine itself interprets (cookies, body processor, host, credentials), so that their values matter
/// even when no rule matches on them.
const INTERPRETED: [&str; 5] = ["authorization", "content-length", "content-type", "cookie", "host"];

impl Footprint {
    /// Whether this header (any case) matters only through rules matching on its value, so that
    /// [`crate::engine::Screen`] decides.
    pub fn screenable(&self, name: &[u8]) -> bool {
        !self.all_headers_whole
            && !INTERPRETED.iter().any(|header| header.as_bytes().eq_ignore_ascii_case(name))
            && !self.whole_headers.iter().any(|(whole, _)| whole.eq_ignore_ascii_case(name))
    }
}
