#![no_main]
//! The target `npy` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("npy", bytes));
