//! When to load everything anew: on SIGHUP, and when a file has changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::{Signal, Signals};
use crate::service::{Service, Watch};

/// How often files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Reloads as asked for, until a stop is asked for.
pub(super) async fn until_stopped(service: &Arc<Service>, config: Option<&Path>, signals: &mut Signals) {
    let mut looks = tokio::time::interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut watch = Watch::default();
    loop {
        tokio::select! {
            signal = signals.next() => match signal {
                Signal::Stop => return,
                // Log files are opened anew even when the reload fails: whoever rotated them relies on it.
                Signal::Reload => blocking(service, |service| { service.reopen_logs(); service.reload() }).await,
            },
            _ = looks.tick() => if changed(&mut watch, service, config) {
                tracing::info!("a file has changed");
                blocking(service, |service| service.reload()).await;
            }
        }
    }
}

fn changed(watch: &mut Watch, service: &Service, config: Option<&Path>) -> bool {
    let mut files = service.rule_files();
    files.extend(config.map(PathBuf::from));
    watch.changed(&files)
}

/// Loading takes its time and must not hold up what else this thread does. The service logs how it went.
async fn blocking<T: Send + 'static>(service: &Arc<Service>, work: impl FnOnce(&Service) -> T + Send + 'static) {
    let service = Arc::clone(service);
    if let Err(error) = tokio::task::spawn_blocking(move || work(&service)).await {
        tracing::error!(%error, "a reload panicked; the last good rules stay");
    }
}
