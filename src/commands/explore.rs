//! `crfe-tui DATA.CSV`: the dashboard on a table.

use super::args::ExploreArgs;
use super::config_file::Look;
use super::screen::{keys_come_from_there, need_a_terminal, settings};
use crate::data::STANDARD;
use crate::error::Result;
use crate::record::{RunDirectory, Shard};
use crate::report::shell_command;
use crate::run::default_threads;
use crate::tui::{Compute, Recording, SessionRequest, explore as show};

/// Opens the dashboard on a file; the exit code.
pub fn explore(args: &ExploreArgs, look: &Look) -> Result<u8> {
    let spec = args.spec.spec()?;
    need_a_terminal(&shell_command(&spec, &args.spec.data.to_string_lossy()))?;
    if args.spec.data.as_os_str() == STANDARD {
        return Err(keys_come_from_there("crfe-tui run - --out RUN"));
    }
    let settings = settings(&args.screen, look)?;
    show(request(args)?, settings)
}

/// What to compute, and where it is recorded.
pub(super) fn request(args: &ExploreArgs) -> Result<SessionRequest> {
    let spec = args.spec.spec()?;
    let data = args.spec.data.clone();
    if let Some(out) = args.screen.out.as_deref().filter(|out| !args.no_journal && out.exists()) {
        // Refuses a directory that another process writes, before the screen opens.
        RunDirectory::claim(out, Shard::WHOLE)?;
    }
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let record = match &args.screen.out {
        _ if args.no_journal => Recording::No,
        Some(out) => Recording::In(out.clone()),
        None => Recording::State,
    };
    Ok(SessionRequest::Compute(Box::new(Compute {
        data,
        spec,
        threads,
        paused: args.paused,
        settings_first: false,
        record,
    })))
}
