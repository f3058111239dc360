//! What runs behind the screen: reading the file, the engine, the journal, and closer looks, each telling the screen by message.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::fault;
use crate::run::{
    Branch, Engine, EventKind, Forced, Gate, Inspection, Plan, Portrait, RunEvent, RunSpec, TaskId, branch,
    inspect, panic_text, portrait,
};

/// The thread without which there is no run.
const RUN: &str = "crfe-run";
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
    /// What would have happened otherwise.
    Branched(Branch),
    /// Something in the background ended, with words for the status line.
    Said(String),
}

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Order {
    /// The file.
    pub data: PathBuf,
    /// The settings.
    pub spec: RunSpec,
    /// Worker threads.
    pub threads: usize,
    /// Wait before the first elimination.
    pub paused: bool,
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
        if order.paused {
            gate.pause();
        }
        let (sender, messages) = bounded(WAITING);
        let session = Self { gate: gate.clone(), messages, sender };
        session.spawn(RUN, move |to| {
            if let Err(error) = run(&order, &gate, &to) {
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

fn run(order: &Order, gate: &Gate, to: &Sender<Message>) -> Result<()> {
    let mut seq = 0;
    let data = Dataset::load(&order.data, &order.spec.schema, |bytes, of| {
        let _ = to.send(Message::Event(RunEvent { seq, task: None, kind: EventKind::Loading { bytes, of } }));
        seq += 1;
    })?;
    let plan = Arc::new(Plan::new(order.spec.clone(), data)?);
    if to.send(Message::Ready(plan.clone())).is_err() {
        return Ok(());
    }
    let (send, receive) = bounded(WAITING);
    let tasks = plan.tasks();
    std::thread::scope(|scope| {
        let engine = Engine::new(&plan, gate, send);
        let tasks = &tasks;
        scope.spawn(move || engine.run(tasks, order.threads));
        for event in &receive {
            if to.send(Message::Event(event)).is_err() {
                gate.cancel();
                break;
            }
        }
        // The engine may wait for room in the channel: let it see that nobody listens.
        drop(receive);
    });
    Ok(())
}
