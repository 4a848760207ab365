//! Entry point of the command line: parses the arguments and runs the command.

mod apply;
mod args;
mod checkpoint;
mod clip;
mod cmd;
mod config;
mod demo;
mod encode_image;
mod files;
mod model_json;
mod outcome;
mod plot;
mod progress;
mod remedy;
mod render;
mod session;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

/// Allocator that counts the heap, for the peak memory in reports.
#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

fn main() -> ExitCode {
    steradian_io::mapped::install_sigbus_handler();
    steradian_io::heap::limit_malloc_retention();
    outcome::exit(match Cli::parse().command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Fit(args) => cmd::fit::run(&args),
        Command::Transform(args) => cmd::transform::run(&args),
        Command::Reconstruct(args) => cmd::reconstruct::run(&args),
        Command::Outliers(args) => cmd::outliers::run(&args),
        Command::Background(args) => cmd::background::run(&args),
        Command::Shadows(args) => cmd::shadows::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Manpages(args) => cmd::manpages::run(&args),
    })
}
