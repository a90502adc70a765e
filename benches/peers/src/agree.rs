//! Do the engines say the same? A ratio between engines that do different work would mean nothing.

use super::corpora::Class;
use super::peers::{Peer, Said, ZENTINEL};

/// Of so many requests at most one may be judged otherwise by libmodsecurity.
const SHARE: usize = 50;

/// How far another engine agrees with ours about a class.
#[derive(Debug)]
pub struct Agreement {
    /// The class.
    pub class: &'static str,
    /// The other engine.
    pub engine: &'static str,
    /// How many requests were judged.
    pub requests: usize,
    /// On so many of them both refuse, or both do not.
    pub verdicts: usize,
    /// On so many of them both log the same scoring rules. zentinel-modsec does not say what it logs, but every rule that
    /// matched, the first ones of chains that did not match as well.
    pub rules: Option<usize>,
}

impl Agreement {
    /// There is too little of it for a ratio.
    pub fn is_poor(&self) -> bool {
        (self.requests - self.verdicts) * SHARE > self.requests
    }
}

/// Rules that count: those that score. `nolog` rules are logged by none, and sums follow from the others.
fn scoring(said: &Said) -> impl Iterator<Item = &u32> {
    said.rules.iter().filter(|rule| (911_000..945_000).contains(*rule))
}

/// Keeps the requests that all engines judge alike, and says how far each agrees with ours.
pub fn check(class: Class, peers: &mut [Box<dyn Peer>]) -> (Class, Vec<Agreement>) {
    let said: Vec<Vec<Said>> = class
        .requests
        .iter()
        .map(|request| peers.iter_mut().map(|peer| request.with_request(|request| peer.explain(request))).collect())
        .collect();
    let agreement = |(at, peer): (usize, &dyn Peer)| Agreement {
        class: class.name,
        engine: peer.name(),
        requests: said.len(),
        verdicts: said.iter().filter(|said| said[at].denied == said[0].denied).count(),
        rules: (peer.name() != ZENTINEL)
            .then(|| said.iter().filter(|said| scoring(&said[at]).eq(scoring(&said[0]))).count()),
    };
    let agreements: Vec<Agreement> = peers.iter().map(AsRef::as_ref).enumerate().map(agreement).collect();
    let is_kept = |said: &[Said]| said.iter().all(|one| one.denied == said[0].denied);
    let kept = class.requests.iter().zip(&said).filter(|(_, said)| is_kept(said)).map(|(request, _)| request.clone());
    (Class { name: class.name, requests: kept.collect() }, agreements.into_iter().skip(1).collect())
}
