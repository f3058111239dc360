//! Sites, batches or years: the procedure without one of them, tested on it; and how well the
//! features of the list tell where a row comes from (docs/method.md section 16).

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::Plan;
use super::task::SomeUnits;
use super::validation::{FoldTest, chosen_list, fit_settings, inner_seed, test_rows};
use crate::data::seed::{Purpose, Rng};
use crate::data::{Dataset, Factor, site_fold, stratified_folds};
use crate::error::{Error, Result};
use crate::evaluate::{auc, concordant_pairs};
use crate::model::fit_list;
use crate::select::Method;
use crate::svm::Estimator;

/// Folds of the probe; a site with fewer rows is left out of it.
const PROBE_FOLDS: usize = 5;

/// A level of the site column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteInfo {
    pub name: String,
    pub rows: usize,
    /// Whether it can be left out: the other rows are enough for the procedure.
    pub tested: bool,
}

/// A column of subgroups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupInfo {
    /// Its name.
    pub column: String,
    pub levels: Vec<String>,
}

/// How well the features of a list predict the site, on rows that the machines did not see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteProbe {
    /// The list.
    pub units: Vec<usize>,
    /// Sites that are told apart.
    pub sites: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows whose site is predicted right.
    pub right: usize,
    /// Rows of the largest site: what always answering it gets right.
    pub largest: usize,
    /// What answering the largest site of a row's class gets right: as well as the class alone can
    /// tell the site.
    pub by_class: usize,
    /// Area under the ROC curve, one site against the rest, mean over sites.
    pub auc: Option<f64>,
}

/// Runs the procedure on the rows outside a site and tests its list there; `None` if it was told to
/// end.
pub fn test_site(
    plan: &Plan,
    method: Method,
    site: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<FoldTest>> {
    let rows = site_fold(&plan.data, site, &plan.info.spec.split)?;
    test_rows(plan, method, &rows, seed_of_site(plan, site), go_on)
}

/// The seed of the splits without a site.
fn seed_of_site(plan: &Plan, site: usize) -> u64 {
    inner_seed(plan.info.spec.split.seed, site, Purpose::Site)
}

/// Makes the list of the run once more and predicts the site of each row by its features; `None` if
/// it was told to end.
pub fn probe_sites(
    plan: &Plan,
    method: Method,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<SiteProbe>> {
    let Some(factor) = &plan.data.design.sites else {
        return Err(Error::internal("there is no site column"));
    };
    let Some((_, units)) = chosen_list(plan, method, go_on)? else { return Ok(None) };
    probe(plan, factor, units).map(Some)
}

/// The same for a list.
fn probe(plan: &Plan, factor: &Factor, list: Vec<usize>) -> Result<SiteProbe> {
    let data = by_site(&plan.data, factor, &list);
    let sites = data.classes.len();
    let count = |of: &dyn Fn(usize) -> bool| {
        let mut counts = vec![0; sites];
        data.y
            .iter()
            .enumerate()
            .filter(|&(row, _)| of(row))
            .for_each(|(_, &site)| counts[site] += 1);
        counts.into_iter().max().unwrap_or(0)
    };
    let of_class = |class: usize| count(&|row| plan.data.y[plan_row(plan, &data, row)] == class);
    let mut found = SiteProbe {
        units: list,
        sites,
        rows: data.y.len(),
        right: 0,
        largest: count(&|_| true),
        by_class: (0..plan.data.classes.len()).map(of_class).sum(),
        auc: None,
    };
    if sites < 2 || data.units.is_empty() {
        return Ok(found);
    }
    let seed = plan.info.spec.split.seed;
    let mut rng = Rng::new(seed, 0, Purpose::Probe);
    let folds = stratified_folds(&data, (0..data.y.len()).collect(), PROBE_FOLDS, &mut rng);
    let mut decisions = Array2::zeros((data.y.len(), sites));
    for (index, held_out) in folds.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
        let mut others: Vec<usize> =
            (0..data.y.len()).filter(|row| held_out.binary_search(row).is_err()).collect();
        others.sort_unstable();
        let mut settings = fit_settings(plan, inner_seed(seed, index, Purpose::Probe), 0);
        settings.conformal.measure.classes = sites;
        if settings.estimator == Estimator::Rbf {
            settings.estimator = Estimator::Linear;
        }
        let units: Vec<usize> = (0..data.units.len()).collect();
        let fitted = fit_list(&data, &others, held_out, &units, &settings)?;
        let predicted = fitted.predictor.predict(fitted.cells(&data, held_out), None);
        for (&row, f) in held_out.iter().zip(predicted.f.rows()) {
            decisions.row_mut(row).assign(&f);
        }
    }
    let best = |row: ndarray::ArrayView1<'_, f64>| {
        (0..sites).fold(0, |best, site| if row[site] > row[best] { site } else { best })
    };
    found.right =
        decisions.rows().into_iter().zip(&data.y).filter(|(row, y)| best(*row) == **y).count();
    let counts: Vec<u32> = data
        .class_counts()
        .into_iter()
        .map(|count| u32::try_from(count).unwrap_or(u32::MAX))
        .collect();
    found.auc = auc(&concordant_pairs(decisions.view(), &data.y), &counts);
    Ok(found)
}

/// The row of the plan that a row of the probe is.
fn plan_row(plan: &Plan, probe: &Dataset, row: usize) -> usize {
    plan.data.rows.binary_search(&probe.rows[row]).unwrap_or(0)
}

/// The columns of a list with the sites as classes: rows of sites that are large enough for folds.
fn by_site(data: &Dataset, factor: &Factor, list: &[usize]) -> Dataset {
    let counts = factor.counts();
    let large: Vec<usize> = (0..counts.len()).filter(|&site| counts[site] >= PROBE_FOLDS).collect();
    let place = |site: Option<usize>| site.and_then(|site| large.binary_search(&site).ok());
    let sites: Vec<Option<usize>> = factor.of_row.iter().map(|&site| place(site)).collect();
    let rows: Vec<usize> = (0..sites.len()).filter(|&row| sites[row].is_some()).collect();
    let y: Vec<usize> = sites.iter().map(|site| site.unwrap_or(0)).collect();
    let SomeUnits { columns, units } = SomeUnits::new(&data.units, list);
    Dataset {
        x: data.x.select(Axis(0), &columns).select(Axis(1), &rows),
        variables: columns.iter().map(|&column| data.variables[column]).collect(),
        columns: columns.iter().map(|&column| data.columns[column].clone()).collect(),
        units,
        target: factor.column.clone(),
        classes: large.iter().map(|&site| factor.levels[site].clone()).collect(),
        ..data.labels_of(&rows, &y)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::Design;
    use crate::run::RunOptions;

    const ROWS: usize = 120;

    fn table(seed: u64) -> Array2<f64> {
        let mut rng = Rng::new(seed, 0, Purpose::Split);
        Array2::from_shape_fn((ROWS, 6), |(row, j)| {
            rng.uniform() + if j < 2 { 0.4 * (row % 2) as f64 } else { 0.0 }
        })
    }

    /// Three sites; with groups, rows come in pairs, of which some are in two sites.
    fn plan(x: &Array2<f64>, grouped: bool) -> Plan {
        let labels: Vec<&str> = (0..ROWS).map(|row| ["a", "b"][row % 2]).collect();
        let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let levels = ["A", "B", "C"].map(str::to_owned).to_vec();
        let of_row = (0..ROWS).map(|row| (row % 10 != 9).then_some(row / 3 % 3)).collect();
        data.design = Design {
            sites: Some(Factor { column: "site".into(), levels, of_row }),
            ..Design::default()
        };
        data.groups = grouped.then(|| (0..ROWS).map(|row| row / 2).collect());
        let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
        options.schema.leave_out = Some("site".into());
        options.stop = crate::select::StopRule::Knee;
        options.split.splits = 3;
        Plan::new(options.check().unwrap(), data).unwrap()
    }

    #[test]
    fn rows_of_a_site_reach_neither_its_list_nor_its_model_nor_its_calibration() {
        for grouped in [false, true] {
            let mut x = table(1);
            let before = plan(&x, grouped);
            let fold = site_fold(&before.data, 1, &before.info.spec.split).unwrap();
            let first = test_site(&before, Method::Crfe, 1, &mut || true).unwrap().unwrap();
            assert!(!first.units.is_empty());
            // Every third triple of rows, except those without a site.
            assert!(
                fold.test.iter().all(|row| row / 3 % 3 == 1 && row % 10 != 9)
                    && fold.test.len() > 30
            );
            let parts = [&fold.test, &fold.reserve, &fold.rest];
            let used: usize = parts.iter().map(|part| part.len()).sum();
            let mut all = parts.map(Clone::clone).concat();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), used, "the parts are disjoint");
            if grouped {
                let of = |rows: &[usize]| {
                    rows.iter().map(|row| row / 2).collect::<std::collections::BTreeSet<_>>()
                };
                assert!(
                    of(&fold.test).is_disjoint(&of(&fold.reserve))
                        && of(&fold.test).is_disjoint(&of(&fold.rest))
                );
            } else {
                assert_eq!(used, ROWS);
            }
            let (same, others) = fold.test.split_at(3);
            for &row in others {
                x.row_mut(row).fill(100.0 + row as f64);
            }
            let mut after = plan(&x, grouped);
            let labels = &mut std::sync::Arc::make_mut(&mut after.data).y;
            fold.test.iter().for_each(|&row| labels[row] = 1 - labels[row]);
            let second =
                test_rows(&after, Method::Crfe, &fold, seed_of_site(&after, 1), &mut || true)
                    .unwrap()
                    .unwrap();
            assert_eq!(
                (first.size, &first.units, &first.conformal),
                (second.size, &second.units, &second.conformal)
            );
            let bits = |test: &FoldTest, rows: &[usize]| -> Vec<u64> {
                let of_rows = test.rows.iter().filter(|tested| rows.contains(&tested.row));
                of_rows
                    .flat_map(|tested| {
                        tested.f.iter().chain(&tested.p).map(|value| value.to_bits())
                    })
                    .collect()
            };
            assert_eq!(bits(&first, same), bits(&second, same));
            assert_ne!(
                bits(&first, others),
                bits(&second, others),
                "the other rows were really changed"
            );
            // The counterpart: rows of the other sites do matter.
            let mut changed = table(1);
            fold.rest
                .iter()
                .for_each(|&row| changed.row_mut(row).mapv_inplace(|value| value * value));
            let third = test_site(&plan(&changed, grouped), Method::Crfe, 1, &mut || true)
                .unwrap()
                .unwrap();
            assert_ne!(bits(&first, same), bits(&third, same));
        }
    }

    #[test]
    fn the_probe_counts_what_the_class_alone_tells() {
        let plan = plan(&table(2), false);
        let factor = plan.data.design.sites.clone().unwrap();
        let found = probe(&plan, &factor, vec![2, 3]).unwrap();
        let mut counts = [[0_usize; 3]; 2];
        for row in 0..ROWS {
            if let Some(site) = factor.of_row[row] {
                counts[row % 2][site] += 1;
            }
        }
        let by_class: usize = counts.iter().map(|sites| sites.iter().max().unwrap()).sum();
        let largest = (0..3).map(|site| counts[0][site] + counts[1][site]).max().unwrap();
        assert_eq!(
            (found.by_class, found.largest, found.rows, found.sites),
            (by_class, largest, 108, 3)
        );
        // Noise does not tell sites apart; a feature that is the site does.
        assert!(found.right < 60, "{found:?}");
        let value = |row: usize, j: usize| {
            ((row * (j + 3)) % 7) as f64 + if j == 2 { 20.0 * (row / 3 % 3) as f64 } else { 0.0 }
        };
        let x = Array2::from_shape_fn((ROWS, 6), |(row, j)| value(row, j));
        let found = probe(&self::plan(&x, false), &factor, vec![2, 3]).unwrap();
        assert!(found.right > 70 && found.auc.unwrap() > 0.8, "{found:?}");
    }
}
