//! Estimates the time and memory of a run before it starts.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::cost::{PathCost, default_permutations};
use super::task::{SplitWork, light_path, run_task};
use super::{Kind, Permutations, Plan, RunSpec, TaskId};
use crate::data::Dataset;
use crate::error::{Result, counted};
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
/// The first path is measured twice (see [`Slowness`]) for at most this long, and again until it has
/// been for the shortest time.
const LONGEST_MEASUREMENT: Duration = Duration::from_secs(1);
const SHORTEST_MEASUREMENT: Duration = Duration::from_millis(100);

impl Estimate {
    /// The estimate for a whole run on this many threads, from formulas alone.
    pub fn new(plan: &Plan, threads: usize) -> Self {
        Self::of_plan(plan, threads, None)
    }

    /// The same, scaled by the speed of this machine on these data: the first path is run for at
    /// most two seconds, unless its first model alone would take longer.
    pub fn measured(plan: &Plan, threads: usize) -> Result<Self> {
        let cost = PathCost::new(&plan.info.spec, &plan.data);
        if cost.preparation + cost.fits[0] > LONGEST_MEASUREMENT.as_secs_f64() {
            return Ok(Self::new(plan, threads));
        }
        Ok(Self::of_plan(plan, threads, Some(Slowness::measured(plan, &cost)?)))
    }

    fn of_plan(plan: &Plan, threads: usize, slowness: Option<Slowness>) -> Self {
        let followups = plan.info.followups();
        let count = |kind: Kind| followups.iter().filter(|task| task.kind == kind).count();
        let counts = FollowupCounts {
            folds: count(Kind::Fold),
            sites: count(Kind::Site),
            permutations: count(Kind::Permutation),
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
        let sites = data.design.sites.as_ref().map_or(0, |sites| sites.levels.len());
        let counts = FollowupCounts {
            folds: methods * spec.validate.unwrap_or(0),
            sites: methods * sites,
            permutations: methods * permutations,
        };
        Self::of(spec, data, &counts, (spec.split.splits, threads), None)
    }

    fn of(
        spec: &RunSpec,
        data: &Dataset,
        counts: &FollowupCounts,
        (splits, threads): (usize, usize),
        slowness: Option<Slowness>,
    ) -> Self {
        let tasks = splits * spec.methods.len();
        let rows = data.y.len() as f64;
        let cells = rows * data.columns.len() as f64;
        let classes = data.classes.len() as f64;
        let terms = spec.estimator.knots().map_or(1.0, |knots| knots.terms() as f64);
        let cost = PathCost::new(spec, data);
        let models = cost.fits.len() as f64;
        let slowness = slowness.unwrap_or_else(|| Slowness::none(&cost));
        let preparation = slowness.preparation;
        let paths = |count: usize| (count * splits) as f64;
        let part = |name, count, core_seconds, workers: usize| PartCost {
            name,
            count,
            core_seconds,
            threads: workers.clamp(1, threads.max(1)),
        };
        let FollowupCounts { folds, sites, permutations } = *counts;
        let path = slowness.path * cost.path();
        let of_fold = OF_FOLD * (path + preparation);
        let own = tasks as f64 * path + splits as f64 * preparation;
        let tables = PER_CELL * cells + PER_STEP_OF_TABLES * models * tasks as f64;
        let permuted = slowness.light * cost.models() + preparation;
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
    let count = |n: f64, unit: &str| counted(n.round().max(1.0) as usize, unit);
    match seconds {
        s if s < 90.0 => count(s, "second"),
        s if s < 5400.0 => count(s / 60.0, "minute"),
        s => count(s / 3600.0, "hour"),
    }
}

/// How much longer paths take on this machine and these data than the formula says.
#[derive(Debug, Clone, Copy)]
struct Slowness {
    /// With every model evaluated and reported.
    path: f64,
    /// As under permuted labels, where hardly any model is evaluated.
    light: f64,
    /// Scaling and imputing one split, in seconds.
    preparation: f64,
}

impl Slowness {
    /// As the formula says.
    fn none(cost: &PathCost) -> Self {
        Self { path: 1.0, light: 1.0, preparation: cost.preparation }
    }

    /// The first path, as far as it comes.
    fn measured(plan: &Plan, cost: &PathCost) -> Result<Self> {
        let started = Instant::now();
        let worked = thread_seconds();
        let mut work = SplitWork::new(plan, 0)?;
        let mut made = 1;
        while started.elapsed() < SHORTEST_MEASUREMENT {
            work = SplitWork::new(plan, 0)?;
            made += 1;
        }
        let preparation = (thread_seconds() - worked) / f64::from(made);
        let method = plan.info.spec.methods[0];
        let path = measured(cost, cost.evaluation, |go_on| {
            run_task(plan, &work, TaskId { method, split: 0 }, |_| {}, go_on).map(drop)
        })?;
        let light =
            measured(cost, 0.0, |go_on| light_path(plan, &work, method, &[], go_on).map(drop))?;
        Ok(Self { path, light, preparation })
    }
}

/// The time of a path, which asks before each model whether to go on, as a multiple of what the
/// formula says.
fn measured(
    cost: &PathCost,
    evaluation: f64,
    mut path: impl FnMut(&mut dyn FnMut() -> bool) -> Result<()>,
) -> Result<f64> {
    let started = Instant::now();
    let worked = thread_seconds();
    let mut said = 0.0;
    while started.elapsed() < SHORTEST_MEASUREMENT {
        let mut fits = cost.fits.iter();
        let mut go_on = || {
            let goes_on = started.elapsed() < LONGEST_MEASUREMENT;
            if goes_on && let Some(fit) = fits.next() {
                said += fit + evaluation;
            }
            goes_on
        };
        path(&mut go_on)?;
    }
    Ok((thread_seconds() - worked) / said)
}

/// Processor time of this thread: what else the machine does must not count.
fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
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
