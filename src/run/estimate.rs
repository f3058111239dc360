//! Estimates the time and memory of a run before it starts.

use super::cost::{PathCost, default_permutations};
use super::{Permutations, Plan, RunSpec};
use crate::data::Dataset;
use crate::error::plural;
use crate::svm::{Estimator, SolverKind};

/// A rough estimate of the cost of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Paths to compute, without those of folds, sites and permutations.
    pub tasks: usize,
    /// Paths of folds, sites and permutations.
    pub more_tasks: usize,
    /// Threads that share them.
    pub threads: usize,
    /// Seconds from the first byte to the last table.
    pub seconds: f64,
    /// Whether this is an upper bound: linfa-svm is fast where classes can be separated.
    pub at_most: bool,
    /// Bytes of memory.
    pub bytes: f64,
}

/// How much there is to do.
struct TaskCounts {
    tasks: usize,
    followups: usize,
    splits: usize,
}

const PER_CELL: f64 = 6e-8;
const PER_STEP_OF_TABLES: f64 = 4e-5;
const PER_STEP_BYTES: f64 = 750.0;
const PER_RANK_BYTES: f64 = 24.0;
const PROGRAM_BYTES: f64 = 1.2e7;

impl Estimate {
    /// The estimate for a whole run on this many threads.
    pub fn new(plan: &Plan, threads: usize) -> Self {
        let info = &plan.info;
        let followups = info.followups().len();
        let counts = TaskCounts { tasks: plan.tasks().len(), followups, splits: info.splits };
        Self::of(&info.spec, &plan.data, counts, threads)
    }

    /// Of other settings on a table that has been read.
    pub fn of_settings(spec: &RunSpec, data: &Dataset, threads: usize) -> Self {
        let splits = spec.split.splits;
        let methods = spec.methods.len();
        let permutations = match spec.permutations {
            Permutations::Count(count) => count,
            Permutations::Auto => default_permutations(&PathCost::new(spec, data), spec).count,
        };
        // Each site is left out once, and the list is made once more to predict sites.
        let sites = data.design.sites.as_ref().map_or(0, |sites| sites.levels.len() + 1);
        let followups = methods * (spec.validate.unwrap_or(0) + sites + permutations);
        Self::of(spec, data, TaskCounts { tasks: splits * methods, followups, splits }, threads)
    }

    fn of(spec: &RunSpec, data: &Dataset, counts: TaskCounts, threads: usize) -> Self {
        let TaskCounts { tasks, followups, splits } = counts;
        let cells = data.y.len() as f64 * data.columns.len() as f64;
        let units = data.units.len() as f64;
        let terms = spec.estimator.knots().map_or(1.0, |knots| knots.terms() as f64);
        let cost = PathCost::new(spec, data);
        let once = PER_CELL * cells + PER_STEP_OF_TABLES * cost.models * tasks as f64;
        let workers = tasks.min(threads).max(1) as f64;
        let kernels = if spec.estimator == Estimator::Rbf {
            // Distances and kernels of all pairs of rows.
            8.0 * (data.y.len() as f64).powi(2) * workers
        } else {
            0.0
        };
        let after = (followups as f64 * splits as f64) * (cost.path + cost.gaps);
        let of_task = PER_STEP_BYTES * cost.models + PER_RANK_BYTES * units;
        Self {
            tasks,
            more_tasks: followups * splits,
            threads,
            seconds: once
                + (tasks as f64 * cost.path + splits as f64 * cost.gaps + after) / workers,
            at_most: spec.solver == SolverKind::Linfa,
            bytes: PROGRAM_BYTES
                + kernels
                + 8.0 * cells * (1.0 + 3.0 * terms * workers)
                + of_task * tasks as f64,
        }
    }

    /// The time, in words.
    pub fn duration(&self) -> String {
        let about = |n: f64, unit: &str| {
            let n = n.round().max(1.0) as usize;
            let at_most = if self.at_most { "at most " } else { "" };
            format!("{at_most}about {n} {}", plural(n, unit))
        };
        match self.seconds {
            s if s < 1.0 => "less than a second".to_owned(),
            s if s < 90.0 => about(s, "second"),
            s if s < 5400.0 => about(s / 60.0, "minute"),
            s => about(s / 3600.0, "hour"),
        }
    }

    /// The memory, in words.
    pub fn memory(&self) -> String {
        if self.bytes < 1e9 {
            format!("{:.0} MB", self.bytes / 1e6)
        } else {
            format!("{:.1} GB", self.bytes / 1e9)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::data::Dataset;
    use crate::run::RunOptions;

    fn estimate(change: impl FnOnce(&mut RunOptions)) -> Estimate {
        let mut options = RunOptions::default();
        change(&mut options);
        let spec = options.check().unwrap();
        let data =
            Dataset::load(Path::new("data/dermatology.csv"), &spec.schema, |_, _| {}).unwrap();
        Estimate::new(&Plan::new(spec, data).unwrap(), 1)
    }

    #[test]
    fn settings_are_estimated_as_their_plan() {
        for splits in [1, 7] {
            let mut options =
                RunOptions { permutations: Permutations::Count(3), ..RunOptions::default() };
            options.split.splits = splits;
            let spec = options.check().unwrap();
            let data = Dataset::load(Path::new("data/heart.csv"), &spec.schema, |_, _| {}).unwrap();
            let plan = Plan::new(spec, data).unwrap();
            assert_eq!(
                Estimate::of_settings(&plan.info.spec, &plan.data, 2),
                Estimate::new(&plan, 2)
            );
        }
    }

    #[test]
    fn fewer_models_take_less_time_and_memory() {
        let one = estimate(|_| {});
        let half = estimate(|options| options.step = "half".parse().unwrap());
        assert!(half.seconds < 0.5 * one.seconds, "{half:?} {one:?}");
        assert!(half.bytes < one.bytes);
        assert_eq!(one.tasks, half.tasks);
    }

    #[cfg(feature = "linfa")]
    #[test]
    fn linfa_takes_longer_the_larger_c_is() {
        let of = |cost: f64| {
            estimate(|options| {
                options.solver = SolverKind::Linfa;
                options.cost = cost;
            })
        };
        assert!(of(100.0).seconds > 10.0 * of(1.0).seconds);
        assert!(of(100.0).duration().starts_with("at most about "), "{}", of(100.0).duration());
    }

    #[test]
    fn kept_features_shorten_the_path() {
        let kept =
            estimate(|options| options.schema.keep = vec!["Erythema".into(), "Scaling".into()]);
        let usual = estimate(|_| {});
        assert!(kept.bytes < usual.bytes && kept.seconds < usual.seconds);
    }
}
