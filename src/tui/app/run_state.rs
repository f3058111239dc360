//! The run as far as it is known, and what is asked of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::App;
use crate::analysis::History;
use crate::error::Error;
use crate::record::ShardStatus;
use crate::run::{Followup, Plan, RunInfo, RunSpec, TaskId, default_threads};
use crate::tui::time_left::TimeLeft;
use crate::tui::view::View;

/// How far the run has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The file is being read.
    Loading {
        /// Bytes read.
        bytes: u64,
        /// Bytes in all.
        of: u64,
    },
    /// Tasks are under way.
    Running,
    /// All tasks have ended.
    Done,
    /// The run could not begin, or could not go on.
    Failed(String),
}

/// Whether the engine waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It runs.
    No,
    /// It was asked to, and has not said yes.
    Asked,
    /// Every task waits.
    Yes,
}

/// The run as far as it is known.
pub(super) struct RunState {
    /// The file.
    pub(super) data: PathBuf,
    /// The settings that were asked for; those of the run replace them once it has begun.
    pub(super) asked_spec: RunSpec,
    pub(super) history: History,
    /// The data, once they are read.
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) phase: Phase,
    pub(super) pause: Pause,
    /// Where the run is recorded, if it is.
    pub(super) directory: Option<PathBuf>,
    /// Where the user wants files.
    pub(super) out: Option<PathBuf>,
    /// What made the run fail as a whole.
    pub(super) failure: Option<Error>,
    /// The run is replayed or followed: there is no engine here.
    pub(super) replay: bool,
    pub(super) shards: Vec<ShardStatus>,
    /// Counts tasks that have finished, or no longer count as finished, so that [`Derived`] knows
    /// when it is stale.
    pub(super) finished: u64,
    /// How often twins have been found.
    pub(super) twins: u64,
    pub(super) time_left: TimeLeft,
    /// Threads that compute.
    pub(super) threads: usize,
}

impl RunState {
    /// Before anything is known.
    pub(super) fn new(data: PathBuf, spec: RunSpec) -> Self {
        Self {
            data,
            asked_spec: spec,
            history: History::default(),
            plan: None,
            phase: Phase::Loading { bytes: 0, of: 0 },
            pause: Pause::No,
            directory: None,
            out: None,
            failure: None,
            replay: false,
            shards: Vec::new(),
            finished: 0,
            twins: 0,
            time_left: TimeLeft::default(),
            threads: default_threads(),
        }
    }
}

impl App {
    /// Writes files here.
    pub fn set_out(&mut self, out: Option<PathBuf>) {
        self.run.out = out;
    }

    /// The run is replayed or followed: there is no engine here.
    pub fn set_replay(&mut self) {
        self.run.replay = true;
        self.start_in(View::Answer);
    }

    /// This long after the start.
    pub fn set_clock(&mut self, elapsed: Duration) {
        let (done, _) = self.paths();
        self.run.time_left.note(elapsed, done);
    }

    /// How many threads compute.
    pub fn set_threads(&mut self, threads: usize) {
        self.run.threads = threads;
    }

    /// Whether finished tasks of a recorded run are still being read.
    pub fn is_opening(&self) -> bool {
        let recorded: usize = self.run.shards.iter().map(|shard| shard.done).sum();
        self.run.replay && self.history().finished_tasks().count() < recorded
    }

    /// What is left to compute, in words; none while that is not known.
    pub fn time_left(&self) -> Option<String> {
        let runs = self.run.phase == Phase::Running && self.run.pause == Pause::No;
        self.run.time_left.words(self.paths().1).filter(|_| runs && !self.run.replay)
    }

    /// How many paths have ended and how many are left, those of folds and permutations included.
    fn paths(&self) -> (usize, usize) {
        let Some(info) = self.info() else { return (0, 0) };
        let history = self.history();
        let followups = info.followups();
        let ended = |followup: &&Followup| {
            history.followup(**followup).is_some()
                || history.failed_followups().contains_key(*followup)
        };
        let own = history.finished_tasks().count() + history.failed().len();
        let done = own + followups.iter().filter(ended).count() * info.splits;
        let all = info.splits * (info.spec.methods.len() + followups.len());
        (done, all.saturating_sub(done))
    }

    /// The engine was asked to wait, or does.
    pub fn set_pause(&mut self, pause: Pause) {
        self.run.pause = pause;
    }

    /// The file.
    pub fn data(&self) -> &Path {
        &self.run.data
    }

    /// The settings of the run; before it begins, those that were asked for.
    pub fn spec(&self) -> &RunSpec {
        self.info().map_or(&self.run.asked_spec, |info| &info.spec)
    }

    /// What has happened.
    pub fn history(&self) -> &History {
        &self.run.history
    }

    /// The data, once they are read.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.run.plan.as_ref()
    }

    /// How far the run has come.
    pub fn phase(&self) -> &Phase {
        &self.run.phase
    }

    /// Whether the engine waits.
    pub fn pause(&self) -> Pause {
        self.run.pause
    }

    /// Where the run is recorded, if it is.
    pub fn directory(&self) -> Option<&Path> {
        self.run.directory.as_deref()
    }

    /// Whether there is no engine here.
    pub fn is_replay(&self) -> bool {
        self.run.replay
    }

    /// How the shards of a followed run stand.
    pub fn shards(&self) -> &[ShardStatus] {
        &self.run.shards
    }

    /// What made the run fail as a whole.
    pub fn failure(&self) -> Option<&Error> {
        self.run.failure.as_ref()
    }

    /// Takes what made the run fail as a whole.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.run.failure.take()
    }

    /// That a task failed, in words; on the screen splits count from 1.
    pub fn failure_words(&self, task: TaskId, why: &str) -> String {
        format!("{} on split {} failed: {why}", task.method, task.split + 1)
    }

    /// How often twins have been found.
    pub fn twins_found(&self) -> u64 {
        self.run.twins
    }

    /// How often the set of finished tasks has changed.
    pub fn finished(&self) -> u64 {
        self.run.finished
    }

    /// What is known of the run.
    pub fn info(&self) -> Option<&RunInfo> {
        self.run.history.info().map(|info| &**info)
    }

    /// Where exports go: what was set by hand has a directory inside, so that it never replaces the
    /// run's own files.
    pub fn exports_to(&self) -> PathBuf {
        let own = self.exports_own_to();
        self.by_hand().name().map_or_else(|| own.clone(), |name| own.join(name))
    }

    /// Where the run's own files go: where the user said, to the recorded run, or into a directory
    /// with the name of the data.
    pub fn exports_own_to(&self) -> PathBuf {
        let kept =
            self.run.out.clone().or_else(|| self.run.directory.clone().filter(|_| self.run.replay));
        kept.unwrap_or_else(|| {
            let input = self.info().map_or("", |info| info.input.as_str());
            let stem = Path::new(input)
                .file_stem()
                .map_or_else(String::new, |stem| stem.to_string_lossy().into());
            let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
            let stem: String = stem.chars().map(plain).collect();
            let name = stem.trim_matches(['-', '.']);
            PathBuf::from(if name.is_empty() {
                "crfe-export".to_owned()
            } else {
                format!("crfe-export-{name}")
            })
        })
    }
}
