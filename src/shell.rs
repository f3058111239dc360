//! What a shell wants from the program: completions, man pages, a commented configuration file.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Error, Result};

/// The configuration file with every option at its default, commented out.
pub const CONFIGURATION: &str = include_str!("config.example.toml");

/// Prints the completions of a shell; the exit code.
pub fn completions(args: &CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "crfe-tui", &mut script);
    print(&script)
}

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
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|error| Error::internal(format!("the man page could not be put together: {error}")))?;
    print(&page)
}

/// Prints the commented configuration file; the exit code.
pub fn configuration() -> Result<u8> {
    print(CONFIGURATION.as_bytes())
}

/// Prints; a reader that has gone is not an error.
fn print(bytes: &[u8]) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::output(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(0),
    }
}
