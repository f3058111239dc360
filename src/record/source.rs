//! Events from an engine, a finished directory or a growing one, as one stream. Knows no screen.
//!
//! ```no_run
//! # use std::path::Path;
//! # fn main() -> crfe::Result<()> {
//! use crfe::{analysis::History, record::EventSource};
//!
//! // or EventSource::engine(live)
//! let source = EventSource::open(Path::new("RUN"))?;
//! let mut history = History::default();
//! // a crossbeam Receiver: select! over it beside other channels
//! for event in source.events() {
//!     history.apply(&event);
//! }
//! // who computes what, where; changes while a run is followed
//! for shard in source.shards() {
//!     println!("{} on {:?}: {} of {} tasks", shard.shard, shard.host, shard.done, shard.tasks);
//! }
//! // ends the source; errors of the journal come out here
//! source.close()
//! # }
//! ```
//!
//! What a listener can rely on, whatever the source:
//! - the first event is `RunStarted`. It comes once, and again only when a followed run is extended
//!   by splits or methods;
//! - `CaughtUp` comes once in a live run, behind what was recorded and before what is computed;
//! - `Paused` comes when every worker is waiting, `Resumed` when they continue;
//! - `TaskStarted` for a known task starts it again (its process died and another repeats it):
//!   forget its steps;
//! - after `TaskFinished` no more events of that task follow; after `TaskFailed` it may start
//!   again;
//! - a directory emits finished tasks split by split, so split 0 is complete first;
//! - `RunFinished` comes when every task has finished or failed;
//! - the channel is bounded and disconnects when there are no more events. A listener that does not
//!   receive blocks a live run.
//!
//! A live run that is recorded and resumed (the dashboard does this, in `--out` or in
//! [`state_directory`](super::state_directory); without a journal `directory` and `records` are
//! `None`):
//!
//! ```no_run
//! # use std::{path::Path, sync::Arc};
//! # use crfe::record::{EventSource, Live, RunDirectory, Shard};
//! # use crfe::{report::outputs, run::{Gate, Plan}};
//! # fn live(plan: Arc<Plan>, out: &Path) -> crfe::Result<EventSource> {
//! let directory = Arc::new(RunDirectory::claim(out, Shard::WHOLE)?);  // refuses a second writer
//! // refuses another run
//! let records = directory.resume(&plan, &outputs())?;
//! let (gate, tasks) = (Arc::new(Gate::default()), plan.tasks());
//! let followups = plan.info.followups();
//! let directory = Some(directory);
//! Ok(EventSource::engine(Live { plan, gate, tasks, followups, threads: 2, directory, records }))
//! # }
//! ```
//!
//! A growing directory is polled for appended bytes and new journals, because network disks send no
//! change notifications.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::follow::Follower;
use super::{Journal, Journals, RunDirectory, SHARDS_SCRIPT, Shard};
use crate::error::{Error, Result};
use crate::run::{Engine, EventKind, Followup, Gate, Plan, Remaining, RunEvent, TaskId};

/// Capacity of the event channel.
const WAITING: usize = 1024;
/// How often a growing directory is polled.
pub(super) const POLL: Duration = Duration::from_millis(500);

/// What an engine is to run.
#[derive(Debug)]
pub struct Live {
    /// The run.
    pub plan: Arc<Plan>,
    /// Its run control.
    pub gate: Arc<Gate>,
    /// The tasks, in order.
    pub tasks: Vec<TaskId>,
    /// What follows them, in order.
    pub followups: Vec<Followup>,
    /// The number of worker threads.
    pub threads: usize,
    /// Where events are recorded before they are passed on. A journal is created when there is
    /// something to compute.
    pub directory: Option<Arc<RunDirectory>>,
    /// Tasks that are already recorded: emitted first, and not computed again.
    pub records: Option<Journals>,
}

/// The status of one shard of a run, by the latest process that worked on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardStatus {
    pub shard: Shard,
    /// The machine, if it is known.
    pub host: Option<String>,
    /// The process there.
    pub pid: Option<u32>,
    /// The tasks of its share.
    pub tasks: usize,
    /// Finished tasks of its share, whoever computed them.
    pub done: usize,
    /// Tasks under way.
    pub running: usize,
    /// Unfinished tasks in a journal that no longer grows: its process is dead or waiting.
    pub stale: usize,
    /// Tasks that failed.
    pub failed: usize,
    /// When its journal last grew, as far as is known.
    pub grown: Instant,
}

/// The status of a followed run.
#[derive(Debug, Default)]
pub(super) struct Status {
    pub(super) shards: Vec<ShardStatus>,
    pub(super) notes: Vec<String>,
}

/// A stream of events and the thread that feeds it.
#[derive(Debug)]
pub struct EventSource {
    events: Receiver<RunEvent>,
    status: Arc<Mutex<Status>>,
    shard_changes: Receiver<()>,
    /// Dropping it ends the source.
    stop: Option<Sender<()>>,
    gate: Option<Arc<Gate>>,
    thread: Option<Result<JoinHandle<Result<()>>>>,
}

impl EventSource {
    /// Emits the recorded tasks and runs the others on worker threads; each event is journaled
    /// before it is passed on.
    pub fn engine(live: Live) -> Self {
        let gate = live.gate.clone();
        Self::spawn(Some(gate.clone()), move |events| {
            run_live(live, events).inspect_err(|_| gate.cancel())
        })
    }

    /// Replays a directory, and follows it while tasks are missing. Waits for a submitted run to
    /// begin.
    pub fn open(directory: &Path) -> Result<Self> {
        let directory = directory.to_path_buf();
        let mut found = Journals::open(&directory)?;
        if found.is_none() && !directory.join(SHARDS_SCRIPT).exists() {
            return Err(Error::data("there is no run in this directory")
                .file(directory)
                .remedy("make one with crfe-tui run DATA.CSV --out RUN"));
        }
        Ok(Self::spawn(None, move |events| {
            let records = loop {
                match found {
                    Some(records) => break records,
                    None => events.wait(POLL)?,
                }
                found = Journals::open(&directory)?;
            };
            Follower::new(records).follow(events)
        }))
    }

    fn spawn(
        gate: Option<Arc<Gate>>,
        work: impl FnOnce(&EventSender) -> std::result::Result<(), Stop> + Send + 'static,
    ) -> Self {
        let (send, events) = bounded(WAITING);
        let (stop, stopped) = bounded::<()>(0);
        let status = Arc::new(Mutex::new(Status::default()));
        // One pending notification is enough: its reader asks for the current status.
        let (changed, shard_changes) = bounded(1);
        let sender = EventSender { send, stopped, status: status.clone(), changed };
        let spawned = std::thread::Builder::new().spawn(move || match work(&sender) {
            Err(Stop::Failed(error)) => Err(error),
            Ok(()) | Err(Stop::Gone) => Ok(()),
        });
        let thread = spawned.map_err(|error| Error::no_thread(&error));
        Self { events, status, shard_changes, stop: Some(stop), gate, thread: Some(thread) }
    }

    pub fn events(&self) -> &Receiver<RunEvent> {
        &self.events
    }

    /// The status of the shards of a directory, sorted; empty for an engine.
    pub fn shards(&self) -> Vec<ShardStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).shards.clone()
    }

    /// Receives a message whenever [`EventSource::shards`] has changed.
    pub fn shard_changes(&self) -> &Receiver<()> {
        &self.shard_changes
    }

    /// Notices about the files of a directory, as sentences.
    pub fn notes(&self) -> Vec<String> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).notes.clone()
    }

    /// Ends the source: cancels an engine and flushes its journal to the disk. Returns any error on
    /// the way.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if let Some(gate) = &self.gate {
            gate.cancel();
        }
        self.stop = None;
        let fault = || Err(Error::internal("the thread that emits events panicked"));
        self.thread.take().map_or(Ok(()), |thread| thread?.join().unwrap_or_else(|_| fault()))
    }
}

impl Drop for EventSource {
    fn drop(&mut self) {
        // Call `close` to learn about errors.
        let _ = self.end();
    }
}

/// Why a source ends early.
pub(super) enum Stop {
    /// The receiver was dropped.
    Gone,
    /// Something went wrong.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The sending end of a source.
pub(super) struct EventSender {
    send: Sender<RunEvent>,
    /// Disconnects when the source ends.
    stopped: Receiver<()>,
    status: Arc<Mutex<Status>>,
    changed: Sender<()>,
}

impl EventSender {
    /// Sends an event; waits while too many are on their way.
    pub(super) fn emit(
        &self,
        task: Option<TaskId>,
        kind: EventKind,
    ) -> std::result::Result<(), Stop> {
        self.send(RunEvent { task, kind })
    }

    /// Sends what happened to a task.
    pub(super) fn emit_all(
        &self,
        task: TaskId,
        events: Vec<EventKind>,
    ) -> std::result::Result<(), Stop> {
        events.into_iter().try_for_each(|kind| self.emit(Some(task), kind))
    }

    fn send(&self, event: RunEvent) -> std::result::Result<(), Stop> {
        select! {
            send(self.send, event) -> sent => sent.map_err(|_| Stop::Gone),
            recv(self.stopped) -> _ => Err(Stop::Gone),
        }
    }

    pub(super) fn set(&self, status: Status) {
        let standing = |shard: &ShardStatus| (shard.done, shard.running, shard.stale, shard.failed);
        let mut known = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = !status.shards.iter().map(standing).eq(known.shards.iter().map(standing));
        *known = status;
        if changed {
            let _ = self.changed.try_send(());
        }
    }

    /// Waits, unless the source is ended meanwhile.
    pub(super) fn wait(&self, time: Duration) -> std::result::Result<(), Stop> {
        match self.stopped.recv_timeout(time) {
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => Ok(()),
            _ => Err(Stop::Gone),
        }
    }
}

/// What is recorded, then what is computed.
fn run_live(live: Live, events: &EventSender) -> std::result::Result<(), Stop> {
    let Live { plan, gate, tasks, followups, threads, directory, records } = live;
    let mut journal = directory.as_deref().and_then(RunDirectory::begun_journal);
    events.emit(None, EventKind::RunStarted(plan.info.clone()))?;
    let mut left = Remaining { tasks, followups };
    if let Some(mut records) = records {
        left =
            records.emit_recorded(left, &plan.info, true, |task, kind| events.emit(task, kind))?;
        events.set(Status { shards: Vec::new(), notes: records.notes() });
    }
    let left = Arc::new(left);
    events.emit(None, EventKind::CaughtUp(left.clone()))?;
    let has_work = left.count() > 0;
    // Its lock holds until everything is recorded: the directory stays here.
    if let Some(directory) = directory.as_deref().filter(|_| journal.is_none() && has_work) {
        journal = Some(directory.new_journal(&plan.info)?);
    }
    let (send, engine) = bounded(WAITING);
    // Not joined: a worker in the middle of a long fit must not hold up the end of the program.
    let spawned = std::thread::Builder::new().spawn(move || {
        Engine::new(&plan, &gate, send).then(left.followups.clone()).resume(&left.tasks, threads)
    });
    spawned.map_err(|error| Error::no_thread(&error))?;
    let recorded = record(&engine, journal.as_mut(), events);
    match (&recorded, journal) {
        // What was written is safe before anybody hears that this is the end.
        (Ok(()) | Err(Stop::Gone), Some(mut journal)) => {
            journal.sync()?;
            if let Some(directory) = &directory {
                directory.keep(journal);
            }
            Ok(())
        }
        _ => recorded,
    }
}

/// Journals and passes on what an engine says, until it has ended or the source is.
fn record(
    engine: &Receiver<RunEvent>,
    mut journal: Option<&mut Journal>,
    events: &EventSender,
) -> std::result::Result<(), Stop> {
    loop {
        let event = select! {
            recv(engine) -> event => event,
            recv(events.stopped) -> _ => return Err(Stop::Gone),
        };
        let Ok(event) = event else { return Ok(()) };
        if let Some(journal) = &mut journal {
            journal.append(&event)?;
        }
        events.send(event)?;
    }
}
