//! `crfe-tui open RUN`: the dashboard on a recorded run; without a run, or without any argument, on what is chosen from a list.

use std::ffi::OsString;

use super::args::{Command, OpenArgs};
use super::config_file::Look;
use super::explore::order;
use super::precedence::{self, Parsed};
use super::screen::{keys_come_from_there, need_a_terminal, settings};
use crate::data::STANDARD;
use crate::error::{Error, Result};
use crate::tui::{Choice, Compute, SessionRequest, explore as show, start};

/// Opens the dashboard on a recorded run; the exit code.
pub fn open(args: &OpenArgs, look: &Look) -> Result<u8> {
    let Some(run) = &args.run else { return choose(args, look) };
    need_a_terminal(&format!("report {}", run.display()))?;
    if args.data.as_deref().is_some_and(|data| data.as_os_str() == STANDARD) {
        return Err(keys_come_from_there("crfe-tui report RUN --data -"));
    }
    show(SessionRequest::Open(run.clone(), args.data.clone()), settings(&args.screen, look)?)
}

/// Lets the user choose a run or a table.
fn choose(args: &OpenArgs, look: &Look) -> Result<u8> {
    need_a_terminal("run DATA.CSV --out RUN")?;
    start(settings(&args.screen, look)?, |choice| match choice {
        Choice::Run(run) => Ok(SessionRequest::Open(run, None)),
        Choice::Table(table, settings_first) => {
            // As if it had been typed: environment and configuration file count.
            let words = ["crfe-tui", "explore", "--"].map(OsString::from).into_iter().chain([table.into()]);
            match precedence::parse(words)? {
                Parsed::Command(Command::Explore(args), _) => Ok(match order(&args)? {
                    SessionRequest::Compute(compute) if settings_first => {
                        SessionRequest::Compute(Box::new(Compute {
                            paused: true,
                            settings_first,
                            ..*compute
                        }))
                    }
                    order => order,
                }),
                Parsed::Command(..) => Err(Error::internal("a table was not understood as a table")),
                Parsed::Said(said) => Err(Error::usage(said.to_string())),
            }
        }
    })
}
