//! `steradian completions`: prints a completion script for a shell.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::outcome::CommandResult;
use crate::render::print_bytes;

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "steradian", &mut script);
    print_bytes(&script)
}
