//! Do the engines say the same? A ratio between engines that do different work would mean nothing.

use super::classes::Class;
use super::peers::{Peer, Said};

/// Rules that count: those that score. `nolog` rules are logged by none, and sums follow from the others.
fn scoring(said: &Said) -> impl Iterator<Item = &u32> {
    said.rules.iter().filter(|rule| (911_000..945_000).contains(*rule))
}

/// Keeps the requests on which libmodsecurity and we agree whether to refuse, and prints how far all agree.
///
/// # Errors
/// The two disagree on more than one request in fifty.
pub fn check(class: Class, peers: &mut [Box<dyn Peer>]) -> Result<Class, String> {
    let all = class.requests.len();
    let mut kept = Vec::new();
    let mut same = vec![(0, 0); peers.len()];
    for request in class.requests {
        let said: Vec<Said> =
            peers.iter_mut().map(|peer| request.with_request(|request| peer.explain(request))).collect();
        for (count, other) in same.iter_mut().zip(&said) {
            count.0 += usize::from(other.denied == said[0].denied);
            count.1 += usize::from(scoring(other).eq(scoring(&said[0])));
        }
        let is_kept = peers
            .iter()
            .zip(&said)
            .all(|(peer, other)| peer.name() != "libmodsecurity" || other.denied == said[0].denied);
        if is_kept {
            kept.push(request);
        }
    }
    for (peer, (verdicts, rules)) in peers.iter().zip(&same).skip(1) {
        println!(
            "{}: {all} requests: {} gives the same verdict on {verdicts}, the same rule ids on {rules}",
            class.name,
            peer.name()
        );
    }
    if (all - kept.len()) * 50 > all {
        return Err(format!("{}: too many different verdicts for a comparison", class.name));
    }
    Ok(Class { name: class.name, requests: kept })
}
