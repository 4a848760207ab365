#![no_main]
//! The target `checkpoint` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("checkpoint", bytes));
