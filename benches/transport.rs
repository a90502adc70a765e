//! Requests per second through the real binary's `ext_authz` door, and the CPU time the server spends on each check.
//!
//! `cargo bench --bench transport`. Starts the server on a free loopback port for each row of the table, sends a fixed
//! number of checks and stops it again. The client runs in the same machine and takes its share of the cores.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a benchmark stops at the first surprise")]

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use envoy_types::pb::envoy::config::core::v3::{HeaderMap, HeaderValue};
use envoy_types::pb::envoy::service::auth::v3::attribute_context::{HttpRequest, Request};
use envoy_types::pb::envoy::service::auth::v3::authorization_client::AuthorizationClient;
use envoy_types::pb::envoy::service::auth::v3::{AttributeContext, CheckRequest};
use tonic::transport::{Channel, Endpoint};

const CHECKS: u32 = 20_000;
const WARM_UP: u32 = 2_000;

/// Stops the server whatever happens.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(settings: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_portcullis"));
        command.arg("serve");
        let listen =
            [format!("listen.ext_authz=127.0.0.1:{port}"), "listen.forward_auth=off".into(), "listen.admin=off".into()];
        for setting in listen.iter().map(String::as_str).chain(settings.iter().copied()) {
            command.args(["--set", setting]);
        }
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, port }
    }

    /// User and system time so far.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let fields: Vec<u64> = after_name.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
        // Fields 14 and 15 of proc(5), in ticks of 10 ms.
        Duration::from_millis((fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0)) * 10)
    }

    async fn connect(&self) -> AuthorizationClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", self.port)).unwrap();
        for _ in 0..200 {
            if let Ok(channel) = endpoint.connect().await {
                return AuthorizationClient::new(channel);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server did not come up within ten seconds")
    }
}

fn check(path: &str, number: u32) -> CheckRequest {
    let header = |(key, value): (&str, String)| HeaderValue {
        key: key.to_owned(),
        raw_value: value.into_bytes(),
        ..HeaderValue::default()
    };
    let headers = [
        (":authority", "shop.example.com".to_owned()),
        (":path", path.to_owned()),
        (":method", "GET".to_owned()),
        ("user-agent", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36".to_owned()),
        ("accept", "text/html,application/xhtml+xml".to_owned()),
        ("accept-language", "en-GB,en;q=0.9".to_owned()),
        ("x-forwarded-proto", "http".to_owned()),
        ("x-request-id", format!("5d1a6b0e-3c8f-4b52-9f0e-{number:012}")),
    ];
    let http = HttpRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        host: "shop.example.com".to_owned(),
        scheme: "http".to_owned(),
        protocol: "HTTP/1.1".to_owned(),
        header_map: Some(HeaderMap { headers: headers.map(header).to_vec() }),
        ..HttpRequest::default()
    };
    let request = Request { http: Some(http), ..Request::default() };
    CheckRequest { attributes: Some(AttributeContext { request: Some(request), ..AttributeContext::default() }) }
}

/// Sends `count` checks over `streams` at once on each connection; returns how long it took. Every answer is checked.
async fn load(
    clients: &[AuthorizationClient<Channel>],
    streams: u32,
    count: u32,
    path: &'static str,
    allowed: bool,
) -> Duration {
    let tasks = u32::try_from(clients.len()).unwrap() * streams;
    let started = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for (task, client) in (0..tasks).zip(clients.iter().cycle()) {
        let mut client = client.clone();
        running.spawn(async move {
            for number in (task..count).step_by(tasks as usize) {
                let answer = client.check(check(path, number)).await.unwrap().into_inner();
                assert_eq!(answer.status.map(|status| status.code == 0), Some(allowed));
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
    started.elapsed()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!("{:<44} {:>10} {:>14}", "ext_authz, 4 connections x 16 streams", "checks/s", "CPU us/check");
    let benign = "/rest/products/search?q=apple%20juice";
    let rows: [(&str, &[&str], &str, bool); 4] = [
        ("allowed, evaluation off (mode=off)", &["mode=off"], benign, true),
        ("allowed, cache off", &["cache.enabled=false", "audit.when=off"], benign, true),
        ("allowed, cache on", &["cache.enabled=true", "audit.when=off"], benign, true),
        (
            "denied, cache off",
            &["cache.enabled=false", "audit.when=off"],
            "/rest/products/search?q=%27%20OR%201=1--",
            false,
        ),
    ];
    for (name, settings, path, allowed) in rows {
        let server = Server::start(settings);
        let mut clients = Vec::new();
        for _ in 0..4 {
            clients.push(server.connect().await);
        }
        load(&clients, 16, WARM_UP, path, allowed).await;
        let before = server.cpu();
        let took = load(&clients, 16, CHECKS, path, allowed).await;
        let cpu = server.cpu() - before;
        let rate = f64::from(CHECKS) / took.as_secs_f64();
        println!("{name:<44} {rate:>10.0} {:>14.1}", cpu.as_secs_f64() * 1e6 / f64::from(CHECKS));
    }
}
