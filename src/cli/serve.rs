//! `portcullis serve`: the doors, the service behind them, and what the operating system asks for.
//!
//! Order of start: configuration, sockets (a taken port is known at once), the admin endpoint (not ready), rules, doors
//! (ready). Order of end: not ready, no new connections, calls under way finished, audit written, admin gone.

mod operator;
mod reload;
mod signals;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::Args;
use tokio::runtime::{Builder, Handle};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};

use self::operator::Operator;
use self::signals::{Signal, Signals};
use super::Exit;
use crate::config::{Address, Config, ProcessEnv};
use crate::service::{Service, Sources};
use crate::transport::admin::Admin;
use crate::transport::ext_authz::ExtAuthz;
use crate::transport::forward_auth::ForwardAuth;
use crate::transport::front::Front;
use crate::transport::listen::{Listener, Protocol};
use crate::transport::protocol::{Http1, Http2};
use crate::transport::workers::Workers;

/// How long calls under way may take to finish once a stop was asked for.
const GRACE: Duration = Duration::from_secs(10);

/// How long the thread that loaded rules stays before it ends. When a thread ends, the allocator (mimalloc) gives back to
/// the system what has been free for a second, which is its own delay: a thread that ended at once would come too early
/// for what loading has left behind, a third of all memory, and nobody else asks for it while there is little to do.
const LOADER_STAYS: Duration = Duration::from_millis(1500);

/// The arguments of `serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The rule set: crs, crs@VERSION, crs@DIR, baseline, or the path of a SecLang file
    #[arg(long, value_name = "SET")]
    rules: Option<String>,
    /// A configuration key, `tx.NAME` included; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl ServeArgs {
    /// Reads the configuration anew, at the start and on each reload.
    fn read(&self) -> Result<Config, Vec<String>> {
        let rules = self.rules.iter().map(|rules| format!("rules={rules}"));
        let sets: Vec<String> = self.set.iter().cloned().chain(rules).collect();
        Config::load(self.config.as_deref(), &ProcessEnv, &sets).map_err(|errors| errors.messages())
    }
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    log_to_stderr();
    let config = args.read().map_err(|messages| anyhow!("{}", messages.join("\n")))?;
    // Evaluations are CPU work of some ten microseconds on these threads. Envoy opens one connection per worker thread and
    // keeps it; such a thread of Envoy's spends more on a request than ours does on its check.
    let doors = Workers::start().context("cannot start threads")?;
    // Signals, admin and reloads live on this thread, so that they answer while the doors are busy.
    let mut main = Builder::new_current_thread();
    let main = main.enable_all().thread_keep_alive(LOADER_STAYS).build();
    let main = main.context("cannot start the event loop")?;
    main.block_on(serve(args.clone(), config, &doors))
}

/// Operational logs are JSON lines; people at a terminal get text. `RUST_LOG` chooses what is logged.
fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let logs = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).with_target(false);
    // A second subscriber in one process (tests) is no error.
    let _already_there =
        if std::io::stderr().is_terminal() { logs.try_init() } else { logs.json().flatten_event(true).try_init() };
}

/// Sockets that are bound and not yet served.
struct Bound {
    ext_authz: Option<Listener>,
    forward_auth: Option<Listener>,
}

async fn serve(args: ServeArgs, config: Config, doors: &Workers) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let bound = bind_doors(&config, doors).await?;
    let (draining, stop) = watch::channel(false);
    let operator = Arc::new(Operator::default());
    let (admin_stop, admin) = serve_admin(&config, &operator, stop.clone()).await?;

    let Some(service) = load(&args, &mut signals).await? else { return Ok(Exit::Fine) };
    operator.loaded(Arc::clone(&service));
    let health = HealthReporter::new();
    health.set_service_status("", ServingStatus::Serving).await;
    let served = open(bound, &config, &service, &health, &stop, doors);
    tracing::info!("ready");

    reload::until_stopped(&service, args.config.as_deref(), &mut signals).await;
    tracing::info!("stopping: calls under way are finished first");
    service.drain();
    health.set_service_status("", ServingStatus::NotServing).await;
    draining.send_replace(true);
    tokio::select! {
        () = finished(served) => {}
        () = signals.stop() => tracing::warn!("asked again: stopping at once"),
    }
    tokio::task::spawn_blocking(move || service.flush()).await.context("cannot write the last audit records")?;
    admin_stop.send_replace(true);
    finished(admin.into_iter().collect()).await;
    Ok(Exit::Fine)
}

/// Loads the rules, unless a stop is asked for first.
async fn load(args: &ServeArgs, signals: &mut Signals) -> anyhow::Result<Option<Arc<Service>>> {
    let args = args.clone();
    let sources = Sources { config: Box::new(move || args.read()), rules: Box::new(crate::sets::load) };
    let loading = tokio::task::spawn_blocking(move || Service::start(sources));
    let service = tokio::select! {
        loaded = loading => loaded.context("loading the rules failed")??,
        () = signals.stop() => return Ok(None),
    };
    Ok(Some(Arc::new(service)))
}

/// Binds the sockets of the doors, each on the worker that will accept from it.
async fn bind_doors(config: &Config, doors: &Workers) -> anyhow::Result<Bound> {
    Ok(Bound {
        ext_authz: bind_on(&doors.beginning_with(0), "ext_authz", config.listen.ext_authz.as_ref()).await?,
        forward_auth: bind_on(&doors.beginning_with(1), "forward_auth", config.listen.forward_auth.as_ref()).await?,
    })
}

async fn bind_on(
    workers: &[Handle],
    door: &'static str,
    address: Option<&Address>,
) -> anyhow::Result<Option<Listener>> {
    let _on_the_first = workers.first().map(Handle::enter);
    bind(door, address).await
}

async fn bind(door: &'static str, address: Option<&Address>) -> anyhow::Result<Option<Listener>> {
    let Some(address) = address else { return Ok(None) };
    let listener = Listener::bind(address);
    let listener = listener.await.with_context(|| format!("cannot listen for {door} on {}", written(address)))?;
    let address = written(&listener.address().context("a socket without an address")?);
    tracing::info!(door, address, "listening");
    Ok(Some(listener))
}

/// An address as the configuration writes it.
fn written(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    }
}

/// Serves the admin endpoint on this thread until the sender says stop.
async fn serve_admin(
    config: &Config,
    operator: &Arc<Operator>,
    draining: watch::Receiver<bool>,
) -> anyhow::Result<(watch::Sender<bool>, Option<JoinHandle<()>>)> {
    let (stopper, stop) = watch::channel(false);
    let listener = bind("admin", config.listen.admin.as_ref()).await?;
    let admin = Http1::new(Admin::new(Arc::clone(operator), draining));
    Ok((stopper, listener.map(|listener| tokio::spawn(listener.serve(admin, stop, Duration::from_secs(1))))))
}

/// Opens the doors.
fn open(
    bound: Bound,
    config: &Config,
    service: &Arc<Service>,
    health: &HealthReporter,
    stop: &watch::Receiver<bool>,
    doors: &Workers,
) -> Vec<JoinHandle<()>> {
    let front = Arc::new(Front::new(Arc::clone(service), config.trusted_proxies.clone()));
    let health = HealthServer::new(HealthService::from_health_reporter(health.clone()));
    let ext_authz = Http2(ExtAuthz::new(Arc::clone(&front), health));
    let forward_auth = Http1::new(ForwardAuth::new(front));
    let ext_authz = bound.ext_authz.map(|listener| serve_on(doors.beginning_with(0), listener, ext_authz, stop));
    let forward_auth =
        bound.forward_auth.map(|listener| serve_on(doors.beginning_with(1), listener, forward_auth, stop));
    ext_authz.into_iter().chain(forward_auth).flatten().collect()
}

fn serve_on<P: Protocol>(
    workers: Vec<Handle>,
    listener: Listener,
    protocol: P,
    stop: &watch::Receiver<bool>,
) -> Option<JoinHandle<()>> {
    let first = workers.first()?.clone();
    Some(first.spawn(listener.serve_on(workers, protocol, stop.clone(), GRACE)))
}

async fn finished(served: Vec<JoinHandle<()>>) {
    for served in served {
        if let Err(error) = served.await {
            tracing::error!(%error, "a listener ended badly");
        }
    }
}
