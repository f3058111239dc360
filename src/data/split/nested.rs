//! Rows for testing the whole procedure: outer folds, and in each the rows set aside for calibration (docs/method.md section 12).

use std::collections::BTreeSet;

use super::{Calibration, Strata, grouped, share};
use crate::data::Dataset;
use crate::data::seed::{Purpose, Rng};
use crate::error::{Error, Result};

/// The share of the rows outside a fold that calibrates its model.
const RESERVE: f64 = 0.2;

/// One outer fold: three disjoint sets of rows, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OuterFold {
    /// Rows that nothing but the final prediction sees.
    pub test: Vec<usize>,
    /// Rows that calibrate the final model and that selection does not see.
    pub reserve: Vec<usize>,
    /// Rows on which the procedure runs and the final model is fitted.
    pub rest: Vec<usize>,
}

/// Stratified folds of all rows, whole groups if there are groups; refused where a class is too small.
pub fn outer_folds(
    data: &Dataset,
    folds: usize,
    seed: u64,
    calibration: Calibration,
) -> Result<Vec<OuterFold>> {
    let all: Vec<usize> = (0..data.y.len()).collect();
    let mut rng = Rng::new(seed, 0, Purpose::Validation);
    let tests = stratified_folds(data, all.clone(), folds, &mut rng);
    let needed = calibration.parts().len();
    tests
        .into_iter()
        .enumerate()
        .map(|(fold, test)| {
            let held_out: BTreeSet<usize> = test.iter().copied().collect();
            let others = all.iter().copied().filter(|row| !held_out.contains(row)).collect();
            let rng = Rng::new(seed, fold as u64, Purpose::Reserve);
            let (reserve, rest) = set_aside(data, others, RESERVE, needed, rng);
            check(data, &reserve, &rest, needed)?;
            Ok(OuterFold { test, reserve, rest })
        })
        .collect()
}

/// Deals rows into folds: the rows of each class, shuffled, in turn; or whole groups, if there are groups.
pub fn stratified_folds(
    data: &Dataset,
    mut rows: Vec<usize>,
    folds: usize,
    rng: &mut Rng,
) -> Vec<Vec<usize>> {
    if let Some(groups) = &data.groups {
        return grouped::deal(data, groups, &rows, &vec![1.0 / folds as f64; folds], rng);
    }
    rng.shuffle(&mut rows);
    rows.sort_by_key(|&row| data.y[row]);
    let mut parts = vec![Vec::new(); folds];
    rows.into_iter().enumerate().for_each(|(i, row)| parts[i % folds].push(row));
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

/// A stratified share of some rows, and the others; `leave` rows of each class stay.
fn set_aside(
    data: &Dataset,
    rows: Vec<usize>,
    size: f64,
    leave: usize,
    mut rng: Rng,
) -> (Vec<usize>, Vec<usize>) {
    match &data.groups {
        None => {
            let total = share(rows.len(), size);
            let mut strata = Strata::new(data, rows, &mut rng);
            let aside = strata.take(total, 1, leave, &mut rng);
            (aside, strata.rest())
        }
        Some(groups) => grouped::deal_two(data, groups, &rows, size, &mut rng),
    }
}

fn check(data: &Dataset, reserve: &[usize], rest: &[usize], needed: usize) -> Result<()> {
    for (class, name) in data.classes.iter().enumerate() {
        let count = |rows: &[usize]| rows.iter().filter(|&&row| data.y[row] == class).count();
        if count(reserve) == 0 || count(rest) < needed {
            return Err(Error::data(format!("class '{name}' is too small to be tested in folds"))
                .file(&data.name)
                .column(&data.target)
                .remedy("use fewer folds (--validate 3) or none (--validate none)"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::dataset;
    use super::*;

    #[test]
    fn every_row_is_tested_once_and_parts_are_disjoint_and_stratified() {
        let data = dataset(&[50, 30, 12]);
        let folds = outer_folds(&data, 5, 3, Calibration::Strict).unwrap();
        let mut tested: Vec<usize> = folds.iter().flat_map(|fold| fold.test.iter().copied()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..92).collect::<Vec<_>>());
        for fold in &folds {
            let mut all: Vec<usize> =
                [&fold.test, &fold.reserve, &fold.rest].into_iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..92).collect::<Vec<_>>());
            for class in 0..3 {
                let count = |rows: &[usize]| rows.iter().filter(|&&row| data.y[row] == class).count();
                let size = data.y.iter().filter(|&&y| y == class).count();
                assert!((size / 5..=size.div_ceil(5)).contains(&count(&fold.test)));
                let others = size - count(&fold.test);
                assert!((others / 5..=others.div_ceil(5)).contains(&count(&fold.reserve)));
            }
        }
        assert_ne!(folds, outer_folds(&data, 5, 4, Calibration::Strict).unwrap());
    }

    #[test]
    fn groups_stay_whole() {
        let mut data = dataset(&[60, 60]);
        data.groups = Some((0..120).map(|row| row / 4).collect());
        let groups = data.groups.clone().unwrap();
        for fold in outer_folds(&data, 5, 0, Calibration::Strict).unwrap() {
            let of = |rows: &[usize]| rows.iter().map(|&row| groups[row]).collect::<BTreeSet<_>>();
            let (test, reserve, rest) = (of(&fold.test), of(&fold.reserve), of(&fold.rest));
            assert!(test.is_disjoint(&reserve) && test.is_disjoint(&rest) && reserve.is_disjoint(&rest));
            assert!(!reserve.is_empty());
        }
    }

    #[test]
    fn a_class_that_is_too_small_is_named() {
        let error = outer_folds(&dataset(&[50, 5]), 5, 0, Calibration::Strict).unwrap_err().to_string();
        assert!(error.contains("class 'c1' is too small to be tested in folds"), "{error}");
    }
}
