//! The commands of the program, one file each. The only layer that knows clap.

mod args;
mod check;
mod cluster;
mod completions;
mod config;
mod config_file;
mod explore;
mod fit;
mod man;
mod open;
mod option_args;
mod precedence;
mod predict;
mod report;
mod run;
mod screen;
mod short_help;
mod signals;
mod validate;
mod version;

use std::ffi::OsString;
use std::sync::Arc;

use serde::Serialize;

use self::args::Command;
use self::precedence::Parsed;
use crate::error::{Error, Result, printable_json};

/// Runs the command; returns the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Result<u8> {
    // Beyond `ulimit -f` a write then fails with an error, instead of ending the program.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let words: Vec<OsString> = words.into_iter().collect();
    if version::is_asked(&words) {
        return version::version();
    }
    let (command, look) = match precedence::parse(words)? {
        Parsed::Command(command, look) => (command, look),
        Parsed::Said(said) => return Ok(precedence::tell(&said)),
    };
    match command {
        Command::Explore(args) => explore::explore(&args, &look),
        Command::Open(args) => open::open(&args, &look),
        Command::Run(args) => run::run(&args),
        Command::Fit(args) => fit::fit(*args),
        Command::Predict(args) => predict::predict(&args),
        Command::Validate(args) => validate::validate(&args),
        Command::Report(args) => report::report(&args),
        Command::Check(args) => check::check(&args),
        Command::Cluster(args) => cluster::cluster(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => man::man(&args),
        Command::Config => config::config(),
    }
}

/// JSON with a line break at its end, safe on a terminal.
fn pretty(value: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| printable_json(text) + "\n").map_err(|error| Error::internal(error.to_string()))
}
