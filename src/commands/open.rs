//! `crfe-tui open RUN`: the dashboard on a recorded run.

use super::args::OpenArgs;
use super::config_file::Keys;
use super::screen::{keys_come_from_there, need_a_terminal, settings};
use crate::data::STANDARD;
use crate::error::Result;
use crate::tui::{Order, explore as show};

/// Opens the dashboard on a recorded run; the exit code.
pub fn open(args: &OpenArgs, keys: &Keys) -> Result<u8> {
    need_a_terminal(&format!("report {}", args.run.display()))?;
    if args.data.as_deref().is_some_and(|data| data.as_os_str() == STANDARD) {
        return Err(keys_come_from_there("crfe-tui report RUN --data -"));
    }
    show(Order::Open(args.run.clone(), args.data.clone()), settings(&args.screen, keys)?)
}
