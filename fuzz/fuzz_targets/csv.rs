#![no_main]
//! The target `csv` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("csv", bytes));
