//! What the operating system asks for: SIGTERM and SIGINT to stop, SIGHUP to reload.

use std::io;

use tokio::signal::unix::{self, SignalKind, signal};

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    Stop,
    Reload,
}

/// The signals that mean something. As long as this lives they no longer end the process by themselves.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }

    /// Waits for a signal to stop.
    pub(super) async fn stop(&mut self) {
        while self.next().await != Signal::Stop {}
    }
}
