//! What is asked of a run, by a table, a figure, a page or a panel, is computed here, once. Events
//! in, facts out; knows no files and no screen.

mod achieved;
mod agreement;
mod answer;
mod by_chance;
mod cache;
mod cautions;
mod choice;
mod comparison;
mod coverage_bands;
mod curves;
mod features;
mod pairs;
mod paths;
mod ranks;
mod rules;
mod sizes;
pub mod statements;
mod subgroups;
mod tested;
#[cfg(test)]
mod tests;
mod transfer;
mod verdict;
mod what_if;

pub use crate::evaluate::{Metric, PageColumn, p_words, rounded_p};
pub use crate::run::Trace;
pub use achieved::{Achieved, ClassAnswer, ClassMeans};
pub use answer::{Answer, MethodAnswer};
pub use by_chance::{ByChance, Compared};
pub use cache::{Cached, MethodCache, SplitSizes, Stops};
pub use choice::Choice;
pub use comparison::{ComparedMetric, Comparison};
pub use coverage_bands::{class_bands, coverage_band};
pub use curves::{Curve, class_mean};
pub use features::{ChosenFeature, Standing, Twin};
pub use pairs::{Pair, SizeDifferences};
pub use paths::Paths;
pub use ranks::{MeanRanks, RankTable};
pub use rules::{RuleSize, known_rules};
pub use statements::{Statement, Tone, Topic};
pub use subgroups::{DRIFT_LEVEL, Drift, SubgroupCoverage};
pub use tested::Tested;
pub use transfer::{ProbeAnswer, SiteMeasured, SiteTested, Transfer};
pub use verdict::{LEVEL, Stability, StabilityBand, Verdict, count_features, two_decimals};
pub use what_if::{BranchComparison, BranchMetric, BranchVerdict};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::run::{EventKind, FoldTest, Followup, Kind, Outcome, RunEvent, RunInfo, TaskId, Twins};
use crate::select::Method;

/// All tasks of a run, as far as they have come.
#[derive(Debug, Clone, Default)]
pub struct History {
    info: Option<Arc<RunInfo>>,
    tasks: BTreeMap<TaskId, Trace>,
    failed: BTreeMap<TaskId, String>,
    finished: bool,
    followups: BTreeMap<Followup, Arc<Outcome>>,
    failed_followups: BTreeMap<Followup, String>,
    /// How many of each kind have ended.
    ended: [usize; Kind::ALL.len()],
    twins: Twins,
    curves: BTreeMap<Method, Curve>,
}

impl History {
    /// Takes note of an event.
    pub fn apply(&mut self, event: &RunEvent) {
        match (&event.kind, event.task) {
            (EventKind::RunStarted(info), _) => self.info = Some(info.clone()),
            (EventKind::RunFinished, _) => self.finished = true,
            (EventKind::TaskStarted(parts), Some(task)) => {
                self.failed.remove(&task);
                let units = self.info.as_ref().map_or(0, |info| info.units.len());
                if self.tasks.insert(task, Trace::new(parts.clone(), units)).is_some() {
                    self.redraw_curve(task.method);
                }
            }
            (EventKind::Step(step), Some(task)) => {
                if let Some(trace) = self.tasks.get_mut(&task) {
                    trace.push(step.clone());
                    self.curves.entry(task.method).or_default().add(step);
                }
            }
            (EventKind::TaskFinished { reason, rest, sizes }, Some(task)) => {
                if let Some(trace) = self.tasks.get_mut(&task) {
                    trace.finish(*reason, rest.clone(), *sizes);
                }
            }
            (EventKind::Followed(followup, outcome), _) => {
                self.failed_followups.remove(followup);
                if self.followups.insert(*followup, outcome.clone()).is_none() {
                    self.ended[followup.kind as usize] += 1;
                }
            }
            (EventKind::FollowupFailed(followup, message), _) => {
                self.failed_followups.insert(*followup, message.clone());
            }
            (EventKind::TwinsFound(twins), _) => self.twins.extend(twins),
            (EventKind::TaskFailed { message }, Some(task)) => {
                if self.tasks.remove(&task).is_some() {
                    self.redraw_curve(task.method);
                }
                self.failed.insert(task, message.clone());
            }
            _ => {}
        }
    }

    /// A task was begun again or given up: its steps no longer count.
    fn redraw_curve(&mut self, method: Method) {
        let mut curve = Curve::default();
        let traces =
            self.tasks.iter().filter(|(task, _)| task.method == method).map(|(_, trace)| trace);
        traces.flat_map(|trace| trace.steps()).for_each(|step| curve.add(step));
        self.curves.insert(method, curve);
    }

    /// The metrics of a method by size, over the splits so far.
    pub fn curve(&self, method: Method) -> Option<&Curve> {
        self.curves.get(&method)
    }

    /// What the settings of the run choose, once it has started.
    pub fn own_choice(&self) -> Option<Choice> {
        self.info().map(|info| Choice::of(&info.spec))
    }

    /// What is known of the run, once it has started.
    pub fn info(&self) -> Option<&Arc<RunInfo>> {
        self.info.as_ref()
    }

    /// A task's trace, finished or not.
    pub fn trace(&self, task: TaskId) -> Option<&Trace> {
        self.tasks.get(&task)
    }

    /// All tasks that have begun, sorted by method and split.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &Trace)> {
        self.tasks.iter().map(|(&task, trace)| (task, trace))
    }

    /// The finished tasks, sorted by method and split.
    pub fn finished_tasks(&self) -> impl Iterator<Item = (TaskId, &Trace)> {
        self.tasks.iter().filter(|(_, trace)| trace.finished()).map(|(&task, trace)| (task, trace))
    }

    /// The finished traces of a method, by split.
    pub fn of_method(&self, method: Method) -> impl Iterator<Item = (usize, &Trace)> {
        self.finished_tasks()
            .filter(move |(task, _)| task.method == method)
            .map(|(task, trace)| (task.split, trace))
    }

    /// The methods that have a finished task.
    pub fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = self.finished_tasks().map(|(task, _)| task.method).collect();
        methods.dedup();
        methods
    }

    /// The folds and permutations that have ended, sorted by kind, method and number.
    pub fn followups(&self) -> impl Iterator<Item = (Followup, &Outcome)> {
        self.followups.iter().map(|(&followup, outcome)| (followup, &**outcome))
    }

    /// How many tasks of the run have not finished, those after the paths included.
    pub fn unfinished(&self) -> usize {
        let of =
            |info: &Arc<RunInfo>| info.splits * info.spec.methods.len() + info.followups().len();
        let finished = self.finished_tasks().count() + self.followups.len();
        self.info().map_or(0, of).saturating_sub(finished)
    }

    /// How many tasks of a kind have ended, of all methods.
    pub fn ended(&self, kind: Kind) -> usize {
        self.ended[kind as usize]
    }

    /// How many tasks after the paths have ended, of all kinds and methods.
    pub fn all_ended(&self) -> usize {
        self.followups.len()
    }

    /// The outcomes of a kind for a method, sorted by number.
    pub fn outcomes(&self, kind: Kind, method: Method) -> impl Iterator<Item = (usize, &Outcome)> {
        let at = |index| Followup { kind, method, index };
        let own = self.followups.range(at(0)..=at(usize::MAX));
        own.map(|(followup, outcome)| (followup.index, &**outcome))
    }

    /// The lists of a method that were tested on folds or sites, with the number of the fold or
    /// the site.
    pub fn tests(&self, kind: Kind, method: Method) -> impl Iterator<Item = (usize, &FoldTest)> {
        self.outcomes(kind, method).filter_map(|(index, outcome)| match outcome {
            Outcome::Fold(test) => Some((index, test)),
            _ => None,
        })
    }

    /// How a fold or a permutation ended, if it has.
    pub fn followup(&self, followup: Followup) -> Option<&Outcome> {
        self.followups.get(&followup).map(|outcome| &**outcome)
    }

    /// The folds and permutations that could not be finished, and why.
    pub fn failed_followups(&self) -> &BTreeMap<Followup, String> {
        &self.failed_followups
    }

    /// The tasks that could not be finished, and why.
    pub fn failed(&self) -> &BTreeMap<TaskId, String> {
        &self.failed
    }

    /// Whether all tasks have ended.
    pub fn complete(&self) -> bool {
        self.finished
    }
}
