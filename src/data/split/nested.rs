//! Rows for testing the whole procedure: outer folds, and in each the rows set aside for
//! calibration (docs/method.md section 12).

use std::collections::BTreeSet;

use super::{Calibration, SplitOptions, Strata, grouped, share};
use crate::data::Dataset;
use crate::data::seed::{Purpose, Rng};
use crate::error::{Error, Result};

/// The share of the rows that calibrates a model, unless another is asked for.
pub const RESERVE: f64 = 0.2;

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

/// Stratified folds of all rows, whole groups if there are groups; refused where a class is too
/// small.
pub fn outer_folds(data: &Dataset, folds: usize, options: &SplitOptions) -> Result<Vec<OuterFold>> {
    let (seed, calibration) = (options.seed, options.calibration);
    let size = options.reserve.unwrap_or(RESERVE);
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
            let (reserve, rest) = set_aside(data, others, size, needed, rng);
            check(data, &reserve, &rest, needed, TOO_SMALL_FOR_FOLDS)?;
            Ok(OuterFold { test, reserve, rest })
        })
        .collect()
}

/// The rows of one level of the site column to be tested, and all others; rows without a site never
/// test. Groups of rows that are also elsewhere are used for nothing but the test. Refused where
/// the other rows are too few.
pub fn site_fold(data: &Dataset, level: usize, options: &SplitOptions) -> Result<OuterFold> {
    let Some(sites) = &data.design.sites else {
        return Err(Error::internal("there is no site column"));
    };
    let is_tested = |&row: &usize| sites.of_row[row] == Some(level);
    let (test, mut others): (Vec<usize>, Vec<usize>) = (0..data.y.len()).partition(is_tested);
    if let Some(groups) = &data.groups {
        let tested: BTreeSet<usize> = test.iter().map(|&row| groups[row]).collect();
        others.retain(|&row| !tested.contains(&groups[row]));
    }
    let size = options.reserve.unwrap_or(RESERVE);
    let needed = options.calibration.parts().len();
    let rng = Rng::new(options.seed, level as u64, Purpose::Site);
    let (reserve, rest) = set_aside(data, others, size, needed, rng);
    check(data, &reserve, &rest, needed, TOO_SMALL_WITHOUT_SITE)?;
    Ok(OuterFold { test, reserve, rest })
}

/// Deals rows into folds: the rows of each class, shuffled, in turn; or whole groups, if there are
/// groups.
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

/// What a class is too small for, the remedy, and its option.
type ClassTooSmall = (&'static str, &'static str, &'static str);

const TOO_SMALL_FOR_FOLDS: ClassTooSmall = (
    "to be tested in folds",
    "use fewer folds (--validate 3) or none (--validate none)",
    "--validate",
);
const TOO_SMALL_WITHOUT_SITE: ClassTooSmall = (
    "without the rows of this site",
    "leave small classes out with --rare drop:N, or merge sites in the file",
    "--rare",
);
const TOO_SMALL_TO_SET_ASIDE: ClassTooSmall = (
    "to set rows of it aside for calibration",
    "leave small classes out with --rare drop:N, or merge them with --rare merge:N:other",
    "--rare",
);

/// The rows that are set aside before anything, and the others; depends on the seed and the labels
/// alone.
pub fn reserve(
    data: &Dataset,
    size: f64,
    seed: u64,
    calibration: Calibration,
) -> Result<(Vec<usize>, Vec<usize>)> {
    let needed = calibration.parts().len();
    // Folds of the validation have numbers from 0.
    let rng = Rng::new(seed, u64::MAX, Purpose::Reserve);
    let (reserve, rest) = set_aside(data, (0..data.y.len()).collect(), size, needed, rng);
    check(data, &reserve, &rest, needed, TOO_SMALL_TO_SET_ASIDE)?;
    Ok((reserve, rest))
}

fn check(
    data: &Dataset,
    reserve: &[usize],
    rest: &[usize],
    needed: usize,
    (purpose, remedy, option): ClassTooSmall,
) -> Result<()> {
    for (class, name) in data.classes.iter().enumerate() {
        let count = |rows: &[usize]| rows.iter().filter(|&&row| data.y[row] == class).count();
        if count(reserve) == 0 || count(rest) < needed {
            return Err(Error::data(format!("class '{name}' is too small {purpose}"))
                .file(&data.name)
                .column(&data.target)
                .remedy(remedy)
                .option(option));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::dataset;
    use super::*;

    fn seeded(seed: u64) -> SplitOptions {
        SplitOptions { seed, ..SplitOptions::default() }
    }

    #[test]
    fn rows_set_aside_are_stratified_and_in_no_split() {
        let data = dataset(&[50, 30, 12]);
        let options = SplitOptions { reserve: Some(0.25), ..seeded(3) };
        let splits = crate::data::Splits::new(&data, &options).unwrap();
        let reserve = splits.reserve().unwrap();
        let rest = splits.rest(&data);
        assert_eq!((reserve.len(), rest.len()), (23, 69));
        for (class, size) in [50, 30, 12].into_iter().enumerate() {
            let count = reserve.iter().filter(|&&row| data.y[row] == class).count();
            assert!((size / 4..=size / 4 + 1).contains(&count), "{class}: {count}");
        }
        for index in 0..5 {
            let split = splits.split(&data, index).unwrap();
            let mut used = [split.train, split.selection, split.conformal, split.test].concat();
            used.sort_unstable();
            assert_eq!(used, rest, "every other row has a part, none that was set aside has");
        }
        let other = crate::data::Splits::new(&data, &SplitOptions { seed: 4, ..options }).unwrap();
        assert_ne!(other.reserve().unwrap(), reserve);
    }

    #[test]
    fn every_row_is_tested_once_and_parts_are_disjoint_and_stratified() {
        let data = dataset(&[50, 30, 12]);
        let folds = outer_folds(&data, 5, &seeded(3)).unwrap();
        let mut tested: Vec<usize> =
            folds.iter().flat_map(|fold| fold.test.iter().copied()).collect();
        tested.sort_unstable();
        assert_eq!(tested, (0..92).collect::<Vec<_>>());
        for fold in &folds {
            let mut all: Vec<usize> =
                [&fold.test, &fold.reserve, &fold.rest].into_iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..92).collect::<Vec<_>>());
            for class in 0..3 {
                let count =
                    |rows: &[usize]| rows.iter().filter(|&&row| data.y[row] == class).count();
                let size = data.y.iter().filter(|&&y| y == class).count();
                assert!((size / 5..=size.div_ceil(5)).contains(&count(&fold.test)));
                let others = size - count(&fold.test);
                assert!((others / 5..=others.div_ceil(5)).contains(&count(&fold.reserve)));
            }
        }
        assert_ne!(folds, outer_folds(&data, 5, &seeded(4)).unwrap());
    }

    #[test]
    fn groups_stay_whole() {
        let mut data = dataset(&[60, 60]);
        data.groups = Some((0..120).map(|row| row / 4).collect());
        let groups = data.groups.clone().unwrap();
        for fold in outer_folds(&data, 5, &seeded(0)).unwrap() {
            let of = |rows: &[usize]| rows.iter().map(|&row| groups[row]).collect::<BTreeSet<_>>();
            let (test, reserve, rest) = (of(&fold.test), of(&fold.reserve), of(&fold.rest));
            assert!(
                test.is_disjoint(&reserve) && test.is_disjoint(&rest) && reserve.is_disjoint(&rest)
            );
            assert!(!reserve.is_empty());
        }
    }

    #[test]
    fn a_class_that_is_too_small_is_named() {
        let error = outer_folds(&dataset(&[50, 5]), 5, &seeded(0)).unwrap_err().to_string();
        assert!(error.contains("class 'c1' is too small to be tested in folds"), "{error}");
    }
}
