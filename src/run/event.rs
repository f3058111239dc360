//! Events: one stream of [`RunEvent`]s, the same for live, recorded, followed and merged runs.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Followup, Kind, Outcome, RunSpec, SiteInfo, SubgroupInfo, Twins};
use crate::data::{Audit, DroppedColumn, Unit};
use crate::evaluate::{Kept, Procedure, Tally};
use crate::select::{Method, RunSizes, Stopping};

/// One path: a method on a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    pub method: Method,
    /// The split, from 0.
    pub split: usize,
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on split {}", self.method, self.split)
    }
}

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvent {
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// What it was.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// The file is being read.
    Loading {
        /// Bytes read.
        bytes: u64,
        /// Bytes in all.
        of: u64,
    },
    /// The data were understood and tasks begin.
    RunStarted(Arc<RunInfo>),
    /// What was recorded before has been emitted; this is left to compute.
    CaughtUp(Arc<Remaining>),
    /// A task begins.
    TaskStarted(Parts),
    /// A model was fitted.
    Step(Arc<Step>),
    /// All workers are paused.
    Paused,
    /// The workers continue.
    Resumed,
    /// A path ended.
    TaskFinished {
        /// Why it ended there.
        reason: EndReason,
        /// The remaining removable units, in the order in which they would be removed.
        rest: Vec<usize>,
        /// The sizes that only the run can choose, where they were asked for.
        sizes: RunSizes,
    },
    /// A task could not be finished.
    TaskFailed {
        /// Why.
        message: String,
    },
    /// A fold of the validation or a permutation has ended.
    Followed(Followup, Arc<Outcome>),
    /// A fold or a permutation could not be finished.
    FollowupFailed(Followup, String),
    /// The twins of some features were looked for.
    TwinsFound(Arc<Twins>),
    /// All tasks have ended.
    RunFinished,
}

/// What is left of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Paths, in order.
    pub tasks: Vec<TaskId>,
    /// What follows them, in order.
    pub followups: Vec<Followup>,
}

impl Remaining {
    /// Paths, folds and permutations.
    pub fn count(&self) -> usize {
        self.tasks.len() + self.followups.len()
    }
}

/// Why a path ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Nothing is left to remove.
    Complete,
    /// The stopping rule ended it, with `--early`.
    Early,
}

/// A column of the file that is not used, and why, as the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedColumn {
    pub name: String,
    pub reason: String,
}

impl From<&DroppedColumn> for UnusedColumn {
    fn from(column: &DroppedColumn) -> Self {
        Self { name: column.name.clone(), reason: column.reason.to_string() }
    }
}

/// Everything known when a run starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The settings.
    pub spec: RunSpec,
    /// Identifies data and settings that determine the steps.
    pub fingerprint: String,
    /// The file's name, as it was given.
    pub input: String,
    /// The working directory of the run: where relative names of files start.
    pub directory: Option<PathBuf>,
    /// SHA-256 of the file.
    pub input_sha256: String,
    /// SHA-256 of the user's splits, if given.
    pub splits_sha256: Option<String>,
    /// How many splits there are.
    pub splits: usize,
    /// Rows with a class.
    pub rows: usize,
    /// What can be removed.
    pub units: Vec<Unit>,
    /// The encoded columns.
    pub columns: Vec<String>,
    /// The class column.
    pub target: String,
    /// Class labels, sorted.
    pub classes: Vec<String>,
    /// Rows of each class.
    pub class_counts: Vec<usize>,
    /// Columns of the file that are not used.
    pub dropped: Vec<UnusedColumn>,
    /// Notices and warnings about the table.
    pub audit: Audit,
    /// Folds of the nested validation; 0 if there is none.
    pub folds: usize,
    /// The levels of `--leave-out`.
    pub sites: Vec<SiteInfo>,
    /// The columns of `--subgroups`.
    pub subgroups: Vec<SubgroupInfo>,
    /// Permutations of the labels; 0 if there are none.
    pub permutations: usize,
    /// Nominal seconds of one permutation, by which `--permutations auto` decides; none if the
    /// number was given.
    pub permutation_cost: Option<f64>,
}

impl RunInfo {
    /// Whether a task belongs to the run.
    pub fn has(&self, task: TaskId) -> bool {
        task.split < self.splits && self.spec.methods.contains(&task.method)
    }

    /// The units that may be removed.
    pub fn removable(&self) -> usize {
        self.units.iter().filter(|unit| !unit.kept).count()
    }

    /// The units that are in every model.
    pub fn kept(&self) -> usize {
        self.units.len() - self.removable()
    }

    /// The names of some units.
    pub fn names(&self, units: &[usize]) -> Vec<String> {
        units.iter().map(|&unit| self.units[unit].name.clone()).collect()
    }

    /// The share of the largest class: the accuracy of always predicting it.
    pub fn no_information_rate(&self) -> f64 {
        let largest = self.class_counts.iter().max().copied().unwrap_or(0);
        largest as f64 / self.rows.max(1) as f64
    }

    /// What is run after the paths, kind by kind.
    pub fn followups(&self) -> Vec<Followup> {
        let numbers = |kind: Kind| (0..(kind.count)(self)).map(move |index| (kind, index));
        let of_methods = |(kind, index)| {
            self.spec.methods.iter().map(move |&method| Followup { kind, method, index })
        };
        let all = Kind::ALL.into_iter().flat_map(numbers).flat_map(of_methods);
        all.filter(|followup| followup.is_of(self)).collect()
    }

    /// How this run chooses a size and a list.
    pub fn procedure(&self) -> Procedure<'_> {
        Procedure {
            rule: self.spec.stop,
            beta_rule: &self.spec.beta_rule,
            by: &self.spec.by,
            units: self.units.len(),
            kept: self.kept(),
        }
    }

    /// The units of a list of this size: the most frequent, then those that are never removed.
    pub fn list(&self, by_frequency: &[Kept], size: usize) -> Vec<usize> {
        let chosen =
            by_frequency.iter().take(size.saturating_sub(self.kept())).map(|kept| kept.unit);
        chosen.chain((0..self.units.len()).filter(|&unit| self.units[unit].kept)).collect()
    }
}

/// How many rows each part of a split has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// Training rows.
    pub train: usize,
    /// Selection rows.
    pub selection: usize,
    /// Conformal rows of each class.
    pub conformal: Vec<usize>,
    /// Test rows of each class.
    pub test: Vec<usize>,
}

/// One model: β of the units present, and which units are removed next.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Models fitted before.
    pub t: usize,
    /// Units present.
    pub size: usize,
    /// The units removed after this model, in order; empty at the end.
    pub removed: Vec<usize>,
    /// β or Σ w² of the first unit removed.
    pub criterion: Option<f64>,
    /// The runner-up: the unit that would have been removed next.
    pub runner_up: Option<usize>,
    /// The difference between the criteria of the last unit removed and of the runner-up.
    pub margin: Option<f64>,
    /// Mean β over the units present.
    pub beta_mean: f64,
    /// The stopping statistic, once the rule has warmed up.
    pub stop: Option<Stopping>,
    /// Whether every class met its tolerance.
    pub converged: bool,
    /// What was counted on the test rows.
    pub tally: Tally,
    /// β of the units present.
    pub beta: Option<Betas>,
}

/// The β values of a step that are kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Betas {
    /// Of every unit present, in unit order.
    Whole(Vec<f32>),
    /// Of some units: those closest to removal.
    Top(Vec<(u32, f32)>),
}

/// Values of β that the events of one task may hold: about 4 MB as text.
const BETA_BUDGET: usize = 400_000;
/// For a path too long to keep everything: values in complete vectors, and in the partial ones
/// between them. Less than 2 MB as text.
const WHOLE_BUDGET: usize = 60_000;
const TOP_BUDGET: usize = 50_000;
/// β values kept at a step whose vector is not kept completely.
const TOP: usize = 32;

impl Betas {
    /// How many β values are kept at such a step, on a path over `units`.
    pub fn top(units: usize) -> usize {
        if Self::all(units) { 0 } else { (TOP_BUDGET / units).min(TOP) }
    }

    fn all(units: usize) -> bool {
        units * (units + 1) / 2 <= BETA_BUDGET
    }

    /// What is kept of step t of a path over `units`: everything if it fits, else every k-th vector
    /// and, at the other steps, the units closest to removal.
    pub fn keep(
        t: usize,
        units: usize,
        nearest: &[usize],
        one: impl Fn(usize) -> f64,
        whole: impl Fn() -> Vec<f64>,
    ) -> Option<Self> {
        let every = (units * (units + 1) / 2).div_ceil(WHOLE_BUDGET);
        if Self::all(units) || (t.is_multiple_of(every) && units <= WHOLE_BUDGET) {
            return Some(Self::Whole(whole().into_iter().map(short).collect()));
        }
        let top = nearest.iter().take(Self::top(units));
        let top: Vec<_> = top.map(|&unit| (unit as u32, short(one(unit)))).collect();
        if top.is_empty() { None } else { Some(Self::Top(top)) }
    }
}

/// Four digits: enough to draw a bar, and short as text.
fn short(value: f64) -> f32 {
    if value == 0.0 || !value.is_finite() {
        return value as f32;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    // A scale beyond the range of f64 belongs to a value too small to be drawn.
    if scale.is_finite() && scale > 0.0 {
        ((value * scale).round() / scale) as f32
    } else {
        value as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn betas_of_a_task_stay_within_their_budget() {
        for units in [1_usize, 34, 800, 2_000, 20_000, 300_000] {
            let values: usize = (0..units)
                .map(|t| {
                    let nearest: Vec<usize> = (t..units).take(40).collect();
                    match Betas::keep(t, units, &nearest, |_| 0.5, || vec![0.5; units - t]) {
                        Some(Betas::Whole(values)) => values.len(),
                        Some(Betas::Top(values)) => 2 * values.len(),
                        None => 0,
                    }
                })
                .sum();
            assert!(values <= BETA_BUDGET + units, "{units}: {values}");
        }
    }

    #[test]
    fn a_thinned_step_keeps_the_units_nearest_to_go() {
        let nearest: Vec<usize> = (0..40).map(|i| 7 * i).collect();
        let kept = Betas::keep(1, 2_000, &nearest, |unit| unit as f64 / 2.0, || panic!("not all"));
        let expected = nearest[..Betas::top(2_000)]
            .iter()
            .map(|&unit| (unit as u32, unit as f32 / 2.0))
            .collect();
        assert_eq!(kept, Some(Betas::Top(expected)));
    }
}
