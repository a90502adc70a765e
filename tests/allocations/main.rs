//! An ordinary request takes no memory from the allocator, once the scratch has grown to what such requests need.
//!
//! Counted with an allocator of our own, one test in a process of its own. With the CRS of `../shared/crs`; where it is
//! absent with the baseline rules, said loudly.

#![allow(unsafe_code, reason = "an allocator cannot be written without; it hands everything on to the system's")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use portcullis::config::Policy;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::input::RequestBuf;
use portcullis::input::jsonl::parse_line;
use portcullis::ruleset::RuleSet;
use portcullis::sets;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator with the same arguments; the count is a plain number of the thread.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounds over all requests until everything has grown: lazy automata, plans, buffers.
const WARM_UP: usize = 30;

fn rules(level: u8) -> RuleSet {
    let shared = std::env::var_os("PORTCULLIS_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), Into::into);
    let crs = shared.join("crs/4.28.0");
    let rules = if crs.is_dir() {
        format!("crs@{}", crs.display())
    } else {
        println!("SKIPPED: {} is not there; the baseline rules are measured instead", crs.display());
        "baseline".into()
    };
    let mut policy = Policy { rules: Some(rules), ..Policy::default() };
    policy.crs.paranoia = Some(level);
    policy.crs.detection_paranoia = Some(level);
    sets::load(&policy).unwrap_or_else(|error| panic!("{error}")).rules
}

/// Ordinary GET requests of different applications that no rule says anything about.
fn requests() -> Vec<RequestBuf> {
    const BROWSER: &str = r#"["Connection","keep-alive"],["sec-ch-ua-platform","\"Windows\""],["User-Agent","Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"],["Accept","text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"],["Sec-Fetch-Site","same-origin"],["Sec-Fetch-Mode","navigate"],["Referer","https://shop.example.com/"],["Accept-Encoding","gzip, deflate, br"],["Accept-Language","en-GB,en;q=0.9"],["Cookie","session=s8Xk2mQ0dYtB7wRjLhNfA4; csrftoken=Zk3rVbN1uT6pWq8yEo5sXc0mJd7hGfLa; theme=dark; lang=en-GB"]"#;
    let targets = [
        "/",
        "/rest/products/search?q=apple%20juice&page=2&sort=price_asc",
        "/static/app.8f3a2c.js",
        "/wiki/Main_Page?action=history&limit=50",
        "/api/v1/users/42/orders?from=2026-01-01&to=2026-01-31",
    ];
    let line = |target: &&str| {
        format!(r#"{{"uri":"{target}","headers":[["Host","shop.example.com"],{BROWSER}],"remote_addr":"192.0.2.7"}}"#)
    };
    targets.iter().map(|target| parse_line(line(target).as_bytes(), "").unwrap()).collect()
}

#[test]
fn an_ordinary_request_allocates_nothing() {
    let requests = requests();
    for (level, scratch) in [(1, Scratch::default()), (1, Scratch::without_memo()), (2, Scratch::default())] {
        let (rules, mut scratch) = (rules(level), scratch);
        let mut counted = 0;
        for round in 0..=WARM_UP {
            for request in &requests {
                request.with_request(|request| {
                    let before = COUNT.get();
                    let outcome = evaluate(&rules, request, &Inputs::default(), &mut scratch);
                    let taken = COUNT.get() - before;
                    let ids: Vec<_> = outcome.logged_ids().collect();
                    assert!(ids.is_empty(), "{} is no ordinary request: {ids:?}", request.target.escape_ascii());
                    if round == WARM_UP {
                        counted += 1;
                        assert_eq!(taken, 0, "level {level}, {}", request.target.escape_ascii());
                    }
                });
            }
        }
        println!("paranoia level {level}: {counted} requests without an allocation");
    }
}
