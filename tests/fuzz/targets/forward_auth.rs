//! Fuzzes `checks/forward_auth.rs`.

#![no_main]

#[path = "../checks/forward_auth.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
