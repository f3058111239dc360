//! The effect of a feature: its share in the decision value of each class, by its value, on
//! selection rows (docs/method.md section 15). For kernel machines also how much of it is
//! interaction, and with which feature most. Knows no threads.

use ndarray::{ArrayView2, Axis};

use super::Plan;
use super::interactions::{HeldOut, Interaction, interactions};
use super::task::{SomeUnits, SplitWork, fresh_fit};
use crate::data::Dataset;
use crate::error::Result;
use crate::model::{Baseline, Deciding, Machines};
use crate::svm::{Estimator, Kernel, KernelMachines, Problem, SupportMachines, class_weights};

/// Effects are pooled over at most this many splits.
const MOST_SPLITS: usize = 5;
/// A feature with more different values is shown in bins.
const MOST_VALUES: usize = 12;
/// Bins with the same number of rows.
const BINS: usize = 10;

/// The effect of one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectCurve {
    pub unit: usize,
    /// By rising value, or level by level; empty for a group of several columns, which has no
    /// value.
    pub points: Vec<EffectPoint>,
    /// With the feature that it interacts with most, in kernel machines of several features; other
    /// families have no interactions.
    pub interaction: Option<Interaction>,
}

/// The rows of one value, of one level, or of a bin.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectPoint {
    /// The mean value, or the number of the level.
    pub value: f64,
    /// The name of the level of a category.
    pub level: Option<String>,
    /// How many rows.
    pub rows: usize,
    /// Mean effect on the decision value of each class: over all points, weighted by rows, it is 0.
    pub score: Vec<f64>,
    /// Standard deviation of the effect over the rows; of straight lines and splines nearly zero.
    pub sd: Vec<f64>,
}

/// The effects of the first `shown` of some units in a model of all of them, on the selection rows
/// of one split. Interactions are looked for in models of the same units on the first splits, since
/// one split has few rows.
pub fn effects_of_split(
    plan: &Plan,
    split: usize,
    units: &[usize],
    shown: &[usize],
) -> Result<Vec<EffectCurve>> {
    let mut curves = Curves::new(plan, units, shown);
    let first = 0..plan.splits.count().min(MOST_SPLITS);
    if plan.info.spec.estimator == Estimator::Rbf {
        let mut models = Vec::new();
        for index in first.clone().chain((!first.contains(&split)).then_some(split)) {
            let work = SplitWork::new(plan, index)?;
            let model = kernel_model(plan, &work, units)?;
            if index == split {
                curves.add_kernel(&work, &model);
            }
            models.extend(first.contains(&index).then(|| model.held_out(&work)));
        }
        return Ok(curves.finish(&models));
    }
    curves.add_linear(&SplitWork::new(plan, split)?)?;
    Ok(curves.finish(&[]))
}

/// The same, pooled over the first splits.
pub fn effects(plan: &Plan, units: &[usize], shown: &[usize]) -> Result<Vec<EffectCurve>> {
    let mut curves = Curves::new(plan, units, shown);
    let mut models = Vec::new();
    for split in 0..plan.splits.count().min(MOST_SPLITS) {
        let work = SplitWork::new(plan, split)?;
        if plan.info.spec.estimator == Estimator::Rbf {
            let model = kernel_model(plan, &work, units)?;
            curves.add_kernel(&work, &model);
            models.push(model.held_out(&work));
        } else {
            curves.add_linear(&work)?;
        }
    }
    Ok(curves.finish(&models))
}

/// The machines of some units on the training rows of a split.
struct KernelModel {
    machines: Machines,
    /// The columns of the table that they take.
    columns: Vec<usize>,
    /// Of these, the columns of each unit.
    units: Vec<Vec<usize>>,
}

fn kernel_model(plan: &Plan, work: &SplitWork, units: &[usize]) -> Result<KernelModel> {
    let spec = &plan.info.spec;
    let SomeUnits { columns, units } = SomeUnits::new(&work.prepared.units, units);
    let train = &work.prepared.train;
    let x = train.x.select(Axis(0), &columns);
    let problem = Problem::new(x.view(), &train.y, plan.data.classes.len())?
        .with_cost(spec.cost, spec.class_weight);
    let mut model = KernelMachines::new(problem, Kernel::Rbf(spec.gamma));
    model.fit();
    let machines = SupportMachines::new(&model, spec.gamma.value(x.nrows()));
    let machines = Machines { deciding: Deciding::Kernel(machines), bias: model.biases() };
    Ok(KernelModel {
        machines,
        columns,
        units: units.into_iter().map(|unit| unit.columns).collect(),
    })
}

impl KernelModel {
    /// What interactions are looked for in: the machines and the rows on which they were not
    /// fitted.
    fn held_out(self, work: &SplitWork) -> HeldOut {
        let selection = &work.prepared.selection;
        let Self { machines: Machines { deciding, .. }, columns, units } = self;
        let machines = match deciding {
            Deciding::Kernel(machines) => machines,
            Deciding::Linear(_) => unreachable!("a kernel model is made of kernel machines"),
        };
        let x = selection.x.select(Axis(0), &columns);
        HeldOut::new(machines, units, x, selection.rows.clone(), selection.y.clone())
    }
}

/// The effects of some units of a list, as they are gathered split by split.
struct Curves<'a> {
    plan: &'a Plan,
    /// The units of the model.
    units: &'a [usize],
    shown: Vec<UnitEffects>,
}

/// What is known of one unit.
struct UnitEffects {
    unit: usize,
    /// Its place among the units of the model.
    place: usize,
    /// Row of the table, and the effect on each class.
    rows: Vec<(usize, Vec<f64>)>,
}

impl UnitEffects {
    /// Takes the shares of the rows of a split, centred over the rows that have a value, since
    /// these make the curve.
    fn add(&mut self, data: &Dataset, rows: &[usize], shares: &[Vec<f64>]) {
        let has_value = |row: usize| value(data, self.unit, row).is_some();
        let known = rows.iter().zip(shares).filter(|&(&row, _)| has_value(row));
        let baseline = Baseline::over(known.map(|(_, share)| &share[..]), data.classes.len());
        let effects = rows.iter().zip(shares).map(|(&row, share)| (row, baseline.effect(share)));
        self.rows.extend(effects);
    }
}

impl<'a> Curves<'a> {
    fn new(plan: &'a Plan, units: &'a [usize], shown: &[usize]) -> Self {
        let of_unit = |&unit: &usize| {
            let place = units.iter().position(|&own| own == unit).unwrap_or(0);
            UnitEffects { unit, place, rows: Vec::new() }
        };
        Self { plan, units, shown: shown.iter().map(of_unit).collect() }
    }

    fn add_linear(&mut self, work: &SplitWork) -> Result<()> {
        let plan = self.plan;
        let selection = &work.prepared.selection;
        let classes = plan.data.classes.len();
        fresh_fit(plan, work, self.units, |model, columns| {
            let weights: Vec<Vec<f64>> =
                (0..classes).map(|class| class_weights(model, class)).collect();
            for shown in &mut self.shown {
                let own = &work.prepared.units[shown.unit].columns;
                let places: Vec<(usize, usize)> = own
                    .iter()
                    .filter_map(|&column| Some((column, columns.binary_search(&column).ok()?)))
                    .collect();
                let share = |weights: &Vec<f64>, i: usize| {
                    places.iter().map(|&(column, at)| weights[at] * selection.x[[column, i]]).sum()
                };
                let shares: Vec<Vec<f64>> = (0..selection.rows.len())
                    .map(|i| weights.iter().map(|weights| share(weights, i)).collect())
                    .collect();
                shown.add(&plan.data, &selection.rows, &shares);
            }
        })
    }

    fn add_kernel(&mut self, work: &SplitWork, model: &KernelModel) {
        let selection = &work.prepared.selection;
        let x: ArrayView2<'_, f64> = selection.x.view();
        let shares = model.machines.shares(x.select(Axis(0), &model.columns).view(), &model.units);
        for shown in &mut self.shown {
            let own: Vec<Vec<f64>> = shares.iter().map(|row| row[shown.place].clone()).collect();
            shown.add(&self.plan.data, &selection.rows, &own);
        }
    }

    fn finish(self, models: &[HeldOut]) -> Vec<EffectCurve> {
        let data = &self.plan.data;
        let places: Vec<usize> = self.shown.iter().map(|shown| shown.place).collect();
        let found = interactions(models, &places, data.classes.len(), data.groups.as_deref());
        let of_unit = |(shown, interaction): (UnitEffects, Option<Interaction>)| EffectCurve {
            unit: shown.unit,
            points: points(data, shown.unit, &shown.rows),
            interaction: interaction
                .map(|found| Interaction { partner: self.units[found.partner], ..found }),
        };
        self.shown.into_iter().zip(found).map(of_unit).collect()
    }
}

/// A value, its level if it is one, and the shares of the classes.
type Shared<'a> = (f64, Option<usize>, &'a [f64]);

/// Sorted rows in bins of about the same number of rows; equal values share a bin.
fn bins<'a, 's>(sorted: &'a [Shared<'s>]) -> Vec<&'a [Shared<'s>]> {
    let wanted = sorted.len().div_ceil(BINS);
    let mut bins = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for equal in sorted.chunk_by(|a, b| a.0 == b.0) {
        end += equal.len();
        if end - start >= wanted {
            bins.push(&sorted[start..end]);
            start = end;
        }
    }
    bins.extend((start < end).then(|| &sorted[start..end]));
    bins
}

/// What a row has of a unit.
enum Value {
    Number(f64),
    Level(usize),
}

/// The value of a unit in a row; `None` where it is missing, and for groups of columns that are no
/// levels.
fn value(data: &Dataset, unit: usize, row: usize) -> Option<Value> {
    if data.category(unit).is_some() {
        return data.level(unit, row).map(Value::Level);
    }
    let [column] = data.units[unit].columns[..] else { return None };
    Some(data.x[[column, row]]).filter(|value| !value.is_nan()).map(Value::Number)
}

fn points(data: &Dataset, unit: usize, shares: &[(usize, Vec<f64>)]) -> Vec<EffectPoint> {
    let mut known: Vec<Shared<'_>> = shares
        .iter()
        .filter_map(|(row, shares)| match value(data, unit, *row)? {
            Value::Number(value) => Some((value, None, &shares[..])),
            Value::Level(level) => Some((level as f64, Some(level), &shares[..])),
        })
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let different = known.chunk_by(|a, b| a.0 == b.0).count();
    let groups: Vec<&[Shared<'_>]> = if different <= MOST_VALUES {
        known.chunk_by(|a, b| a.0 == b.0).collect()
    } else {
        bins(&known)
    };
    let level_name = |level: usize| {
        data.category(unit).map_or_else(String::new, |own| own.levels[level].clone())
    };
    let point = |rows: &[Shared<'_>]| {
        let count = rows.len() as f64;
        let mean = |of: &dyn Fn(&Shared<'_>) -> f64| rows.iter().map(of).sum::<f64>() / count;
        let classes = 0..data.classes.len();
        let score: Vec<f64> = classes.clone().map(|class| mean(&|row| row.2[class])).collect();
        let sd = |class: usize| mean(&|row| (row.2[class] - score[class]).powi(2)).sqrt();
        EffectPoint {
            value: mean(&|row| row.0),
            level: rows[0].1.map(level_name),
            rows: rows.len(),
            sd: classes.map(sd).collect(),
            score,
        }
    };
    groups.into_iter().map(point).collect()
}
