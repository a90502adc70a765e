//! Fuzzes `checks/transformations.rs`.

#![no_main]

#[path = "../checks/transformations.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
