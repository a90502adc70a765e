//! CPU time of this thread, in rounds that take every engine in turn, so that a slow spell of the machine meets all.

use std::hint::black_box;

use portcullis::model::Request;

use super::clock::cpu_time;
use super::corpora::{Class, with_borrowed};
use super::peers::Peer;

/// Turns of each engine.
const ROUNDS: usize = 11;

/// A fast engine repeats its requests until about this many seconds are spent: as long as a slow one takes for a pass, so
/// that the same spells of the machine are in the figures of both.
const SECONDS: f64 = 0.2;

/// Microseconds for each request: for each peer, a figure for each round.
///
/// The first pass of each turn is not measured: the engine before has driven this one's tables out of the processor's
/// caches, and no engine shares them in earnest.
pub fn measure(class: &Class, peers: &mut [Box<dyn Peer>]) -> Vec<Vec<f64>> {
    let mut measured = vec![Vec::new(); peers.len()];
    with_borrowed(&class.requests, |requests| {
        let repeats: Vec<usize> = peers.iter_mut().map(|peer| repeats(peer.as_mut(), requests)).collect();
        for round in 0..ROUNDS {
            for turn in 0..peers.len() {
                let at = (round + turn) % peers.len();
                pass(peers[at].as_mut(), requests, 1);
                let seconds = pass(peers[at].as_mut(), requests, repeats[at]);
                measured[at].push(seconds * 1e6 / (requests.len() * repeats[at]) as f64);
            }
        }
    });
    measured
}

/// How many passes a turn has; the second pass tells, the first one warms up.
fn repeats(peer: &mut dyn Peer, requests: &[Request<'_>]) -> usize {
    pass(peer, requests, 1);
    let seconds = pass(peer, requests, 1);
    ((SECONDS / seconds.max(1e-9)) as usize).clamp(1, 100_000)
}

fn pass(peer: &mut dyn Peer, requests: &[Request<'_>], repeats: usize) -> f64 {
    let start = cpu_time();
    for _ in 0..repeats {
        for request in requests {
            black_box(peer.judge(black_box(request)));
        }
    }
    (cpu_time() - start).as_secs_f64()
}
