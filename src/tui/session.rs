//! What runs behind the screen: reading the file, the engine and its journal, closer looks. The
//! screen selects on the channel of the engine itself; everything else sends messages.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, never};

use super::app::Lookup;
use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::evaluate::Tally;
use crate::fault;
use crate::record::{EventSource, Live, RunDirectory, Shard, ShardStatus, state_directory};
use crate::report::outputs;
use crate::run::{
    Branch, EffectCurve, EventKind, Gate, Inspection, Plan, Portrait, RunEvent, RunInfo, RunSpec,
    Survey, TaskId, Twins, branch, effects_of_split, inspect, panic_text, portrait, test_list,
};

/// Messages that may wait for the screen.
const WAITING: usize = 1024;

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
    /// A feature's effect in the model of this size.
    EffectCurve(TaskId, usize, EffectCurve),
    /// A list was tested on all splits.
    ListTested(Vec<usize>, Vec<(usize, Tally)>),
    /// What the table gives under other settings.
    Surveyed(Box<Survey>),
    /// What would have happened otherwise.
    Branched(Branch),
    /// A closer look that came to nothing, and why.
    LookupFailed(Lookup, String),
    /// Where the run is recorded.
    Recorded(PathBuf),
    /// The run was begun before, by the same command.
    Reopened,
    /// How the shards of a followed run stand.
    Shards(Vec<ShardStatus>),
    /// Something in the background ended, with words for the status line.
    Said(String),
}

impl Message {
    fn event(kind: EventKind) -> Self {
        Self::Event(RunEvent { task: None, kind })
    }

    /// Whether a person asked for it with a key.
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Inspected(..)
                | Self::Portrait(_)
                | Self::EffectCurve(..)
                | Self::ListTested(..)
                | Self::Surveyed(_)
                | Self::Branched(_)
                | Self::LookupFailed(..)
                | Self::Said(_)
        )
    }
}

/// What a session sends to the screen.
#[derive(Debug)]
pub enum SessionMessage {
    /// Something to show.
    Message(Message),
    /// The run has begun; its events come from here.
    Source(Box<EventSource>),
}

/// Sends messages to the screen.
#[derive(Clone)]
struct Messenger(Sender<SessionMessage>);

impl Messenger {
    /// Whether the screen is still there.
    fn send(&self, message: Message) -> bool {
        self.0.send(SessionMessage::Message(message)).is_ok()
    }

    fn send_source(&self, source: EventSource) {
        let _ = self.0.send(SessionMessage::Source(Box::new(source)));
    }
}

/// What to show.
#[derive(Debug, Clone)]
pub enum SessionRequest {
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
    /// Show the settings before anything is computed; goes with `paused`.
    pub settings_first: bool,
    /// Where it is recorded.
    pub record: Recording,
}

/// Where a run is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
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
    messages: Receiver<SessionMessage>,
    messenger: Messenger,
    source: Option<Box<EventSource>>,
    events: Receiver<RunEvent>,
    shard_changes: Receiver<()>,
}

impl Session {
    /// Starts reading at once.
    pub fn start(request: SessionRequest) -> Self {
        let gate = Arc::new(Gate::default());
        if matches!(&request, SessionRequest::Compute(compute) if compute.paused) {
            gate.pause();
        }
        let (sender, messages) = bounded(WAITING);
        let messenger = Messenger(sender);
        let (events, shard_changes) = (never(), never());
        let session =
            Self { gate: gate.clone(), messages, messenger, source: None, events, shard_changes };
        let begin = move |to: &Messenger| {
            let begun = match &request {
                SessionRequest::Compute(compute) => compute_source(compute, &gate, to),
                SessionRequest::Open(directory, _) => EventSource::open(directory).map(|source| {
                    to.send(Message::Recorded(directory.clone()));
                    Some(source)
                }),
            };
            match begun {
                Ok(Some(source)) => to.send_source(source),
                Ok(None) => {}
                Err(error) => {
                    to.send(Message::Failed(error));
                }
            }
        };
        session.spawn("crfe-run", begin, |words| Message::Failed(Error::internal(words)));
        session
    }

    /// What comes from behind the screen, besides the events of the run.
    pub fn messages(&self) -> &Receiver<SessionMessage> {
        &self.messages
    }

    /// The events of the run, once it has begun. They end when there will be no more: then
    /// [`Session::finish`] it.
    pub fn events(&self) -> &Receiver<RunEvent> {
        &self.events
    }

    /// Says that a followed run's shards stand differently.
    pub fn shard_changes(&self) -> &Receiver<()> {
        &self.shard_changes
    }

    /// How the shards of a followed run stand.
    pub fn shards(&self) -> Vec<ShardStatus> {
        self.source.as_ref().map_or_else(Vec::new, |source| source.shards())
    }

    /// The run has begun.
    pub fn attach(&mut self, source: Box<EventSource>) {
        self.events = source.events().clone();
        self.shard_changes = source.shard_changes().clone();
        self.source = Some(source);
    }

    /// The events have ended: what went wrong on the way.
    pub fn finish(&mut self) -> Result<()> {
        (self.events, self.shard_changes) = (never(), never());
        self.source.take().map_or(Ok(()), |source| source.close())
    }

    /// The control words.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Looks for the data of a replayed run, which only closer looks need.
    pub fn find_data(&self, info: Arc<RunInfo>, data: Option<PathBuf>) {
        let find = move |to: &Messenger| {
            to.send(match Plan::find(&info, data.as_deref()) {
                Ok(plan) => Message::Ready(Arc::new(plan)),
                Err(why) => Message::Said(format!("the data file is not available: {why}")),
            });
        };
        self.spawn("crfe-data", find, Message::Said);
    }

    /// Computes from the data what the run does not hold.
    pub fn look_up(&self, plan: Arc<Plan>, lookup: Lookup) {
        let wanted = lookup.clone();
        let look = move |to: &Messenger| {
            to.send(look_up(&plan, wanted.clone()).unwrap_or_else(|error| {
                let words = format!("{}: {error}", wanted.failure());
                Message::LookupFailed(wanted, words)
            }));
        };
        self.spawn("crfe-inspect", look, |words| Message::LookupFailed(lookup, words));
    }

    /// Reads the table as other settings understand it.
    pub fn survey(&self, data: PathBuf, spec: RunSpec) {
        let wanted = spec.clone();
        let surveyed = |survey| Message::Surveyed(Box::new(survey));
        let take = move |to: &Messenger| {
            to.send(surveyed(Survey::take(&data, wanted)));
        };
        self.spawn("crfe-inspect", take, move |why| surveyed(Survey { spec, found: Err(why) }));
    }

    /// Does something in the background that ends with words.
    pub fn say(&self, work: impl FnOnce() -> Result<String> + Send + 'static) {
        let work = |to: &Messenger| {
            let words = work().unwrap_or_else(|error| error.to_string());
            to.send(Message::Said(words));
        };
        self.spawn("crfe-export", work, Message::Said);
    }

    /// Works on a thread of its own; after a panic the screen gets another message.
    fn spawn(
        &self,
        name: &str,
        work: impl FnOnce(&Messenger) + Send + 'static,
        after_panic: impl FnOnce(String) -> Message + Send + 'static,
    ) {
        let to = self.messenger.clone();
        let place = name.to_owned();
        let guarded = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                fault::strike(|| place);
                work(&to);
            }));
            if let Err(panic) = outcome {
                to.send(after_panic(format!("internal fault: {}", panic_text(&*panic))));
            }
        };
        if std::thread::Builder::new().name(name.into()).spawn(guarded).is_err() {
            let failure =
                SessionMessage::Message(Message::Said("no thread could be started".into()));
            let _ = self.messenger.0.try_send(failure);
        }
    }
}

/// Computes one closer look; what to tell the screen.
fn look_up(plan: &Plan, lookup: Lookup) -> Result<Message> {
    Ok(match lookup {
        Lookup::Inspect(task, units) => {
            Message::Inspected(task, units.len(), inspect(plan, task.split, &units)?)
        }
        Lookup::FindTwins(units) => {
            Message::event(EventKind::TwinsFound(Twins::find(&plan.data, &units).into()))
        }
        Lookup::TestList(units) => {
            let splits = 0..plan.info.splits;
            let tested: Result<Vec<(usize, Tally)>> =
                splits.map(|split| Ok((split, test_list(plan, split, &units)?))).collect();
            Message::ListTested(units, tested?)
        }
        Lookup::Portrait(unit) => Message::Portrait(portrait(&plan.data, unit)),
        Lookup::EffectCurve(task, units, unit) => {
            let mut curves = effects_of_split(plan, task.split, &units, &[unit])?;
            let curve = curves.pop().ok_or_else(|| Error::internal("there is no curve"))?;
            Message::EffectCurve(task, units.len(), curve)
        }
        Lookup::Branch(task, present, forced) => {
            Message::Branched(branch(plan, task, &present, forced)?)
        }
    })
}

impl Drop for Session {
    fn drop(&mut self) {
        self.gate.cancel();
    }
}

/// Reads the file and begins the run; none if nobody wants it any more.
fn compute_source(
    request: &Compute,
    gate: &Arc<Gate>,
    to: &Messenger,
) -> Result<Option<EventSource>> {
    let data = Dataset::load(&request.data, &request.spec.schema, |bytes, of| {
        to.send(Message::event(EventKind::Loading { bytes, of }));
    })?;
    let plan = Arc::new(Plan::new(request.spec.clone(), data)?);
    let shown = to.send(Message::Ready(plan.clone()));
    if !shown || gate.cancelled() {
        return Ok(None);
    }
    let directory = claim(request, &plan, to)?.map(Arc::new);
    let mut records = None;
    if let Some(directory) = &directory {
        to.send(Message::Recorded(directory.path().to_path_buf()));
        records = directory.resume(&plan, &outputs())?;
        if records.is_some() {
            to.send(Message::Reopened);
        }
    }
    let tasks = plan.tasks();
    let followups = plan.info.followups();
    let live = Live {
        plan,
        gate: gate.clone(),
        tasks,
        followups,
        threads: request.threads,
        directory,
        records,
    };
    Ok(Some(EventSource::engine(live)))
}

/// The directory of the run; in the user's state directory another dashboard may be at work on it,
/// which is no harm.
fn claim(request: &Compute, plan: &Plan, to: &Messenger) -> Result<Option<RunDirectory>> {
    match &request.record {
        Recording::No => Ok(None),
        Recording::In(path) => RunDirectory::claim(path, Shard::WHOLE).map(Some),
        Recording::State => {
            let claimed = state_directory(&plan.info)
                .map(|path| RunDirectory::claim_private(&path, Shard::WHOLE));
            match claimed {
                Some(Ok(directory)) => Ok(Some(directory)),
                Some(Err(error)) => {
                    to.send(Message::Said(format!("this run is not recorded: {error}")));
                    Ok(None)
                }
                None => Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;

    /// As `run --out` refuses it: an export would overwrite the page.
    #[test]
    fn a_directory_with_somebody_elses_page_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("report.html");
        std::fs::write(&page, "mine").unwrap();
        let mut options = RunOptions::default();
        options.split.splits = 1;
        let compute = Compute {
            data: "data/heart.csv".into(),
            spec: options.check().unwrap(),
            threads: 1,
            paused: false,
            settings_first: false,
            record: Recording::In(directory.path().to_path_buf()),
        };
        let (sender, _messages) = crossbeam_channel::unbounded();
        let refused = compute_source(&compute, &Arc::new(Gate::default()), &Messenger(sender));
        let error = refused.expect_err("the page is not ours");
        assert_eq!(error.exit_code(), 5);
        assert!(error.to_string().contains("a report.html that crfe-tui did not write"), "{error}");
        assert_eq!(std::fs::read_to_string(page).unwrap(), "mine");
    }
}
