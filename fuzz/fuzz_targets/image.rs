#![no_main]
//! The target `image` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("image", bytes));
