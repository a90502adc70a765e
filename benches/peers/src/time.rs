//! CPU time of this thread, in rounds that take every engine in turn, so that a slow spell of the machine meets all.

#![expect(unsafe_code, reason = "the clock of the thread's CPU time has no safe interface in std")]

use std::ffi::{c_int, c_long};
use std::hint::black_box;

use portcullis::input::RequestBuf;
use portcullis::model::{Body, Header, Request};

use super::classes::Class;
use super::peers::Peer;

/// Measured rounds, after one that only warms up.
const ROUNDS: usize = 11;

/// A fast engine repeats a round until about this many seconds are spent, so that the clock's own cost does not show.
const SECONDS: f64 = 0.05;

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
}

/// Seconds of CPU time that this thread has used.
fn cpu_seconds() -> f64 {
    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct has the layout of `timespec` on 64-bit Linux and outlives the call.
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.seconds as f64 + time.nanoseconds as f64 / 1e9
}

/// Microseconds for each request: for each peer, a figure for each round.
pub fn measure(class: &Class, peers: &mut [Box<dyn Peer>]) -> Vec<Vec<f64>> {
    let mut measured = vec![Vec::new(); peers.len()];
    with_borrowed(&class.requests, |requests| {
        let repeats: Vec<usize> = peers.iter_mut().map(|peer| repeats(pass(peer.as_mut(), requests, 1))).collect();
        for round in 0..ROUNDS {
            for turn in 0..peers.len() {
                let at = (round + turn) % peers.len();
                let seconds = pass(peers[at].as_mut(), requests, repeats[at]);
                measured[at].push(seconds * 1e6 / (requests.len() * repeats[at]) as f64);
            }
        }
    });
    measured
}

fn repeats(seconds: f64) -> usize {
    ((SECONDS / seconds.max(1e-9)) as usize).clamp(1, 10_000)
}

fn pass(peer: &mut dyn Peer, requests: &[Request<'_>], repeats: usize) -> f64 {
    let start = cpu_seconds();
    for _ in 0..repeats {
        for request in requests {
            black_box(peer.judge(black_box(request)));
        }
    }
    cpu_seconds() - start
}

/// The requests as the engines take them, borrowed once, outside of what is measured.
pub fn with_borrowed<T>(requests: &[RequestBuf], read: impl FnOnce(&[Request<'_>]) -> T) -> T {
    let headers: Vec<Vec<Header<'_>>> = requests
        .iter()
        .map(|request| request.headers.iter().map(|(name, value)| Header { name, value }).collect())
        .collect();
    let borrowed: Vec<Request<'_>> = requests
        .iter()
        .zip(&headers)
        .map(|(request, headers)| Request {
            method: &request.method,
            target: &request.target,
            protocol: &request.protocol,
            headers,
            body: Body::Complete(&request.body),
            remote_addr: request.remote_addr,
            remote_port: request.remote_port,
            server_addr: request.server_addr,
            server_port: request.server_port,
        })
        .collect();
    read(&borrowed)
}
