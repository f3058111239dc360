//! The effect of a feature: its share in the decision value of each class, by its value, on selection rows (docs/method.md section 15). For
//! kernel machines also how much of it is interaction, and with which feature most. Knows no threads.

use super::Plan;
use super::task::{SplitWork, fresh_fit, fresh_kernel_fit};
use crate::data::Dataset;
use crate::error::Result;
use crate::select::Coalitions;
use crate::svm::{Estimator, class_weights};

/// Effects are pooled over at most this many splits.
const MOST_SPLITS: usize = 5;
/// A feature with more different values is shown in bins.
const MOST_VALUES: usize = 12;
/// Bins with the same number of rows.
const BINS: usize = 10;

/// The effect of one feature.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectCurve {
    /// Which unit.
    pub unit: usize,
    /// By rising value, or level by level; empty for a group of several columns, which has no value.
    pub points: Vec<EffectPoint>,
    /// Of kernel machines; other families have no interactions.
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
    /// Mean share in the decision value of each class.
    pub score: Vec<f64>,
    /// Standard deviation of the share over the rows; of straight lines and splines nearly zero.
    pub sd: Vec<f64>,
}

/// How much of the effect of a feature is interaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// Mean |share − what is lost when the feature alone is removed| over mean |share|: 0 in an additive model, 1 for one of a pair that
    /// matters by its product only.
    pub share: f64,
    /// The unit with the strongest pairwise interaction, and its part of all pairwise interactions of the feature.
    pub partner: Option<(usize, f64)>,
}

/// The effects of the first `shown` of some units in a model of all of them, on the selection rows of one split.
pub fn effects_of_split(
    plan: &Plan,
    split: usize,
    units: &[usize],
    shown: &[usize],
) -> Result<Vec<EffectCurve>> {
    pooled(plan, std::iter::once(split), units, shown)
}

/// The same, pooled over the first splits.
pub fn effects(plan: &Plan, units: &[usize], shown: &[usize]) -> Result<Vec<EffectCurve>> {
    pooled(plan, 0..plan.splits.count().min(MOST_SPLITS), units, shown)
}

fn pooled(
    plan: &Plan,
    splits: impl Iterator<Item = usize>,
    units: &[usize],
    shown: &[usize],
) -> Result<Vec<EffectCurve>> {
    let mut pools: Vec<SharePool> = shown.iter().map(|&unit| SharePool::new(unit, units)).collect();
    for split in splits {
        let work = SplitWork::new(plan, split)?;
        if plan.info.spec.estimator == Estimator::Rbf {
            add_kernel_shares(plan, &work, units, &mut pools)?;
        } else {
            add_linear_shares(plan, &work, units, &mut pools)?;
        }
    }
    Ok(pools.into_iter().map(|pool| pool.curve(&plan.data, units)).collect())
}

/// What is known of the shares of one unit.
struct SharePool {
    unit: usize,
    /// Its place among the units of the model.
    place: usize,
    /// Row of the table, and the share of each class.
    shares: Vec<(usize, Vec<f64>)>,
    /// Σ |share|, Σ |share − loss| over rows and classes.
    sums: (f64, f64),
    /// Σ |interaction| with each unit of the model.
    partners: Vec<f64>,
}

impl SharePool {
    fn new(unit: usize, units: &[usize]) -> Self {
        let place = units.iter().position(|&own| own == unit).unwrap_or(0);
        Self { unit, place, shares: Vec::new(), sums: (0.0, 0.0), partners: vec![0.0; units.len()] }
    }

    fn curve(self, data: &Dataset, units: &[usize]) -> EffectCurve {
        let has_interactions = self.sums.0 > 0.0;
        let all: f64 = self.partners.iter().sum();
        let strongest = (0..units.len()).max_by(|&a, &b| self.partners[a].total_cmp(&self.partners[b]));
        let interaction = has_interactions.then(|| Interaction {
            share: self.sums.1 / self.sums.0,
            partner: strongest.filter(|_| all > 0.0).map(|place| (units[place], self.partners[place] / all)),
        });
        EffectCurve { unit: self.unit, points: points(data, self.unit, &self.shares), interaction }
    }
}

fn add_linear_shares(plan: &Plan, work: &SplitWork, units: &[usize], pools: &mut [SharePool]) -> Result<()> {
    let (selection, classes) = (&work.prepared.selection, plan.data.classes.len());
    fresh_fit(plan, work, units, |model, columns| {
        let weights: Vec<Vec<f64>> = (0..classes).map(|class| class_weights(model, class)).collect();
        for pool in pools {
            let own = &work.prepared.units[pool.unit].columns;
            let places: Vec<(usize, usize)> = own
                .iter()
                .filter_map(|&column| Some((column, columns.binary_search(&column).ok()?)))
                .collect();
            for (i, &row) in selection.rows.iter().enumerate() {
                let share = |weights: &Vec<f64>| {
                    places.iter().map(|&(column, at)| weights[at] * selection.x[[column, i]]).sum()
                };
                pool.shares.push((row, weights.iter().map(share).collect()));
            }
        }
    })
}

fn add_kernel_shares(plan: &Plan, work: &SplitWork, units: &[usize], pools: &mut [SharePool]) -> Result<()> {
    let (rows, classes) = (&work.prepared.selection.rows, plan.data.classes.len());
    fresh_kernel_fit(plan, work, units, |path| {
        let by_class: Vec<Vec<f64>> =
            (0..classes).map(|class| path.shares(class, Coalitions::Shapley)).collect();
        let losses: Vec<Vec<f64>> =
            (0..classes).map(|class| path.shares(class, Coalitions::AllOthers)).collect();
        for pool in pools {
            let of_unit = |i: usize| pool.place * rows.len() + i;
            for (i, &row) in rows.iter().enumerate() {
                let shares: Vec<f64> = by_class.iter().map(|shares| shares[of_unit(i)]).collect();
                for (share, losses) in shares.iter().zip(&losses) {
                    pool.sums.0 += share.abs();
                    pool.sums.1 += (share - losses[of_unit(i)]).abs();
                }
                pool.shares.push((row, shares));
            }
            // The machines of two classes mirror each other.
            for class in usize::from(classes == 2)..classes {
                let others = (0..units.len()).filter(|&place| place != pool.place);
                let interactions = path.interactions(pool.place, class);
                for (place, of_pair) in others.zip(interactions.chunks_exact(rows.len().max(1))) {
                    pool.partners[place] += of_pair.iter().map(|value| value.abs()).sum::<f64>();
                }
            }
        }
        Ok(())
    })
}

/// A value, its level if it is one, and the shares of the classes.
type Shared<'a> = (f64, Option<usize>, &'a [f64]);

/// Sorted rows in bins of about the same number of rows; equal values share a bin.
fn bins<'a, 's>(sorted: &'a [Shared<'s>]) -> Vec<&'a [Shared<'s>]> {
    let wanted = sorted.len().div_ceil(BINS);
    let (mut bins, mut start, mut end) = (Vec::new(), 0, 0);
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

/// The value of a unit in a row; `None` where it is missing, and for groups of columns that are no levels.
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
    let groups: Vec<&[Shared<'_>]> =
        if different <= MOST_VALUES { known.chunk_by(|a, b| a.0 == b.0).collect() } else { bins(&known) };
    let level_name =
        |level: usize| data.category(unit).map_or_else(String::new, |own| own.levels[level].clone());
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
