//! One fold of the nested validation: the whole procedure runs on other rows, and its list is
//! tested on the rows of the fold, which no earlier step has seen (docs/method.md section 12).

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::followup::{FollowupKind, Outcome};
use super::task::{SplitWork, conformal_settings, run_task};
use super::{Plan, RunInfo, SubgroupInfo, TaskId, Trace};
use crate::data::seed::{Purpose, Rng};
use crate::data::{Factor, OuterFold, Split, Splits, Times};
use crate::error::Result;
use crate::model::{FitSettings, fit_list, tau};
use crate::select::Method;

/// What a fold's list achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoldTest {
    /// The size that the rule chose; none if it chose none.
    pub size: Option<usize>,
    /// The list, best first, units kept by request at the end.
    pub units: Vec<usize>,
    /// Calibration rows of each class.
    pub conformal: Vec<usize>,
    /// Every row of the fold; empty without a list.
    pub rows: Vec<TestedRow>,
    /// The group of each row; empty where rows do not come in groups.
    pub groups: Vec<usize>,
    /// For each column of subgroups the level of each row.
    pub subgroups: Vec<Vec<Option<usize>>>,
    /// The time of each row; empty without a column of times.
    pub times: Vec<Option<f64>>,
}

/// What was predicted for a row of a fold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestedRow {
    /// The position of the row in the dataset.
    pub row: usize,
    /// Its class.
    pub y: usize,
    /// The decision value of each class.
    pub f: Vec<f64>,
    /// The p-value of each class.
    pub p: Vec<f64>,
}

impl FoldTest {
    /// Whether a row has this level of this column of subgroups.
    pub fn has_level(&self, row: usize, (column, level): (usize, usize)) -> bool {
        let level_of_row = self.subgroups.get(column).and_then(|levels| *levels.get(row)?);
        level_of_row == Some(level)
    }

    /// Whether a run can have it.
    pub(super) fn fits(&self, info: &RunInfo) -> bool {
        let Self { size, units: list, conformal, rows, groups, subgroups, times } = self;
        let (units, classes) = (info.units.len(), info.classes.len());
        let of_rows = |count: usize| count == 0 || count == rows.len();
        let in_groups = info.spec.schema.group_col.is_some();
        let is_level = |(levels, known): (&Vec<Option<usize>>, &SubgroupInfo)| {
            of_rows(levels.len())
                && levels.iter().flatten().all(|&level| level < known.levels.len())
        };
        (subgroups.is_empty() || subgroups.len() == info.subgroups.len())
            && subgroups.iter().zip(&info.subgroups).all(is_level)
            && of_rows(times.len())
            && size.is_none_or(|size| size <= units)
            && list.iter().all(|&unit| unit < units)
            && conformal.len() == classes
            && groups.len() == if in_groups { rows.len() } else { 0 }
            && rows.iter().all(|row| {
                row.row < info.rows
                    && row.y < classes
                    && row.f.len() == classes
                    && row.p.len() == classes
            })
    }
}

/// The whole procedure without the rows of a fold, tested on them.
pub(super) const FOLD: FollowupKind = FollowupKind {
    name: "fold",
    counted: "validation folds",
    words: |method, index| format!("{method} in validation fold {}", index + 1),
    count: |info| info.folds,
    is_skipped: |_, _| false,
    determined_by: |info| json!([info.folds, choice_of_list(info)]),
    paths: |splits| splits,
    asks_for_paths: false,
    run: |work, go_on| {
        let (rows, seed) = fold(work.plan, work.index)?;
        Ok(test_rows(work.plan, work.method, &rows, seed, go_on)?.map(Outcome::Fold))
    },
    allows: |outcome, info| matches!(outcome, Outcome::Fold(test) if test.fits(info)),
};

/// The rows of a fold, and the seed of the splits without them.
fn fold(plan: &Plan, index: usize) -> Result<(OuterFold, u64)> {
    let seed = inner_seed(plan.info.spec.split.seed, index, Purpose::Validation);
    Ok((plan.outer_folds()?.swap_remove(index), seed))
}

/// The settings by which a list is chosen from paths.
pub(super) fn choice_of_list(info: &RunInfo) -> Value {
    let spec = &info.spec;
    json!([spec.stop.name(), spec.by, spec.beta_rule])
}

/// Tests a list that was given on the rows of a fold: fitted and calibrated on the others.
pub fn test_given_list(plan: &Plan, fold: usize, units: &[usize]) -> Result<FoldTest> {
    let (rows, seed) = self::fold(plan, fold)?;
    test_list(plan, &rows, seed, Some(units.len()), units.to_vec())
}

/// The size and the list that the procedure reads off some paths.
pub(super) fn list_of(plan: &Plan, traces: &[Trace]) -> (Option<usize>, Vec<usize>) {
    let procedure = plan.info.procedure();
    let paths: Vec<&Trace> = traces.iter().collect();
    let size = procedure.size(&paths);
    let units = size
        .map_or_else(Vec::new, |size| plan.info.list(&procedure.by_frequency(&paths, size), size));
    (size, units)
}

/// Runs the procedure on rows that were dealt before and tests its list.
pub(super) fn test_rows(
    plan: &Plan,
    method: Method,
    rows: &OuterFold,
    seed: u64,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<FoldTest>> {
    let path = |(index, split): (usize, &Split)| {
        let work = SplitWork::on(plan, split, None, seed, index);
        finished_trace(plan, &work, TaskId { method, split: index }, go_on).transpose()
    };
    let splits = splits_within(plan, &rows.rest, &plan.data.y, seed)?;
    let traces: Option<Result<Vec<Trace>>> = splits.iter().enumerate().map(path).collect();
    let Some(traces) = traces.transpose()? else { return Ok(None) };
    let (size, units) = list_of(plan, &traces);
    test_list(plan, rows, seed, size, units).map(Some)
}

/// The seed of the splits inside a fold, and of the splits of a permutation: independent of all
/// others.
pub(super) fn inner_seed(seed: u64, index: usize, purpose: Purpose) -> u64 {
    Rng::for_row(seed, index as u64, purpose, 0).bits()
}

/// The splits of some rows, as rows of the dataset; `y` are the labels of the whole dataset.
pub(super) fn splits_within(
    plan: &Plan,
    rows: &[usize],
    y: &[usize],
    seed: u64,
) -> Result<Vec<Split>> {
    let labels = plan.data.labels_of(rows, y);
    let mut options = plan.info.spec.split.clone();
    (options.seed, options.splits_from, options.reserve) = (seed, None, None);
    let splits = Splits::new(&labels, &options)?;
    let of_dataset = |part: Vec<usize>| part.into_iter().map(|i| rows[i]).collect();
    (0..splits.count())
        .map(|index| {
            let Split { train, selection, conformal, test } = splits.split(&labels, index)?;
            let [train, selection, conformal, test] =
                [train, selection, conformal, test].map(of_dataset);
            Ok(Split { train, selection, conformal, test })
        })
        .collect()
}

/// Runs a path to its end; `None` if it was told to end.
pub(super) fn finished_trace(
    plan: &Plan,
    work: &SplitWork,
    task: TaskId,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Trace>> {
    let mut trace = None;
    let follow = |event| Trace::follow(&mut trace, plan.data.units.len(), &event);
    let finished = run_task(plan, work, task, follow, go_on)?;
    Ok(trace.filter(|_| finished))
}

/// How a plan fits and calibrates the machines of a list, with the random numbers of a seed and an
/// index.
pub fn fit_settings(plan: &Plan, seed: u64, index: u64) -> FitSettings {
    let spec = &plan.info.spec;
    FitSettings {
        preparation: spec.preparation(),
        estimator: spec.estimator,
        gamma: spec.gamma,
        cost: spec.cost,
        class_weight: spec.class_weight,
        solver: spec.solver,
        conformal: conformal_settings(plan),
        seed,
        index,
    }
}

/// Fits on the rows that selected, calibrates on the reserve, predicts the fold.
fn test_list(
    plan: &Plan,
    rows: &OuterFold,
    seed: u64,
    size: Option<usize>,
    units: Vec<usize>,
) -> Result<FoldTest> {
    let classes = plan.data.classes.len();
    let mut conformal = vec![0; classes];
    rows.reserve.iter().for_each(|&row| conformal[plan.data.y[row]] += 1);
    if units.is_empty() {
        let (rows, groups, subgroups, times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        return Ok(FoldTest { size, units, conformal, rows, groups, subgroups, times });
    }
    let tested = predict(plan, rows, seed, &units)?;
    let groups = plan.data.groups.as_ref();
    let groups =
        groups.map_or_else(Vec::new, |of_row| rows.test.iter().map(|&row| of_row[row]).collect());
    let design = &plan.data.design;
    let levels = |factor: &Factor| rows.test.iter().map(|&row| factor.of_row[row]).collect();
    let subgroups = design.subgroups.iter().map(levels).collect();
    let time =
        |&row: &usize, times: &Times| Some(times.of_row[row]).filter(|time| time.is_finite());
    let times = design.times.as_ref();
    let times =
        times.map_or_else(Vec::new, |times| rows.test.iter().map(|row| time(row, times)).collect());
    Ok(FoldTest { size, units, conformal, rows: tested, groups, subgroups, times })
}

/// By the model that `fit` would save.
fn predict(plan: &Plan, rows: &OuterFold, seed: u64, units: &[usize]) -> Result<Vec<TestedRow>> {
    let classes = plan.data.classes.len();
    let settings = fit_settings(plan, seed, plan.info.spec.split.splits as u64);
    let fitted = fit_list(&plan.data, &rows.rest, &rows.reserve, units, &settings)?;
    let of_row = |i: usize| tau(seed, settings.index, rows.test[i], classes);
    let tau = settings.conformal.smoothed.then_some(&of_row as &dyn Fn(usize) -> Vec<f64>);
    let predicted = fitted.predictor.predict(fitted.cells(&plan.data, &rows.test), tau);
    let predicted = rows.test.iter().zip(predicted.f.rows()).zip(predicted.p.rows());
    let tested = |((&row, f), p): ((&usize, ArrayView1<'_, f64>), ArrayView1<'_, f64>)| TestedRow {
        row,
        y: plan.data.y[row],
        f: f.to_vec(),
        p: p.to_vec(),
    };
    Ok(predicted.map(tested).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ndarray::Array2;

    use super::*;
    use crate::data::{Dataset, Impute, Unit};
    use crate::run::RunOptions;
    use crate::svm::Estimator;

    /// A table with numbers, gaps and a category, and how it is run.
    #[derive(Debug, Clone, Copy)]
    struct Case {
        seed: u64,
        method: Method,
        impute: Impute,
        /// Rows come in groups of four.
        grouped: bool,
        smoothed: bool,
    }

    const ROWS: usize = 144;
    const CATEGORY: [usize; 3] = [3, 4, 5];
    const GAPS: f64 = 0.04;

    /// Fills a row: two columns that know the class, noise, and a category of three levels that
    /// knows it a little.
    fn fill(mut row: ndarray::ArrayViewMut1<'_, f64>, class: usize, scale: f64, rng: &mut Rng) {
        for (j, value) in row.iter_mut().enumerate() {
            *value = scale * rng.uniform() + if j < 2 { 0.5 * class as f64 } else { 0.0 };
        }
        let level = (rng.below(3) + rng.below(2) * class).min(2);
        CATEGORY.iter().enumerate().for_each(|(i, &j)| row[j] = f64::from(u8::from(i == level)));
        for j in 0..row.len() {
            if !CATEGORY.contains(&j) && rng.uniform() < GAPS {
                row[j] = f64::NAN;
            }
        }
        if rng.uniform() < GAPS {
            CATEGORY.iter().for_each(|&j| row[j] = f64::NAN);
        }
    }

    fn class(row: usize, grouped: bool) -> usize {
        if grouped { row / 4 % 2 } else { row % 2 }
    }

    fn table(case: &Case) -> Array2<f64> {
        let mut rng = Rng::new(case.seed, 0, Purpose::Split);
        let mut x = Array2::zeros((ROWS, 9));
        for (row, values) in x.outer_iter_mut().enumerate() {
            fill(values, class(row, case.grouped), 1.0, &mut rng);
        }
        x
    }

    fn plan(case: &Case, x: &Array2<f64>) -> Plan {
        let labels: Vec<&str> = (0..ROWS).map(|row| ["a", "b"][class(row, case.grouped)]).collect();
        let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        data.units[CATEGORY[0]] =
            Unit { name: "category".into(), columns: CATEGORY.to_vec(), kept: false };
        data.units.drain(CATEGORY[1]..=CATEGORY[2]);
        data.groups = case.grouped.then(|| (0..ROWS).map(|row| row / 4).collect());
        let mut options = RunOptions {
            methods: vec![case.method],
            impute: case.impute,
            smoothed: case.smoothed,
            estimator: if case.seed == 2 { Estimator::Rbf } else { Estimator::Linear },
            ..RunOptions::default()
        };
        options.split.splits = 4;
        Plan::new(options.check().unwrap(), data).unwrap()
    }

    fn tested(plan: &Plan, rows: &OuterFold, case: &Case) -> FoldTest {
        test_rows(plan, case.method, rows, case.seed, &mut || true).unwrap().unwrap()
    }

    /// The numbers of some rows, to the bit.
    fn bits(fold: &FoldTest, rows: &[usize]) -> Vec<u64> {
        let of_rows = fold.rows.iter().filter(|tested| rows.contains(&tested.row));
        of_rows
            .flat_map(|tested| tested.f.iter().chain(&tested.p).map(|value| value.to_bits()))
            .collect()
    }

    fn cases() -> Vec<Case> {
        let mut cases = Vec::new();
        for seed in 0..4 {
            for method in [Method::Crfe, Method::Rfe, Method::Smfs] {
                for grouped in [false, true] {
                    let impute = if seed % 2 == 0 { Impute::Knn(5) } else { Impute::Median };
                    cases.push(Case { seed, method, impute, grouped, smoothed: seed == 3 });
                }
            }
        }
        cases
    }

    #[test]
    fn rows_of_a_fold_reach_neither_its_list_nor_its_model_nor_its_calibration() {
        let mut with_list = 0;
        for case in cases() {
            let mut x = table(&case);
            let before = plan(&case, &x);
            let rows = before.outer_folds().unwrap().swap_remove(2);
            let first = tested(&before, &rows, &case);
            assert_eq!(
                first.rows.iter().map(|row| row.row).collect::<Vec<_>>(),
                rows.test,
                "{case:?}"
            );
            with_list += usize::from(!first.units.is_empty());

            // Three rows of the fold keep their values, so their predictions must keep their bits:
            // they show model and calibration. Everything else in the fold changes: values, gaps,
            // levels and all labels.
            let (same, others) = rows.test.split_at(3);
            let mut rng = Rng::new(case.seed, 1, Purpose::Split);
            for &row in others {
                fill(x.row_mut(row), rng.below(2), 100.0, &mut rng);
            }
            let mut after = plan(&case, &x);
            let labels = &mut Arc::make_mut(&mut after.data).y;
            rows.test.iter().for_each(|&row| labels[row] = 1 - labels[row]);
            let second = tested(&after, &rows, &case);
            assert_eq!(
                (first.size, &first.units, &first.conformal),
                (second.size, &second.units, &second.conformal),
                "{case:?}"
            );
            assert_eq!(bits(&first, same), bits(&second, same), "{case:?}");
            if !first.units.is_empty() {
                assert_ne!(
                    bits(&first, others),
                    bits(&second, others),
                    "the other rows were really changed"
                );
            }
        }
        assert!(with_list >= 20, "{with_list} of 24 cases have a list");
    }

    /// The counterpart: the rows that may be seen do matter, so that the test above can fail.
    #[test]
    fn rows_that_select_or_calibrate_do_reach_the_prediction() {
        for case in cases().into_iter().filter(|case| case.seed == 0) {
            let x = table(&case);
            let before = plan(&case, &x);
            let rows = before.outer_folds().unwrap().swap_remove(2);
            let first = tested(&before, &rows, &case);
            for part in [&rows.rest, &rows.reserve] {
                let mut changed = x.clone();
                let mut rng = Rng::new(case.seed, 1, Purpose::Split);
                for &row in part {
                    fill(changed.row_mut(row), rng.below(2), 2.0, &mut rng);
                }
                let second = tested(&plan(&case, &changed), &rows, &case);
                assert_ne!(bits(&first, &rows.test), bits(&second, &rows.test), "{case:?}");
            }
        }
    }
}
