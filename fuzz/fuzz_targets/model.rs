#![no_main]
//! The target `model` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("model", bytes));
