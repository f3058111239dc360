//! Who runs what, and what is said about it: tasks on plain threads, and one stream of [`RunEvent`]s.

mod check;
mod cross_validation;
mod engine;
mod event;
mod gate;
mod inspect;
mod journal;
mod line;
mod packed;
mod plan;
mod records;
mod shard;
mod source;
mod spec;
mod task;

pub use engine::{Engine, WORKER, default_threads, panic_text};
pub use event::{Betas, EventKind, FORMAT, Parts, Reason, RunEvent, RunInfo, Step, TaskId};
pub use gate::{Gate, Passage};
pub use inspect::{Branch, BranchStep, Forced, Inspection, Portrait, branch, inspect, portrait};
pub use journal::{Journal, RunDirectory, Writer, differences, host, state_directory};
pub use plan::Plan;
pub use records::{Records, journals};
pub use shard::Shard;
pub use source::{Live, REPORT_JOB, SUBMITTED, ShardStatus, Source};
pub use spec::{RunOptions, RunSpec};
pub use task::{Prediction, predictions};
