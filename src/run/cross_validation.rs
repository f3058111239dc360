//! The `cv` rule: 5-fold cross-validated accuracy of RFE on the training and selection rows of a split.

use std::collections::BTreeMap;

use super::Plan;
use super::task::settings;
use crate::data::seed::{Purpose, Stream};
use crate::data::{Prepared, Split, prepare};
use crate::select::{Elimination, Method};

const FOLDS: usize = 5;

/// The size with the highest mean accuracy over the folds, the smallest on a tie: what scikit-learn's RFECV chooses.
pub fn best_size(plan: &Plan, prepared: &Prepared, index: usize) -> usize {
    let mut rows = prepared.train.rows.clone();
    rows.extend(&prepared.selection.rows);
    let mut accuracy: BTreeMap<usize, f64> = BTreeMap::new();
    for fold in folds(plan, &mut rows, index) {
        for (size, share) in accuracies(plan, &fold, index) {
            *accuracy.entry(size).or_default() += share;
        }
    }
    // Fold paths visit the same sizes. Equal sums may differ in the last bits, hence the margin.
    let best = accuracy.values().copied().fold(0.0, f64::max);
    accuracy.iter().find(|&(_, &sum)| sum >= best - 1e-9).map_or(plan.data.units.len(), |(&size, _)| size)
}

/// Stratified folds: the rows of each class are shuffled and dealt in turn.
fn folds(plan: &Plan, rows: &mut [usize], index: usize) -> Vec<Split> {
    rows.sort_unstable();
    Stream::new(plan.info.spec.split.seed, index as u64, Purpose::Folds).shuffle(rows);
    rows.sort_by_key(|&row| plan.data.y[row]);
    let part = |wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
        let mut part: Vec<usize> =
            rows.iter().enumerate().filter(|&(i, _)| wanted(i % FOLDS)).map(|(_, &row)| row).collect();
        part.sort_unstable();
        part
    };
    (0..FOLDS)
        .map(|fold| {
            let held_out = part(&|f| f == fold);
            Split {
                train: part(&|f| f != fold),
                selection: held_out.clone(),
                conformal: held_out.clone(),
                test: held_out,
            }
        })
        .filter(|split| !split.test.is_empty())
        .collect()
}

/// The accuracy of RFE on the held-out rows at every size; nothing if the fold cannot be fitted.
fn accuracies(plan: &Plan, fold: &Split, index: usize) -> Vec<(usize, f64)> {
    let (spec, classes) = (&plan.info.spec, plan.data.classes.len());
    let fold = prepare(&plan.data, fold, spec.scale, spec.impute, spec.split.seed, index);
    let settings = settings(plan, Method::Rfe);
    let (train, test) =
        ((fold.train.x.view(), fold.train.y.as_slice()), (fold.test.x.view(), fold.test.y.as_slice()));
    let Ok(path) = Elimination::new(settings, &plan.data.units, train, test, &fold.constant) else {
        return Vec::new();
    };
    let mut path = path.watch(fold.test.x.view());
    let mut curve = Vec::new();
    while let Some(step) = path.next() {
        let decisions = path.decisions(0);
        let right = decisions.rows().into_iter().zip(&fold.test.y).filter(|(row, y)| {
            let best = (0..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            best == **y
        });
        curve.push((step.size, right.count() as f64 / fold.test.y.len() as f64));
    }
    curve
}
