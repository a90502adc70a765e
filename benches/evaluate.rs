//! The engine alone: loading the rules, one ordinary request, one attack. Checks what it measures: the verdict and the
//! rule ids are part of each benchmark.
//!
//! `cargo bench --bench evaluate`. Uses the CRS in `rules/crs` or embedded in the binary; without one, the baseline.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark stops at the first surprise")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use portcullis::config::Policy;
use portcullis::engine::{Inputs, Scratch, evaluate};
use portcullis::input::jsonl::parse_line;
use portcullis::ruleset::RuleSet;
use portcullis::sets;

/// A browser's GET of a search page, with the headers and cookies that browsers send.
const BENIGN: &str = r#"{"id":"benign","method":"GET","uri":"/rest/products/search?q=apple%20juice&page=2&sort=price_asc",
"headers":[["Host","shop.example.com"],["Connection","keep-alive"],["sec-ch-ua-platform","\"Windows\""],
["User-Agent","Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"],
["Accept","text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"],
["Sec-Fetch-Site","same-origin"],["Sec-Fetch-Mode","navigate"],["Referer","https://shop.example.com/"],
["Accept-Encoding","gzip, deflate, br"],["Accept-Language","en-GB,en;q=0.9"],
["Cookie","session=s8Xk2mQ0dYtB7wRjLhNfA4; csrftoken=Zk3rVbN1uT6pWq8yEo5sXc0mJd7hGfLa; theme=dark; lang=en-GB"]]}"#;

/// The same page, asked for with SQL in the search field.
const ATTACK: &str = r#"{"id":"attack","method":"GET","uri":"/rest/products/search?q=%27%20OR%201=1--",
"headers":[["Host","shop.example.com"],["User-Agent","Mozilla/5.0 (Windows NT 10.0; Win64; x64)"],["Accept","*/*"]]}"#;

fn load(paranoia: u8) -> (RuleSet, String) {
    let mut policy = Policy::default();
    policy.crs.paranoia = Some(paranoia);
    policy.crs.detection_paranoia = Some(paranoia);
    let set = sets::load(&policy).unwrap();
    (set.rules, set.name)
}

fn requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("evaluate");
    for paranoia in [1, 4] {
        let (rules, name) = load(paranoia);
        println!("rules: {name}, {} rules, paranoia level {paranoia}", rules.rules().len());
        for (line, denied) in [(BENIGN, paranoia > 1), (ATTACK, true)] {
            let request = parse_line(line.replace('\n', "").as_bytes(), "").unwrap();
            let mut scratch = Scratch::default();
            request.with_request(|request| {
                let outcome = evaluate(&rules, request, &Inputs::default(), &mut scratch);
                let ids: Vec<_> = outcome.logged_ids().map(|id| id.get()).collect();
                assert!(
                    paranoia > 1 || outcome.verdict.is_allow() != denied,
                    "{} is judged wrongly: {ids:?}",
                    request.target.escape_ascii()
                );
                group.bench_function(
                    format!("{}/pl{paranoia}", if line == BENIGN { "benign" } else { "attack" }),
                    |b| {
                        b.iter(|| evaluate(&rules, black_box(request), &Inputs::default(), &mut scratch));
                    },
                );
            });
        }
    }
    group.finish();
}

fn loading(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    group.bench_function("parse and compile", |b| b.iter(|| load(1)));
    group.finish();
}

criterion_group!(benches, requests, loading);
criterion_main!(benches);
