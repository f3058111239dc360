//! One task: a path of a method on a split, each model evaluated where the path stands. Knows no threads.

use std::sync::OnceLock;

use ndarray::Axis;

use super::cross_validation::best_size;
use super::{Betas, EventKind, Parts, Plan, Reason, Step, TaskId};
use crate::data::{Part, Prepared, prepare};
use crate::error::Result;
use crate::evaluate::{ConformalSettings, Evaluator};
use crate::select::{Common, Elimination, Method, Nonconformity, Settings, StopRule};
use crate::svm::{PathSolver, Problem, decisions, solver};

/// What the methods of one split share.
pub struct SplitWork {
    pub(super) prepared: Prepared,
    pub(super) evaluator: Evaluator,
    common: Common,
    cv_size: OnceLock<usize>,
    index: usize,
}

impl SplitWork {
    /// Scales, imputes and sums up once.
    pub fn new(plan: &Plan, index: usize) -> Result<Self> {
        let spec = &plan.info.spec;
        let split = plan.splits.split(&plan.data, index)?;
        let prepared = prepare(&plan.data, &split, spec.scale, spec.impute, spec.split.seed, index);
        let settings = ConformalSettings {
            epsilon: spec.epsilon,
            mondrian: spec.mondrian,
            smoothed: spec.smoothed,
            measure: measure(plan),
        };
        let (seed, test) = (spec.split.seed, &prepared.test);
        let evaluator =
            Evaluator::new(settings, &prepared.conformal.y, &test.y, &test.rows, seed, index as u64);
        let selection = (prepared.selection.x.view(), &*prepared.selection.y);
        let common = Common::new(measure(plan), selection, spec.methods.len() > 1);
        Ok(Self { prepared, evaluator, common, cv_size: OnceLock::new(), index })
    }

    fn parts(&self, classes: usize) -> Parts {
        let count = |part: &Part| {
            let mut counts = vec![0; classes];
            part.y.iter().for_each(|&class| counts[class] += 1);
            counts
        };
        Parts {
            train: self.prepared.train.y.len(),
            selection: self.prepared.selection.y.len(),
            conformal: count(&self.prepared.conformal),
            test: count(&self.prepared.test),
        }
    }
}

pub(super) fn measure(plan: &Plan) -> Nonconformity {
    let spec = &plan.info.spec;
    Nonconformity { lambda: spec.lambda, classes: plan.data.classes.len(), score: spec.score }
}

/// How a plan eliminates with a method.
pub fn settings(plan: &Plan, method: Method) -> Settings {
    let spec = &plan.info.spec;
    let weight = spec.class_weight;
    Settings { method, step: spec.step, measure: measure(plan), solver: spec.solver, cost: spec.cost, weight }
}

/// Runs a path to its end, telling each event; `go_on` is asked between two eliminations. False if it was told to end.
pub fn run_task(
    plan: &Plan,
    work: &SplitWork,
    task: TaskId,
    mut tell: impl FnMut(EventKind),
    mut go_on: impl FnMut() -> bool,
) -> Result<bool> {
    let (spec, classes) = (&plan.info.spec, plan.data.classes.len());
    let Prepared { train, conformal, test, constant, .. } = &work.prepared;
    tell(EventKind::TaskStarted(work.parts(classes)));
    let units = &plan.data.units;
    let train = (train.x.view(), &*train.y);
    let mut path = Elimination::sharing(settings(plan, task.method), units, train, &work.common, constant)?
        .watch(conformal.x.view())
        .watch(test.x.view())
        .look_ahead(Betas::top(units.len()));
    let mut means = Vec::new();
    let mut reason = Reason::Complete;
    let mut rest = Vec::new();
    loop {
        if !go_on() {
            return Ok(false);
        }
        let Some(removal) = path.next() else { break };
        means.push(removal.beta_mean);
        // Tested before each removal, so not at the last model.
        let stop = if removal.removed.is_empty() { None } else { spec.beta_rule.test(&means, units.len()) };
        let bias: Vec<f64> = (0..classes).map(|class| path.model().bias(class)).collect();
        let tally = work.evaluator.tally(path.decisions(0).view(), path.decisions(1).view(), &bias);
        let size = removal.size;
        let ends_here = spec.early
            && match spec.stop {
                StopRule::Beta => stop.is_some_and(|stop| stop.fired),
                StopRule::Size(wanted) => size <= wanted,
                _ => false,
            };
        if ends_here || removal.removed.is_empty() {
            rest = path.rest();
        }
        let mut step = Step {
            t: removal.t,
            size,
            criterion: removal.criterion,
            runner_up: removal.runner_up,
            margin: removal.margin,
            beta_mean: removal.beta_mean,
            stop,
            converged: removal.convergence.converged,
            tally,
            beta: Betas::keep(
                removal.t,
                units.len(),
                &removal.nearest,
                |unit| path.beta(unit),
                || path.betas(),
            ),
            removed: removal.removed,
        };
        if ends_here {
            if !step.removed.is_empty() {
                reason = Reason::Early;
            }
            (step.removed, step.criterion, step.runner_up, step.margin) = (Vec::new(), None, None, None);
        }
        tell(EventKind::Step(step.into()));
        if ends_here {
            break;
        }
    }
    let cv_size = (spec.stop == StopRule::Cv)
        .then(|| *work.cv_size.get_or_init(|| best_size(plan, &work.prepared, work.index)));
    tell(EventKind::TaskFinished { reason, rest, cv_size });
    Ok(true)
}

/// What is predicted for one test row.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The position of the row in the dataset.
    pub row: usize,
    /// The p-value of each class.
    pub p_values: Vec<f64>,
}

/// The p-values of the test rows of a split under a model of these units: a fresh fit, which has the same solution as the
/// path's, so predictions need not be recorded.
pub fn predictions(plan: &Plan, split: usize, units: &[usize]) -> Result<Vec<Prediction>> {
    let work = SplitWork::new(plan, split)?;
    let classes = plan.data.classes.len();
    let Prepared { conformal, test, .. } = &work.prepared;
    let p_values = fresh_fit(plan, &work, units, |model, columns| {
        let bias: Vec<f64> = (0..classes).map(|class| model.bias(class)).collect();
        let on = |part: &Part| decisions(model, part.x.select(Axis(0), columns).view());
        work.evaluator.p_values(on(conformal).view(), on(test).view(), &bias)
    })?;
    let with_row =
        |(&row, p): (&usize, ndarray::ArrayView1<'_, f64>)| Prediction { row, p_values: p.to_vec() };
    Ok(test.rows.iter().zip(p_values.rows()).map(with_row).collect())
}

/// Fits a model of these units alone and hands it over, with the columns of the data that its columns are.
pub fn fresh_fit<T>(
    plan: &Plan,
    work: &SplitWork,
    units: &[usize],
    read: impl for<'m> FnOnce(&(dyn PathSolver<'m> + 'm), &[usize]) -> T,
) -> Result<T> {
    let spec = &plan.info.spec;
    let mut columns: Vec<usize> =
        units.iter().flat_map(|&unit| plan.data.units[unit].columns.iter().copied()).collect();
    columns.sort_unstable();
    let train = &work.prepared.train;
    let x = train.x.select(Axis(0), &columns);
    let classes = plan.data.classes.len();
    let problem = Problem { x: x.view(), y: &train.y, classes, cost: spec.cost, weight: spec.class_weight };
    let mut model = solver(spec.solver, problem)?;
    model.fit();
    Ok(read(&*model, &columns))
}
