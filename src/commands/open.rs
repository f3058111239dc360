//! `crfe-tui open`: the dashboard on a recorded run, or on new patients and a model; without a
//! name, on what is chosen from a list.

use std::ffi::OsString;
use std::path::Path;

use super::args::{Command, OpenArgs};
use super::config_file::Look;
use super::explore::request;
use super::precedence::{self, Parsed};
use super::predict::checked_epsilon;
use super::screen::{keys_come_from_there, need_a_terminal, settings};
use crate::data::STANDARD;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::tui::{Choice, Compute, SessionRequest, explore as show, show_model, start};

/// Opens the dashboard on a recorded run; the exit code.
pub fn open(args: &OpenArgs, look: &Look) -> Result<u8> {
    let Some(run) = &args.run else { return choose(args, look) };
    if run.is_file() {
        return open_model(args, run, look);
    }
    if args.epsilon.is_some() || args.impute_missing || args.read.is_typed() {
        return Err(Error::usage(
            "--epsilon, --impute-missing and how a file is read belong to a model",
        )
        .remedy("leave them out for a run, or open a model: crfe-tui open M.json --data NEW.CSV"));
    }
    if args.data.as_deref().is_some_and(|data| data.as_os_str() == STANDARD) {
        return Err(keys_come_from_there("crfe-tui report RUN --data -"));
    }
    if !run.exists() {
        return Err(Error::data("there is no such run or model")
            .file(run)
            .remedy("check the path"));
    }
    need_a_terminal(&format!("crfe-tui report {}", run.display()))?;
    show(SessionRequest::Open(run.clone(), args.data.clone()), settings(&args.screen, look)?)
}

/// Opens the dashboard on new patients and a model; the exit code.
fn open_model(args: &OpenArgs, file: &Path, look: &Look) -> Result<u8> {
    let model = Model::load(file)?;
    let name = file.to_string_lossy();
    let Some(data) = &args.data else {
        return Err(Error::usage("a model is opened together with new patients")
            .file(file)
            .remedy(format!("add them: crfe-tui open {name} --data NEW.CSV")));
    };
    need_a_terminal(&format!("crfe-tui predict {name} {}", data.display()))?;
    if data.as_os_str() == STANDARD {
        return Err(keys_come_from_there(&format!("crfe-tui predict {name} -")));
    }
    let source = args.read.source(data, &model, args.impute_missing);
    show_model(model, &name, source, checked_epsilon(args.epsilon)?, settings(&args.screen, look)?)
}

/// Lets the user choose a run or a table.
fn choose(args: &OpenArgs, look: &Look) -> Result<u8> {
    need_a_terminal("crfe-tui run DATA.CSV --out RUN")?;
    start(settings(&args.screen, look)?, |choice| match choice {
        Choice::Run(run) => Ok(SessionRequest::Open(run, None)),
        Choice::Table(table, settings_first) => {
            // As if it had been typed: environment and configuration file count.
            let words =
                ["crfe-tui", "explore", "--"].map(OsString::from).into_iter().chain([table.into()]);
            match precedence::parse(words)? {
                Parsed::Command(Command::Explore(args), _) => Ok(match request(&args)? {
                    SessionRequest::Compute(compute) if settings_first => {
                        SessionRequest::Compute(Box::new(Compute {
                            paused: true,
                            settings_first,
                            ..*compute
                        }))
                    }
                    request => request,
                }),
                Parsed::Command(..) => {
                    Err(Error::internal("a table was not understood as a table"))
                }
                Parsed::Said(said) => Err(Error::usage(said.to_string())),
            }
        }
    })
}
