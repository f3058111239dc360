//! A run on disk: journals written as it goes, read back, and followed while they grow.
//!
//! - [`format`]: the lines of a journal (docs/formats.md)
//! - [`writer`]: claims a directory, appends and syncs each event
//! - [`journal_file`], [`reader`], [`replay`], [`validate`]: one journal, and all of them as one
//!   run again, each line checked
//! - [`source`]: one stream of events, from an engine that is recorded or from a directory;
//!   [`follow`]: a directory that grows
//! - [`recent`]: the runs in the user's state directory
//! - [`shard`]: a share of the tasks
//!
//! A live run is here and not in `run` because each event is journaled before it is passed on: the
//! recorder sits between the engine and its listeners.

mod follow;
mod format;
mod journal_file;
mod reader;
mod recent;
mod replay;
mod shard;
mod source;
mod validate;
mod writer;

pub use reader::{Journals, Wanted, journals};
pub use recent::{RecentRun, recent_runs, state_directory, state_home};
pub use shard::Shard;
pub use source::{EventSource, Live, ShardStatus};
pub use writer::{
    Journal, JournalAuthor, REPORT_SCRIPT, RunDirectory, SCRIPT_HEAD, SHARDS_SCRIPT, differences,
    host, is_our_script, manifest, refuse_foreign,
};
