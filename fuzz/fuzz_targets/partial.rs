#![no_main]
//! The target `partial` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("partial", bytes));
