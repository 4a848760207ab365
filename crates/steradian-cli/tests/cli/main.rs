//! The program as its users meet it: real files, real processes.

mod background;
mod bad_clips;
mod baselines;
mod checkpoint;
mod commands;
mod demo;
// One question for all crates.
#[path = "../../../steradian-io/tests/io/common/ffmpeg.rs"]
mod ffmpeg;
mod full_disk;
mod golden;
mod guide;
mod interrupt;
mod lab;
mod outliers;
mod refusals;
mod shadows;
mod streamed;
mod threads;
