//! Events from an engine, a finished directory or a growing one, as one stream. Knows no screen.
//!
//! ```no_run
//! # use std::path::Path;
//! # fn main() -> crfe::Result<()> {
//! use crfe::{history::History, run::Source};
//!
//! let source = Source::open(Path::new("RUN"))?;           // or Source::engine(live)
//! let mut history = History::default();
//! for event in source.events() {                          // a crossbeam Receiver: select! over it beside other channels
//!     history.apply(&event);
//! }
//! for shard in source.shards() {                          // who computes what, where; changes while a run is followed
//!     println!("{} on {:?}: {} of {} tasks", shard.shard, shard.host, shard.done, shard.tasks);
//! }
//! source.close()                                          // ends the source; errors of the journal come out here
//! # }
//! ```
//!
//! What a listener can rely on, whatever the source:
//! - the first event is `RunStarted`. It may come again, also with more splits or methods when a followed run is extended;
//! - `TaskStarted` for a task that is known begins it anew (its process died and another redoes it): forget its steps;
//! - after `TaskFinished` nothing more is told of that task; after `TaskFailed` it may begin again;
//! - a directory tells finished tasks split by split, so split 0 is complete first;
//! - `RunFinished` comes when every task has finished or failed;
//! - the channel is bounded and ends (disconnects) when there will be nothing more. A listener that does not listen
//!   holds a live run up.
//!
//! A live run that survives, from nothing or from where it was (the dashboard does this, in `--out` or in
//! [`state_directory`](super::state_directory); without a journal `directory` and `records` are `None`):
//!
//! ```no_run
//! # use std::{path::Path, sync::Arc};
//! # use crfe::{run::{Gate, Live, Plan, RunDirectory, Shard, Source}, report::TABLES};
//! # fn live(plan: Arc<Plan>, out: &Path) -> crfe::Result<Source> {
//! let directory = Arc::new(RunDirectory::claim(out, Shard::WHOLE)?);  // refuses a second writer
//! let records = directory.resume(&plan, &TABLES)?;                    // refuses another run
//! let (gate, tasks) = (Arc::new(Gate::default()), plan.tasks());
//! Ok(Source::engine(Live { plan, gate, tasks, threads: 2, directory: Some(directory), records }))
//! # }
//! ```
//!
//! A growing directory is polled for appended bytes and new journals: there are no change notices on network disks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, select};

use super::journal::{Writer, is_being_written};
use super::packed::packed_name;
use super::records::{Lines, Marker, Records, Retold, unreadable, without_cv};
use super::{Engine, EventKind, Gate, Journal, Plan, RunDirectory, RunEvent, Shard, TaskId};
use crate::error::{Error, Result};

/// Events that may wait.
const WAITING: usize = 1024;
/// How often a growing directory is looked at.
const POLL: Duration = Duration::from_millis(500);
/// A journal that has not grown for so long is called stale.
const STALE: Duration = Duration::from_secs(60);
/// Memory for tasks that are followed, in units over all of them.
const FOLLOWED_UNITS: usize = 1 << 28;

/// A directory with this file holds a run that a cluster will begin: it is waited for.
pub const SUBMITTED: &str = "shards.sbatch";
/// The script of the report that waits for it.
pub const REPORT_JOB: &str = "report.sbatch";

/// What an engine shall run.
#[derive(Debug)]
pub struct Live {
    /// The run.
    pub plan: Arc<Plan>,
    /// Its control words.
    pub gate: Arc<Gate>,
    /// The tasks, in order.
    pub tasks: Vec<TaskId>,
    /// On so many threads.
    pub threads: usize,
    /// Where it is recorded, before it is told. A journal is begun when there is something to compute.
    pub directory: Option<Arc<RunDirectory>>,
    /// What is already recorded of the tasks: told first, and not computed again.
    pub records: Option<Records>,
}

/// How one shard of a run stands, by the latest process that worked on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardStatus {
    /// The shard.
    pub shard: Shard,
    /// The machine, if it is known.
    pub host: Option<String>,
    /// The process there.
    pub pid: Option<u32>,
    /// The tasks of its share.
    pub tasks: usize,
    /// Those that are finished, by whomever.
    pub done: usize,
    /// Tasks under way.
    pub running: usize,
    /// Tasks under way in a journal that does not grow: its process is dead, or waits.
    pub stale: usize,
    /// Tasks that failed.
    pub failed: usize,
    /// When its journal last grew, as far as is known.
    pub grown: Instant,
}

#[derive(Debug, Default)]
struct Status {
    shards: Vec<ShardStatus>,
    notes: Vec<String>,
}

/// A stream of events, and what stands behind it.
#[derive(Debug)]
pub struct Source {
    events: Receiver<RunEvent>,
    status: Arc<Mutex<Status>>,
    /// Dropped to end it.
    stop: Option<Sender<()>>,
    gate: Option<Arc<Gate>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Source {
    /// Tells what is recorded of the tasks and runs the others on worker threads; each event is journaled before it is told.
    pub fn engine(live: Live) -> Self {
        let gate = live.gate.clone();
        Self::spawn(Some(gate.clone()), move |tell| {
            let outcome = run_live(live, tell);
            if outcome.is_err() {
                gate.cancel();
            }
            outcome
        })
    }

    /// Replays what a directory holds, and follows it while tasks are missing. A submitted run is waited for.
    pub fn open(directory: &Path) -> Result<Self> {
        let directory = directory.to_path_buf();
        let mut found = Records::open(&directory)?;
        if found.is_none() && !directory.join(SUBMITTED).exists() {
            return Err(Error::data("there is no run in this directory")
                .file(directory)
                .remedy("make one with crfe-tui run DATA.CSV --out RUN"));
        }
        Ok(Self::spawn(None, move |tell| {
            while found.is_none() && tell.wait(POLL) {
                found = Records::open(&directory)?;
            }
            found.map_or(Ok(()), |records| Follower::new(records).follow(tell))
        }))
    }

    fn spawn(gate: Option<Arc<Gate>>, work: impl FnOnce(&mut Teller) -> Result<()> + Send + 'static) -> Self {
        let (send, events) = bounded(WAITING);
        let (stop, stopped) = bounded::<()>(0);
        let status = Arc::new(Mutex::new(Status::default()));
        let mut teller = Teller { send, stopped, status: status.clone(), seq: 0 };
        let thread = std::thread::spawn(move || work(&mut teller));
        Self { events, status, stop: Some(stop), gate, thread: Some(thread) }
    }

    /// The events.
    pub fn events(&self) -> &Receiver<RunEvent> {
        &self.events
    }

    /// How the shards of a directory stand, sorted; empty for an engine.
    pub fn shards(&self) -> Vec<ShardStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).shards.clone()
    }

    /// What there is to say about the files of a directory, in sentences.
    pub fn notes(&self) -> Vec<String> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).notes.clone()
    }

    /// Ends it: an engine is cancelled and its journal flushed to the disk. Says what went wrong on the way.
    pub fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if let Some(gate) = &self.gate {
            gate.cancel();
        }
        self.stop = None;
        let fault = || Err(Error::internal("the thread that tells events panicked"));
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(|_| fault()))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        // Who wants to know calls `close`.
        let _ = self.end();
    }
}

/// The far end of a source.
struct Teller {
    send: Sender<RunEvent>,
    /// Disconnects when the source is ended.
    stopped: Receiver<()>,
    status: Arc<Mutex<Status>>,
    seq: u64,
}

impl Teller {
    /// Tells an event; false if nobody wants to hear more.
    fn tell(&mut self, task: Option<TaskId>, kind: EventKind) -> bool {
        let event = RunEvent { seq: self.seq, task, kind };
        self.seq += 1;
        select! {
            send(self.send, event) -> sent => sent.is_ok(),
            recv(self.stopped) -> _ => false,
        }
    }

    fn set(&self, status: Status) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    /// Waits; false if the source was ended meanwhile.
    fn wait(&self, time: Duration) -> bool {
        matches!(self.stopped.recv_timeout(time), Err(crossbeam_channel::RecvTimeoutError::Timeout))
    }
}

/// What is recorded, then what is computed.
fn run_live(live: Live, tell: &mut Teller) -> Result<()> {
    let Live { plan, gate, mut tasks, threads, directory, records } = live;
    if let Some(mut records) = records {
        if !tell.tell(None, EventKind::RunStarted(plan.info.clone())) {
            return Ok(());
        }
        let mut left = Vec::new();
        for task in tasks {
            match records.read(task, &plan.info.spec)? {
                None => left.push(task),
                Some(events) => {
                    if tell_all(tell, task, events).is_err() {
                        return Ok(());
                    }
                }
            }
        }
        tell.set(Status { shards: Vec::new(), notes: records.notes() });
        tasks = left;
    }
    let journal =
        directory.as_deref().filter(|_| !tasks.is_empty()).map(RunDirectory::journal).transpose()?;
    let (send, engine) = bounded(WAITING);
    // Not joined: a worker in the middle of a long fit must not hold up the end of the program.
    std::thread::spawn(move || Engine::new(&plan, &gate, send).run(&tasks, threads));
    record(&engine, journal, tell)
}

/// Journals and passes on what an engine says, until it has ended or the source is.
fn record(engine: &Receiver<RunEvent>, mut journal: Option<Journal>, tell: &mut Teller) -> Result<()> {
    let stopped = tell.stopped.clone();
    let mut outcome = Ok(());
    loop {
        let event = select! {
            recv(engine) -> event => event,
            recv(stopped) -> _ => break,
        };
        let Ok(RunEvent { task, kind, seq }) = event else { break };
        let event = RunEvent { seq, task, kind };
        if let Some(journal) = &mut journal {
            outcome = journal.append(&event);
        }
        if outcome.is_err() || !tell.tell(event.task, event.kind) {
            break;
        }
    }
    match &mut journal {
        Some(journal) if outcome.is_ok() => journal.sync(),
        _ => outcome,
    }
}

/// A task that is being told from a file that grows.
struct Followed {
    file: usize,
    retold: Retold,
}

/// Tells a directory as one run.
struct Follower {
    records: Records,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    under_way: BTreeMap<TaskId, Followed>,
    /// Who wrote each file, and when it last grew.
    writers: Vec<(Option<Writer>, Instant)>,
    finished: bool,
}

/// The listener has gone.
struct Gone;

impl Follower {
    fn new(records: Records) -> Self {
        Self {
            records,
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            under_way: BTreeMap::new(),
            writers: Vec::new(),
            finished: false,
        }
    }

    fn follow(mut self, tell: &mut Teller) -> Result<()> {
        if self.catch_up(tell)?.is_err() {
            return Ok(());
        }
        loop {
            self.look_around();
            tell.set(self.status());
            if self.ended(tell).is_err() || self.done.len() >= self.records.tasks() || !tell.wait(POLL) {
                return Ok(());
            }
            if self.poll(tell)?.is_err() {
                return Ok(());
            }
        }
    }

    /// Everything that was there before.
    fn catch_up(&mut self, tell: &mut Teller) -> Result<std::result::Result<(), Gone>> {
        let info = self.records.info().clone();
        let spec = without_cv(&info.spec);
        self.look_around();
        self.done = self.records.finished().into_iter().collect();
        tell.set(self.status());
        if !tell.tell(None, EventKind::RunStarted(info)) {
            return Ok(Err(Gone));
        }
        for task in self.records.finished() {
            match self.records.read(task, &spec)? {
                Some(events) => {
                    if tell_all(tell, task, events).is_err() {
                        return Ok(Err(Gone));
                    }
                }
                None => {
                    self.done.remove(&task);
                }
            }
        }
        for (task, message) in self.records.failed() {
            self.failed.insert(task);
            if !tell.tell(Some(task), EventKind::TaskFailed { message }) {
                return Ok(Err(Gone));
            }
        }
        // Of tasks under way, the copy that was begun last.
        let mut open = BTreeMap::new();
        let mut order: Vec<usize> = (0..self.records.files.len()).collect();
        order.sort_by(|&a, &b| self.records.files[a].unique.cmp(&self.records.files[b].unique));
        for file in order {
            for (&task, &start) in &self.records.files[file].open {
                open.insert(task, (file, start));
            }
        }
        open.retain(|task, _| !self.done.contains(task));
        for (task, (file, start)) in open {
            let until = self.records.files[file].offset;
            let read = self.records.files[file].read(task, (start, until), spec.beta_rule);
            match read.map_err(|error| unreadable(&self.records.files[file].path, &error))? {
                Ok(mut retold) => {
                    if tell_all(tell, task, std::mem::take(&mut retold.events)).is_err() {
                        return Ok(Err(Gone));
                    }
                    self.keep(task, file, retold);
                }
                Err(fault) => self.records.say(file, task, fault),
            }
        }
        Ok(Ok(()))
    }

    fn keep(&mut self, task: TaskId, file: usize, retold: Retold) {
        let most = (FOLLOWED_UNITS / self.records.info().units.len().max(1)).max(64);
        if self.under_way.len() < most {
            self.failed.remove(&task);
            self.under_way.insert(task, Followed { file, retold });
        }
    }

    /// What has been appended since.
    fn poll(&mut self, tell: &mut Teller) -> Result<std::result::Result<(), Gone>> {
        if self.records.look_for_more()?
            && !tell.tell(None, EventKind::RunStarted(self.records.info().clone()))
        {
            return Ok(Err(Gone));
        }
        self.look_around();
        for index in 0..self.records.files.len() {
            let file = &self.records.files[index];
            let mut lines = match Lines::open(&file.path, file.offset) {
                Ok(lines) => lines,
                // Deleted by a start anew: what was told stays on the screen.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&file.path, &error)),
            };
            while let Some(at) =
                lines.next().map_err(|error| unreadable(&self.records.files[index].path, &error))?
            {
                self.writers[index].1 = Instant::now();
                let marker = self.records.files[index].note(at, lines.offset, &lines.line);
                if self.heard(index, marker, &lines.line, tell)?.is_err() {
                    return Ok(Err(Gone));
                }
            }
        }
        Ok(Ok(()))
    }

    /// One line of a file that grows.
    fn heard(
        &mut self,
        file: usize,
        marker: Marker,
        bytes: &[u8],
        tell: &mut Teller,
    ) -> Result<std::result::Result<(), Gone>> {
        let (Marker::Start(task) | Marker::Step(task) | Marker::End(task) | Marker::Failed(task)) = marker
        else {
            return Ok(Ok(()));
        };
        if self.done.contains(&task) {
            return Ok(Ok(()));
        }
        let told = self.under_way.get(&task).is_some_and(|followed| followed.file == file);
        let rule = self.records.info().spec.beta_rule;
        match marker {
            // The last to begin is told.
            Marker::Start(_) => match Retold::begin(&self.records.files[file].info, rule, bytes) {
                Ok(mut retold) => {
                    let events = std::mem::take(&mut retold.events);
                    self.under_way.remove(&task);
                    self.keep(task, file, retold);
                    return Ok(tell_all(tell, task, events));
                }
                Err(fault) => self.records.say(file, task, fault),
            },
            Marker::Step(_) | Marker::End(_) if told => {
                let Some(followed) = self.under_way.get_mut(&task) else { return Ok(Ok(())) };
                if let Err(fault) = followed.retold.line(bytes) {
                    self.under_way.remove(&task);
                    self.records.files[file].finished.remove(&task);
                    self.records.say(file, task, fault);
                    return Ok(Ok(()));
                }
                let events = std::mem::take(&mut followed.retold.events);
                if matches!(marker, Marker::End(_)) {
                    self.under_way.remove(&task);
                    self.done.insert(task);
                }
                return Ok(tell_all(tell, task, events));
            }
            // A copy that was not told is finished first: it is told now, whole.
            Marker::End(_) => {
                let spec = without_cv(&self.records.info().spec.clone());
                if let Some(events) = self.records.read(task, &spec)? {
                    self.under_way.remove(&task);
                    self.done.insert(task);
                    return Ok(tell_all(tell, task, events));
                }
            }
            Marker::Failed(_) if told || !self.under_way.contains_key(&task) => {
                self.under_way.remove(&task);
                self.failed.insert(task);
                let message = self.records.files[file].failed.get(&task).cloned().unwrap_or_default();
                return Ok(tell_all(tell, task, vec![EventKind::TaskFailed { message }]));
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// Tells the end, once.
    fn ended(&mut self, tell: &mut Teller) -> std::result::Result<(), Gone> {
        let failed = self.failed.difference(&self.done).count();
        let ended = self.done.len() + failed >= self.records.tasks();
        let news = ended && !self.finished;
        self.finished = ended;
        if news && !tell.tell(None, EventKind::RunFinished) { Err(Gone) } else { Ok(()) }
    }

    /// Who writes the files that are new.
    fn look_around(&mut self) {
        for (index, file) in self.records.files.iter().enumerate() {
            if index == self.writers.len() {
                let age = std::fs::metadata(&file.path)
                    .or_else(|_| std::fs::metadata(packed_name(&file.path)))
                    .and_then(|data| data.modified())
                    .ok()
                    .and_then(|time| time.elapsed().ok())
                    .unwrap_or_default();
                let grown = Instant::now().checked_sub(age).unwrap_or_else(Instant::now);
                self.writers.push((None, grown));
            }
            let writer = &mut self.writers[index].0;
            if writer.is_none() {
                *writer = Writer::of(&self.records.directory, &file.unique);
            }
        }
    }

    fn status(&self) -> Status {
        let info = self.records.info();
        let mut latest: BTreeMap<Shard, usize> = BTreeMap::new();
        for (index, file) in self.records.files.iter().enumerate() {
            let newest = latest.entry(file.shard).or_insert(index);
            if file.unique > self.records.files[*newest].unique {
                *newest = index;
            }
        }
        let tasks: Vec<TaskId> = (0..info.splits)
            .flat_map(|split| info.spec.methods.iter().map(move |&method| TaskId { method, split }))
            .collect();
        let shards = latest.into_iter().map(|(shard, index)| {
            let (file, (writer, grown)) = (&self.records.files[index], &self.writers[index]);
            let share = shard.share(&tasks);
            let open = file.open.keys().filter(|task| !self.done.contains(task)).count();
            let alive = writer
                .as_ref()
                .and_then(|writer| is_being_written(&self.records.directory, shard, &writer.host))
                .unwrap_or(true);
            let stale = !alive || grown.elapsed() > STALE;
            ShardStatus {
                shard,
                host: writer.as_ref().map(|writer| writer.host.clone()),
                pid: writer.as_ref().map(|writer| writer.pid),
                done: share.iter().filter(|task| self.done.contains(task)).count(),
                failed: share
                    .iter()
                    .filter(|task| self.failed.contains(task) && !self.done.contains(task))
                    .count(),
                tasks: share.len(),
                running: if stale { 0 } else { open },
                stale: if stale { open } else { 0 },
                grown: *grown,
            }
        });
        Status { shards: shards.collect(), notes: self.records.notes() }
    }
}

fn tell_all(tell: &mut Teller, task: TaskId, events: Vec<EventKind>) -> std::result::Result<(), Gone> {
    events.into_iter().all(|kind| tell.tell(Some(task), kind)).then_some(()).ok_or(Gone)
}
