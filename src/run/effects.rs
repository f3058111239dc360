//! The effect of a feature: its share in the decision value of each class, by its value, on
//! selection rows (docs/method.md section 15). Knows no threads.

use ndarray::Axis;

use super::Plan;
use super::task::{SomeUnits, SplitWork, fresh_fit};
use crate::data::Dataset;
use crate::error::Result;
use crate::model::{Baseline, Deciding, Machines};
use crate::svm::{Estimator, KernelMachines, Problem, SupportMachines, class_weights};

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
/// of one split.
pub fn effects_of_split(
    plan: &Plan,
    split: usize,
    units: &[usize],
    shown: &[usize],
) -> Result<Vec<EffectCurve>> {
    let mut curves = Curves::new(plan, units, shown);
    curves.add(split)?;
    Ok(curves.finish())
}

/// The same, pooled over the first splits.
pub fn effects(plan: &Plan, units: &[usize], shown: &[usize]) -> Result<Vec<EffectCurve>> {
    let mut curves = Curves::new(plan, units, shown);
    (0..plan.splits.count().min(MOST_SPLITS)).try_for_each(|split| curves.add(split))?;
    Ok(curves.finish())
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

    fn add(&mut self, split: usize) -> Result<()> {
        let work = SplitWork::new(self.plan, split)?;
        if self.plan.info.spec.estimator == Estimator::Rbf {
            self.add_kernel(&work)
        } else {
            self.add_linear(&work)
        }
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

    fn add_kernel(&mut self, work: &SplitWork) -> Result<()> {
        let spec = &self.plan.info.spec;
        let SomeUnits { columns, units } = SomeUnits::new(&work.prepared.units, self.units);
        let train = &work.prepared.train;
        let x = train.x.select(Axis(0), &columns);
        let problem = Problem::new(x.view(), &train.y, self.plan.data.classes.len())?
            .with_cost(spec.cost, spec.class_weight);
        let mut model = KernelMachines::new(problem, spec.gamma);
        model.fit();
        let machines = SupportMachines::new(&model);
        let machines = Machines { deciding: Deciding::Kernel(machines), bias: model.biases() };
        let selection = &work.prepared.selection;
        let units: Vec<Vec<usize>> = units.into_iter().map(|unit| unit.columns).collect();
        let shares = machines.shares(selection.x.select(Axis(0), &columns).view(), &units);
        for shown in &mut self.shown {
            let own: Vec<Vec<f64>> = shares.iter().map(|row| row[shown.place].clone()).collect();
            shown.add(&self.plan.data, &selection.rows, &own);
        }
        Ok(())
    }

    fn finish(self) -> Vec<EffectCurve> {
        let data = &self.plan.data;
        let of_unit = |shown: UnitEffects| EffectCurve {
            unit: shown.unit,
            points: points(data, shown.unit, &shown.rows),
        };
        self.shown.into_iter().map(of_unit).collect()
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
