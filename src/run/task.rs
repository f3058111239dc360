//! One task: the path of a method on a split, with every model evaluated. Knows no threads.

use std::sync::OnceLock;

use ndarray::{ArrayView2, Axis};

use super::cross_validation::best_size;
use super::{Betas, EndReason, EventKind, Parts, Plan, RunOptions, Step, TaskId};
use crate::data::{Calibration, Part, Prepared, Split, Unit, prepare};
use crate::error::Result;
use crate::evaluate::{ConformalSettings, Decisions, Evaluator};
use crate::select::{
    Common, Elimination, FeaturePath, KernelElimination, Labelled, Method, Nonconformity,
    Proximity, ProximityRule, RunSizes, Settings, StopRule, order_of_adding,
};
use crate::svm::{Estimator, PathSolver, Problem, decisions, solver};

/// What the methods of one split share.
pub struct SplitWork {
    pub(super) prepared: Prepared,
    pub(super) evaluator: Evaluator,
    common: Common,
    cv_size: OnceLock<usize>,
    places: OnceLock<Vec<usize>>,
    seed: u64,
    index: usize,
}

impl SplitWork {
    /// The work of a split of the plan.
    pub fn new(plan: &Plan, index: usize) -> Result<Self> {
        let split = plan.split(index)?;
        Ok(Self::on(plan, &split, None, plan.info.spec.split.seed, index))
    }

    /// Scales, imputes and sums once, on any rows; `labels` replace those of the table.
    pub fn on(
        plan: &Plan,
        split: &Split,
        labels: Option<&[usize]>,
        seed: u64,
        index: usize,
    ) -> Self {
        let spec = &plan.info.spec;
        let mut prepared = prepare(&plan.data, split, spec.preparation(), seed, index);
        if let Some(labels) = labels {
            prepared = prepared.relabelled(labels);
        }
        let (settings, test) = (conformal_settings(plan), &prepared.test);
        let (conformal_y, split) = (&prepared.conformal.y, index as u64);
        let mut evaluator = Evaluator::new(settings, conformal_y, &test.y, &test.rows, seed, split);
        if let Some(groups) = &plan.data.groups {
            let of_rows: Vec<usize> =
                prepared.conformal.rows.iter().map(|&row| groups[row]).collect();
            evaluator = evaluator.with_groups(&of_rows);
        }
        let selection = (prepared.selection.x.view(), &*prepared.selection.y);
        let common = Common::new(measure(plan), selection, spec.methods.len() > 1);
        Self {
            prepared,
            evaluator,
            common,
            cv_size: OnceLock::new(),
            places: OnceLock::new(),
            seed,
            index,
        }
    }

    /// The path of a method, which watches the conformal and the test rows.
    fn path(&self, plan: &Plan, method: Method, ahead: usize) -> Result<Box<dyn FeaturePath + '_>> {
        let Prepared { train, selection, conformal, test, constant, units } = &self.prepared;
        let rows = PathRows {
            units,
            train: (train.x.view(), &train.y),
            selection: (selection.x.view(), &selection.y),
            constant,
            watched: vec![conformal.x.view(), test.x.view()],
            common: Some(&self.common),
            ahead,
        };
        let places = || {
            (method == Method::Acm)
                .then(|| self.places(plan).iter().map(|&place| place as f64).collect())
        };
        let spec = &plan.info.spec;
        open_path(spec, settings(spec, plan.data.classes.len(), method), rows, places())
    }

    /// The place of each unit in ACM's order of adding.
    pub(super) fn places(&self, plan: &Plan) -> &[usize] {
        let Prepared { train, selection, units, .. } = &self.prepared;
        self.places.get_or_init(|| {
            let parts = [(train.x.view(), &*train.y), (selection.x.view(), &*selection.y)];
            order_of_adding(&parts, units, plan.data.classes.len())
        })
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
    settings(&plan.info.spec, plan.data.classes.len(), Method::Crfe).measure
}

/// How the p-values and sets of a plan are made.
pub(super) fn conformal_settings(plan: &Plan) -> ConformalSettings {
    let RunOptions { epsilon, mondrian, smoothed, .. } = *plan.info.spec;
    ConformalSettings { epsilon, mondrian, smoothed, measure: measure(plan) }
}

/// The settings of the elimination by a method.
pub fn settings(options: &RunOptions, classes: usize, method: Method) -> Settings {
    Settings {
        method,
        step: options.step,
        measure: Nonconformity { lambda: options.lambda, classes, score: options.score },
        solver: options.solver,
        cost: options.cost,
        weight: options.class_weight,
    }
}

/// The rows and units of a path.
pub struct PathRows<'a> {
    pub units: &'a [Unit],
    pub train: Labelled<'a>,
    pub selection: Labelled<'a>,
    /// For each column whether it is constant in training.
    pub constant: &'a [bool],
    /// Rows whose decision values are read.
    pub watched: Vec<ArrayView2<'a, f64>>,
    /// What linear paths of the split share.
    pub common: Option<&'a Common>,
    /// How many units nearest to removal are asked for.
    pub ahead: usize,
}

/// The path of these settings with the models of the options; units are ranked once by `places`, if
/// there are any.
pub fn open_path<'a>(
    options: &RunOptions,
    settings: Settings,
    rows: PathRows<'a>,
    places: Option<Vec<f64>>,
) -> Result<Box<dyn FeaturePath + 'a>> {
    let PathRows { units, train, selection, constant, watched, common, ahead } = rows;
    if options.estimator == Estimator::Rbf {
        let mut path =
            KernelElimination::new(settings, options.gamma, units, train, selection, constant)?;
        path = watched.into_iter().fold(path, KernelElimination::watch);
        path = match (places, options.prefilter) {
            (Some(places), _) => path.ranked(places),
            (None, Some(most)) => {
                path.prefiltered(linear_start(settings, units, train, selection, constant, most)?)
            }
            (None, None) => path,
        };
        return Ok(Box::new(path));
    }
    let mut path = match common {
        Some(common) => Elimination::sharing(settings, units, train, common, constant)?,
        None => Elimination::new(settings, units, train, selection, constant)?,
    };
    path = watched.into_iter().fold(path, Elimination::watch).look_ahead(ahead);
    if let Some(places) = places {
        path = path.ranked(places);
    }
    Ok(Box::new(path))
}

/// What a linear path removes until this many units are left, in order.
fn linear_start<'a>(
    settings: Settings,
    units: &'a [Unit],
    train: Labelled<'a>,
    selection: Labelled<'_>,
    constant: &[bool],
    most: usize,
) -> Result<Vec<usize>> {
    let mut removed = Vec::new();
    for step in Elimination::new(settings, units, train, selection, constant)? {
        let step = step?;
        let excess = step.size.saturating_sub(most);
        removed.extend(step.removed.iter().take(excess));
        if step.removed.len() >= excess {
            break;
        }
    }
    Ok(removed)
}

/// Runs a path to its end and emits each event; `go_on` is asked before each model. False if it was
/// told to stop.
pub fn run_task(
    plan: &Plan,
    work: &SplitWork,
    task: TaskId,
    mut emit: impl FnMut(EventKind),
    mut go_on: impl FnMut() -> bool,
) -> Result<bool> {
    let spec = &plan.info.spec;
    let classes = plan.data.classes.len();
    let Prepared { train, units, .. } = &work.prepared;
    emit(EventKind::TaskStarted(work.parts(classes)));
    let mut path = work.path(plan, task.method, Betas::top(units.len()))?;
    let mut proximity = (spec.stop == StopRule::Proximity)
        .then(|| (Proximity::new(train.x.view(), &train.y, classes), ProximityRule::default()));
    let mut means = Vec::new();
    let mut reason = EndReason::Complete;
    let mut rest = Vec::new();
    loop {
        if !go_on() {
            return Ok(false);
        }
        let Some(removal) = path.next().transpose()? else { break };
        means.push(removal.beta_mean);
        // Tested before each removal, so not at the last model.
        let stop = if removal.removed.is_empty() {
            None
        } else {
            spec.beta_rule.test(&means, units.len())
        };
        let tally = work.evaluator.tally(&decisions_of(&*path)?);
        let size = removal.size;
        if let Some((rows, rule)) = &mut proximity {
            rule.follow(size, rows.ratio());
            removal.removed.iter().for_each(|&unit| rows.remove(&units[unit].columns));
        }
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
                reason = EndReason::Early;
            }
            (step.removed, step.criterion, step.runner_up, step.margin) =
                (Vec::new(), None, None, None);
        }
        emit(EventKind::Step(step.into()));
        if ends_here {
            break;
        }
    }
    let by_cv =
        || *work.cv_size.get_or_init(|| best_size(plan, &work.prepared, work.seed, work.index));
    let as_published = spec.split.calibration == Calibration::Shared;
    let sizes = RunSizes {
        cv: (spec.stop == StopRule::Cv).then(by_cv),
        proximity: proximity.and_then(|(_, rule)| rule.size(as_published)),
    };
    emit(EventKind::TaskFinished { reason, rest, sizes });
    Ok(true)
}

/// A path reduced to its order of removal and S at some sizes.
pub struct LightPath {
    /// The removable units in the order of removal, survivors last.
    pub order: Vec<usize>,
    /// (size, mean sum of p-values) at the sizes asked for that the path visits.
    pub s_scores: Vec<(usize, f64)>,
}

/// Runs a path without emitting its steps and evaluates it only at some sizes (ascending); `None`
/// if it was told to stop.
pub fn light_path(
    plan: &Plan,
    work: &SplitWork,
    method: Method,
    sizes: &[usize],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<LightPath>> {
    let mut path = work.path(plan, method, 0)?;
    let (mut order, mut s_scores) = (Vec::new(), Vec::new());
    while go_on() {
        let Some(removal) = path.next().transpose()? else {
            order.extend(path.rest());
            return Ok(Some(LightPath { order, s_scores }));
        };
        if sizes.binary_search(&removal.size).is_ok() {
            s_scores.push((removal.size, work.evaluator.s_score(&decisions_of(&*path)?)));
        }
        order.extend(removal.removed);
    }
    Ok(None)
}

/// What is predicted for one test row.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The position of the row in the dataset.
    pub row: usize,
    /// The p-value of each class.
    pub p_values: Vec<f64>,
}

/// The p-values of the test rows of a split under a model of these units. The model is fitted from
/// scratch and has the same solution as the path's, so predictions need not be recorded.
pub fn predictions(plan: &Plan, split: usize, units: &[usize]) -> Result<Vec<Prediction>> {
    let work = SplitWork::new(plan, split)?;
    let model = fit_list(plan, &work, units)?;
    let p_values = work.evaluator.p_values(&model);
    let test = &work.prepared.test;
    let with_row = |(&row, p): (&usize, ndarray::ArrayView1<'_, f64>)| Prediction {
        row,
        p_values: p.to_vec(),
    };
    Ok(test.rows.iter().zip(p_values.rows()).map(with_row).collect())
}

/// What the last model of a path says of the conformal and the test rows, which it watches.
pub fn decisions_of(path: &dyn FeaturePath) -> Result<Decisions> {
    let (conformal, test) = (path.decisions(0)?, path.decisions(1)?);
    Ok(Decisions { conformal, test, biases: path.biases() })
}

/// What a model of these units alone says of the conformal and the test rows.
pub fn fit_list(plan: &Plan, work: &SplitWork, units: &[usize]) -> Result<Decisions> {
    let Prepared { conformal, test, .. } = &work.prepared;
    if plan.info.spec.estimator == Estimator::Rbf {
        return fresh_kernel_fit(plan, work, units, |path| decisions_of(path));
    }
    fresh_fit(plan, work, units, |model, columns| {
        let on = |part: &Part| decisions(model, part.x.select(Axis(0), columns).view());
        Decisions { conformal: on(conformal), test: on(test), biases: model.biases() }
    })
}

/// Fits kernel machines of these units alone and hands over a path that stands at them; it watches
/// the conformal and the test rows.
pub fn fresh_kernel_fit<T>(
    plan: &Plan,
    work: &SplitWork,
    units: &[usize],
    read: impl FnOnce(&KernelElimination<'_>) -> Result<T>,
) -> Result<T> {
    let SomeUnits { columns, units } = SomeUnits::new(&work.prepared.units, units);
    let Prepared { train, selection, conformal, test, constant, .. } = &work.prepared;
    let of = |part: &Part| part.x.select(Axis(0), &columns);
    let (x, s, conformal, test) = (of(train), of(selection), of(conformal), of(test));
    let constant: Vec<bool> = columns.iter().map(|&column| constant[column]).collect();
    let settings = settings(&plan.info.spec, plan.data.classes.len(), Method::Crfe);
    let train = (x.view(), &*train.y);
    let selection = (s.view(), &*selection.y);
    let gamma = plan.info.spec.gamma;
    let mut path = KernelElimination::new(settings, gamma, &units, train, selection, &constant)?
        .watch(conformal.view())
        .watch(test.view());
    path.fit();
    read(&path)
}

/// Some units alone.
pub(super) struct SomeUnits {
    /// Their columns, ascending.
    pub(super) columns: Vec<usize>,
    /// The units, with positions among these columns.
    pub(super) units: Vec<Unit>,
}

impl SomeUnits {
    pub(super) fn new(all: &[Unit], chosen: &[usize]) -> Self {
        let mut columns: Vec<usize> =
            chosen.iter().flat_map(|&unit| all[unit].columns.iter().copied()).collect();
        columns.sort_unstable();
        let place = |column: &usize| columns.binary_search(column).ok();
        let unit = |&unit: &usize| {
            let own = &all[unit];
            Unit { columns: own.columns.iter().filter_map(place).collect(), ..own.clone() }
        };
        Self { units: chosen.iter().map(unit).collect(), columns }
    }
}

/// Fits a model of these units alone and passes it to `read`, with the indices of its columns among
/// the prepared ones.
pub fn fresh_fit<T>(
    plan: &Plan,
    work: &SplitWork,
    units: &[usize],
    read: impl for<'m> FnOnce(&(dyn PathSolver<'m> + 'm), &[usize]) -> T,
) -> Result<T> {
    let spec = &plan.info.spec;
    let SomeUnits { columns, .. } = SomeUnits::new(&work.prepared.units, units);
    let train = &work.prepared.train;
    let x = train.x.select(Axis(0), &columns);
    let classes = plan.data.classes.len();
    let problem =
        Problem::new(x.view(), &train.y, classes)?.with_cost(spec.cost, spec.class_weight);
    let mut model = solver(spec.solver, problem)?;
    model.fit();
    Ok(read(&*model, &columns))
}
