//! Twins: features that move so closely together that a model can use one in place of the other
//! (docs/method.md section 11). Knows the data, not the answer: it looks for the twins of the
//! features it is given.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::evaluate::correlation;

/// Two features are twins if |r| is above this.
pub const TWIN: f64 = 0.9;
/// Twins that are named for each feature: the closest.
const NAMED: usize = 20;
/// The twins of some features.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Twins(BTreeMap<usize, TwinsOf>);

/// The twins of one feature.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TwinsOf {
    /// How many there are.
    pub count: usize,
    /// The closest of them, with Pearson's r over all rows; the closest first.
    pub closest: Vec<(usize, f64)>,
}

impl Twins {
    /// Looks for the twins of these units. Where a unit has several columns, r is that of the two
    /// columns that correlate most.
    pub fn find(data: &Dataset, units: &[usize]) -> Self {
        let own: Vec<Vec<CentredColumn<'_>>> =
            units.iter().map(|&unit| columns(data, unit)).collect();
        let mut found: Vec<Vec<(usize, f64)>> = vec![Vec::new(); units.len()];
        for other in 0..data.units.len() {
            let others = columns(data, other);
            for ((&unit, own), found) in units.iter().zip(&own).zip(&mut found) {
                let pairs = own.iter().flat_map(|a| others.iter().map(|b| a.correlation(b)));
                let closest =
                    pairs.max_by(|a, b| a.abs().total_cmp(&b.abs())).filter(|r| r.abs() > TWIN);
                found.extend(closest.filter(|_| other != unit).map(|r| (other, r)));
            }
        }
        let of_unit = |(&unit, mut closest): (&usize, Vec<(usize, f64)>)| {
            closest.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
            let count = closest.len();
            closest.truncate(NAMED);
            (unit, TwinsOf { count, closest })
        };
        Self(units.iter().zip(found).map(of_unit).collect())
    }

    /// The twins of a unit; `None` if they were not looked for.
    pub fn of(&self, unit: usize) -> Option<&TwinsOf> {
        self.0.get(&unit)
    }

    /// Whether nothing was looked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over what others have found.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(others.0.iter().map(|(&unit, twins)| (unit, twins.clone())));
    }

    /// Whether this can have been found in a table of this many units.
    pub fn fits(&self, units: usize) -> bool {
        let fits = |(&unit, of): (&usize, &TwinsOf)| {
            let is_twin = |&(other, r): &(usize, f64)| {
                other < units && other != unit && r.abs() <= 1.0 + 1e-9
            };
            unit < units
                && of.count < units
                && of.closest.len() <= of.count
                && of.closest.iter().all(is_twin)
        };
        self.0.iter().all(fits)
    }
}

/// A column with what its correlations need.
struct CentredColumn<'a> {
    values: ndarray::ArrayView1<'a, f64>,
    /// Centred and scaled to length 1; none if a value is missing or all are equal.
    unit_length: Option<Vec<f64>>,
}

impl CentredColumn<'_> {
    fn correlation(&self, other: &Self) -> f64 {
        match (&self.unit_length, &other.unit_length) {
            (Some(a), Some(b)) => dot(a, b),
            _ => correlation(self.values.iter().zip(other.values)),
        }
    }
}

/// Σ ab in eight sums side by side, which every processor adds up in the same order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let a = a.chunks_exact(LANES);
    let b = b.chunks_exact(LANES);
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        (0..LANES).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum::<f64>() + rest
}

fn columns(data: &Dataset, unit: usize) -> Vec<CentredColumn<'_>> {
    let column = |&column: &usize| {
        let values = data.x.row(column);
        let mean = values.sum() / values.len() as f64;
        let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let length = centred.iter().map(|value| value * value).sum::<f64>().sqrt();
        // NaN marks a missing value and makes the length NaN.
        let unit_length = (length > 0.0 && length.is_finite())
            .then(|| centred.iter().map(|v| v / length).collect());
        CentredColumn { values, unit_length }
    };
    data.units[unit].columns.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::seed::{Purpose, Rng};

    /// Column 1 follows column 0, column 2 mirrors it with a gap, column 3 is something else.
    fn data() -> Dataset {
        let mut rng = Rng::new(3, 0, Purpose::Split);
        let mut x = Array2::from_shape_fn((60, 4), |_| rng.uniform());
        for i in 0..60 {
            x[[i, 1]] = 2.0 * x[[i, 0]] + 0.05 * x[[i, 1]];
            x[[i, 2]] = -x[[i, 0]];
        }
        x[[7, 2]] = f64::NAN;
        let labels: Vec<&str> = (0..60).map(|i| ["a", "b"][i % 2]).collect();
        Dataset::from_arrays(x.view(), &labels, None).unwrap()
    }

    #[test]
    fn twins_are_those_that_every_pair_shows() {
        let data = data();
        let twins = Twins::find(&data, &[0, 3]);
        let slow = |a: usize, b: usize| correlation(data.x.row(a).iter().zip(data.x.row(b)));
        let of_first = twins.of(0).unwrap();
        assert_eq!(of_first.count, 2);
        assert_eq!(
            of_first.closest.iter().map(|twin| twin.0).collect::<Vec<_>>(),
            [2, 1],
            "closest first"
        );
        for &(other, r) in &of_first.closest {
            assert!((r - slow(0, other)).abs() < 1e-12 && r.abs() > TWIN);
        }
        assert!(of_first.closest[0].1 < 0.0, "a mirror image is a twin as well");
        assert_eq!(twins.of(3), Some(&TwinsOf::default()), "looked for, and none found");
        assert_eq!(twins.of(1), None, "not looked for");
        assert!(twins.fits(4) && !twins.fits(2));
    }

    #[test]
    fn a_unit_of_several_columns_is_as_close_as_its_closest_columns() {
        let mut data = data();
        let mut joined = data.units[1].clone();
        joined.columns = vec![1, 3];
        data.units = vec![data.units[0].clone(), joined, data.units[2].clone()];
        let twins = Twins::find(&data, &[1]);
        assert_eq!(
            twins.of(1).unwrap().closest.iter().map(|twin| twin.0).collect::<Vec<_>>(),
            [0, 2]
        );
    }
}
