//! Do the engines say the same? A ratio between engines that do different work would mean nothing.

use super::corpora::Class;
use super::peers::{Peer, Said};

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
    /// On so many of them both log the same scoring rules.
    pub rules: usize,
}

impl Agreement {
    /// There is too little of it for a ratio.
    pub fn is_poor(&self) -> bool {
        (self.requests - self.verdicts) * SHARE > self.requests
    }
}

/// Rules that count: those that score. Sums follow from them, and those that skip a level (`…011` to `…018`) are logged by
/// none, but zentinel-modsec names every rule that matched.
fn scoring(said: &Said) -> impl Iterator<Item = &u32> {
    said.rules.iter().filter(|rule| (911_000..945_000).contains(*rule) && !(11..=18).contains(&(*rule % 1000)))
}

/// Keeps the requests that all engines judge alike, and says how far each agrees with ours.
pub fn check(class: Class, peers: &mut [Box<dyn Peer>]) -> (Class, Vec<Agreement>) {
    let said: Vec<Vec<Said>> = class
        .requests
        .iter()
        .map(|request| peers.iter_mut().map(|peer| request.with_request(|request| peer.explain(request))).collect())
        .collect();
    let agreement = |(at, peer): (usize, &Box<dyn Peer>)| Agreement {
        class: class.name,
        engine: peer.name(),
        requests: said.len(),
        verdicts: said.iter().filter(|said| said[at].denied == said[0].denied).count(),
        rules: said.iter().filter(|said| scoring(&said[at]).eq(scoring(&said[0]))).count(),
    };
    let agreements: Vec<Agreement> = peers.iter().enumerate().map(agreement).collect();
    let is_kept = |said: &[Said]| said.iter().all(|one| one.denied == said[0].denied);
    let kept = class.requests.iter().zip(&said).filter(|(_, said)| is_kept(said)).map(|(request, _)| request.clone());
    (Class { name: class.name, requests: kept.collect() }, agreements.into_iter().skip(1).collect())
}
