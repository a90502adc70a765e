//! The thread that writes records, and the queue before it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use super::AuditCounts;
use crate::config::AuditTarget;
use crate::service::counts::Counts;

/// As many records wait for the thread; at some 2 KiB each this is a few megabytes.
const QUEUE: usize = 4096;
/// Whoever waits for a flush waits no longer than this.
const FLUSH_WAIT: Duration = Duration::from_secs(5);

const WRITTEN: usize = 0;
const OVERFLOWED: usize = 1;
const FAILED: usize = 2;

enum Message {
    Record(String),
    /// Open the file anew.
    Reopen,
    /// Say when everything before this is written.
    Flush(SyncSender<()>),
}

/// The near end of the queue. Dropping it ends the thread once everything is written.
#[derive(Debug)]
pub(in crate::service) struct Writer {
    queue: SyncSender<Message>,
    counts: Arc<Counts<3>>,
}

impl Writer {
    /// Opens the target and starts the thread.
    pub(super) fn start(target: &AuditTarget) -> io::Result<Self> {
        let output = Output::open(target)?;
        let (queue, records) = sync_channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let thread_counts = Arc::clone(&counts);
        let run = move || write_all(&records, output, &thread_counts);
        std::thread::Builder::new().name("audit".to_owned()).spawn(run)?;
        Ok(Self { queue, counts })
    }

    /// Hands a record over, one JSON object without a line end. Never waits: a full queue loses it, and that is counted.
    pub(in crate::service) fn write(&self, record: String) {
        match self.queue.try_send(Message::Record(record)) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.counts.add(OVERFLOWED),
            Err(TrySendError::Disconnected(_)) => self.counts.add(FAILED),
        }
    }

    pub(super) fn reopen(&self) {
        // A thread that is gone counts its records as failed; there is nobody else to tell.
        let _ = self.queue.send(Message::Reopen);
    }

    pub(super) fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.queue.send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_WAIT);
        }
    }

    pub(super) fn counts(&self) -> AuditCounts {
        AuditCounts {
            written: self.counts.get(WRITTEN),
            overflowed: self.counts.get(OVERFLOWED),
            failed: self.counts.get(FAILED),
        }
    }
}

fn write_all(records: &Receiver<Message>, mut output: Output, counts: &Counts<3>) {
    while let Ok(message) = records.recv() {
        match message {
            Message::Record(record) => {
                let written = output.line(&record);
                if let Err(error) = &written {
                    tracing::error!(%error, "an audit record could not be written");
                }
                counts.add(if written.is_ok() { WRITTEN } else { FAILED });
            }
            Message::Reopen => {
                if let Err(error) = output.reopen() {
                    tracing::error!(%error, "the audit log could not be opened anew; the old file stays in use");
                }
            }
            Message::Flush(done) => {
                // Records are given to the operating system one by one; here is nothing left but to answer.
                let _ = done.send(());
            }
        }
    }
}

enum Output {
    Stdout,
    File(PathBuf, File),
}

impl Output {
    fn open(target: &AuditTarget) -> io::Result<Self> {
        match target {
            AuditTarget::Stdout => Ok(Self::Stdout),
            AuditTarget::File(path) => Ok(Self::File(path.clone(), append(path)?)),
        }
    }

    fn reopen(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File(path, file) => {
                *file = append(path)?;
                Ok(())
            }
        }
    }

    /// One write for one record, so that several writers of a file do not mix their lines.
    fn line(&mut self, record: &str) -> io::Result<()> {
        let line = format!("{record}\n");
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(line.as_bytes())?;
                stdout.flush()
            }
            Self::File(_, file) => file.write_all(line.as_bytes()),
        }
    }
}

/// Records hold requests: the file is for its owner and group.
fn append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().create(true).append(true).mode(0o640).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_reach_the_file_and_a_moved_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("audit.log"), dir.path().join("audit.log.1"));
        let writer = Writer::start(&AuditTarget::File(path.clone())).unwrap();
        writer.write("{\"a\":1}".to_owned());
        writer.flush();
        std::fs::rename(&path, &moved).unwrap();
        writer.write("{\"a\":2}".to_owned());
        writer.reopen();
        writer.write("{\"a\":3}".to_owned());
        writer.flush();
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "{\"a\":1}\n{\"a\":2}\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":3}\n");
        assert_eq!(writer.counts(), AuditCounts { written: 3, overflowed: 0, failed: 0 });
    }

    #[test]
    fn a_full_queue_loses_and_counts() {
        let (queue, records) = sync_channel(2);
        let writer = Writer { queue, counts: Arc::default() };
        (0..5).for_each(|_| writer.write(String::new()));
        assert_eq!(writer.counts().overflowed, 3);
        drop(records);
        writer.write(String::new());
        assert_eq!(writer.counts().failed, 1);
    }

    #[test]
    fn a_full_disk_is_counted() {
        if !Path::new("/dev/full").exists() {
            eprintln!("SKIPPED: there is no /dev/full here");
            return;
        }
        let writer = Writer::start(&AuditTarget::File("/dev/full".into())).unwrap();
        writer.write("{}".to_owned());
        writer.flush();
        assert_eq!(writer.counts().failed, 1);
    }
}
