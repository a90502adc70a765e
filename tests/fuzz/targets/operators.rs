//! Fuzzes `checks/operators.rs`.

#![no_main]

#[path = "../checks/operators.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
