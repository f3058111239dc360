//! How well the features of the list tell from which site a row comes (docs/method.md section 16).

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::followup::{FollowupKind, Outcome};
use super::task::SomeUnits;
use super::validation::{choice_of_list, fit_settings, inner_seed, list_of};
use super::{Plan, RunInfo};
use crate::data::seed::{Purpose, Rng};
use crate::data::{Dataset, Factor, stratified_folds};
use crate::error::{Error, Result};
use crate::evaluate::{auc, concordant_pairs, predicted};
use crate::model::fit_list;
use crate::svm::Estimator;

/// Folds of the probe; a site with fewer rows is left out of it.
const PROBE_FOLDS: usize = 5;

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

/// Predicts the site of each row by the features of the run's list.
pub(super) const PROBE: FollowupKind = FollowupKind {
    name: "probe",
    counted: "lists that predict the site",
    words: |method, _| format!("sites predicted by the features of {method}"),
    count: |info| usize::from(!info.sites.is_empty()),
    is_skipped: |_, _| false,
    determined_by: choice_of_list,
    paths: |_| 0,
    asks_for_paths: true,
    run: |work, go_on| {
        let Some(factor) = &work.plan.data.design.sites else {
            return Err(Error::internal("there is no site column"));
        };
        let Some(traces) = work.paths(go_on)? else { return Ok(None) };
        let (_, units) = list_of(work.plan, &traces);
        Ok(Some(Outcome::Probe(probe(work.plan, factor, units)?)))
    },
    allows: |outcome, info| matches!(outcome, Outcome::Probe(probe) if probe.fits(info)),
};

impl SiteProbe {
    /// Whether a run can have it.
    fn fits(&self, info: &RunInfo) -> bool {
        let Self { units, sites, rows, right, largest, by_class, auc } = self;
        units.iter().all(|&unit| unit < info.units.len())
            && *sites <= info.sites.len()
            && *rows <= info.rows
            && [right, largest, by_class].into_iter().all(|count| count <= rows)
            && auc.is_none_or(|auc| (0.0..=1.0).contains(&auc))
    }
}

/// How well a list predicts the sites.
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
    let predicted = decisions.rows().into_iter().map(|row| predicted(&row.to_vec()));
    found.right = predicted.zip(&data.y).filter(|(site, own)| site == *own).count();
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
    use super::*;
    use crate::run::sites::tests::{ROWS, plan, table};
    use crate::run::{Engine, EventKind, Followup, Gate, Kind, RunEvent};
    use crate::select::Method;

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

    #[test]
    fn the_probe_of_an_engine_is_that_of_a_machine_without_the_paths() {
        let plan = plan(&table(1), false);
        let probe = Followup { kind: Kind::Probe, method: Method::Crfe, index: 0 };
        let mut asked = 0;
        let mut count = || {
            asked += 1;
            true
        };
        let computed = probe.run(&plan, &|_| None, &mut count).unwrap().unwrap();
        let (gate, (send, receive)) = (Gate::default(), crossbeam_channel::unbounded());
        Engine::new(&plan, &gate, send).then(vec![probe]).run(&plan.tasks(), 1);
        let found = receive.iter().find_map(|RunEvent { kind, .. }| match kind {
            EventKind::Followed(_, outcome) => Some(outcome),
            _ => None,
        });
        assert_eq!(*found.unwrap(), computed);
        let Outcome::Probe(SiteProbe { units, .. }) = computed else { panic!("another kind") };
        assert!(!units.is_empty());
        assert!(asked > 0, "without known paths they are computed");
    }
}
