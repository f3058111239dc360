//! The `cv` rule: 5-fold cross-validated accuracy of RFE on the training and selection rows of a
//! split.

use std::collections::BTreeMap;

use super::Plan;
use super::task::{PathRows, open_path, settings};
use crate::data::seed::{Purpose, Rng};
use crate::data::{Prepared, Split, prepare, stratified_folds};
use crate::select::Method;

const FOLDS: usize = 5;

/// The size with the highest mean accuracy over the folds, the smallest on a tie: what
/// scikit-learn's RFECV chooses.
pub fn best_size(plan: &Plan, prepared: &Prepared, seed: u64, index: usize) -> usize {
    let mut rows = prepared.train.rows.clone();
    rows.extend(&prepared.selection.rows);
    let mut accuracy: BTreeMap<usize, f64> = BTreeMap::new();
    for fold in folds(plan, rows, seed, index) {
        for (size, share) in accuracies(plan, &fold, seed, index) {
            *accuracy.entry(size).or_default() += share;
        }
    }
    // Fold paths visit the same sizes. Equal sums may differ in the last bits, hence the margin.
    let best = accuracy.values().copied().fold(0.0, f64::max);
    accuracy
        .iter()
        .find(|&(_, &sum)| sum >= best - 1e-9)
        .map_or(plan.data.units.len(), |(&size, _)| size)
}

/// Each fold held out from the others.
fn folds(plan: &Plan, mut rows: Vec<usize>, seed: u64, index: usize) -> Vec<Split> {
    rows.sort_unstable();
    let mut rng = Rng::new(seed, index as u64, Purpose::Folds);
    let folds = stratified_folds(&plan.data, rows, FOLDS, &mut rng);
    let others = |fold: usize| {
        let mut rows: Vec<usize> = folds
            .iter()
            .enumerate()
            .filter(|&(i, _)| i != fold)
            .flat_map(|(_, rows)| rows.iter().copied())
            .collect();
        rows.sort_unstable();
        rows
    };
    folds
        .iter()
        .enumerate()
        .filter(|(_, held_out)| !held_out.is_empty())
        .map(|(fold, held_out)| Split {
            train: others(fold),
            selection: held_out.clone(),
            conformal: held_out.clone(),
            test: held_out.clone(),
        })
        .collect()
}

/// The accuracy of RFE on the held-out rows at every size; nothing if the fold cannot be fitted.
fn accuracies(plan: &Plan, fold: &Split, seed: u64, index: usize) -> Vec<(usize, f64)> {
    let spec = &plan.info.spec;
    let classes = plan.data.classes.len();
    let fold = prepare(&plan.data, fold, spec.preparation(), seed, index);
    let rows = PathRows {
        units: &fold.units,
        train: (fold.train.x.view(), &fold.train.y),
        selection: (fold.test.x.view(), &fold.test.y),
        constant: &fold.constant,
        watched: vec![fold.test.x.view()],
        common: None,
        ahead: 0,
    };
    let Ok(mut path) = open_path(spec, settings(spec, classes, Method::Rfe), rows, None) else {
        return Vec::new();
    };
    let mut curve = Vec::new();
    while let Some(step) = path.next() {
        let (Ok(step), Ok(decisions)) = (step, path.decisions(0)) else { return Vec::new() };
        let right = decisions.rows().into_iter().zip(&fold.test.y).filter(|(row, y)| {
            let best = (0..classes)
                .fold(0, |best, class| if row[class] > row[best] { class } else { best });
            best == **y
        });
        curve.push((step.size, right.count() as f64 / fold.test.y.len() as f64));
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::run::RunOptions;
    use crate::run::task::SplitWork;
    use crate::svm::{Problem, class_weights, decisions, solver};
    use ndarray::{Array2, Axis};

    /// The rule by its definition: at every size a model fitted from scratch; the feature with the
    /// smallest Σ w² is removed, and correct predictions on the held-out rows are counted.
    fn by_definition(plan: &Plan, prepared: &Prepared, index: usize) -> usize {
        let spec = &plan.info.spec;
        let features = plan.data.units.len();
        let rows: Vec<usize> =
            prepared.train.rows.iter().chain(&prepared.selection.rows).copied().collect();
        let mut right = vec![0.0; features + 1];
        for fold in folds(plan, rows, spec.split.seed, index) {
            let fold = prepare(&plan.data, &fold, spec.preparation(), spec.split.seed, index);
            let mut present: Vec<usize> = (0..features).collect();
            while !present.is_empty() {
                let x = fold.train.x.select(Axis(0), &present);
                let test = fold.test.x.select(Axis(0), &present);
                let classes = plan.data.classes.len();
                let problem = Problem::new(x.view(), &fold.train.y, classes).unwrap();
                let mut model =
                    solver(spec.solver, problem.with_cost(spec.cost, spec.class_weight)).unwrap();
                model.fit();
                let values = decisions(&*model, test.view());
                let hits = values.rows().into_iter().zip(&fold.test.y).filter(|(row, y)| {
                    let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    row.iter().position(|&value| value == highest) == Some(**y)
                });
                right[present.len()] += hits.count() as f64 / fold.test.y.len() as f64;
                let weights: Vec<Vec<f64>> =
                    (0..classes).map(|class| class_weights(&*model, class)).collect();
                let weight =
                    |place: usize| weights.iter().map(|w| w[place] * w[place]).sum::<f64>();
                let least =
                    (0..present.len()).min_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap();
                present.remove(least);
            }
        }
        let most = right.iter().copied().fold(0.0, f64::max);
        (1..=features).find(|&size| right[size] >= most - 1e-9).unwrap()
    }

    #[test]
    fn the_size_is_that_of_the_definition() {
        let mut sizes = std::collections::BTreeSet::new();
        // This many features separate the three classes; the others are noise.
        for telling in [1, 3, 6] {
            let mut rng = Rng::new(telling as u64, 0, Purpose::Split);
            let x = Array2::from_shape_fn((90, 8), |(i, j)| {
                let class = if j < telling { ((i + j) % 3) as f64 } else { 0.0 };
                class + 2.0 * rng.uniform()
            });
            let labels: Vec<String> = (0..90).map(|i| format!("class {}", i % 3)).collect();
            let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
            let plan = Plan::new(RunOptions::default().check().unwrap(), data).unwrap();
            for index in 0..3 {
                let work = SplitWork::new(&plan, index).unwrap();
                let ours = best_size(&plan, &work.prepared, plan.info.spec.split.seed, index);
                assert_eq!(
                    ours,
                    by_definition(&plan, &work.prepared, index),
                    "{telling}, split {index}"
                );
                sizes.insert(ours);
            }
        }
        assert!(sizes.len() > 2, "several sizes are chosen: {sizes:?}");
    }
}
