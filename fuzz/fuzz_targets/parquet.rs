#![no_main]
//! The target `parquet` for cargo-fuzz.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| steradian_fuzz::run("parquet", bytes));
