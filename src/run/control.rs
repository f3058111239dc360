//! Run control, the only thing that flows from a screen back to the workers: run, pause, step,
//! cancel.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::TaskId;

/// What a worker is told between two eliminations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Continue.
    Go,
    /// Abandon the task.
    Cancelled,
}

#[derive(Debug, Default)]
struct State {
    paused: bool,
    cancelled: bool,
    /// Workers inside a task, and how many of them are waiting.
    working: usize,
    waiting: usize,
    /// What one task may still do while paused.
    permit: Option<Permit>,
    /// No task is left to start.
    over: bool,
    /// The pause was reported, and its end was not.
    pause_known: bool,
}

/// A change that the last worker to wait, or the first to continue, reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Every worker is waiting.
    Paused,
    /// The workers continue.
    Resumed,
}

impl State {
    /// The change since the last call, if any.
    fn change(&mut self) -> Option<Change> {
        let all_wait = self.working > 0 && self.waiting == self.working;
        let change = match (self.paused, self.pause_known) {
            _ if self.cancelled => None,
            (true, false) if all_wait => Some(Change::Paused),
            (false, true) => Some(Change::Resumed),
            _ => None,
        };
        self.pause_known ^= change.is_some();
        change
    }
}

/// Permission for one elimination of a task, or for all that remain.
#[derive(Debug, Clone, Copy)]
struct Permit {
    task: TaskId,
    to_the_end: bool,
}

/// A gate that workers pass between two eliminations; the user opens and closes it.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        // Workers never panic while they hold the lock, so the state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Asks all tasks to wait.
    pub fn pause(&self) {
        self.change(|state| state.paused = true);
    }

    /// Lets all tasks continue.
    pub fn resume(&self) {
        self.change(|state| {
            state.paused = false;
            state.permit = None;
        });
    }

    /// Lets one task make one elimination while paused.
    pub fn step(&self, task: TaskId) {
        self.change(|state| state.permit = Some(Permit { task, to_the_end: false }));
    }

    /// Lets one task run to its end while the others stay paused.
    pub fn finish(&self, task: TaskId) {
        self.change(|state| state.permit = Some(Permit { task, to_the_end: true }));
    }

    /// Ends all tasks at their next elimination.
    pub fn cancel(&self) {
        self.change(|state| state.cancelled = true);
    }

    /// Whether the run was cancelled.
    pub fn cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Whether a pause was requested and every worker is waiting.
    pub fn paused(&self) -> bool {
        let state = self.state();
        state.paused && state.waiting == state.working
    }

    /// No task is left to start: releases whoever waits in [`Gate::asked_for`].
    pub fn no_more_tasks(&self) {
        self.change(|state| state.over = true);
    }

    /// Waits until a step of a task that has not started is requested; `None` when no more can
    /// come.
    pub fn asked_for(&self, not_begun: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let mut state = self.state();
        loop {
            if state.over || state.cancelled {
                return None;
            }
            if let Some(permit) =
                state.permit.filter(|permit| state.paused && not_begun(permit.task))
            {
                return Some(permit.task);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether all workers have paused or resumed since the last call; each change is reported
    /// once.
    pub fn news(&self) -> Option<Change> {
        self.state().change()
    }

    /// Counts a worker as working until the guard is dropped.
    pub fn enter(&self) -> Inside<'_> {
        self.change(|state| state.working += 1);
        Inside(self)
    }

    /// Called by a worker between two eliminations, or inside a fold or permutation (which has no
    /// task of its own); waits while paused. Reports a pause or its end through `say`, outside of
    /// the lock.
    pub fn pass(&self, task: Option<TaskId>, say: impl Fn(Change)) -> Passage {
        let mut state = self.state();
        let own = |permit: &Permit| Some(permit.task) == task;
        let closed = |state: &State| {
            state.paused && !state.cancelled && !state.permit.as_ref().is_some_and(own)
        };
        if closed(&state) {
            state.waiting += 1;
            self.changed.notify_all();
            while closed(&state) {
                state = match state.change() {
                    Some(change) => {
                        drop(state);
                        say(change);
                        self.state()
                    }
                    None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                };
            }
            state.waiting -= 1;
        }
        if let Some(change) = state.change() {
            drop(state);
            say(change);
            state = self.state();
        }
        if state.permit.as_ref().is_some_and(|permit| own(permit) && !permit.to_the_end) {
            state.permit = None;
        }
        if state.cancelled { Passage::Cancelled } else { Passage::Go }
    }
}

/// A working worker; stops counting when dropped, also by a panic.
#[derive(Debug)]
pub struct Inside<'a>(&'a Gate);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.working -= 1);
    }
}

#[cfg(test)]
pub mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::select::Method;

    /// Waits until the workers are where a test wants them. After a minute it cancels the run, so
    /// that the workers end, too, and panics.
    pub fn wait_until(gate: &Gate, condition: impl Fn(&Gate) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !condition(gate) {
            if Instant::now() > deadline {
                gate.cancel();
                panic!("the workers are not there after a minute: {gate:?}");
            }
            std::thread::yield_now();
        }
    }

    const TASK: TaskId = TaskId { method: Method::Crfe, split: 0 };

    #[test]
    fn a_pause_is_acknowledged_when_every_worker_waits() {
        let gate = Gate::default();
        gate.pause();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _inside = gate.enter();
                (gate.pass(Some(TASK), |_| {}), gate.pass(Some(TASK), |_| {}))
            });
            wait_until(&gate, |gate| gate.state().waiting > 0);
            assert!(gate.paused());
            gate.step(TASK);
            // It makes its one step and waits again.
            wait_until(&gate, |gate| {
                let state = gate.state();
                state.permit.is_none() && state.waiting > 0
            });
            gate.cancel();
            assert_eq!(worker.join().unwrap(), (Passage::Go, Passage::Cancelled));
        });
        assert!(gate.cancelled());
    }
}
