//! A closer look at one step: β recomputed, the profile of one feature, and what-if paths. Knows no
//! threads.

use ndarray::Axis;

use super::task::{
    PathRows, SomeUnits, SplitWork, decisions_of, fit_list, fresh_fit, fresh_kernel_fit, measure,
    open_path, settings,
};
use super::{Plan, TaskId, Twins};
use crate::data::{Dataset, Part};
use crate::error::Result;
use crate::evaluate::Tally;
use crate::select::{ClassSums, Method};
use crate::svm::{Estimator, class_weights};

/// Bars of a distribution.
const BINS: usize = 24;

/// β of every unit of a model, and what each class contributes to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The units of the model.
    pub units: Vec<usize>,
    /// β of each.
    pub beta: Vec<f64>,
    /// What RFE goes by: Σ w² of each over its columns and all classes, or ΔJ of kernel machines.
    pub squared_weight: Vec<f64>,
    /// For each unit, β by the machine (class) it comes from; they sum to β.
    pub by_class: Vec<Vec<f64>>,
}

/// Recomputes β and Σ w² of a model of these units on a split.
pub fn inspect(plan: &Plan, split: usize, units: &[usize]) -> Result<Inspection> {
    let work = SplitWork::new(plan, split)?;
    let classes = plan.data.classes.len();
    let selection = &work.prepared.selection;
    if plan.info.spec.estimator == Estimator::Rbf {
        return fresh_kernel_fit(plan, &work, units, |path| {
            let by_class = path.betas_by_class();
            let beta = by_class.iter().map(|parts| parts.iter().sum()).collect();
            Ok(Inspection { units: units.to_vec(), beta, squared_weight: path.changes(), by_class })
        });
    }
    fresh_fit(plan, &work, units, |model, columns| {
        let sums =
            ClassSums::new(selection.x.select(Axis(0), columns).view(), &selection.y, classes);
        let beta_coefficients = measure(plan).beta_coefficients(&sums);
        let weights: Vec<Vec<f64>> =
            (0..classes).map(|class| class_weights(model, class)).collect();
        let parts = |unit: usize| -> (Vec<f64>, f64) {
            let mut parts = vec![0.0; classes];
            let mut squared_weight = 0.0;
            for j in work.prepared.units[unit]
                .columns
                .iter()
                .filter_map(|column| columns.binary_search(column).ok())
            {
                for (class, part) in parts.iter_mut().enumerate() {
                    let weight = weights[class][j];
                    *part -= weight * beta_coefficients[[class, j]];
                    squared_weight += weight * weight;
                }
            }
            (parts, squared_weight)
        };
        let (by_class, squared_weight): (Vec<Vec<f64>>, Vec<f64>) =
            units.iter().map(|&unit| parts(unit)).unzip();
        let beta = by_class.iter().map(|parts| parts.iter().sum()).collect();
        Inspection { units: units.to_vec(), beta, squared_weight, by_class }
    })
}

/// Fits a list of units on the training rows of a split and counts what the model does on its test
/// rows: a person's own list, to be compared with the answer.
pub fn test_list(plan: &Plan, split: usize, units: &[usize]) -> Result<Tally> {
    let work = SplitWork::new(plan, split)?;
    let model = fit_list(plan, &work, units)?;
    Ok(work.evaluator.tally(&model))
}

/// How often each class has a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelCounts {
    /// The level.
    pub name: String,
    /// Rows of each class.
    pub rows: Vec<usize>,
}

/// The profile of one feature over all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Portrait {
    pub unit: usize,
    /// Other units with |r| > 0.9 to one of its columns, and r; the closest first.
    pub twins: Vec<(usize, f64)>,
    /// The levels of a category; empty for numbers.
    pub levels: Vec<LevelCounts>,
    /// The column whose values follow: the first.
    pub column: String,
    /// The range of its present values.
    pub range: (f64, f64),
    /// For each class the share of its present values in each of the bars.
    pub histogram: Vec<Vec<f64>>,
    /// For each class the mean of its present values.
    pub means: Vec<f64>,
    /// Missing values.
    pub missing: usize,
}

/// Describes one feature over all rows.
pub fn portrait(data: &Dataset, unit: usize) -> Portrait {
    let own = &data.units[unit].columns;
    let twins =
        Twins::find(data, &[unit]).of(unit).map_or_else(Vec::new, |twins| twins.closest.clone());
    let values = data.x.row(own[0]);
    let present = || values.iter().zip(&data.y).filter(|(value, _)| !value.is_nan());
    let lo = present().map(|(&v, _)| v).fold(f64::INFINITY, f64::min);
    let hi = present().map(|(&v, _)| v).fold(f64::NEG_INFINITY, f64::max);
    let classes = data.classes.len();
    let mut histogram = vec![vec![0.0; BINS]; classes];
    let mut sums = vec![0.0; classes];
    let mut counts = vec![0.0; classes];
    for (&value, &class) in present() {
        let bin = if hi > lo { ((value - lo) / (hi - lo) * BINS as f64) as usize } else { 0 };
        histogram[class][bin.min(BINS - 1)] += 1.0;
        sums[class] += value;
        counts[class] += 1.0;
    }
    for (bars, count) in histogram.iter_mut().zip(&counts) {
        bars.iter_mut().for_each(|bar| *bar /= f64::max(*count, 1.0));
    }
    let means = sums.iter().zip(&counts).map(|(sum, count)| sum / count).collect();
    let levels = level_counts(data, unit);
    let column = data.columns[own[0]].clone();
    let missing = data.y.len() - present().count();
    Portrait { unit, twins, levels, column, range: (lo, hi), histogram, means, missing }
}

fn level_counts(data: &Dataset, unit: usize) -> Vec<LevelCounts> {
    let names = data.category(unit).map_or(&[][..], |own| &own.levels);
    let empty =
        |name: &String| LevelCounts { name: name.clone(), rows: vec![0; data.classes.len()] };
    let mut levels: Vec<LevelCounts> = names.iter().map(empty).collect();
    for (row, &class) in data.y.iter().enumerate() {
        if let Some(level) = data.level(unit, row) {
            levels[level].rows[class] += 1;
        }
    }
    levels
}

/// The user's choice in place of the method's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forced {
    /// Remove this unit now.
    Removed(usize),
    /// Keep this unit to the end.
    Kept(usize),
}

/// A what-if path that leaves a recorded path at some step.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The path that it leaves.
    pub task: TaskId,
    /// What was done instead.
    pub forced: Forced,
    /// The size at which it leaves.
    pub from: usize,
    /// Every model of the branch.
    pub steps: Vec<BranchStep>,
}

/// One model of a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchStep {
    /// Units present.
    pub size: usize,
    /// The unit removed next; none at the end.
    pub removed: Option<usize>,
    /// Mean β.
    pub beta_mean: f64,
    /// What was counted on the test rows.
    pub tally: Tally,
}

/// Continues from the units present after the user's choice.
pub fn branch(plan: &Plan, task: TaskId, present: &[usize], forced: Forced) -> Result<Branch> {
    let work = SplitWork::new(plan, task.split)?;
    let start: Vec<usize> =
        present.iter().copied().filter(|&unit| forced != Forced::Removed(unit)).collect();
    let SomeUnits { columns, mut units } = SomeUnits::new(&work.prepared.units, &start);
    units.iter_mut().zip(&start).for_each(|(own, &unit)| own.kept |= forced == Forced::Kept(unit));
    let of = |part: &Part| part.x.select(Axis(0), &columns);
    let (train, selection) = (&work.prepared.train, &work.prepared.selection);
    let x = of(train);
    let s = of(selection);
    let conformal = of(&work.prepared.conformal);
    let test = of(&work.prepared.test);
    let constant: Vec<bool> =
        columns.iter().map(|&column| work.prepared.constant[column]).collect();
    let rows = PathRows {
        units: &units,
        train: (x.view(), &train.y),
        selection: (s.view(), &selection.y),
        constant: &constant,
        watched: vec![conformal.view(), test.view()],
        common: None,
        ahead: 0,
    };
    let places = || work.places(plan);
    let places = (task.method == Method::Acm)
        .then(|| start.iter().map(|&unit| places()[unit] as f64).collect());
    let spec = &plan.info.spec;
    let settings = settings(spec, plan.data.classes.len(), task.method);
    let mut path = open_path(spec, settings, rows, places)?;
    let mut steps = Vec::new();
    while let Some(step) = path.next().transpose()? {
        let tally = work.evaluator.tally(&decisions_of(&*path)?);
        let removed = step.removed.first().map(|&unit| start[unit]);
        steps.push(BranchStep { size: step.size, removed, beta_mean: step.beta_mean, tally });
    }
    Ok(Branch { task, forced, from: present.len(), steps })
}
