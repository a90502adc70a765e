//! Fuzzes `checks/body_json.rs`.

#![no_main]

#[path = "../checks/body.rs"]
mod body;
#[path = "../checks/body_json.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
