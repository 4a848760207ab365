//! `steradian manpages`: writes one manual page for the program and one per command.

use clap::CommandFactory;
use steradian::Error;
use steradian_io::{CreatedFolders, commit, stage_file};

use crate::args::{Cli, ManpagesArgs};
use crate::interrupt::{self, Phase};
use crate::outcome::CommandResult;
use crate::render::print;
use crate::terminal;

/// Writes the pages.
pub fn run(args: &ManpagesArgs) -> CommandResult {
    let folder = &args.output;
    interrupt::enter(Phase::Writing);
    // Removed again if a page cannot be written.
    let _created = CreatedFolders::create(folder).map_err(|e| Error::io(folder, e))?;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let manual = clap_mangen::Man::new(command.clone());
        let path = folder.join(manual.get_filename());
        let mut page = Vec::new();
        manual.render(&mut page).map_err(|e| Error::io(&path, e))?;
        pages.push(stage_file(&path, &page)?);
    }
    let count = pages.len();
    commit(pages)?;
    print(&format!("wrote {count} pages to {}\n", terminal::path(folder)))
}
