//! A fitted preparation (scaling, imputation, splines): kept in a model and applied to new rows.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::Preparation;
use super::imputing::{Filler, Impute};
use super::scaling::{Scaler, ValueRange};
use super::seed::Rng;
use super::spline::Basis;

/// How some columns are made ready for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedPreparation {
    /// One for each column.
    scaling: Vec<Scaler>,
    /// None if gaps are refused.
    filling: Option<Filler>,
    /// The terms that the columns become, if they become splines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    splines: Option<Basis>,
}

impl FittedPreparation {
    /// Fits on training rows (columns × rows, NaN is missing) and prepares them for fitting a
    /// model.
    pub fn fit(train: &mut Array2<f64>, how: Preparation, rng: Rng) -> Self {
        let scaler = |values: ndarray::ArrayView1<'_, f64>| {
            Scaler::fit(how.scale, values, &ValueRange::of(values.iter().copied()))
        };
        let scaling = train.outer_iter().map(scaler).collect();
        let mut fitted = Self { scaling, filling: None, splines: None };
        fitted.scale(train);
        if how.impute != Impute::None {
            let filler = Filler::fit(how.impute, train, &vec![true; train.nrows()], rng);
            filler.fill(train);
            fitted.filling = Some(filler);
        }
        if let Some(knots) = how.splines {
            let basis = Basis::fit(train.view(), knots);
            *train = basis.expand(train.view());
            fitted.splines = Some(basis);
        }
        fitted
    }

    /// Prepares other rows; gaps stay gaps if they are not filled.
    pub fn apply(&self, x: &mut Array2<f64>) {
        self.scale(x);
        if let Some(filler) = &self.filling {
            filler.fill(x);
        }
        if let Some(basis) = &self.splines {
            *x = basis.expand(x.view());
        }
    }

    fn scale(&self, x: &mut Array2<f64>) {
        for (mut values, scaler) in x.outer_iter_mut().zip(&self.scaling) {
            values.mapv_inplace(|value| scaler.apply(value));
        }
    }

    /// For each column that a model takes, the column that it comes from.
    pub fn sources(&self) -> Vec<usize> {
        let columns: Vec<usize> = (0..self.scaling.len()).collect();
        self.splines.as_ref().map_or_else(|| columns.clone(), |basis| basis.repeat(&columns))
    }

    /// Whether gaps are filled.
    pub fn fills_gaps(&self) -> bool {
        self.filling.is_some()
    }

    /// Whether columns become splines.
    pub fn has_splines(&self) -> bool {
        self.splines.is_some()
    }

    /// How many training rows it remembers to fill gaps from.
    pub fn donors(&self) -> usize {
        self.filling.as_ref().map_or(0, Filler::donors)
    }

    /// Why a preparation that was read from a file cannot be one of this many columns, if it
    /// cannot.
    pub fn fault(&self, columns: usize) -> Option<String> {
        if self.scaling.len() != columns {
            return Some(format!(
                "{} columns are scaled, and there are {columns}",
                self.scaling.len()
            ));
        }
        if !self.scaling.iter().all(Scaler::is_sound) {
            return Some("a column is scaled by what is not a number above 0".to_owned());
        }
        if self.splines.as_ref().is_some_and(|basis| !basis.is_sound(columns)) {
            return Some("its splines do not fit its columns".to_owned());
        }
        self.filling.as_ref()?.fault(columns)
    }
}
