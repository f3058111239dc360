//! `crfe-tui man`: the man page of the program or of one command.

use clap::CommandFactory;

use super::args::{Cli, ManArgs};
use crate::error::{Error, Result};
use crate::say::print;

/// Prints a man page; the exit code.
pub fn man(args: &ManArgs) -> Result<u8> {
    let mut all = Cli::command();
    all.build();
    let command = match &args.command {
        None => all,
        Some(name) => all.find_subcommand(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
            Error::usage(format!("there is no command '{name}'"))
                .remedy(format!("write one of {}", names.join(", ")))
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| {
        Error::internal(format!("the man page could not be put together: {error}"))
    })?;
    print(&page).map(|()| 0)
}
