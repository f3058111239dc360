//! What runs behind the screen: reading the file, the engine, the journal, and closer looks, each telling the screen by message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fault;
use crate::report::TABLES;
use crate::run::{
    Branch, EventKind, Forced, Gate, Inspection, Live, Plan, Portrait, RunDirectory, RunEvent, RunSpec,
    Shard, ShardStatus, Source, TaskId, branch, inspect, panic_text, portrait, state_directory,
};

/// The thread without which there is no run.
const RUN: &str = "crfe-run";
/// Messages that may wait for the screen.
const WAITING: usize = 1024;
/// How often a followed run is asked how its shards stand.
const SHARDS_EVERY: Duration = Duration::from_millis(500);

/// What the screen is told.
#[derive(Debug)]
pub enum Message {
    /// Something happened in the run.
    Event(RunEvent),
    /// The data were understood.
    Ready(Arc<Plan>),
    /// The run could not begin, or could not be recorded any more.
    Failed(Error),
    /// β of a step was recomputed.
    Inspected(TaskId, usize, Inspection),
    /// A feature's portrait.
    Portrait(Portrait),
    /// What would have happened otherwise.
    Branched(Branch),
    /// Where the run is recorded.
    Recorded(PathBuf),
    /// How the shards of a followed run stand.
    Shards(Vec<ShardStatus>),
    /// Something in the background ended, with words for the status line.
    Said(String),
}

impl Message {
    fn event(task: Option<TaskId>, kind: EventKind) -> Self {
        Self::Event(RunEvent { seq: 0, task, kind })
    }
}

/// What to show.
#[derive(Debug, Clone)]
pub enum Order {
    /// Compute it.
    Compute(Box<Compute>),
    /// Replay or follow what a directory holds; the data where the user says they are now.
    Open(PathBuf, Option<PathBuf>),
}

/// What to compute, and how.
#[derive(Debug, Clone)]
pub struct Compute {
    /// The file.
    pub data: PathBuf,
    /// The settings.
    pub spec: RunSpec,
    /// Worker threads.
    pub threads: usize,
    /// Wait before the first elimination.
    pub paused: bool,
    /// Where it is recorded.
    pub record: Record,
}

/// Where a run is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Nowhere.
    No,
    /// In the user's state directory, by fingerprint.
    State,
    /// Here.
    In(PathBuf),
}

/// A run in the background. Dropping it ends the run at the next elimination.
pub struct Session {
    gate: Arc<Gate>,
    messages: Receiver<Message>,
    sender: Sender<Message>,
}

impl Session {
    /// Starts reading at once; everything is told through [`Session::messages`].
    pub fn start(order: Order) -> Self {
        let gate = Arc::new(Gate::default());
        if matches!(&order, Order::Compute(compute) if compute.paused) {
            gate.pause();
        }
        let (sender, messages) = bounded(WAITING);
        let session = Self { gate: gate.clone(), messages, sender };
        session.spawn(RUN, move |to| {
            let ended = match &order {
                Order::Compute(compute) => run(compute, &gate, &to),
                Order::Open(directory, data) => replay(directory, data.as_deref(), &to),
            };
            if let Err(error) = ended {
                let _ = to.send(Message::Failed(error));
            }
        });
        session
    }

    /// What is told.
    pub fn messages(&self) -> &Receiver<Message> {
        &self.messages
    }

    /// The control words.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Recomputes β of a model, for a step that does not hold it.
    pub fn inspect(&self, plan: Arc<Plan>, task: TaskId, units: Vec<usize>) {
        self.spawn("crfe-inspect", move |to| {
            if let Ok(inspection) = inspect(&plan, task.split, &units) {
                let _ = to.send(Message::Inspected(task, units.len(), inspection));
            }
        });
    }

    /// Looks at one feature.
    pub fn portrait(&self, plan: Arc<Plan>, unit: usize) {
        self.spawn("crfe-inspect", move |to| {
            let _ = to.send(Message::Portrait(portrait(&plan.data, unit)));
        });
    }

    /// Computes what would have happened otherwise.
    pub fn branch(&self, plan: Arc<Plan>, task: TaskId, present: Vec<usize>, forced: Forced) {
        self.spawn("crfe-inspect", move |to| {
            let message = match branch(&plan, task, &present, forced) {
                Ok(branch) => Message::Branched(branch),
                Err(error) => Message::Said(error.to_string()),
            };
            let _ = to.send(message);
        });
    }

    /// Does something in the background that ends with words.
    pub fn say(&self, work: impl FnOnce() -> Result<String> + Send + 'static) {
        self.spawn("crfe-export", move |to| {
            let words = work().unwrap_or_else(|error| error.to_string());
            let _ = to.send(Message::Said(words));
        });
    }

    fn spawn(&self, name: &str, work: impl FnOnce(Sender<Message>) + Send + 'static) {
        let to = self.sender.clone();
        let for_failure = self.sender.clone();
        let place = name.to_owned();
        let guarded = move || {
            let fault = to.clone();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                fault::strike(|| place.clone());
                work(to);
            }));
            if let Err(panic) = outcome {
                let words = format!("internal fault: {}", panic_text(&*panic));
                let ends = place == RUN;
                let _ = fault.send(if ends {
                    Message::Failed(Error::internal(words))
                } else {
                    Message::Said(words)
                });
            }
        };
        if std::thread::Builder::new().name(name.into()).spawn(guarded).is_err() {
            let _ = for_failure.try_send(Message::Said("no thread could be started".into()));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.gate.cancel();
    }
}

fn run(order: &Compute, gate: &Arc<Gate>, to: &Sender<Message>) -> Result<()> {
    let data = Dataset::load(&order.data, &order.spec.schema, |bytes, of| {
        let _ = to.send(Message::event(None, EventKind::Loading { bytes, of }));
    })?;
    let plan = Arc::new(Plan::new(order.spec.clone(), data)?);
    let started = Message::event(None, EventKind::RunStarted(plan.info.clone()));
    if to.send(Message::Ready(plan.clone())).is_err() || to.send(started).is_err() {
        return Ok(());
    }
    let directory = claim(order, &plan, to)?.map(Arc::new);
    let mut records = None;
    if let Some(directory) = &directory {
        let _ = to.send(Message::Recorded(directory.path().to_path_buf()));
        records = directory.resume(&plan, &TABLES)?;
    }
    let tasks = plan.tasks();
    let live = Live { plan, gate: gate.clone(), tasks, threads: order.threads, directory, records };
    let source = Source::engine(live);
    forward(&source, to);
    source.close()
}

/// The directory of the run; in the user's state directory another dashboard may be at work on it, which is no harm.
fn claim(order: &Compute, plan: &Plan, to: &Sender<Message>) -> Result<Option<RunDirectory>> {
    match &order.record {
        Record::No => Ok(None),
        Record::In(path) => RunDirectory::claim(path, Shard::WHOLE).map(Some),
        Record::State => {
            let claimed = state_directory(&plan.info).map(|path| RunDirectory::claim(&path, Shard::WHOLE));
            match claimed {
                Some(Ok(directory)) => Ok(Some(directory)),
                Some(Err(error)) => {
                    let _ = to.send(Message::Said(format!("this run is not recorded: {error}")));
                    Ok(None)
                }
                None => Ok(None),
            }
        }
    }
}

/// Tells what a directory holds, and what is added to it.
fn replay(directory: &Path, data: Option<&Path>, to: &Sender<Message>) -> Result<()> {
    let source = Source::open(directory)?;
    let _ = to.send(Message::Recorded(directory.to_path_buf()));
    let Ok(first) = source.events().recv() else { return source.close() };
    if let EventKind::RunStarted(info) = &first.kind {
        let (info, data, to) = (info.clone(), data.map(Path::to_path_buf), to.clone());
        // Only closer looks need the data: the replay does not wait for them.
        std::thread::spawn(move || {
            let message = match Plan::find(&info, data.as_deref()) {
                Ok(plan) => Message::Ready(Arc::new(plan)),
                Err(why) => Message::Said(format!("the data are not at hand: {why}")),
            };
            let _ = to.send(message);
        });
    }
    if to.send(Message::Event(first)).is_ok() {
        forward(&source, to);
    }
    source.close()
}

/// Passes events on, and how the shards stand when that changes.
fn forward(source: &Source, to: &Sender<Message>) {
    let mut told = Vec::new();
    loop {
        let event = source.events().recv_timeout(SHARDS_EVERY);
        let shards = source.shards();
        let changed = shards.len() != told.len()
            || shards.iter().zip(&told).any(|(a, b): (&ShardStatus, &ShardStatus)| {
                (a.done, a.running, a.stale, a.failed) != (b.done, b.running, b.stale, b.failed)
            });
        if changed {
            told.clone_from(&shards);
            if to.send(Message::Shards(shards)).is_err() {
                return;
            }
        }
        match event {
            Ok(event) => {
                if to.send(Message::Event(event)).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
