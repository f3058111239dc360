//! Parse, dispatch, exit code.

#![warn(clippy::print_stderr, clippy::print_stdout)]

use std::process::ExitCode;

use crfe::cli::{Command, Parsed, parse};
use crfe::say::say;

fn main() -> ExitCode {
    let outcome = match parse(std::env::args_os()) {
        Ok(Parsed::Said(said)) => {
            // Help goes to standard output, mistakes to standard error; a closed pipe is not an error.
            let _ = said.print();
            return ExitCode::from(u8::try_from(said.exit_code()).unwrap_or(2));
        }
        Ok(Parsed::Command(Command::Check(args), _)) => crfe::check::check(&args),
        Ok(Parsed::Command(Command::Explore(args), keys)) => crfe::dashboard::explore(&args, &keys),
        Ok(Parsed::Command(Command::Open(args), keys)) => crfe::dashboard::open(&args, &keys),
        Ok(Parsed::Command(Command::Run(args), _)) => crfe::headless::run(&args),
        Ok(Parsed::Command(Command::Report(args), _)) => crfe::headless::report(&args),
        Ok(Parsed::Command(Command::Slurm(args), _)) => crfe::slurm::slurm(&args),
        Ok(Parsed::Command(Command::Completions(args), _)) => crfe::shell::completions(&args),
        Ok(Parsed::Command(Command::Man(args), _)) => crfe::shell::man(&args),
        Ok(Parsed::Command(Command::Config, _)) => crfe::shell::configuration(),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(format_args!("crfe-tui: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
