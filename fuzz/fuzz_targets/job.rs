#![no_main]
//! The target `job` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("job", bytes));
