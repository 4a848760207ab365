#![no_main]
//! The target `gif` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("gif", bytes));
