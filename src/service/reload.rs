//! Reload: everything is loaded aside and swapped in at once, or the last good generation stays.
//!
//! Does not know who asks (a signal, a changed file, the admin endpoint).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::snapshot::Snapshot;
use super::{Service, StartError};

/// How reloads have gone so far.
#[derive(Default, Debug)]
pub(super) struct History {
    record: Mutex<Record>,
    /// Held while a reload is under way, so that two of them do not race for the next generation.
    turn: Mutex<()>,
}

/// What is remembered of reloads.
#[derive(Clone, Default, Debug)]
pub(super) struct Record {
    pub(super) succeeded: u64,
    pub(super) failed: u64,
    /// Why the running generation is not the newest one asked for; empty when it is.
    pub(super) stale: Vec<String>,
}

impl History {
    pub(super) fn record(&self) -> Record {
        locked(&self.record).clone()
    }

    fn succeeded(&self) {
        let mut record = locked(&self.record);
        record.succeeded += 1;
        record.stale.clear();
    }

    fn failed(&self, messages: Vec<String>) {
        let mut record = locked(&self.record);
        record.failed += 1;
        record.stale = messages;
    }
}

/// A lock whose holder panicked still guards plain data that is whole.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// Reads configuration and rules anew and swaps them in; answers with the new generation. Takes as long as loading
    /// takes: not for an async worker. Requests under way finish with the rules they began with.
    ///
    /// # Errors
    /// Every message; the generation at work stays, and `/status` shows it as stale.
    pub fn reload(&self) -> Result<u64, StartError> {
        let _turn = locked(&self.history.turn);
        let generation = self.snapshot.load().generation + 1;
        let loaded = (self.parts.sources.config)().and_then(|config| Snapshot::load(config, generation, &self.parts));
        match loaded {
            Ok(snapshot) => {
                self.snapshot.store(Arc::new(snapshot));
                self.history.succeeded();
                tracing::info!(generation, "reloaded");
                Ok(generation)
            }
            Err(messages) => {
                tracing::error!(errors = ?messages, "reload failed; the last good rules stay");
                self.history.failed(messages.clone());
                Err(StartError { messages })
            }
        }
    }

    /// Opens the audit log's files anew, after a log rotation has moved them.
    pub fn reopen_logs(&self) {
        self.parts.audit.reopen();
    }

    /// The files that the running rules were read from, for [`Watch`].
    pub fn rule_files(&self) -> Vec<PathBuf> {
        let snapshot = self.snapshot.load();
        snapshot.policies.values().flat_map(|active| active.set.files.iter().cloned()).collect()
    }
}

/// Notices changed files by time of change and size. Asks the file system only when it is asked.
#[derive(Default, Debug)]
pub struct Watch {
    seen: BTreeMap<PathBuf, Option<(SystemTime, u64)>>,
}

impl Watch {
    /// Whether any of these files has changed since the last call; files seen for the first time have not.
    pub fn changed(&mut self, files: &[PathBuf]) -> bool {
        let now: BTreeMap<_, _> = files.iter().map(|file| (file.clone(), state(file))).collect();
        let changed = now.iter().any(|(file, state)| self.seen.get(file).is_some_and(|before| before != state));
        self.seen = now;
        changed
    }
}

fn state(file: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watch_sees_change_removal_and_return() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.conf");
        let files = [file.clone()];
        let mut watch = Watch::default();
        std::fs::write(&file, "1").unwrap();
        assert!(!watch.changed(&files), "first sight");
        assert!(!watch.changed(&files));
        std::fs::write(&file, "12").unwrap();
        assert!(watch.changed(&files), "size");
        std::fs::remove_file(&file).unwrap();
        assert!(watch.changed(&files), "gone");
        assert!(!watch.changed(&files));
        std::fs::write(&file, "12").unwrap();
        assert!(watch.changed(&files), "back");
    }
}
