//! `steradian manpages`: writes one manual page for the program and one per command.

use clap::CommandFactory;
use steradian::Error;

use crate::args::{Cli, ManpagesArgs};
use crate::files;
use crate::outcome::CommandResult;
use crate::render::print;

/// Writes the pages.
pub fn run(args: &ManpagesArgs) -> CommandResult {
    files::make_folder(&args.output)?;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut count = 0;
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let manual = clap_mangen::Man::new(command.clone());
        let path = args.output.join(manual.get_filename());
        let mut page = Vec::new();
        manual.render(&mut page).map_err(|e| Error::io(&path, e))?;
        steradian_io::write_atomic(&path, &page)?;
        count += 1;
    }
    print(&format!("wrote {count} pages to {}\n", args.output.display()))
}
