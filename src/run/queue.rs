//! Which task is next, and what the tasks of a split share. Linear in the number of tasks; nothing
//! is computed under a lock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::task::SplitWork;
use super::{Plan, TaskId};
use crate::error::Result;

/// Interleaves the tasks: as many splits in parallel as there are threads, and the methods of a
/// split one after the other, so that the second method finds the split prepared and the first fit
/// done.
pub(super) fn in_turns(tasks: &[TaskId], threads: usize) -> Vec<TaskId> {
    let mut by_split: Vec<Vec<TaskId>> = Vec::new();
    let mut places = HashMap::new();
    for &task in tasks {
        let place = *places.entry(task.split).or_insert(by_split.len());
        if place == by_split.len() {
            by_split.push(Vec::new());
        }
        by_split[place].push(task);
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

/// The tasks in order; each is handed out once.
pub(super) struct Queue(Mutex<Waiting>);

struct Waiting {
    /// Tasks not yet handed out in order; some may have been claimed since.
    order: VecDeque<TaskId>,
    /// Tasks that no worker has claimed.
    unclaimed: HashSet<TaskId>,
}

impl Queue {
    pub(super) fn new(tasks: &[TaskId]) -> Self {
        let (order, unclaimed) = (tasks.iter().copied().collect(), tasks.iter().copied().collect());
        Self(Mutex::new(Waiting { order, unclaimed }))
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first unclaimed task.
    pub(super) fn next(&self) -> Option<TaskId> {
        let Waiting { order, unclaimed } = &mut *self.waiting();
        std::iter::from_fn(|| order.pop_front()).find(|task| unclaimed.remove(task))
    }

    /// Claims a task; false if it was claimed before.
    pub(super) fn claim(&self, task: TaskId) -> bool {
        self.waiting().unclaimed.remove(&task)
    }

    /// Whether a task is waiting unclaimed.
    pub(super) fn waits(&self, task: TaskId) -> bool {
        self.waiting().unclaimed.contains(&task)
    }
}

/// The preparation of each split: made by the first task that needs it, shared by the others, and
/// dropped after the last.
pub(super) struct SharedWork<'a> {
    plan: &'a Plan,
    splits: HashMap<usize, Mutex<Slot>>,
}

/// One split: the number of tasks that have yet to end, and its preparation, which is made outside
/// of the lock.
#[derive(Default)]
struct Slot {
    users: usize,
    work: Arc<OnceLock<Result<Arc<SplitWork>>>>,
}

impl<'a> SharedWork<'a> {
    pub(super) fn new(plan: &'a Plan, tasks: &[TaskId]) -> Self {
        let mut splits: HashMap<usize, Mutex<Slot>> = HashMap::new();
        for task in tasks {
            let slot = splits.entry(task.split).or_default();
            slot.get_mut().unwrap_or_else(PoisonError::into_inner).users += 1;
        }
        Self { plan, splits }
    }

    fn slot(&self, split: usize) -> MutexGuard<'_, Slot> {
        self.splits[&split].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits only for the preparation of the same split.
    pub(super) fn take(&self, split: usize) -> Result<Arc<SplitWork>> {
        let work = self.slot(split).work.clone();
        work.get_or_init(|| SplitWork::new(self.plan, split).map(Arc::new)).clone()
    }

    pub(super) fn give_back(&self, split: usize) {
        let mut slot = self.slot(split);
        slot.users -= 1;
        if slot.users == 0 {
            slot.work = Arc::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Method;

    /// With a scan for each claim this would take hours.
    #[test]
    fn a_million_tasks_are_handed_out_once() {
        let tasks: Vec<TaskId> = (0..500_000)
            .flat_map(|split| [Method::Crfe, Method::Rfe].map(|method| TaskId { method, split }))
            .collect();
        let queue = Queue::new(&in_turns(&tasks, 3));
        // Every tenth is claimed out of turn, from the end.
        let claimed: HashSet<TaskId> = tasks.iter().rev().step_by(10).copied().collect();
        assert!(claimed.iter().all(|&task| queue.claim(task) && !queue.claim(task)));
        let handed_out: HashSet<TaskId> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(handed_out.len() + claimed.len(), tasks.len());
        assert!(handed_out.is_disjoint(&claimed) && tasks.iter().all(|&task| !queue.waits(task)));
    }
}
