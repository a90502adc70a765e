//! Fuzzes `checks/ext_authz.rs`.

#![no_main]

#[path = "../checks/ext_authz.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
