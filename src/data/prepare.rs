//! Scale and impute one split: fitted on its training rows, applied to the others. Knows nothing of how it was split.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::seed::{Purpose, Stream};
use super::{Dataset, Split};
use crate::error::{Error, Result};

/// With more training rows than this, a seeded sample of so many are the donors.
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

/// How columns are scaled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// To mean 0 and standard deviation 1 (ddof 0).
    #[default]
    Standard,
    /// To 0..1.
    Minmax,
    /// Not at all.
    None,
}

impl FromStr for Scale {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "standard" => Ok(Self::Standard),
            "minmax" => Ok(Self::Minmax),
            "none" => Ok(Self::None),
            _ => Err("write standard, minmax or none".into()),
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Minmax => "minmax",
            Self::None => "none",
        })
    }
}

/// Some rows, ready for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Feature-major (columns × rows), no NaN.
    pub x: Array2<f64>,
    /// The class of each row.
    pub y: Vec<usize>,
    /// The position of each row in the dataset.
    pub rows: Vec<usize>,
}

impl Part {
    fn of(data: &Dataset, rows: &[usize]) -> Self {
        let y = rows.iter().map(|&row| data.y[row]).collect();
        // `select` along the rows would come out row-major.
        let x = Array2::from_shape_fn((data.x.nrows(), rows.len()), |(column, i)| data.x[[column, rows[i]]]);
        Self { x, y, rows: rows.to_vec() }
    }
}

/// One split, scaled and imputed.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Models are fitted on this.
    pub train: Part,
    /// β is computed on this.
    pub selection: Arc<Part>,
    /// p-values are computed on this; the same allocation as `selection` when shared.
    pub conformal: Arc<Part>,
    /// Metrics are computed on this.
    pub test: Part,
    /// For each column whether it is constant in the training rows.
    pub constant: Vec<bool>,
}

/// Refuses a dataset with missing values: what `--impute none` promises.
pub fn refuse_missing(data: &Dataset) -> Result<()> {
    for (column, values) in data.columns.iter().zip(data.x.outer_iter()) {
        let missing = values.iter().filter(|value| value.is_nan()).count();
        if missing > 0 {
            return Err(Error::data(format!("{missing} of {} values are missing", values.len()))
                .file(&data.name)
                .column(column)
                .remedy("fill them with --impute knn:5"));
        }
    }
    Ok(())
}

/// Prepares one split. `seed` and `index` choose the donors when there are too many to compare with.
pub fn prepare(
    data: &Dataset,
    split: &Split,
    scale: Scale,
    impute: Impute,
    seed: u64,
    index: usize,
) -> Prepared {
    let shared = split.selection == split.conformal;
    let mut train = Part::of(data, &split.train);
    let mut selection = Part::of(data, &split.selection);
    let mut conformal = (!shared).then(|| Part::of(data, &split.conformal));
    let mut test = Part::of(data, &split.test);

    let ranges: Vec<Range> = train.x.outer_iter().map(Range::of).collect();
    let scalers: Vec<Scaler> =
        train.x.outer_iter().zip(&ranges).map(|(values, range)| Scaler::fit(scale, values, range)).collect();
    let parts = [Some(&mut train), Some(&mut selection), conformal.as_mut(), Some(&mut test)];
    let mut matrices: Vec<&mut Array2<f64>> = parts.into_iter().flatten().map(|part| &mut part.x).collect();
    for x in &mut matrices {
        for (mut values, scaler) in x.outer_iter_mut().zip(&scalers) {
            values.mapv_inplace(|value| scaler.apply(value));
        }
    }

    let gaps = gaps(&matrices);
    if impute != Impute::None && gaps.contains(&true) {
        let stream = Stream::new(seed, index as u64, Purpose::Donors);
        let filler = Filler::fit(impute, matrices[0], &gaps, stream);
        for x in matrices {
            filler.fill(x);
        }
    }

    let selection = Arc::new(selection);
    let conformal = conformal.map_or_else(|| Arc::clone(&selection), Arc::new);
    let constant = ranges.iter().map(Range::is_constant).collect();
    Prepared { train, selection, conformal, test, constant }
}

fn present(values: ArrayView1<'_, f64>) -> impl Iterator<Item = f64> {
    values.into_iter().copied().filter(|value| !value.is_nan())
}

/// For each column whether a cell is missing anywhere.
fn gaps(parts: &[&mut Array2<f64>]) -> Vec<bool> {
    let missing = |column| parts.iter().any(|x| x.row(column).iter().any(|value| value.is_nan()));
    (0..parts[0].nrows()).map(missing).collect()
}

/// The mean of the present values, NaN if there are none.
fn mean(values: ArrayView1<'_, f64>) -> f64 {
    let (sum, count) = present(values).fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The smallest and the largest present value of a training column; empty if there is none.
struct Range {
    low: f64,
    high: f64,
}

impl Range {
    fn of(values: ArrayView1<'_, f64>) -> Self {
        let start = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        present(values).fold(start, |r, value| Self { low: r.low.min(value), high: r.high.max(value) })
    }

    fn is_constant(&self) -> bool {
        self.low >= self.high
    }
}

/// How one column is scaled.
enum Scaler {
    /// To (x − centre)/spread.
    Affine { centre: f64, spread: f64 },
    /// To 0: the column is constant in training.
    Zero,
    /// Not at all.
    Keep,
}

impl Scaler {
    fn fit(scale: Scale, values: ArrayView1<'_, f64>, range: &Range) -> Self {
        match scale {
            Scale::None => Self::Keep,
            _ if range.is_constant() => Self::Zero,
            Scale::Minmax => Self::Affine { centre: range.low, spread: range.high - range.low },
            Scale::Standard => {
                // Squares are taken of deviations relative to the range: those of 1e-200 would vanish.
                let (centre, width) = (mean(values), range.high - range.low);
                let squares = values.mapv(|value| ((value - centre) / width).powi(2));
                Self::Affine { centre, spread: width * mean(squares.view()).sqrt() }
            }
        }
    }

    fn apply(&self, value: f64) -> f64 {
        match self {
            Self::Affine { centre, spread } => (value - centre) / spread,
            Self::Zero if !value.is_nan() => 0.0,
            Self::Zero | Self::Keep => value,
        }
    }
}

/// Fills missing cells from the scaled training rows.
struct Filler {
    /// For each column with gaps the value without neighbours: the training mean or median, 0 if none is present.
    fallback: Vec<f64>,
    nearest: Option<Neighbours>,
}

/// The k nearest among the donors by nan-euclidean distance.
struct Neighbours {
    k: usize,
    /// Feature-major, missing cells still missing.
    donors: Array2<f64>,
    /// For each column whether all donors have it.
    complete: Vec<bool>,
}

impl Filler {
    fn fit(impute: Impute, train: &Array2<f64>, gaps: &[bool], mut stream: Stream) -> Self {
        let centre = if impute == Impute::Median { median } else { mean };
        let filling = |(values, &gap)| if gap { centre(values) } else { 0.0 };
        let or_zero = |value: f64| if value.is_nan() { 0.0 } else { value };
        let fallback = train.outer_iter().zip(gaps).map(filling).map(or_zero).collect();
        let nearest = match impute {
            Impute::Knn(k) => Some(Neighbours::new(k, donors(train, &mut stream))),
            Impute::Median | Impute::None => None,
        };
        Self { fallback, nearest }
    }

    fn fill(&self, x: &mut Array2<f64>) {
        let mut receives = vec![false; x.ncols()];
        for values in x.outer_iter() {
            receives.iter_mut().zip(values).for_each(|(receives, value)| *receives |= value.is_nan());
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
fn donors(train: &Array2<f64>, stream: &mut Stream) -> Array2<f64> {
    if train.ncols() <= DONOR_LIMIT {
        return train.clone();
    }
    let mut rows: Vec<usize> = (0..train.ncols()).collect();
    stream.shuffle(&mut rows);
    rows.truncate(DONOR_LIMIT);
    rows.sort_unstable();
    train.select(Axis(1), &rows)
}

impl Neighbours {
    fn new(k: usize, donors: Array2<f64>) -> Self {
        let complete = donors.outer_iter().map(|values| values.iter().all(|value| !value.is_nan())).collect();
        Self { k, donors, complete }
    }

    /// The donors that share a column with the row, nearest first, the lower one on ties. The distance is
    /// √(columns/shared · Σ (difference)²); its order is that of Σ/shared.
    fn order(&self, row: ArrayView1<'_, f64>) -> Vec<usize> {
        let mut sums = vec![0.0; self.donors.ncols()];
        let mut shared = vec![0.0; self.donors.ncols()];
        let mut shared_by_all = 0.0;
        for ((&value, donors), &complete) in row.iter().zip(self.donors.outer_iter()).zip(&self.complete) {
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
        let mut order: Vec<usize> = (0..sums.len()).filter(|&donor| !sums[donor].is_nan()).collect();
        order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]));
        order
    }

    /// The mean of the first k donors that have the column.
    fn value(&self, column: usize, order: &[usize]) -> Option<f64> {
        let values = self.donors.row(column);
        let found = order.iter().map(|&donor| values[donor]).filter(|value| !value.is_nan()).take(self.k);
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

#[cfg(test)]
mod tests {
    use ndarray::array;
    use serde_json::Value;

    use super::*;
    use crate::data::Audit;

    const NAN: f64 = f64::NAN;

    fn dataset(x: Array2<f64>) -> Dataset {
        let (p, n) = x.dim();
        Dataset {
            name: "toy.csv".into(),
            sha256: String::new(),
            x,
            columns: (0..p).map(|column| format!("x{column}")).collect(),
            units: Vec::new(),
            target: "class".into(),
            classes: vec!["a".into(), "b".into()],
            y: (0..n).map(|row| row % 2).collect(),
            rows: (0..n).collect(),
            ids: None,
            groups: None,
            dropped: Vec::new(),
            audit: Audit::default(),
        }
    }

    /// Training rows 0..4, one row for each other part.
    fn split() -> Split {
        Split { train: vec![0, 1, 2, 3], selection: vec![4], conformal: vec![5], test: vec![6] }
    }

    fn feature_major(value: &Value) -> Array2<f64> {
        let rows: Vec<Vec<Option<f64>>> = serde_json::from_value(value.clone()).unwrap();
        Array2::from_shape_fn((rows[0].len(), rows.len()), |(column, row)| rows[row][column].unwrap_or(NAN))
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
                let stream = Stream::new(0, 0, Purpose::Donors);
                Filler::fit(Impute::Knn(k), &x, &gaps(&[&mut x.clone()]), stream).fill(&mut x);
                let error = (x - feature_major(&case["imputed"])).mapv(f64::abs);
                assert!(error.iter().all(|&error| error < 1e-12), "{matrix}, k = {k}: {error}");
                checked += 1;
            }
        }
        assert_eq!(checked, 8);
    }

    #[test]
    fn standardises_by_the_present_training_values() {
        let data =
            dataset(array![[1.0, 3.0, NAN, 5.0, 9.0, 3.0, 100.0], [7.0, 7.0, 7.0, NAN, 8.0, NAN, 9.0]]);
        let made = prepare(&data, &split(), Scale::Standard, Impute::Median, 0, 0);
        let sd = (8.0_f64 / 3.0).sqrt();
        let train = array![[-2.0 / sd, 0.0, 0.0, 2.0 / sd], [0.0, 0.0, 0.0, 0.0]];
        assert!((&made.train.x - &train).iter().all(|error| error.abs() < 1e-15));
        assert!((made.test.x[[0, 0]] - 97.0 / sd).abs() < 1e-13);
        for part in [&made.selection.x, &made.conformal.x, &made.test.x] {
            assert_eq!(part[[1, 0]], 0.0, "a constant column is 0 everywhere");
        }
        assert_eq!(made.constant, [false, true]);
        assert_eq!((made.selection.y[0], made.selection.rows[0]), (0, 4));
    }

    #[test]
    fn standardises_tiny_numbers() {
        let data = dataset(array![[1e-200, 3e-200, 1e-200, 3e-200, 2e-200, 2e-200, 5e-200]]);
        let made = prepare(&data, &split(), Scale::Standard, Impute::None, 0, 0);
        assert!((&made.train.x - &array![[-1.0, 1.0, -1.0, 1.0]]).iter().all(|error| error.abs() < 1e-12));
        assert!((made.test.x[[0, 0]] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn scales_to_the_training_range_or_not_at_all() {
        let data = dataset(array![[2.0, 4.0, 6.0, NAN, 8.0, 0.0, 3.0], [5.0, 5.0, 5.0, 5.0, 6.0, 5.0, 5.0]]);
        let made = prepare(&data, &split(), Scale::Minmax, Impute::Median, 0, 0);
        assert_eq!(made.train.x.row(0).to_vec(), [0.0, 0.5, 1.0, 0.5]);
        assert_eq!((made.selection.x[[0, 0]], made.conformal.x[[0, 0]]), (1.5, -0.5));
        assert_eq!(made.selection.x[[1, 0]], 0.0);
        let made = prepare(&data, &split(), Scale::None, Impute::None, 0, 0);
        assert!(made.train.x[[0, 3]].is_nan());
        assert_eq!((made.selection.x[[0, 0]], made.selection.x[[1, 0]]), (8.0, 6.0));
        assert_eq!(made.constant, [false, true]);
    }

    #[test]
    fn fills_a_column_absent_from_training_with_zero() {
        let data = dataset(array![[NAN, NAN, NAN, NAN, 1.0, NAN, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
        for impute in [Impute::Knn(2), Impute::Median] {
            for scale in [Scale::Standard, Scale::None] {
                let made = prepare(&data, &split(), scale, impute, 0, 0);
                assert!(made.train.x.row(0).iter().all(|&value| value == 0.0));
                assert_eq!(made.conformal.x[[0, 0]], 0.0);
                assert_eq!(made.constant, [true, false]);
            }
        }
    }

    #[test]
    fn training_values_do_not_depend_on_other_rows() {
        let numbers = |row: usize, column: usize| ((row * 7 + column * 13) % 11) as f64;
        let base = Array2::from_shape_fn((3, 7), |(c, r)| if (r + c) % 4 == 0 { NAN } else { numbers(r, c) });
        let mut other = base.clone();
        other.slice_mut(ndarray::s![.., 4..]).mapv_inplace(|value| value * -50.0 + 3.0);
        let bits = |x: Array2<f64>| -> Vec<u64> {
            let made = prepare(&dataset(x), &split(), Scale::Standard, Impute::Knn(2), 0, 0);
            assert!(made.test.x.iter().chain(&made.selection.x).all(|value| value.is_finite()));
            made.train.x.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(base), bits(other));
    }

    #[test]
    fn shares_the_calibration_rows_without_a_copy() {
        let data = dataset(array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
        let shared = Split { selection: vec![4, 5], conformal: vec![4, 5], ..split() };
        let made = prepare(&data, &shared, Scale::Standard, Impute::default(), 0, 0);
        assert!(Arc::ptr_eq(&made.selection, &made.conformal));
    }

    #[test]
    fn samples_donors_by_seed_when_there_are_many() {
        let train = Array2::from_shape_fn((1, DONOR_LIMIT + 500), |(_, row)| row as f64);
        let sample = |seed| donors(&train, &mut Stream::new(seed, 0, Purpose::Donors));
        assert_eq!(sample(1).ncols(), DONOR_LIMIT);
        assert_eq!(sample(1), sample(1));
        assert_ne!(sample(1), sample(2));
        assert!(sample(1).iter().is_sorted());
    }

    #[test]
    fn refuses_missing_values_by_name() {
        let data = dataset(array![[1.0, 2.0], [NAN, 2.0]]);
        let message = refuse_missing(&data).unwrap_err().to_string();
        assert_eq!(message, "toy.csv, column 'x1': 1 of 2 values are missing; fill them with --impute knn:5");
        assert!(refuse_missing(&dataset(array![[1.0, 2.0]])).is_ok());
    }

    #[test]
    fn words_survive_a_round_trip() {
        for text in ["knn:5", "median", "none"] {
            assert_eq!(text.parse::<Impute>().unwrap().to_string(), text);
        }
        for text in ["standard", "minmax", "none"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        for text in ["knn:0", "knn", "knn:-1", "mean"] {
            assert_eq!(text.parse::<Impute>().unwrap_err(), "write knn:K (K at least 1), median or none");
        }
        assert!("robust".parse::<Scale>().is_err());
    }
}
