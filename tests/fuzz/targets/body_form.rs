//! Fuzzes `checks/body_form.rs`.

#![no_main]

#[path = "../checks/body.rs"]
mod body;
#[path = "../checks/body_form.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::run(data));
