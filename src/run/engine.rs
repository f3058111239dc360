//! N plain threads over a queue of tasks. One panicking task fails alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;

use super::task::{SplitWork, run_task};
use super::{EventKind, Gate, Passage, Plan, RunEvent, TaskId};
use crate::error::Result;
use crate::fault;

/// The name of worker threads; a panic there is a failed task, not a crash.
pub const WORKER: &str = "crfe-worker";

/// Runs the tasks of a plan and tells what happens.
pub struct Engine<'a> {
    plan: &'a Plan,
    gate: &'a Gate,
    events: Sender<RunEvent>,
    seq: AtomicU64,
}

impl<'a> Engine<'a> {
    /// An engine that tells its events to a (bounded) channel.
    pub fn new(plan: &'a Plan, gate: &'a Gate, events: Sender<RunEvent>) -> Self {
        Self { plan, gate, events, seq: AtomicU64::new(0) }
    }

    /// Runs the tasks to the end, or until the gate is cancelled or nobody listens any more.
    pub fn run(&self, tasks: &[TaskId], threads: usize) {
        self.run_with(tasks, threads, |work, task, tell, go_on| run_task(self.plan, work, task, tell, go_on));
    }

    fn run_with<W>(&self, tasks: &[TaskId], threads: usize, work: W)
    where
        W: Fn(&SplitWork, TaskId, &mut dyn FnMut(EventKind), &mut dyn FnMut() -> bool) -> Result<bool> + Sync,
    {
        self.tell(None, EventKind::RunStarted(self.plan.info.clone()));
        let tasks = &in_turns(tasks, threads)[..];
        let queue = Queue::new(tasks);
        let shared = SharedWork::new(self.plan, tasks);
        let thread = || std::thread::Builder::new().name(WORKER.into());
        std::thread::scope(|scope| {
            // While all workers wait at the gate, a person may ask for a step of a task that none of them has begun.
            let spare = || {
                while let Some(task) = self.gate.asked_for(|task| queue.waits(task)) {
                    if queue.claim(task) {
                        self.one(task, &shared, &work);
                    }
                }
            };
            // Without it such a step is only refused.
            let _ = thread().spawn_scoped(scope, spare);
            std::thread::scope(|workers| {
                for _ in 0..threads.clamp(1, tasks.len().max(1)) {
                    let worker = || {
                        while let Some(task) = queue.next()
                            && !self.gate.cancelled()
                        {
                            self.one(task, &shared, &work);
                        }
                    };
                    if thread().spawn_scoped(workers, worker).is_err() {
                        // No more threads to be had: those that run, or else this one, do the work.
                        worker();
                    }
                }
            });
            self.gate.no_more_tasks();
        });
        if !self.gate.cancelled() {
            self.tell(None, EventKind::RunFinished);
        }
    }

    fn one<W>(&self, task: TaskId, shared: &SharedWork<'_>, work: &W)
    where
        W: Fn(&SplitWork, TaskId, &mut dyn FnMut(EventKind), &mut dyn FnMut() -> bool) -> Result<bool>,
    {
        let inside = self.gate.enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let split = shared.take(task.split)?;
            fault::strike(|| format!("worker:{}:{}", task.method.name(), task.split));
            let mut tell = |kind| self.tell(Some(task), kind);
            work(&split, task, &mut tell, &mut || self.gate.pass(task) == Passage::Go)
        }));
        drop(inside);
        shared.give_back(task.split);
        let message = match outcome {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("internal fault: {}", panic_text(&*panic)),
        };
        self.tell(Some(task), EventKind::TaskFailed { message });
    }

    fn tell(&self, task: Option<TaskId>, kind: EventKind) {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed);
        if self.events.send(RunEvent { seq, task, kind }).is_err() {
            self.gate.cancel();
        }
    }
}

/// What a panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// As many splits side by side as there are threads, each with one method after the other: the second finds the preparation and the
/// first fit of its split done. Side by side, the methods of a split would each wait for the one or do the other again.
fn in_turns(tasks: &[TaskId], threads: usize) -> Vec<TaskId> {
    let mut by_split: Vec<Vec<TaskId>> = Vec::new();
    for &task in tasks {
        match by_split.iter_mut().find(|of_split| of_split[0].split == task.split) {
            Some(of_split) => of_split.push(task),
            None => by_split.push(vec![task]),
        }
    }
    let mut order = Vec::with_capacity(tasks.len());
    for side_by_side in by_split.chunks(threads.max(1)) {
        let most = side_by_side.iter().map(Vec::len).max().unwrap_or_default();
        for turn in 0..most {
            order.extend(side_by_side.iter().filter_map(|of_split| of_split.get(turn)));
        }
    }
    order
}

/// The tasks in order, each given out once.
struct Queue<'a> {
    tasks: &'a [TaskId],
    taken: Vec<AtomicBool>,
}

impl<'a> Queue<'a> {
    fn new(tasks: &'a [TaskId]) -> Self {
        Self { tasks, taken: tasks.iter().map(|_| AtomicBool::new(false)).collect() }
    }

    /// The first that nobody has.
    fn next(&self) -> Option<TaskId> {
        self.tasks.iter().copied().find(|&task| self.claim(task))
    }

    /// Takes a task, unless somebody has.
    fn claim(&self, task: TaskId) -> bool {
        let taken = self.position(task).map(|i| self.taken[i].swap(true, Ordering::Relaxed));
        taken == Some(false)
    }

    /// Whether a task is here and nobody has it.
    fn waits(&self, task: TaskId) -> bool {
        self.position(task).is_some_and(|i| !self.taken[i].load(Ordering::Relaxed))
    }

    fn position(&self, task: TaskId) -> Option<usize> {
        self.tasks.iter().position(|&other| other == task)
    }
}

/// The preparation of each split: made by the first task that needs it, shared, and dropped after the last.
struct SharedWork<'a> {
    plan: &'a Plan,
    splits: Vec<Mutex<(usize, Option<Arc<SplitWork>>)>>,
}

impl<'a> SharedWork<'a> {
    fn new(plan: &'a Plan, tasks: &[TaskId]) -> Self {
        let users = |split| tasks.iter().filter(|task| task.split == split).count();
        Self {
            plan,
            splits: (0..plan.splits.count()).map(|split| Mutex::new((users(split), None))).collect(),
        }
    }

    /// Waits only for the preparation of the same split.
    fn take(&self, split: usize) -> Result<Arc<SplitWork>> {
        let mut slot = self.splits[split].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(work) = &slot.1 {
            return Ok(work.clone());
        }
        let work = Arc::new(SplitWork::new(self.plan, split)?);
        slot.1 = Some(work.clone());
        Ok(work)
    }

    fn give_back(&self, split: usize) {
        let mut slot = self.splits[split].lock().unwrap_or_else(PoisonError::into_inner);
        slot.0 -= 1;
        if slot.0 == 0 {
            slot.1 = None;
        }
    }
}

/// What this process may use: affinity and cgroup limits, and what Slurm gave it.
pub fn default_threads() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let slurm = std::env::var("SLURM_CPUS_PER_TASK").ok().and_then(|text| text.parse::<usize>().ok());
    slurm.filter(|&cpus| cpus > 0).map_or(allowed, |cpus| cpus.min(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::run::RunOptions;
    use crate::select::Method;
    use ndarray::Array2;

    fn plan() -> Plan {
        let x = Array2::from_shape_fn((40, 3), |(i, j)| ((i * 7 + j * 3) % 11) as f64 + (i % 2 * j) as f64);
        let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let mut options = RunOptions::default();
        options.split.splits = 3;
        Plan::new(options.check().unwrap(), Dataset::from_arrays(x.view(), &labels, None).unwrap()).unwrap()
    }

    #[test]
    fn methods_of_a_split_take_turns() {
        let tasks = plan().tasks();
        let order = |threads| -> Vec<(usize, Method)> {
            in_turns(&tasks, threads).iter().map(|task| (task.split, task.method)).collect()
        };
        let (crfe, rfe) = (Method::Crfe, Method::Rfe);
        assert_eq!(in_turns(&tasks, 1), tasks);
        assert_eq!(order(2), [(0, crfe), (1, crfe), (0, rfe), (1, rfe), (2, crfe), (2, rfe)]);
        assert_eq!(in_turns(&tasks[1..2], 8), tasks[1..2]);
        assert!(in_turns(&[], 2).is_empty());
    }

    #[test]
    fn one_panicking_task_fails_alone() {
        let (plan, gate) = (plan(), Gate::default());
        let (send, receive) = crossbeam_channel::unbounded();
        let engine = Engine::new(&plan, &gate, send);
        let bad = TaskId { method: Method::Rfe, split: 1 };
        engine.run_with(&plan.tasks(), 2, |work, task, tell, go_on| {
            assert!(task != bad, "on purpose");
            run_task(&plan, work, task, tell, go_on)
        });
        drop(engine);
        let events: Vec<RunEvent> = receive.iter().collect();
        let finished = events.iter().filter(|e| matches!(e.kind, EventKind::TaskFinished { .. })).count();
        assert_eq!(finished, 5);
        let failed: Vec<_> = events
            .iter()
            .filter_map(|e| match &e.kind {
                EventKind::TaskFailed { message } => Some((e.task, message.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(failed, [(Some(bad), "internal fault: on purpose")]);
        assert_eq!(events.last().map(|e| &e.kind), Some(&EventKind::RunFinished));
    }

    #[test]
    fn a_paused_engine_steps_a_task_that_nobody_has_begun() {
        let (plan, gate) = (plan(), Gate::default());
        gate.pause();
        let (send, receive) = crossbeam_channel::unbounded();
        let last = TaskId { method: Method::Rfe, split: 2 };
        std::thread::scope(|scope| {
            let engine = Engine::new(&plan, &gate, send);
            let plan = &plan;
            scope.spawn(move || engine.run(&plan.tasks(), 1));
            gate.step(last);
            let step = receive.iter().find(|event| matches!(event.kind, EventKind::Step(_))).unwrap();
            assert_eq!(step.task, Some(last));
            gate.resume();
            assert_eq!(receive.iter().last().unwrap().kind, EventKind::RunFinished);
        });
    }

    #[test]
    fn a_paused_engine_finishes_one_path_and_stays_paused() {
        let (plan, gate) = (plan(), Gate::default());
        gate.pause();
        let (send, receive) = crossbeam_channel::unbounded();
        let first = TaskId { method: Method::Crfe, split: 0 };
        std::thread::scope(|scope| {
            let engine = Engine::new(&plan, &gate, send);
            let plan = &plan;
            scope.spawn(move || engine.run(&plan.tasks(), 1));
            // One step, then all the others of the same path.
            gate.step(first);
            let is_step = |event: &RunEvent| matches!(event.kind, EventKind::Step(_));
            assert_eq!(receive.iter().find(is_step).unwrap().task, Some(first));
            gate.finish(first);
            let ended =
                receive.iter().find(|event| matches!(event.kind, EventKind::TaskFinished { .. })).unwrap();
            assert_eq!(ended.task, Some(first));
            // The worker takes up the next path and waits before its first elimination.
            while !gate.paused() {
                std::thread::yield_now();
            }
            assert!(receive.try_iter().all(|event| !is_step(&event)), "nothing else has moved");
            gate.resume();
            assert_eq!(receive.iter().last().unwrap().kind, EventKind::RunFinished);
        });
    }

    #[test]
    fn ends_when_nobody_listens() {
        let (plan, gate) = (plan(), Gate::default());
        let (send, receive) = crossbeam_channel::bounded(1);
        drop(receive);
        Engine::new(&plan, &gate, send).run(&plan.tasks(), 2);
        assert!(gate.cancelled());
    }
}
