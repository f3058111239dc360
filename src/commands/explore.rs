//! `crfe-tui DATA.CSV`: the dashboard on a table.

use super::args::ExploreArgs;
use super::config_file::Keys;
use super::screen::{keys_come_from_there, need_a_terminal, settings};
use crate::data::STANDARD;
use crate::error::Result;
use crate::record::{RunDirectory, Shard};
use crate::run::default_threads;
use crate::tui::{Compute, Order, Record, explore as show};

/// Opens the dashboard on a file; the exit code.
pub fn explore(args: &ExploreArgs, keys: &Keys) -> Result<u8> {
    let spec = args.spec.spec()?;
    let data = args.spec.data.clone();
    need_a_terminal(&format!("run {} --out RUN", data.display()))?;
    if data.as_os_str() == STANDARD {
        return Err(keys_come_from_there("crfe-tui run - --out RUN"));
    }
    let settings = settings(&args.screen, keys)?;
    if let Some(out) = args.screen.out.as_deref().filter(|out| !args.no_journal && out.exists()) {
        // Refuses a directory that another process writes, before the screen opens.
        RunDirectory::claim(out, Shard::WHOLE)?;
    }
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let record = match &args.screen.out {
        _ if args.no_journal => Record::No,
        Some(out) => Record::In(out.clone()),
        None => Record::State,
    };
    let compute = Compute { data, spec, threads, paused: args.paused, record };
    show(Order::Compute(Box::new(compute)), settings)
}
