//! What a check costs the server in CPU time, door by door, beside a server that allows everything.
//!
//! `cargo bench --bench transport [-- WORDS]`; rows whose name holds one of the words. With `--instructions=FOLDER`
//! callgrind counts instructions instead, and its files stay in the folder. All servers of a row run at the
//! same time and are asked in turn, a part of the checks each time, and the cheapest part counts: what else the machine
//! does can only add. The client runs in the same machine and takes its share of the cores.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a benchmark stops at the first surprise"
)]

mod load;
mod peer;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::load::{Call, Clients, Shape};
use self::server::{Door, Place, Server};

/// As in our binary, for the sake of the server that allows everything.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PARTS: u32 = 7;

/// Checks in each part.
const CHECKS: u32 = 5_000;

const BENIGN: &str = "/rest/products/search?q=apple%20juice";

/// Our own settings: what a column stands for.
const OURS: [(&str, &[&str]); 3] =
    [("off", &["mode=off"]), ("cached", &["cache.enabled=true"]), ("judged", &["cache.enabled=false"])];

/// A line of the table.
struct Row {
    door: Door,
    unix: bool,
    shape: Shape,
    body: bool,
}

impl Row {
    fn name(&self) -> String {
        let socket = if self.unix { "Unix" } else { "TCP" };
        let shape = match self.shape {
            Shape::Streams(connections, streams) => format!("gRPC {connections}x{streams}"),
            Shape::Reused(connections) => format!("HTTP {connections} kept"),
            Shape::Fresh(clients) => format!("HTTP {clients} fresh"),
        };
        format!("{shape} {socket}{}", if self.body { " 2 KB" } else { "" })
    }
}

fn rows() -> Vec<Row> {
    use Shape::{Fresh, Reused, Streams};
    let grpc = [(Streams(1, 1), false), (Streams(1, 50), false), (Streams(4, 50), false), (Streams(4, 50), true)];
    let grpc = grpc.map(|(shape, body)| (Door::Grpc, shape, body));
    let http = [Reused(1), Reused(32), Fresh(1), Fresh(32)].map(|shape| (Door::Http, shape, false));
    let all = grpc.into_iter().chain(http);
    all.flat_map(|(door, shape, body)| [false, true].map(|unix| Row { door, unix, shape, body })).collect()
}

/// Two kilobytes of an honest order.
fn json() -> String {
    let items: Vec<String> = (0..45).map(|id| format!(r#"{{"id":{id},"name":"apple juice","count":2}}"#)).collect();
    format!(r#"{{"order":[{}]}}"#, items.join(","))
}

/// A server, and how it did.
struct Runner {
    server: Server,
    clients: Clients,
    cheapest: Duration,
    fastest: Duration,
}

impl Runner {
    async fn new(server: Server, row: &Row) -> Self {
        let clients = Clients::connect(&server.place, row.shape).await;
        Self { server, clients, cheapest: Duration::MAX, fastest: Duration::MAX }
    }

    async fn part(&mut self, call: &Arc<Call>, checks: u32) {
        let (before, began) = (self.server.cpu(), Instant::now());
        self.clients.load(call, checks, true).await;
        self.fastest = self.fastest.min(began.elapsed());
        self.cheapest = self.cheapest.min(self.server.cpu().since(&before));
    }
}

async fn measure(row: &Row, folder: &Path, checks: u32) {
    let place = |name: &str| Place::free(row.unix.then(|| folder.join(format!("{}-{name}.sock", row.name()))));
    let mut runners = vec![Runner::new(Server::allow_all(row.door, place("allow-all"), None), row).await];
    for (name, settings) in OURS {
        runners.push(Runner::new(Server::portcullis(row.door, place(name), settings, None), row).await);
    }
    let body = if row.body { json() } else { String::new() };
    let call = Arc::new(Call::of(row.door, BENIGN, &body));
    for runner in &mut runners {
        runner.clients.load(&call, checks / 4, true).await;
    }
    for _ in 0..PARTS {
        for runner in &mut runners {
            runner.part(&call, checks).await;
        }
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(checks);
    let floor = micros(runners[0].cheapest);
    print!("{:<22} {floor:>9.1}", row.name());
    for runner in &runners[1..] {
        print!(" {:>9.1} {:>5.2}", micros(runner.cheapest), micros(runner.cheapest) / floor);
    }
    for runner in &runners[..2] {
        print!(" {:>9.0}", 1e6 / micros(runner.fastest));
    }
    println!(" {:>6}", runners[3].server.resident() >> 20);
}

async fn measure_all(words: &[String], checks: u32) {
    let folder = tempfile::tempdir().unwrap();
    println!("server CPU per check in microseconds, and as a multiple of allow-all; checks per second; MB resident");
    print!("{:<22} {:>9}", "", "allow-all");
    OURS.iter().for_each(|(name, _)| print!(" {name:>9}      "));
    println!(" {:>9} {:>9} {:>6}", "all/s", "off/s", "judged");
    for row in rows().iter().filter(|row| is_wanted(row, words)) {
        measure(row, folder.path(), checks).await;
    }
}

/// What callgrind counts of a server in so many checks, after as many that are not counted.
async fn count(row: &Row, server: Server, file: &Path, checks: u32) -> f64 {
    let call = Arc::new(Call::of(row.door, BENIGN, &if row.body { json() } else { String::new() }));
    let mut runner = Runner::new(server, row).await;
    runner.clients.load(&call, checks, true).await;
    runner.server.count(true);
    runner.clients.load(&call, checks, true).await;
    runner.server.count(false);
    server::counted(file) as f64 / f64::from(checks)
}

/// Instructions in place of time: exact however busy the machine is, but blind to what the kernel does.
async fn count_all(words: &[String], folder: &Path) {
    const CHECKS: u32 = 2_000;
    println!("server instructions per check, the kernel's left out, and as a multiple of allow-all");
    print!("{:<22} {:>9}", "", "allow-all");
    OURS.iter().for_each(|(name, _)| print!(" {name:>9}      "));
    println!();
    for row in rows().iter().filter(|row| is_wanted(row, words)) {
        let file = |name: &str| folder.join(format!("{}-{name}", row.name().replace(' ', "-")));
        let place = |name: &str| {
            let socket = file(name).with_extension("sock");
            // Servers are stopped with no time to take theirs away.
            let _not_there = std::fs::remove_file(&socket);
            Place::free(row.unix.then_some(socket))
        };
        let of_peer = file("allow-all");
        let peer = Server::allow_all(row.door, place("allow-all"), Some(&of_peer));
        let floor = count(row, peer, &of_peer, CHECKS).await;
        print!("{:<22} {floor:>9.0}", row.name());
        for (name, settings) in OURS {
            let file = file(name);
            let ours = Server::portcullis(row.door, place(name), settings, Some(&file));
            let ours = count(row, ours, &file, CHECKS).await;
            print!(" {ours:>9.0} {:>5.2}", ours / floor);
        }
        println!();
    }
}

fn is_wanted(row: &Row, words: &[String]) -> bool {
    words.is_empty() || words.iter().any(|word| row.name().contains(word.as_str()))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, door, place] = &arguments[..]
        && role == "allow-all"
    {
        return peer::run(if door == "grpc" { Door::Grpc } else { Door::Http }, &Place::read(place));
    }
    // `cargo bench` says `--bench`; without it this is a test of the benchmark.
    let checks = if arguments.iter().any(|argument| argument == "--bench") { CHECKS } else { 100 };
    let instructions =
        arguments.iter().find_map(|argument| argument.strip_prefix("--instructions=")).map(PathBuf::from);
    let words: Vec<String> = arguments.into_iter().filter(|argument| !argument.starts_with("--")).collect();
    let client = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match instructions {
        Some(folder) => client.block_on(count_all(&words, &folder)),
        None => client.block_on(measure_all(&words, checks)),
    }
}
