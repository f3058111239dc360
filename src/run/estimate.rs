//! Estimates the time and memory of a run before it starts.

use std::time::{Duration, Instant};

use super::cost::{PathCost, default_permutations};
use super::task::{SplitWork, run_task};
use super::{EventKind, Followup, Permutations, Plan, RunSpec, TaskId};
use crate::data::Dataset;
use crate::error::{Result, plural};
use crate::svm::{Estimator, SolverKind};

/// A rough estimate of the cost of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Paths to compute, without those of folds, sites and permutations.
    pub tasks: usize,
    /// Paths of folds, sites and permutations.
    pub more_tasks: usize,
    /// Threads that share them.
    pub threads: usize,
    pub parts: Vec<PartCost>,
    /// Whether this is an upper bound: linfa-svm is fast where classes can be separated.
    pub at_most: bool,
    /// Bytes of memory.
    pub bytes: f64,
}

/// What one part of a run takes.
#[derive(Debug, Clone, PartialEq)]
pub struct PartCost {
    pub name: &'static str,
    /// Folds or permutations; 1 where they are not counted.
    pub count: usize,
    /// Seconds of all threads together.
    pub core_seconds: f64,
    /// How many threads share it.
    pub threads: usize,
}

impl PartCost {
    pub fn seconds(&self) -> f64 {
        self.core_seconds / self.threads as f64
    }
}

/// What follows the paths: of all methods together.
struct FollowupCounts {
    folds: usize,
    sites: usize,
    permutations: usize,
}

const PER_CELL: f64 = 6e-8;
const PER_STEP_OF_TABLES: f64 = 4e-5;
const PER_STEP_BYTES: f64 = 1500.0;
const PER_RANK_BYTES: f64 = 24.0;
const PROGRAM_BYTES: f64 = 1.4e7;
/// A fold has fewer rows than the run.
const OF_FOLD: f64 = 0.8;
/// The first path is measured for this long, and again until it has been for the shortest time.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(2);
const SHORTEST_MEASUREMENT: Duration = Duration::from_millis(100);

impl Estimate {
    /// The estimate for a whole run on this many threads, from formulas alone.
    pub fn new(plan: &Plan, threads: usize) -> Self {
        Self::of_plan(plan, threads, 1.0)
    }

    /// The same, scaled by the speed of this machine on these data: the first path is run for at
    /// most two seconds, unless its first model alone would take longer.
    pub fn measured(plan: &Plan, threads: usize) -> Result<Self> {
        let cost = PathCost::new(&plan.info.spec, &plan.data);
        if cost.gaps + cost.fits[0] > LONGEST_MEASUREMENT.as_secs_f64() {
            return Ok(Self::new(plan, threads));
        }
        Ok(Self::of_plan(plan, threads, slowness(plan, &cost)?))
    }

    fn of_plan(plan: &Plan, threads: usize, slowness: f64) -> Self {
        let followups = plan.info.followups();
        let count = |of: fn(&Followup) -> bool| followups.iter().filter(|task| of(task)).count();
        let counts = FollowupCounts {
            folds: count(|task| matches!(task, Followup::Fold(..))),
            sites: count(|task| matches!(task, Followup::Site(..) | Followup::Probe(_))),
            permutations: count(|task| matches!(task, Followup::Permutation(..))),
        };
        Self::of(&plan.info.spec, &plan.data, &counts, (plan.info.splits, threads), slowness)
    }

    /// Of other settings on a table that has been read.
    pub fn of_settings(spec: &RunSpec, data: &Dataset, threads: usize) -> Self {
        let methods = spec.methods.len();
        let permutations = match spec.permutations {
            Permutations::Count(count) => count,
            Permutations::Auto => default_permutations(spec, data).count,
        };
        // Each site is left out once, and the list is made once more to predict sites.
        let sites = data.design.sites.as_ref().map_or(0, |sites| sites.levels.len() + 1);
        let counts = FollowupCounts {
            folds: methods * spec.validate.unwrap_or(0),
            sites: methods * sites,
            permutations: methods * permutations,
        };
        Self::of(spec, data, &counts, (spec.split.splits, threads), 1.0)
    }

    fn of(
        spec: &RunSpec,
        data: &Dataset,
        counts: &FollowupCounts,
        (splits, threads): (usize, usize),
        slowness: f64,
    ) -> Self {
        let tasks = splits * spec.methods.len();
        let rows = data.y.len() as f64;
        let cells = rows * data.columns.len() as f64;
        let classes = data.classes.len() as f64;
        let terms = spec.estimator.knots().map_or(1.0, |knots| knots.terms() as f64);
        let cost = PathCost::new(spec, data);
        let models = cost.fits.len() as f64;
        let paths = |count: usize| (count * splits) as f64;
        let part = |name, count, core_seconds, workers: usize| PartCost {
            name,
            count,
            core_seconds,
            threads: workers.clamp(1, threads.max(1)),
        };
        let FollowupCounts { folds, sites, permutations } = *counts;
        let path = slowness * cost.path();
        let of_fold = OF_FOLD * (path + cost.gaps);
        let own = tasks as f64 * path + splits as f64 * cost.gaps;
        let tables = PER_CELL * cells + PER_STEP_OF_TABLES * models * tasks as f64;
        let permuted = slowness * cost.models() + cost.gaps;
        let parts = [
            part("reading and writing", 1, tables, 1),
            part("paths", tasks, own, tasks),
            part("folds", folds, paths(folds) * of_fold, folds),
            part("sites", sites, paths(sites) * of_fold, sites),
            part("permutations", permutations, paths(permutations) * permuted, permutations),
        ];
        // Distances and kernels of all pairs of rows.
        let workers = tasks.clamp(1, threads.max(1)) as f64;
        let is_kernel = spec.estimator == Estimator::Rbf;
        let kernels = if is_kernel { 8.0 * rows.powi(2) * workers } else { 0.0 };
        let of_step = PER_STEP_BYTES + 16.0 * classes.powi(2);
        let of_task = of_step * models + PER_RANK_BYTES * data.units.len() as f64;
        Self {
            tasks,
            more_tasks: (folds + sites + permutations) * splits,
            threads,
            parts: parts.into_iter().filter(|part| part.count > 0).collect(),
            at_most: spec.solver == SolverKind::Linfa,
            bytes: PROGRAM_BYTES
                + kernels
                + 8.0 * cells * (1.0 + 3.0 * terms * workers)
                + of_task * tasks as f64,
        }
    }

    /// Seconds from the first byte to the last table.
    pub fn seconds(&self) -> f64 {
        self.parts.iter().map(PartCost::seconds).sum()
    }

    /// The time, in words.
    pub fn duration(&self) -> String {
        let at_most = if self.at_most { "at most " } else { "" };
        match self.seconds() {
            s if s < 1.0 => "less than a second".to_owned(),
            s => format!("{at_most}about {}", seconds_words(s)),
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

/// Seconds, minutes or hours.
pub fn seconds_words(seconds: f64) -> String {
    let count = |n: f64, unit: &str| {
        let n = n.round().max(1.0) as usize;
        format!("{n} {}", plural(n, unit))
    };
    match seconds {
        s if s < 90.0 => count(s, "second"),
        s if s < 5400.0 => count(s / 60.0, "minute"),
        s => count(s / 3600.0, "hour"),
    }
}

/// How much longer the first path takes than the formula says, as far as it comes.
fn slowness(plan: &Plan, cost: &PathCost) -> Result<f64> {
    let work = SplitWork::new(plan, 0)?;
    let task = TaskId { method: plan.info.spec.methods[0], split: 0 };
    let started = Instant::now();
    let mut said = 0.0;
    while started.elapsed() < SHORTEST_MEASUREMENT {
        let mut fits = cost.fits.iter();
        let emit = |event: EventKind| {
            if let EventKind::Step(_) = event {
                said += fits.next().unwrap_or(&0.0) + cost.evaluation;
            }
        };
        run_task(plan, &work, task, emit, || started.elapsed() < LONGEST_MEASUREMENT)?;
    }
    Ok(started.elapsed().as_secs_f64() / said)
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
        assert!(half.seconds() < 0.5 * one.seconds(), "{half:?} {one:?}");
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
        assert!(of(100.0).seconds() > 10.0 * of(1.0).seconds());
        assert!(of(100.0).duration().starts_with("at most about "), "{}", of(100.0).duration());
    }

    #[test]
    fn kept_features_shorten_the_path() {
        let kept =
            estimate(|options| options.schema.keep = vec!["Erythema".into(), "Scaling".into()]);
        let usual = estimate(|_| {});
        assert!(kept.bytes < usual.bytes && kept.seconds() < usual.seconds());
    }
}
