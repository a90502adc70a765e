//! The operators' door.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use portcullis::config::Address;
use portcullis::transport::admin::{Admin, Operate};
use portcullis::transport::listen::Listener;
use portcullis::transport::protocol::Http1;
use tokio::sync::watch;

use super::wire::{call, http};

#[derive(Debug, Default)]
struct State {
    loaded: AtomicBool,
    reloads: AtomicU32,
}

impl Operate for State {
    fn ready(&self) -> Result<(), String> {
        if self.loaded.load(Ordering::SeqCst) { Ok(()) } else { Err("loading".to_owned()) }
    }

    fn metrics(&self) -> String {
        "portcullis_up 1\n".to_owned()
    }

    fn status(&self) -> String {
        "{}".to_owned()
    }

    fn reload(&self) -> Result<String, String> {
        match self.reloads.fetch_add(1, Ordering::SeqCst) {
            0 => Ok("generation 2".to_owned()),
            _ => Err("rules.conf:1:1: no such directive".to_owned()),
        }
    }
}

#[tokio::test]
async fn the_endpoints() {
    let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".parse().unwrap())).await.unwrap();
    let address = listener.address().unwrap();
    let state = Arc::new(State::default());
    let (draining, drain) = watch::channel(false);
    let (_stop, stop) = watch::channel(false);
    let admin = Admin::new(Arc::clone(&state), drain);
    tokio::spawn(listener.serve(Http1::new(admin), stop, Duration::from_secs(1)));
    let ask = |line: &'static str| {
        let address = &address;
        async move {
            let answer = http(address, &call(line, &[(b"Host", b"localhost")], b"")).await;
            (answer.status, answer.body)
        }
    };
    let text = |status: u16, text: &str| (status, text.to_owned());
    assert_eq!(ask("GET /livez").await, text(200, "ok\n"));
    assert_eq!(ask("GET /readyz").await, text(503, "not ready: loading\n"));
    state.loaded.store(true, Ordering::SeqCst);
    assert_eq!(ask("GET /readyz").await, text(200, "ready\n"));
    assert_eq!(ask("HEAD /readyz").await, text(200, ""));
    assert_eq!(ask("GET /metrics").await, text(200, "portcullis_up 1\n"));
    assert_eq!(ask("GET /status").await, text(200, "{}"));
    assert_eq!(ask("GET /").await.0, 404);
    assert_eq!(ask("GET /reload").await.0, 405);
    assert_eq!(ask("POST /livez").await.0, 405);
    let from_a_page = call("POST /reload", &[(b"Origin", b"http://evil.example")], b"");
    assert_eq!(http(&address, &from_a_page).await.status, 405);
    assert_eq!(state.reloads.load(Ordering::SeqCst), 0);
    assert_eq!(ask("POST /reload").await, text(200, "generation 2\n"));
    assert_eq!(ask("POST /reload").await, text(422, "rules.conf:1:1: no such directive\n"));
    draining.send(true).unwrap();
    assert_eq!(ask("GET /readyz").await, text(503, "not ready: draining\n"));
    assert_eq!(ask("GET /livez").await, text(200, "ok\n"));
}
