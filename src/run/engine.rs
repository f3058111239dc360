//! Worker threads over a queue of tasks. A panic fails one task and no other.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::Sender;

use super::queue::{Queue, SharedWork, in_turns};
use super::task::{SplitWork, run_task};
use super::{Change, EventKind, Followup, Gate, Passage, Plan, RunEvent, TaskId, Trace};
use crate::error::Result;
use crate::fault;

/// The name of worker threads; a panic there is a failed task, not a crash.
pub const WORKER: &str = "crfe-worker";

/// Does a task, which emits events and asks whether to go on; false if it was told to stop.
type Work<'a> = dyn Fn(&SplitWork, TaskId, &mut dyn FnMut(EventKind), &mut dyn FnMut() -> bool) -> Result<bool>
    + Sync
    + 'a;

/// Runs the tasks of a plan and emits what happens.
pub struct Engine<'a> {
    plan: &'a Plan,
    gate: &'a Gate,
    events: Sender<RunEvent>,
    followups: Vec<Followup>,
    /// The paths that end here, if a task after them asks for them.
    known: Mutex<BTreeMap<TaskId, Trace>>,
    keeps_paths: bool,
}

impl<'a> Engine<'a> {
    /// An engine that sends its events to a (bounded) channel.
    pub fn new(plan: &'a Plan, gate: &'a Gate, events: Sender<RunEvent>) -> Self {
        let (followups, known) = (Vec::new(), Mutex::default());
        Self { plan, gate, events, followups, known, keeps_paths: false }
    }

    /// What is run after the paths, on the same threads.
    #[must_use]
    pub fn then(mut self, followups: Vec<Followup>) -> Self {
        self.keeps_paths = followups.iter().any(|followup| followup.kind.asks_for_paths);
        self.followups = followups;
        self
    }

    /// Runs the tasks to the end, or until the gate is cancelled or the receiver is dropped.
    pub fn run(&self, tasks: &[TaskId], threads: usize) {
        self.emit(None, EventKind::RunStarted(self.plan.info.clone()));
        self.resume(tasks, threads);
    }

    /// Runs the remaining tasks of a run whose start has been emitted already.
    pub fn resume(&self, tasks: &[TaskId], threads: usize) {
        self.run_with(tasks, threads, &|work, task, emit, go_on| {
            run_task(self.plan, work, task, emit, go_on)
        });
    }

    fn run_with(&self, tasks: &[TaskId], threads: usize, work: &Work<'_>) {
        let tasks = &in_turns(tasks, threads)[..];
        let queue = Queue::new(tasks);
        let shared = SharedWork::new(self.plan, tasks);
        let followups = Mutex::new(self.followups.iter().copied());
        let next_followup = || followups.lock().unwrap_or_else(PoisonError::into_inner).next();
        let thread = || std::thread::Builder::new().name(WORKER.into());
        std::thread::scope(|scope| {
            // While all workers are paused, the user may request a step of a task that none of them
            // has started.
            let spare = || {
                while let Some(task) = self.gate.asked_for(|task| queue.waits(task)) {
                    if queue.claim(task) {
                        self.one(task, &shared, work);
                    }
                }
            };
            // If it cannot be spawned, such a step has no effect.
            let _ = thread().spawn_scoped(scope, spare);
            std::thread::scope(|workers| {
                for _ in 0..threads.clamp(1, (tasks.len() + self.followups.len()).max(1)) {
                    let worker = || {
                        while let Some(task) = queue.next()
                            && !self.gate.cancelled()
                        {
                            self.one(task, &shared, work);
                        }
                        while !self.gate.cancelled()
                            && let Some(followup) = next_followup()
                        {
                            self.follow_up(followup);
                        }
                    };
                    if thread().spawn_scoped(workers, worker).is_err() {
                        // No more threads can be created: this thread does the work.
                        worker();
                    }
                }
            });
            self.gate.no_more_tasks();
        });
        if !self.gate.cancelled() {
            self.emit(None, EventKind::RunFinished);
        }
    }

    fn one(&self, task: TaskId, shared: &SharedWork<'_>, work: &Work<'_>) {
        let inside = self.gate.enter();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let split = shared.take(task.split)?;
            fault::strike(|| format!("worker:{}:{}", task.method.name(), task.split));
            let mut trace = None;
            let mut emit = |kind| {
                if self.keeps_paths {
                    Trace::follow(&mut trace, self.plan.info.units.len(), &kind);
                }
                self.emit(Some(task), kind);
            };
            let finished = work(&split, task, &mut emit, &mut || self.pass(Some(task)))?;
            if let Some(trace) = trace.filter(|_| finished) {
                self.known().insert(task, trace);
            }
            Ok(finished)
        }));
        drop(inside);
        self.emit_news();
        shared.give_back(task.split);
        if let Err(message) = settle(outcome) {
            self.emit(Some(task), EventKind::TaskFailed { message });
        }
    }

    fn follow_up(&self, followup: Followup) {
        let inside = self.gate.enter();
        let mut go_on = || self.pass(None);
        let known = |task| self.known().get(&task).cloned();
        let work = || followup.run(self.plan, &known, &mut go_on);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        drop(inside);
        self.emit_news();
        let kind = match settle(outcome) {
            Ok(None) => return,
            Ok(Some(outcome)) => EventKind::Followed(followup, outcome.into()),
            Err(message) => EventKind::FollowupFailed(followup, message),
        };
        self.emit(None, kind);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<TaskId, Trace>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether to continue; waits while paused.
    fn pass(&self, task: Option<TaskId>) -> bool {
        self.gate.pass(task, |change| self.emit_change(change)) == Passage::Go
    }

    /// A worker that leaves may complete a pause that the others were waiting for.
    fn emit_news(&self) {
        if let Some(change) = self.gate.news() {
            self.emit_change(change);
        }
    }

    fn emit_change(&self, change: Change) {
        self.emit(
            None,
            match change {
                Change::Paused => EventKind::Paused,
                Change::Resumed => EventKind::Resumed,
            },
        );
    }

    fn emit(&self, task: Option<TaskId>, kind: EventKind) {
        if self.events.send(RunEvent { task, kind }).is_err() {
            self.gate.cancel();
        }
    }
}

/// The outcome of a task, or why it failed.
fn settle<T>(outcome: std::thread::Result<Result<T>>) -> std::result::Result<T, String> {
    match outcome {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(format!("internal fault: {}", panic_text(&*panic))),
    }
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// The number of threads this process may use: affinity, cgroup limits and what a scheduler
/// allocated.
pub fn default_threads() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let allocated = allocated_cpus(|variable| std::env::var(variable).ok());
    allocated.map_or(allowed, |cpus| cpus.min(allowed))
}

/// For each scheduler a variable that is set in its jobs, and the one that has the processors of
/// the job.
const ALLOCATIONS: [(&str, &str); 5] = [
    ("SLURM_JOB_ID", "SLURM_CPUS_PER_TASK"),
    ("SGE_TASK_ID", "NSLOTS"),
    ("PBS_JOBID", "NCPUS"),
    ("PBS_JOBID", "PBS_NUM_PPN"),
    ("LSB_JOBID", "LSB_DJOB_NUMPROC"),
];

/// The processors that the scheduler of this job allocated to it, if it says so.
fn allocated_cpus(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    ALLOCATIONS.iter().find_map(|(job, cpus)| {
        variable(job)?;
        variable(cpus)?.trim().parse().ok().filter(|&cpus: &usize| cpus > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::run::control::tests::wait_until;
    use crate::run::{Kind, Outcome, RunOptions};
    use crate::select::Method;
    use ndarray::Array2;

    fn plan() -> Plan {
        plan_with(|_| {})
    }

    fn plan_with(change: fn(&mut RunOptions)) -> Plan {
        let x = Array2::from_shape_fn((40, 3), |(i, j)| {
            ((i * 7 + j * 3) % 11) as f64 + (i % 2 * j) as f64
        });
        let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let mut options = RunOptions::default();
        options.split.splits = 3;
        change(&mut options);
        Plan::new(options.check().unwrap(), Dataset::from_arrays(x.view(), &labels, None).unwrap())
            .unwrap()
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
    fn every_task_is_given_out_once() {
        let tasks = plan().tasks();
        let queue = Queue::new(&tasks);
        assert!(queue.waits(tasks[2]) && queue.claim(tasks[2]));
        assert!(!queue.waits(tasks[2]) && !queue.claim(tasks[2]));
        let rest: Vec<TaskId> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(rest, [tasks[0], tasks[1], tasks[3], tasks[4], tasks[5]]);
        assert!(!queue.claim(tasks[0]) && !queue.claim(TaskId { split: 99, ..tasks[0] }));
    }

    #[test]
    fn one_panicking_task_fails_alone() {
        let plan = plan();
        let gate = Gate::default();
        let (send, receive) = crossbeam_channel::unbounded();
        let engine = Engine::new(&plan, &gate, send);
        let bad = TaskId { method: Method::Rfe, split: 1 };
        engine.run_with(&plan.tasks(), 2, &|work, task, emit, go_on| {
            assert!(task != bad, "on purpose");
            run_task(&plan, work, task, emit, go_on)
        });
        drop(engine);
        let events: Vec<RunEvent> = receive.iter().collect();
        let finished =
            events.iter().filter(|e| matches!(e.kind, EventKind::TaskFinished { .. })).count();
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
        let plan = plan();
        let gate = Gate::default();
        gate.pause();
        let (send, receive) = crossbeam_channel::unbounded();
        let last = TaskId { method: Method::Rfe, split: 2 };
        std::thread::scope(|scope| {
            let engine = Engine::new(&plan, &gate, send);
            let plan = &plan;
            scope.spawn(move || engine.run(&plan.tasks(), 1));
            gate.step(last);
            let step =
                receive.iter().find(|event| matches!(event.kind, EventKind::Step(_))).unwrap();
            assert_eq!(step.task, Some(last));
            gate.resume();
            assert_eq!(receive.iter().last().unwrap().kind, EventKind::RunFinished);
        });
    }

    #[test]
    fn a_paused_engine_finishes_one_path_and_stays_paused() {
        let plan = plan();
        let gate = Gate::default();
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
            let ended = receive
                .iter()
                .find(|event| matches!(event.kind, EventKind::TaskFinished { .. }))
                .unwrap();
            assert_eq!(ended.task, Some(first));
            // The worker starts the next path and waits before its first elimination.
            wait_until(&gate, Gate::paused);
            assert!(receive.try_iter().all(|event| !is_step(&event)), "nothing else has moved");
            gate.resume();
            assert_eq!(receive.iter().last().unwrap().kind, EventKind::RunFinished);
        });
    }

    #[test]
    fn a_pause_and_its_end_are_said_once() {
        let plan = plan();
        let gate = Gate::default();
        let (send, receive) = crossbeam_channel::unbounded();
        gate.pause();
        std::thread::scope(|scope| {
            let engine = Engine::new(&plan, &gate, send);
            let plan = &plan;
            scope.spawn(move || engine.run(&plan.tasks(), 1));
            assert!(receive.iter().any(|event| event.kind == EventKind::Paused));
            gate.resume();
            let rest: Vec<EventKind> = receive.iter().map(|event| event.kind).collect();
            assert_eq!(rest.iter().filter(|kind| **kind == EventKind::Resumed).count(), 1);
            assert!(!rest.contains(&EventKind::Paused));
        });
    }

    #[test]
    fn ends_when_nobody_listens() {
        let plan = plan();
        let gate = Gate::default();
        let (send, receive) = crossbeam_channel::bounded(1);
        drop(receive);
        Engine::new(&plan, &gate, send).run(&plan.tasks(), 2);
        assert!(gate.cancelled());
    }

    #[test]
    fn folds_and_permutations_come_after_the_paths_and_do_not_depend_on_threads() {
        let plan = plan_with(|options| options.stop = crate::select::StopRule::Size(2));
        assert_eq!((plan.info.folds, plan.info.permutations), (5, 99));
        let followups: Vec<Followup> = plan
            .info
            .followups()
            .into_iter()
            .filter(|f| f.kind != Kind::Permutation || f.index < 2)
            .collect();
        let outcomes = |threads| {
            let (gate, (send, receive)) = (Gate::default(), crossbeam_channel::unbounded());
            let engine = Engine::new(&plan, &gate, send).then(followups.clone());
            engine.run(&plan.tasks(), threads);
            drop(engine);
            let mut paths_ended = 0;
            let mut outcomes = Vec::new();
            for event in receive {
                match event.kind {
                    EventKind::TaskFinished { .. } => paths_ended += 1,
                    EventKind::Followed(followup, outcome) => {
                        assert!(threads > 1 || paths_ended == 6, "paths come first");
                        outcomes.push((followup, outcome));
                    }
                    EventKind::FollowupFailed(followup, why) => panic!("{followup}: {why}"),
                    _ => {}
                }
            }
            outcomes.sort_by_key(|(followup, _)| *followup);
            outcomes
        };
        let one = outcomes(1);
        assert_eq!(one.len(), followups.len());
        assert_eq!(one, outcomes(3));
        let tested: usize = one
            .iter()
            .filter_map(|(followup, outcome)| match (followup, &**outcome) {
                (Followup { method: Method::Crfe, .. }, Outcome::Fold(fold)) => {
                    Some(fold.rows.len())
                }
                _ => None,
            })
            .sum();
        assert_eq!(tested, 40, "every row is tested once");
    }
}
