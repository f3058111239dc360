//! Scales and imputes one split: fitted on its training rows, applied to the others. Knows nothing
//! of how it was split.

use std::sync::Arc;

use ndarray::{Array2, Axis};

use super::imputing::{Filler, Impute};
use super::names::listed;
use super::scaling::{MOST_SCALED, MOST_UNSCALED, Scale, Scaler, ValueRange};
use super::seed::{Purpose, Rng};
use super::spline::{Basis, Knots};
use super::{Dataset, Split, Splits, Unit};
use crate::error::{Error, Result};

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
        // `select` along the rows would give a row-major matrix.
        let x = Array2::from_shape_fn((data.x.nrows(), rows.len()), |(column, i)| {
            data.x[[column, rows[i]]]
        });
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
    /// The units of the dataset, with the columns that they have here: several for each of theirs
    /// under splines.
    pub units: Vec<Unit>,
}

/// How columns are made ready for a model, always fitted on training rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preparation {
    /// How columns are scaled.
    pub scale: Scale,
    /// How gaps are filled.
    pub impute: Impute,
    /// Whether columns become splines, and of how many knots.
    pub splines: Option<Knots>,
}

impl Preparation {
    /// Scaled and filled, nothing else.
    pub fn new(scale: Scale, impute: Impute) -> Self {
        Self { scale, impute, splines: None }
    }
}

impl Prepared {
    /// The same rows with other labels; `labels` are of all rows of the dataset. Scaling and
    /// imputation do not look at labels.
    #[must_use]
    pub fn relabelled(mut self, labels: &[usize]) -> Self {
        let relabel = |part: &mut Part| part.y = part.rows.iter().map(|&row| labels[row]).collect();
        relabel(&mut self.train);
        relabel(&mut self.test);
        let shared = Arc::ptr_eq(&self.selection, &self.conformal);
        relabel(Arc::make_mut(&mut self.selection));
        if shared {
            self.conformal = Arc::clone(&self.selection);
        } else {
            relabel(Arc::make_mut(&mut self.conformal));
        }
        self
    }
}

/// Refuses what `--impute none` and `--scale none` cannot hand to a model, and warns of columns
/// with values that no split can scale to anything meaningful.
pub fn check_preprocessing(
    data: &mut Dataset,
    splits: &Splits,
    scale: Scale,
    impute: Impute,
) -> Result<()> {
    if impute == Impute::None {
        refuse_missing(data)?;
    }
    if scale == Scale::None {
        return refuse_huge(data);
    }
    let clipped = clipped_columns(data, splits, scale)?;
    if !clipped.is_empty() {
        let names = listed(clipped.iter().map(|&column| data.columns[column].as_str()));
        data.audit.warn(format!(
            "values that lie more than {MOST_SCALED:e} training ranges away are clipped there: take logarithms, or leave the \
             column out with --drop: {names}"
        ));
    }
    Ok(())
}

fn refuse_missing(data: &Dataset) -> Result<()> {
    for (column, values) in data.columns.iter().zip(data.x.outer_iter()) {
        let missing = values.iter().filter(|value| value.is_nan()).count();
        if missing > 0 {
            return Err(Error::data(format!("{missing} of {} values are missing", values.len()))
                .file(&data.name)
                .column(column)
                .remedy("fill them with --impute knn:5")
                .option("--impute"));
        }
    }
    Ok(())
}

fn refuse_huge(data: &Dataset) -> Result<()> {
    for (column, values) in data.columns.iter().zip(data.x.outer_iter()) {
        if let Some(value) = values.iter().find(|value| value.abs() > MOST_UNSCALED) {
            return Err(Error::data(format!("{value:e} is too large for a model without scaling"))
                .file(&data.name)
                .column(column)
                .remedy("use --scale standard or --scale minmax, or correct the value")
                .option("--scale"));
        }
    }
    Ok(())
}

/// The columns that some split has to clip.
fn clipped_columns(data: &Dataset, splits: &Splits, scale: Scale) -> Result<Vec<usize>> {
    /// Only values that span more orders of magnitude than this can be that far apart, whatever the
    /// number of rows.
    const SPAN: f64 = 1e10;
    let spans = |&column: &usize| {
        let sizes = || data.x.row(column).into_iter().map(|value| value.abs());
        let largest = sizes().fold(0.0, f64::max);
        sizes().any(|size| size > 0.0 && size < largest / SPAN)
    };
    let suspects: Vec<usize> = (0..data.columns.len()).filter(spans).collect();
    let mut clipped = vec![false; suspects.len()];
    for index in 0..if suspects.is_empty() { 0 } else { splits.count() } {
        let split = splits.split(data, index)?;
        let others = || split.selection.iter().chain(&split.conformal).chain(&split.test);
        for (&column, clipped) in suspects.iter().zip(&mut clipped) {
            let values = data.x.row(column);
            let training = values.select(Axis(0), &split.train);
            let scaler =
                Scaler::fit(scale, training.view(), &ValueRange::of(training.iter().copied()));
            *clipped |= others().any(|&row| scaler.clips(values[row]));
        }
    }
    Ok(suspects
        .into_iter()
        .zip(clipped)
        .filter(|(_, clipped)| *clipped)
        .map(|(column, _)| column)
        .collect())
}

/// Prepares one split. `seed` and `index` choose the donors when there are too many to compare
/// with.
pub fn prepare(
    data: &Dataset,
    split: &Split,
    how: Preparation,
    seed: u64,
    index: usize,
) -> Prepared {
    let Preparation { scale, impute, splines } = how;
    let shared = split.selection == split.conformal;
    let mut train = Part::of(data, &split.train);
    let mut selection = Part::of(data, &split.selection);
    let mut conformal = (!shared).then(|| Part::of(data, &split.conformal));
    let mut test = Part::of(data, &split.test);

    let ranges: Vec<ValueRange> =
        train.x.outer_iter().map(|values| ValueRange::of(values.iter().copied())).collect();
    let scalers: Vec<Scaler> = train
        .x
        .outer_iter()
        .zip(&ranges)
        .map(|(values, range)| Scaler::fit(scale, values, range))
        .collect();
    let parts = [Some(&mut train), Some(&mut selection), conformal.as_mut(), Some(&mut test)];
    let mut matrices: Vec<&mut Array2<f64>> =
        parts.into_iter().flatten().map(|part| &mut part.x).collect();
    for x in &mut matrices {
        for (mut values, scaler) in x.outer_iter_mut().zip(&scalers) {
            values.mapv_inplace(|value| scaler.apply(value));
        }
    }

    let gaps = gaps(&matrices);
    if impute != Impute::None && gaps.contains(&true) {
        let rng = Rng::new(seed, index as u64, Purpose::Donors);
        let filler = Filler::fit(impute, matrices[0], &gaps, rng);
        for x in &mut matrices {
            filler.fill(x);
        }
    }

    let mut constant: Vec<bool> = ranges.iter().map(ValueRange::is_constant).collect();
    let mut units = data.units.clone();
    if let Some(knots) = splines {
        let basis = Basis::fit(matrices[0].view(), knots);
        matrices.into_iter().for_each(|x| *x = basis.expand(x.view()));
        (constant, units) = (basis.repeat(&constant), basis.units(&units));
    }

    let selection = Arc::new(selection);
    let conformal = conformal.map_or_else(|| Arc::clone(&selection), Arc::new);
    Prepared { train, selection, conformal, test, constant, units }
}

/// For each column whether a cell is missing anywhere.
fn gaps(parts: &[&mut Array2<f64>]) -> Vec<bool> {
    let missing = |column| parts.iter().any(|x| x.row(column).iter().any(|value| value.is_nan()));
    (0..parts[0].nrows()).map(missing).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

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
            variables: (0..p).collect(),
            encodings: Vec::new(),
            units: Vec::new(),
            target: "class".into(),
            classes: vec!["a".into(), "b".into()],
            y: (0..n).map(|row| row % 2).collect(),
            rows: (0..n).collect(),
            file_rows: n,
            ids: None,
            id_column: None,
            groups: None,
            design: Default::default(),
            dropped: Vec::new(),
            audit: Audit::default(),
            layout: None,
        }
    }

    /// Training rows 0..4, one row for each other part.
    fn split() -> Split {
        Split { train: vec![0, 1, 2, 3], selection: vec![4], conformal: vec![5], test: vec![6] }
    }

    #[test]
    fn standardises_by_the_present_training_values() {
        let data = dataset(array![
            [1.0, 3.0, NAN, 5.0, 9.0, 3.0, 100.0],
            [7.0, 7.0, 7.0, NAN, 8.0, NAN, 9.0]
        ]);
        let made =
            prepare(&data, &split(), Preparation::new(Scale::Standard, Impute::Median), 0, 0);
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
        let made = prepare(&data, &split(), Preparation::new(Scale::Standard, Impute::None), 0, 0);
        assert!(
            (&made.train.x - &array![[-1.0, 1.0, -1.0, 1.0]])
                .iter()
                .all(|error| error.abs() < 1e-12)
        );
        assert!((made.test.x[[0, 0]] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn scales_to_the_training_range_or_not_at_all() {
        let data = dataset(array![
            [2.0, 4.0, 6.0, NAN, 8.0, 0.0, 3.0],
            [5.0, 5.0, 5.0, 5.0, 6.0, 5.0, 5.0]
        ]);
        let made = prepare(&data, &split(), Preparation::new(Scale::Minmax, Impute::Median), 0, 0);
        assert_eq!(made.train.x.row(0).to_vec(), [0.0, 0.5, 1.0, 0.5]);
        assert_eq!((made.selection.x[[0, 0]], made.conformal.x[[0, 0]]), (1.5, -0.5));
        assert_eq!(made.selection.x[[1, 0]], 0.0);
        let made = prepare(&data, &split(), Preparation::new(Scale::None, Impute::None), 0, 0);
        assert!(made.train.x[[0, 3]].is_nan());
        assert_eq!((made.selection.x[[0, 0]], made.selection.x[[1, 0]]), (8.0, 6.0));
        assert_eq!(made.constant, [false, true]);
    }

    #[test]
    fn fills_a_column_absent_from_training_with_zero() {
        let data = dataset(array![
            [NAN, NAN, NAN, NAN, 1.0, NAN, 2.0],
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
        ]);
        for impute in [Impute::Knn(2), Impute::Median] {
            for scale in [Scale::Standard, Scale::None] {
                let made = prepare(&data, &split(), Preparation::new(scale, impute), 0, 0);
                assert!(made.train.x.row(0).iter().all(|&value| value == 0.0));
                assert_eq!(made.conformal.x[[0, 0]], 0.0);
                assert_eq!(made.constant, [true, false]);
            }
        }
    }

    #[test]
    fn training_values_do_not_depend_on_other_rows() {
        let numbers = |row: usize, column: usize| ((row * 7 + column * 13) % 11) as f64;
        let base =
            Array2::from_shape_fn(
                (3, 7),
                |(c, r)| if (r + c) % 4 == 0 { NAN } else { numbers(r, c) },
            );
        let mut other = base.clone();
        other.slice_mut(ndarray::s![.., 4..]).mapv_inplace(|value| value * -50.0 + 3.0);
        let bits = |x: Array2<f64>| -> Vec<u64> {
            let made = prepare(
                &dataset(x),
                &split(),
                Preparation::new(Scale::Standard, Impute::Knn(2)),
                0,
                0,
            );
            assert!(made.test.x.iter().chain(&made.selection.x).all(|value| value.is_finite()));
            made.train.x.iter().map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(base), bits(other));
    }

    #[test]
    fn other_rows_do_not_move_the_knots() {
        let base =
            Array2::from_shape_fn((2, 60), |(c, r)| ((r * (17 + c) + 5 * c) % 61) as f64 / 9.0);
        let split = Split {
            train: (0..40).collect(),
            selection: (40..46).collect(),
            conformal: (46..52).collect(),
            test: (52..60).collect(),
        };
        for knots in 3..=5 {
            let splines = Some(Knots::try_from(knots).unwrap());
            let how = Preparation { splines, ..Preparation::new(Scale::Standard, Impute::Knn(3)) };
            let made = |x: &Array2<f64>| prepare(&dataset(x.clone()), &split, how, 0, 0);
            let bits = |x: &Array2<f64>| x.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            let first = made(&base);
            assert_eq!(first.train.x.nrows(), 2 * (knots - 1));
            // All rows outside training change, but for the last test row, which must keep its
            // terms.
            let mut other = base.clone();
            other.slice_mut(ndarray::s![.., 40..59]).mapv_inplace(|value| value * -50.0 + 3.0);
            let second = made(&other);
            assert_eq!(bits(&first.train.x), bits(&second.train.x));
            assert_eq!(first.test.x.column(7), second.test.x.column(7));
            assert_ne!(
                first.test.x.column(0),
                second.test.x.column(0),
                "the other rows were really changed"
            );
            // And the knots do move with a training row.
            other[[0, 39]] += 50.0;
            assert_ne!(bits(&first.train.x), bits(&made(&other).train.x));
        }
    }

    #[test]
    fn shares_the_calibration_rows_without_a_copy() {
        let data = dataset(array![[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]);
        let shared = Split { selection: vec![4, 5], conformal: vec![4, 5], ..split() };
        let made =
            prepare(&data, &shared, Preparation::new(Scale::Standard, Impute::default()), 0, 0);
        assert!(Arc::ptr_eq(&made.selection, &made.conformal));
    }

    #[test]
    fn refuses_missing_values_by_name() {
        let data = dataset(array![[1.0, 2.0], [NAN, 2.0]]);
        let message = refuse_missing(&data).unwrap_err().to_string();
        assert_eq!(
            message,
            "toy.csv, column 'x1': 1 of 2 values are missing; fill them with --impute knn:5"
        );
        assert!(refuse_missing(&dataset(array![[1.0, 2.0]])).is_ok());
    }

    #[test]
    fn refuses_huge_values_without_scaling_by_name() {
        let data = dataset(array![[1.0, 2.0], [1e101, 2.0]]);
        let message = refuse_huge(&data).unwrap_err().to_string();
        assert_eq!(
            message,
            "toy.csv, column 'x1': 1e101 is too large for a model without scaling; use --scale standard or --scale minmax, or \
             correct the value"
        );
        assert!(refuse_huge(&dataset(array![[1e100, -1e100]])).is_ok());
    }

    #[test]
    fn a_column_constant_up_to_rounding_is_scaled_to_zero() {
        let data = dataset(array![[0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3, 0.4, 5.0]]);
        let made = prepare(&data, &split(), Preparation::new(Scale::Standard, Impute::None), 0, 0);
        assert!(made.train.x.iter().chain(&made.test.x).all(|&value| value == 0.0));
        assert_eq!(made.constant, [true]);
    }
}
