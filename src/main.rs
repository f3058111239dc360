//! Runs a command, prints its error, and exits with its code.

#![warn(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use crfe::say::say;

fn main() -> ExitCode {
    match crfe::commands::run(std::env::args_os()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(format_args!("crfe-tui: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
