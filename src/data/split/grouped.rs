//! Splits whose groups of rows (one patient's) stay together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Calibration, Split, SplitOptions, listed};
use crate::data::Dataset;
use crate::data::seed::Rng;
use crate::error::{Error, Result};

/// How often a split that lacks a class somewhere is tried again before it is called impossible.
const FURTHER_ATTEMPTS: usize = 20;

/// Split `index`: every class in every part, no group in two.
pub(super) fn split(
    data: &Dataset,
    groups: &[usize],
    options: &SplitOptions,
    index: usize,
) -> Result<Split> {
    let (test, cal) = (options.test_size, options.cal_size);
    let train = (1.0 - test) * (1.0 - cal);
    let calibration = (1.0 - test) * cal;
    let mut rng = options.rng(index);
    let made = match options.calibration {
        Calibration::Strict => {
            let half = calibration / 2.0;
            attempt(data, groups, [train, half, half, test], &mut rng).map(
                |[train, selection, conformal, test]| Split { train, selection, conformal, test },
            )
        }
        Calibration::Shared => attempt(data, groups, [train, calibration, test], &mut rng).map(
            |[train, both, test]| Split { train, selection: both.clone(), conformal: both, test },
        ),
    };
    made.map_err(|class| {
        let members = data.y.iter().zip(groups).filter(|&(&y, _)| y == class);
        let with: BTreeSet<usize> = members.map(|(_, &group)| group).collect();
        let what = format!(
            "class '{}' has rows in {} groups, and no split {index} was found with whole groups and this class in each \
             of {}",
            data.classes[class],
            with.len(),
            listed(options.calibration.parts())
        );
        let remedy = "merge the class with another, leave its rows out, or do without --group-col";
        Error::data(what).file(&data.name).column(&data.target).remedy(remedy)
    })
}

/// Deals all rows until every part has every class; a class that was absent from a part if that
/// never happens.
fn attempt<const N: usize>(
    data: &Dataset,
    groups: &[usize],
    shares: [f64; N],
    rng: &mut Rng,
) -> std::result::Result<[Vec<usize>; N], usize> {
    let rows: Vec<usize> = (0..data.y.len()).collect();
    let mut parts = deal(data, groups, &rows, &shares, rng);
    for _ in 0..FURTHER_ATTEMPTS {
        if absent_class(data, &parts).is_none() {
            break;
        }
        parts = deal(data, groups, &rows, &shares, rng);
    }
    let absent = absent_class(data, &parts);
    let mut parts = parts.into_iter();
    absent.map_or_else(|| Ok(std::array::from_fn(|_| parts.next().unwrap_or_default())), Err)
}

/// A class that some part lacks.
fn absent_class(data: &Dataset, parts: &[Vec<usize>]) -> Option<usize> {
    let lacks = |part: &Vec<usize>, class| part.iter().all(|&row| data.y[row] != class);
    (0..data.classes.len()).find(|&class| parts.iter().any(|part| lacks(part, class)))
}

/// Deals whole groups into two parts, the first with this share of the rows.
pub(super) fn deal_two(
    data: &Dataset,
    groups: &[usize],
    rows: &[usize],
    first: f64,
    rng: &mut Rng,
) -> (Vec<usize>, Vec<usize>) {
    let mut parts = deal(data, groups, rows, &[first, 1.0 - first], rng).into_iter();
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

/// Deals whole groups, large ones first, each to the part where it most reduces the sum over
/// classes of the squared relative shortfall from that part's share.
pub(super) fn deal(
    data: &Dataset,
    groups: &[usize],
    rows: &[usize],
    shares: &[f64],
    rng: &mut Rng,
) -> Vec<Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &row in rows {
        members.entry(groups[row]).or_default().push(row);
    }
    let mut members: Vec<Vec<usize>> = members.into_values().collect();
    rng.shuffle(&mut members);
    // Sizes within a factor of two keep their random order: sorted strictly, groups of distinct
    // sizes would be dealt the same way in every split.
    members.sort_by_key(|group| Reverse(group.len().ilog2()));

    let classes = data.classes.len();
    let totals = count(data, rows, classes);
    // Every part wants at least one row of every class.
    let want = |share: f64| totals.iter().map(move |total| (share * total).max(1.0));
    let mut shortfall: Vec<Vec<(f64, f64)>> =
        shares.iter().map(|&share| want(share).map(|want| (want, want)).collect()).collect();
    let mut parts = vec![Vec::new(); shares.len()];
    for group in members {
        let counts = count(data, &group, classes);
        let change = |part: &[(f64, f64)]| -> f64 {
            let terms = part.iter().zip(&counts);
            terms
                .map(|(&(short, want), n)| ((short - n).powi(2) - short.powi(2)) / want.powi(2))
                .sum()
        };
        let changes: Vec<f64> = shortfall.iter().map(|part| change(part)).collect();
        let best =
            (0..changes.len()).min_by(|&a, &b| changes[a].total_cmp(&changes[b])).unwrap_or(0);
        shortfall[best].iter_mut().zip(&counts).for_each(|((short, _), n)| *short -= n);
        parts[best].extend(group);
    }
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts
}

fn count(data: &Dataset, rows: &[usize], classes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; classes];
    rows.iter().for_each(|&row| counts[data.y[row]] += 1.0);
    counts
}

#[cfg(test)]
mod tests {
    use super::super::Splits;
    use super::super::tests::{assert_partition, dataset, options, parts};
    use super::*;

    /// Groups of up to six rows of any class.
    fn grouped() -> Dataset {
        let mut data = dataset(&[90, 60, 30]);
        let groups =
            (0..data.y.len()).map(|row| (row as f64).sqrt() as usize * 5 + row % 5).collect();
        data.groups = Some(groups);
        data
    }

    #[test]
    fn groups_never_cross_a_border() {
        let data = grouped();
        let groups = data.groups.as_ref().unwrap();
        for calibration in [Calibration::Strict, Calibration::Shared] {
            let splits = Splits::new(&data, &options(calibration)).unwrap();
            for index in 0..splits.count() {
                let split = splits.split(&data, index).unwrap();
                assert_partition(&split, &data, calibration);
                let mut owner = BTreeMap::new();
                for (part, rows) in parts(&split, calibration).iter().enumerate() {
                    for &row in *rows {
                        assert_eq!(*owner.entry(groups[row]).or_insert(part), part);
                    }
                }
                assert!(
                    (35..=55).contains(&split.test.len()),
                    "{} of 180 rows test",
                    split.test.len()
                );
                assert!(
                    (57..=78).contains(&split.train.len()),
                    "{} of 180 rows train",
                    split.train.len()
                );
            }
        }
    }

    #[test]
    fn seeds_differ() {
        let data = grouped();
        let splits = Splits::new(&data, &options(Calibration::Strict)).unwrap();
        assert_eq!(splits.split(&data, 0).unwrap(), splits.split(&data, 0).unwrap());
        assert_ne!(splits.split(&data, 0).unwrap(), splits.split(&data, 1).unwrap());
    }

    #[test]
    fn groups_of_distinct_sizes_are_dealt_differently_in_every_split() {
        let mut data = dataset(&[100, 110]);
        data.groups = Some((1..=20).flat_map(|size| vec![size - 1; size]).collect());
        let splits = Splits::new(&data, &options(Calibration::Strict)).unwrap();
        let made: BTreeSet<Vec<usize>> =
            (0..20).map(|index| splits.split(&data, index).unwrap().test).collect();
        assert_eq!(made.len(), 20);
        assert!(
            made.iter().all(|test| (35..=70).contains(&test.len())),
            "about 52 of 210 rows test"
        );
    }

    #[test]
    fn names_the_class_with_too_few_groups() {
        let mut data = dataset(&[40, 9]);
        let groups = data
            .y
            .iter()
            .enumerate()
            .map(|(row, &class)| if class == 1 { row % 3 } else { 3 + row });
        data.groups = Some(groups.collect());
        let error = Splits::new(&data, &options(Calibration::Strict)).unwrap_err().to_string();
        assert!(error.contains("class 'c1' has rows in 3 groups"), "{error}");
        assert!(Splits::new(&data, &options(Calibration::Shared)).is_ok());
    }
}
