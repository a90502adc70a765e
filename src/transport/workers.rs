//! The threads that serve connections, each with a scheduler of its own.
//!
//! Knows no protocol. A connection stays where it was put: nothing is handed from core to core while a call is answered,
//! which is most of what a scheduler over all cores costs (`benches/README.md` has the figures). In return the threads
//! must be loaded evenly, so each new connection goes to the one with the fewest.

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;

/// Threads that judge what is too large to be judged where it was read, for each worker.
const HELPERS: usize = 2;

/// The workers of a process; they end when this is dropped, whatever they are at.
#[derive(Debug)]
pub struct Workers {
    handles: Vec<Handle>,
    _end: watch::Sender<()>,
}

impl Workers {
    /// Starts one worker for each core this process may use.
    ///
    /// # Errors
    /// A thread or its event loop cannot be made.
    pub fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let (end, ended) = watch::channel(());
        let handles = (0..count).map(|number| start(number, ended.clone())).collect::<io::Result<_>>()?;
        Ok(Self { handles, _end: end })
    }

    /// All of them, beginning with the one that has this number, or a number that is the same modulo their count. Who
    /// listens should live there; different listeners on different ones.
    pub fn beginning_with(&self, number: usize) -> Vec<Handle> {
        let mut handles = self.handles.clone();
        handles.rotate_left(number % self.handles.len().max(1));
        handles
    }
}

fn start(number: usize, mut ended: watch::Receiver<()>) -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(HELPERS).build()?;
    let handle = runtime.handle().clone();
    let run = move || {
        // Nothing is ever sent: the sender goes.
        let _gone = runtime.block_on(ended.changed());
        runtime.shutdown_background();
    };
    thread::Builder::new().name(format!("door-{number}")).spawn(run)?;
    Ok(handle)
}

/// How many connections of one listener each worker has.
#[derive(Debug)]
pub(super) struct Desks(Vec<Desk>);

#[derive(Debug)]
struct Desk {
    worker: Handle,
    taken: Arc<AtomicUsize>,
}

/// A connection's place at a worker; dropping it makes room.
#[derive(Debug)]
pub(super) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a connection is to be served.
#[derive(Debug)]
pub(super) enum Worker<'w> {
    /// On this thread.
    Here,
    /// On another.
    There(&'w Handle),
}

impl Desks {
    /// Nobody is seated yet. The first worker is the one that seats; without any there is only this thread.
    pub(super) fn new(workers: Vec<Handle>) -> Self {
        Self(workers.into_iter().map(|worker| Desk { worker, taken: Arc::default() }).collect())
    }

    /// A seat at the worker that has the fewest taken; of equals the first, which costs no walk to another thread.
    pub(super) fn seat(&self) -> (Worker<'_>, Seat) {
        let fewest = self.0.iter().enumerate().min_by_key(|(_, desk)| desk.taken.load(Ordering::Relaxed));
        let Some((place, desk)) = fewest else { return (Worker::Here, Seat(Arc::new(AtomicUsize::new(1)))) };
        desk.taken.fetch_add(1, Ordering::Relaxed);
        let worker = if place == 0 { Worker::Here } else { Worker::There(&desk.worker) };
        (worker, Seat(Arc::clone(&desk.taken)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Runtime;

    use super::*;

    fn place(desks: &Desks, worker: &Worker<'_>) -> usize {
        match worker {
            Worker::Here => 0,
            Worker::There(handle) => desks.0.iter().position(|desk| desk.worker.id() == handle.id()).unwrap(),
        }
    }

    #[test]
    fn connections_are_seated_evenly_and_at_home_first() {
        let runtimes: Vec<Runtime> = (0..3).map(|_| Builder::new_current_thread().build().unwrap()).collect();
        let desks = Desks::new(runtimes.iter().map(|runtime| runtime.handle().clone()).collect());
        let mut seats = Vec::new();
        for expected in [0, 1, 2, 0, 1, 2, 0] {
            let (worker, seat) = desks.seat();
            assert_eq!(place(&desks, &worker), expected);
            seats.push(seat);
        }
        drop(seats.remove(1));
        assert_eq!(place(&desks, &desks.seat().0), 1, "the seat that was given back");
        drop(seats);
        assert_eq!(place(&desks, &desks.seat().0), 0);
        assert_eq!(place(&desks, &desks.seat().0), 0, "seats that nobody holds are free");
    }

    #[test]
    fn work_is_done_on_workers_until_they_are_dropped() {
        let workers = Workers::start().unwrap();
        let here = thread::current().id();
        let (answer, answers) = std::sync::mpsc::channel();
        let all = workers.beginning_with(1);
        for handle in &all {
            let answer = answer.clone();
            handle.spawn(async move { answer.send(thread::current().id()).unwrap() });
        }
        drop(answer);
        let mut threads: Vec<_> = answers.iter().collect();
        assert_eq!(threads.len(), all.len());
        threads.dedup();
        assert_eq!(threads.len(), all.len(), "each on its own");
        assert!(!threads.contains(&here));
    }
}
