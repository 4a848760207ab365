//! Tests of the program with real files and real processes.

mod background;
mod baselines;
mod checkpoint;
mod commands;
mod demo;
mod errors;
mod faults;
mod fill;
// Shared by the tests of all crates.
#[path = "../../../steradian-io/tests/io/common/ffmpeg.rs"]
mod ffmpeg;
mod full_disk;
mod golden;
mod guide;
mod interrupt;
mod invalid_clips;
mod lab;
mod memory;
mod missing;
mod option_names;
mod outliers;
mod outputs;
mod shadows;
mod streamed;
mod threads;
mod untrusted;
