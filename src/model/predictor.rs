//! One place where the machines of a list are fitted and calibrated, and where they predict. Knows
//! rows, not where they come from.

use ndarray::Array2;

use super::machines::Machines;
use crate::data::seed::{Purpose, Rng};
use crate::data::{Dataset, FittedPreparation, Preparation};
use crate::error::{Error, Result};
use crate::evaluate::{Calibrated, ConformalSettings};
use crate::svm::{ClassWeight, Estimator, Gamma, SolverKind};

/// How machines are fitted and calibrated.
#[derive(Debug, Clone)]
pub struct FitSettings {
    /// How columns are made ready.
    pub preparation: Preparation,
    /// Which family of models it is.
    pub estimator: Estimator,
    /// γ of kernel machines.
    pub gamma: Gamma,
    /// C.
    pub cost: f64,
    /// Whether C differs by class.
    pub class_weight: ClassWeight,
    /// Who fits.
    pub solver: SolverKind,
    /// How p-values are made.
    pub conformal: ConformalSettings,
    /// The seed of the donors.
    pub seed: u64,
    /// Their number beside the seed.
    pub index: u64,
}

/// Machines that predict rows of the list's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictor {
    /// Scaling, imputation and splines, fitted on the training rows.
    pub preparation: FittedPreparation,
    /// What decides.
    pub machines: Machines,
    /// The calibration scores.
    pub calibrated: Calibrated,
}

/// The machines of a list.
#[derive(Debug, Clone)]
pub struct FittedList {
    /// The columns of the dataset that are in the list, ascending.
    pub columns: Vec<usize>,
    /// The smallest and the largest training value of each; none if all are missing.
    pub ranges: Vec<Option<(f64, f64)>>,
    /// What predicts.
    pub predictor: Predictor,
    /// Whether every machine met its tolerance.
    pub converged: bool,
}

/// What is predicted for some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Predictions {
    /// The decision values, rows × classes.
    pub f: Array2<f64>,
    /// The p-values, rows × classes.
    pub p: Array2<f64>,
    /// The scores of all labels in grid steps, rows × classes.
    pub alpha: Array2<f64>,
}

/// Fits the machines of these units on some rows and calibrates them on others; nothing else of the
/// dataset is looked at.
pub fn fit_list(
    data: &Dataset,
    rest: &[usize],
    reserve: &[usize],
    units: &[usize],
    settings: &FitSettings,
) -> Result<FittedList> {
    let mut columns: Vec<usize> =
        units.iter().flat_map(|&unit| data.units[unit].columns.iter().copied()).collect();
    columns.sort_unstable();
    let mut train = cells(data, &columns, rest);
    let ranges = train.outer_iter().map(|values| range(values.iter().copied())).collect();
    let rng = Rng::new(settings.seed, settings.index, Purpose::Donors);
    let preparation = FittedPreparation::fit(&mut train, settings.preparation, rng);
    let labels = |rows: &[usize]| -> Vec<usize> { rows.iter().map(|&row| data.y[row]).collect() };
    let y = labels(rest);
    let (machines, converged) = Machines::fit(train.view(), &y, data.classes.len(), settings)?;
    let mut calibration = cells(data, &columns, reserve);
    preparation.apply(&mut calibration);
    let decisions = machines.decisions(calibration.view());
    let groups: Option<Vec<usize>> =
        data.groups.as_ref().map(|groups| reserve.iter().map(|&row| groups[row]).collect());
    let bias = &machines.bias;
    let y = labels(reserve);
    let calibrated =
        Calibrated::new(&settings.conformal, decisions.view(), bias, &y, groups.as_deref());
    if !machines.is_finite() || !calibrated.is_finite() {
        return Err(Error::data("the machines of this list are not finite")
            .file(&data.name)
            .remedy("look for values of very different magnitude, or use a smaller --cost"));
    }
    Ok(FittedList {
        columns,
        ranges,
        predictor: Predictor { preparation, machines, calibrated },
        converged,
    })
}

impl FittedList {
    /// The cells of some rows of the dataset that it was fitted on, as [`Predictor::predict`] takes
    /// them.
    pub fn cells(&self, data: &Dataset, rows: &[usize]) -> Array2<f64> {
        cells(data, &self.columns, rows)
    }
}

impl Predictor {
    /// Predicts rows from their raw cells (columns × rows); `tau` gives the τ of a row, by
    /// position, if p-values are smoothed. Of a row without any measured cell nothing is known: p
    /// is 1 for every class, so that every set holds all of them.
    pub fn predict(
        &self,
        mut x: Array2<f64>,
        tau: Option<&dyn Fn(usize) -> Vec<f64>>,
    ) -> Predictions {
        let is_unmeasured: Vec<bool> =
            x.columns().into_iter().map(|row| row.iter().all(|cell| cell.is_nan())).collect();
        self.preparation.apply(&mut x);
        let f = self.machines.decisions(x.view());
        let bias = &self.machines.bias;
        let (mut p, mut alpha) = (Array2::zeros(f.dim()), Array2::zeros(f.dim()));
        let classes = bias.len();
        let (mut decision, mut scores, mut values) =
            (vec![0.0; classes], vec![0.0; classes], vec![0.0; classes]);
        for (i, row) in f.rows().into_iter().enumerate() {
            decision.iter_mut().zip(row).for_each(|(own, f)| *own = *f);
            let tau = tau.map(|tau| tau(i));
            self.calibrated.judge(&decision, bias, tau.as_deref(), &mut scores, &mut values);
            if is_unmeasured[i] {
                values.fill(1.0);
            }
            alpha.row_mut(i).iter_mut().zip(&scores).for_each(|(cell, score)| *cell = *score);
            p.row_mut(i).iter_mut().zip(&values).for_each(|(cell, value)| *cell = *value);
        }
        Predictions { f, p, alpha }
    }
}

/// τ of a row: one uniform number for each class.
pub fn tau(seed: u64, index: u64, row: usize, classes: usize) -> Vec<f64> {
    let mut rng = Rng::for_row(seed, index, Purpose::Smoothing, row);
    (0..classes).map(|_| rng.uniform()).collect()
}

fn cells(data: &Dataset, columns: &[usize], rows: &[usize]) -> Array2<f64> {
    Array2::from_shape_fn((columns.len(), rows.len()), |(column, i)| {
        data.x[[columns[column], rows[i]]]
    })
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| !value.is_nan()).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}
