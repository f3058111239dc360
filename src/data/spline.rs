//! Restricted cubic splines: a column becomes itself and k − 2 cubic terms, with knots at quantiles
//! of the training rows (docs/method.md section 15). Knows nothing of models or of how rows were
//! split.

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::Unit;
use super::scaling::{Scale, Scaler, ValueRange};

/// How many knots a spline has: 3, 4 or 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "usize", into = "usize")]
pub struct Knots(usize);

impl Knots {
    /// Harrell's quantiles for this many knots.
    pub fn quantiles(self) -> &'static [f64] {
        match self.0 {
            3 => &[0.1, 0.5, 0.9],
            4 => &[0.05, 0.35, 0.65, 0.95],
            _ => &[0.05, 0.275, 0.5, 0.725, 0.95],
        }
    }

    /// Columns that a column with enough different values becomes.
    pub fn terms(self) -> usize {
        self.0 - 1
    }
}

impl TryFrom<usize> for Knots {
    type Error = String;
    fn try_from(count: usize) -> Result<Self, String> {
        if (3..=5).contains(&count) {
            Ok(Self(count))
        } else {
            Err("a spline has 3, 4 or 5 knots".into())
        }
    }
}

impl From<Knots> for usize {
    fn from(knots: Knots) -> usize {
        knots.0
    }
}

/// Knots closer than this share of their range are not distinct.
const DISTINCT: f64 = 1e-9;

/// The terms of one column, fitted on training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spline {
    /// Ascending; none if the column has too few different values, and then it has one term,
    /// itself.
    knots: Vec<f64>,
    /// Each term is standardised on the training rows.
    scalers: Vec<Scaler>,
}

impl Spline {
    /// Fits a column without gaps.
    pub fn fit(values: ArrayView1<'_, f64>, knots: Knots) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at: Vec<f64> =
            knots.quantiles().iter().map(|&share| quantile(&sorted, share)).collect();
        let apart = DISTINCT * (at[at.len() - 1] - at[0]);
        let are_distinct = apart > 0.0 && at.windows(2).all(|pair| pair[1] - pair[0] > apart);
        let mut spline =
            Self { knots: if are_distinct { at } else { Vec::new() }, scalers: Vec::new() };
        for term in 0..spline.terms() {
            let column = values.mapv(|value| spline.term(term, value));
            let range = ValueRange::of(column.iter().copied());
            spline.scalers.push(Scaler::fit(Scale::Standard, column.view(), &range));
        }
        spline
    }

    /// How many columns it gives.
    pub fn terms(&self) -> usize {
        self.knots.len().max(2) - 1
    }

    /// A term of a value, as models see it.
    pub fn apply(&self, term: usize, value: f64) -> f64 {
        self.scalers[term].apply(self.term(term, value))
    }

    /// Term 0 is the value itself, term j Harrell's restricted cubic of knot j: zero up to its
    /// knot, a line beyond the last.
    fn term(&self, term: usize, value: f64) -> f64 {
        let Some(own) = term.checked_sub(1) else { return value };
        let first = self.knots[0];
        let last = self.knots[self.knots.len() - 1];
        let before_last = self.knots[self.knots.len() - 2];
        let knot = self.knots[own];
        // Lengths in units of the range of the knots: cubes of anything else might overflow.
        let range = last - first;
        let gap = (last - before_last) / range;
        let end = (last - knot) / range;
        let inner = (before_last - knot) / range;
        let cube = |from: f64| (((value - from) / range).max(0.0)).powi(3);
        // Beyond the last knot cubes would cancel, so the line is taken as such.
        let cubic = if value <= last {
            cube(knot) - cube(before_last) * end / gap
        } else {
            end.powi(3) - gap.powi(2) * end + 3.0 * end * inner * ((value - last) / range)
        };
        range * cubic
    }
}

/// The quantile of sorted values, by linear interpolation.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

/// The splines of all columns of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Basis {
    splines: Vec<Spline>,
}

impl Basis {
    /// Fits every column of a feature-major matrix of training rows without gaps.
    pub fn fit(train: ArrayView2<'_, f64>, knots: Knots) -> Self {
        Self { splines: train.outer_iter().map(|values| Spline::fit(values, knots)).collect() }
    }

    /// Whether they are valid for this many columns: a file may hold anything.
    pub(super) fn is_sound(&self, columns: usize) -> bool {
        let sound = |spline: &Spline| {
            let Spline { knots, scalers } = spline;
            matches!(knots.len(), 0 | 3..=5)
                && knots.windows(2).all(|pair| pair[0] < pair[1] && (pair[1] - pair[0]).is_finite())
                && scalers.len() == spline.terms()
                && scalers.iter().all(Scaler::is_sound)
        };
        self.splines.len() == columns && self.splines.iter().all(sound)
    }

    /// The terms of rows, feature-major: those of a column lie one after the other.
    pub fn expand(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        let terms: usize = self.splines.iter().map(Spline::terms).sum();
        let mut expanded = Array2::zeros((terms, x.ncols()));
        let sources = self.splines.iter().zip(x.outer_iter());
        let columns = sources.flat_map(|(spline, values)| {
            (0..spline.terms()).map(move |term| (spline, term, values))
        });
        for (mut to, (spline, term, from)) in expanded.outer_iter_mut().zip(columns) {
            to.zip_mut_with(&from, |to, &value| *to = spline.apply(term, value));
        }
        expanded
    }

    /// Units with the terms of their columns: the terms of a feature are removed together.
    pub fn units(&self, units: &[Unit]) -> Vec<Unit> {
        let starts: Vec<usize> = self.starts().collect();
        let terms = |&column: &usize| starts[column]..starts[column] + self.splines[column].terms();
        let expanded = |unit: &Unit| Unit {
            columns: unit.columns.iter().flat_map(terms).collect(),
            ..unit.clone()
        };
        units.iter().map(expanded).collect()
    }

    /// Repeats what is known of each column for each of its terms.
    pub fn repeat<T: Copy>(&self, of_columns: &[T]) -> Vec<T> {
        let repeated = |(spline, &value): (&Spline, &T)| std::iter::repeat_n(value, spline.terms());
        self.splines.iter().zip(of_columns).flat_map(repeated).collect()
    }

    /// Where the terms of each column start.
    fn starts(&self) -> impl Iterator<Item = usize> {
        self.splines.iter().scan(0, |next, spline| {
            let start = *next;
            *next += spline.terms();
            Some(start)
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    fn knots(count: usize) -> Knots {
        Knots::try_from(count).unwrap()
    }

    #[test]
    fn quantiles_interpolate() {
        let values = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 1.0].map(|share| quantile(&values, share)), [1.0, 3.0, 8.0]);
        assert_eq!(quantile(&[7.0], 0.35), 7.0);
    }

    /// Harrell's formula as it is written: truncated cubes everywhere.
    fn by_formula(t: &[f64], j: usize, x: f64) -> f64 {
        let cube = |value: f64| value.max(0.0).powi(3);
        let k = t.len() - 1;
        let gap = t[k] - t[k - 1];
        let norm = (t[k] - t[0]).powi(2);
        (cube(x - t[j]) - cube(x - t[k - 1]) * (t[k] - t[j]) / gap
            + cube(x - t[k]) * (t[k - 1] - t[j]) / gap)
            / norm
    }

    #[test]
    fn terms_are_harrells() {
        let train = Array1::from_shape_fn(60, |i| ((i * 37) % 61) as f64 / 7.0 - 3.0);
        for count in 3..=5 {
            let spline = Spline::fit(train.view(), knots(count));
            assert_eq!((spline.knots.len(), spline.terms()), (count, count - 1));
            for i in -200..200 {
                let x = f64::from(i) / 20.0;
                for j in 0..count - 2 {
                    let ours = spline.term(j + 1, x);
                    let formula = by_formula(&spline.knots, j, x);
                    assert!(
                        (ours - formula).abs() <= 1e-12 * (1.0 + formula.abs()),
                        "{count} {j} {x}: {ours} {formula}"
                    );
                }
            }
            assert!(
                spline.apply(1, 1e30).is_finite() && spline.apply(count - 2, -1e30).is_finite()
            );
        }
    }

    #[test]
    fn a_column_with_few_values_stays_one_column() {
        let yes_no = Array1::from_shape_fn(40, |i| f64::from(i % 3 == 0));
        assert_eq!(Spline::fit(yes_no.view(), knots(3)).terms(), 1);
        let constant = Array1::from_elem(40, 2.5);
        let spline = Spline::fit(constant.view(), knots(4));
        assert_eq!((spline.terms(), spline.apply(0, 9.0)), (1, 0.0));
        let grades = Array1::from_shape_fn(40, |i| (i % 4) as f64);
        assert_eq!(Spline::fit(grades.view(), knots(4)).terms(), 3);
        assert_eq!(
            Spline::fit(grades.view(), knots(5)).terms(),
            4,
            "interpolated quantiles are distinct"
        );
    }

    #[test]
    fn terms_of_a_unit_stay_together() {
        let x = Array2::from_shape_fn((3, 30), |(j, i)| {
            if j == 1 { (i % 2) as f64 } else { (i * (j + 3) % 31) as f64 }
        });
        let basis = Basis::fit(x.view(), knots(4));
        let kept = Unit { kept: true, ..Unit::single("c", 2) };
        let units =
            basis.units(&[Unit { name: "ab".into(), columns: vec![0, 1], kept: false }, kept]);
        assert_eq!(units[0].columns, [0, 1, 2, 3]);
        assert_eq!((units[1].columns.as_slice(), units[1].kept), ([4, 5, 6].as_slice(), true));
        assert_eq!(basis.repeat(&[1, 2, 3]), [1, 1, 1, 2, 3, 3, 3]);
        let expanded = basis.expand(x.view());
        assert_eq!(expanded.dim(), (7, 30));
        for column in expanded.outer_iter() {
            let mean = column.sum() / 30.0;
            let square = column.dot(&column) / 30.0;
            assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn counts_of_knots_are_checked() {
        assert!(Knots::try_from(2).is_err() && Knots::try_from(6).is_err());
    }
}
