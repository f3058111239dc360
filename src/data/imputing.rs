//! Fills missing values of a split from its training rows. Knows nothing of how they were scaled.

use std::fmt;
use std::str::FromStr;

use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::scaling::mean;
use super::seed::Rng;

/// With more training rows than this, the donors are a seeded sample of this size.
pub const DONOR_LIMIT: usize = 2000;

/// How missing values are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impute {
    /// The mean of the k nearest training rows that have the value.
    Knn(usize),
    /// The median of the training rows.
    Median,
    /// Missing values are refused.
    None,
}

impl Default for Impute {
    fn default() -> Self {
        Self::Knn(5)
    }
}

impl FromStr for Impute {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let neighbours = |k: &str| k.parse().ok().filter(|&k| k > 0).map(Self::Knn);
        match text {
            "median" => Some(Self::Median),
            "none" => Some(Self::None),
            _ => text.strip_prefix("knn:").and_then(neighbours),
        }
        .ok_or_else(|| "write knn:K (K at least 1), median or none".into())
    }
}

impl fmt::Display for Impute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knn(k) => write!(f, "knn:{k}"),
            Self::Median => f.write_str("median"),
            Self::None => f.write_str("none"),
        }
    }
}

/// Fills missing cells from the scaled training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filler {
    /// For each column with gaps the value to use without neighbours: the training mean or median,
    /// 0 if no value is present.
    fallback: Vec<f64>,
    nearest: Option<Neighbours>,
}

/// Squared distances are compared on a grid of 2⁻³², as scores are.
const GRID: f64 = 4_294_967_296.0;

/// The k nearest among the donors by nan-euclidean distance.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "WrittenNeighbours", into = "WrittenNeighbours")]
struct Neighbours {
    k: usize,
    /// Feature-major, missing cells still missing.
    donors: Array2<f64>,
    /// For each column whether all donors have it.
    complete: Vec<bool>,
}

/// Missing cells are missing in both.
impl PartialEq for Neighbours {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
        self.k == other.k
            && self.donors.dim() == other.donors.dim()
            && self.donors.iter().zip(&other.donors).all(same)
    }
}

/// The same in a file: the values of the donors column by column, null where they are missing.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenNeighbours {
    k: usize,
    donors: Vec<Vec<Option<f64>>>,
}

impl From<Neighbours> for WrittenNeighbours {
    fn from(neighbours: Neighbours) -> Self {
        let written = |value: &f64| (!value.is_nan()).then_some(*value);
        let column = |values: ArrayView1<'_, f64>| values.iter().map(written).collect();
        Self { k: neighbours.k, donors: neighbours.donors.outer_iter().map(column).collect() }
    }
}

impl TryFrom<WrittenNeighbours> for Neighbours {
    type Error = String;
    fn try_from(written: WrittenNeighbours) -> std::result::Result<Self, String> {
        let rows = written.donors.first().map_or(0, Vec::len);
        if written.k == 0 || written.donors.iter().any(|column| column.len() != rows) {
            return Err("the donors are not a table".to_owned());
        }
        let shape = (written.donors.len(), rows);
        let values =
            written.donors.into_iter().flatten().map(|value| value.unwrap_or(f64::NAN)).collect();
        let donors = Array2::from_shape_vec(shape, values).map_err(|error| error.to_string())?;
        Ok(Self::new(written.k, donors))
    }
}

impl Filler {
    /// How many training rows it remembers.
    pub(super) fn donors(&self) -> usize {
        self.nearest.as_ref().map_or(0, |nearest| nearest.donors.ncols())
    }

    /// Why it cannot have been fitted on this many columns, if it cannot.
    pub(super) fn fault(&self, columns: usize) -> Option<String> {
        let of_donors = self.nearest.as_ref().map_or(columns, |nearest| nearest.donors.nrows());
        (self.fallback.len() != columns || of_donors != columns)
            .then(|| format!("gaps are filled in other columns than the {columns} that there are"))
    }

    pub(super) fn fit(impute: Impute, train: &Array2<f64>, gaps: &[bool], mut rng: Rng) -> Self {
        let centre = |values: ArrayView1<'_, f64>| match impute {
            Impute::Median => median(values),
            _ => mean(values.iter().copied()),
        };
        let filling = |(values, &gap)| if gap { centre(values) } else { 0.0 };
        let or_zero = |value: f64| if value.is_nan() { 0.0 } else { value };
        let fallback = train.outer_iter().zip(gaps).map(filling).map(or_zero).collect();
        let nearest = match impute {
            Impute::Knn(k) => Some(Neighbours::new(k, donors(train, &mut rng))),
            Impute::Median | Impute::None => None,
        };
        Self { fallback, nearest }
    }

    pub(super) fn fill(&self, x: &mut Array2<f64>) {
        let mut receives = vec![false; x.ncols()];
        for values in x.outer_iter() {
            receives
                .iter_mut()
                .zip(values)
                .for_each(|(receives, value)| *receives |= value.is_nan());
        }
        let rows = x.axis_iter_mut(Axis(1)).zip(receives).filter(|(_, receives)| *receives);
        for (mut row, _) in rows {
            let order = self.nearest.as_ref().map(|nearest| nearest.order(row.view()));
            for (column, value) in row.iter_mut().enumerate().filter(|(_, value)| value.is_nan()) {
                let near = self.nearest.as_ref().zip(order.as_ref());
                let near = near.and_then(|(nearest, order)| nearest.value(column, order));
                *value = near.unwrap_or(self.fallback[column]);
            }
        }
    }
}

/// The training rows that may give values: all, or a sample in the same order.
fn donors(train: &Array2<f64>, rng: &mut Rng) -> Array2<f64> {
    if train.ncols() <= DONOR_LIMIT {
        return train.clone();
    }
    let mut rows: Vec<usize> = (0..train.ncols()).collect();
    rng.shuffle(&mut rows);
    rows.truncate(DONOR_LIMIT);
    rows.sort_unstable();
    train.select(Axis(1), &rows)
}

impl Neighbours {
    fn new(k: usize, donors: Array2<f64>) -> Self {
        let complete =
            donors.outer_iter().map(|values| values.iter().all(|value| !value.is_nan())).collect();
        Self { k, donors, complete }
    }

    /// The donors that share a column with the row, nearest first, the lower one on ties. The
    /// distance is √(columns/shared · Σ (difference)²); its order is that of Σ/shared.
    fn order(&self, row: ArrayView1<'_, f64>) -> Vec<usize> {
        let mut sums = vec![0.0; self.donors.ncols()];
        let mut shared = vec![0.0; self.donors.ncols()];
        let mut shared_by_all = 0.0;
        for ((&value, donors), &complete) in
            row.iter().zip(self.donors.outer_iter()).zip(&self.complete)
        {
            if value.is_nan() {
                continue;
            }
            if complete {
                shared_by_all += 1.0;
                for (sum, donor) in sums.iter_mut().zip(donors) {
                    *sum += (donor - value).powi(2);
                }
            } else {
                for ((sum, shared), donor) in sums.iter_mut().zip(&mut shared).zip(donors) {
                    let missing = donor.is_nan();
                    *sum += if missing { 0.0 } else { (donor - value).powi(2) };
                    *shared += if missing { 0.0 } else { 1.0 };
                }
            }
        }
        for (sum, shared) in sums.iter_mut().zip(&shared) {
            *sum /= shared + shared_by_all;
        }
        let mut order: Vec<usize> =
            (0..sums.len()).filter(|&donor| !sums[donor].is_nan()).collect();
        // Distances that differ by rounding only are ties.
        sums.iter_mut().for_each(|sum| *sum = (*sum * GRID).round_ties_even());
        order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]));
        order
    }

    /// The mean of the first k donors that have the column.
    fn value(&self, column: usize, order: &[usize]) -> Option<f64> {
        let values = self.donors.row(column);
        let found =
            order.iter().map(|&donor| values[donor]).filter(|value| !value.is_nan()).take(self.k);
        let (sum, count) = found.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        (count > 0.0).then(|| sum / count)
    }
}

/// The median of the present values, NaN if there are none.
fn median(values: ArrayView1<'_, f64>) -> f64 {
    let mut values: Vec<f64> = present(values).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

fn present(values: ArrayView1<'_, f64>) -> impl Iterator<Item = f64> {
    values.into_iter().copied().filter(|value| !value.is_nan())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::data::seed::Purpose;

    const NAN: f64 = f64::NAN;

    fn feature_major(value: &Value) -> Array2<f64> {
        let rows: Vec<Vec<Option<f64>>> = serde_json::from_value(value.clone()).unwrap();
        Array2::from_shape_fn((rows[0].len(), rows.len()), |(column, row)| {
            rows[row][column].unwrap_or(NAN)
        })
    }

    #[test]
    fn imputes_as_the_fixture() {
        let text = std::fs::read_to_string("tests/fixtures/knn_impute.json").unwrap();
        let fixture: Value = serde_json::from_str(&text).unwrap();
        let mut checked = 0;
        for (matrix, cases) in [("matrix", "cases"), ("matrix_no_overlap", "cases_no_overlap")] {
            for case in fixture[cases].as_array().unwrap() {
                let mut x = feature_major(&fixture[matrix]);
                let k = usize::try_from(case["k"].as_u64().unwrap()).unwrap();
                let gaps: Vec<bool> =
                    x.outer_iter().map(|v| v.iter().any(|value| value.is_nan())).collect();
                let rng = Rng::new(0, 0, Purpose::Donors);
                Filler::fit(Impute::Knn(k), &x, &gaps, rng).fill(&mut x);
                let error = (x - feature_major(&case["imputed"])).mapv(f64::abs);
                assert!(error.iter().all(|&error| error < 1e-12), "{matrix}, k = {k}: {error}");
                checked += 1;
            }
        }
        assert_eq!(checked, 8);
    }

    #[test]
    fn samples_donors_by_seed_when_there_are_many() {
        let train = Array2::from_shape_fn((1, DONOR_LIMIT + 500), |(_, row)| row as f64);
        let sample = |seed| donors(&train, &mut Rng::new(seed, 0, Purpose::Donors));
        assert_eq!(sample(1).ncols(), DONOR_LIMIT);
        assert_eq!(sample(1), sample(1));
        assert_ne!(sample(1), sample(2));
        assert!(sample(1).iter().is_sorted());
    }

    #[test]
    fn words_survive_a_round_trip() {
        for text in ["knn:5", "median", "none"] {
            assert_eq!(text.parse::<Impute>().unwrap().to_string(), text);
        }
        for text in ["knn:0", "knn", "knn:-1", "mean"] {
            assert_eq!(
                text.parse::<Impute>().unwrap_err(),
                "write knn:K (K at least 1), median or none"
            );
        }
    }
}
