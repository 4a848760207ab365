//! Entry point of the command line: parses the arguments and runs the command.

mod apply;
mod args;
mod cells;
mod checkpoint;
mod clip;
mod cmd;
mod config;
mod demo;
mod encode_image;
mod files;
mod heap;
mod internal_error;
mod interrupt;
mod model_json;
mod outcome;
mod plot;
mod progress;
mod remedy;
mod render;
mod session;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

fn main() -> ExitCode {
    steradian_io::heap::limit_malloc_retention();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return outcome::usage(&error),
    };
    outcome::exit(
        interrupt::install()
            .map_err(Into::into)
            .and_then(|()| internal_error::catch(|| outcome::guarded(|| run(command)))),
    )
}

fn run(command: Command) -> outcome::CommandResult {
    match command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Plan(args) => cmd::plan::run(&args),
        Command::Fit(args) => cmd::fit::run(&args),
        Command::Transform(args) => cmd::transform::run(&args),
        Command::Reconstruct(args) => cmd::reconstruct::run(&args),
        Command::Fill(args) => cmd::fill::run(&args),
        Command::Outliers(args) => cmd::outliers::run(&args),
        Command::Background(args) => cmd::background::run(&args),
        Command::Shadows(args) => cmd::shadows::run(&args),
        Command::Inspect(args) => cmd::inspect::run(&args),
        Command::Export(args) => cmd::export::run(&args),
        Command::Completions(args) => cmd::completions::run(&args),
        Command::Manpages(args) => cmd::manpages::run(&args),
    }
}
