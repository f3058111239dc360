//! Where kernel machines are not run: they compare all pairs of rows, for all features, at every
//! step.

use super::cost::{PathCost, TableShape};
use super::{RunInfo, RunSpec};
use crate::error::{Error, Result};
use crate::svm::Estimator;

/// More features than these need a linear start.
const MOST_UNITS: usize = 500;
/// A path is computed on one thread, so no machine shortens it.
const LONGEST_PATH: f64 = 3600.0;

/// Why kernel machines are not run on a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KernelLimit {
    /// It has this many features.
    Features(usize),
    /// One path would take this long.
    Path {
        /// Features.
        units: usize,
        rows: usize,
        /// Nominal hours of one core.
        hours: f64,
    },
}

impl KernelLimit {
    /// What speaks against kernel machines under the settings of a run, whatever its own family of
    /// models.
    pub fn of_run(info: &RunInfo) -> Result<Option<Self>> {
        Self::new(&info.spec, &TableShape::from(info))
    }

    pub(super) fn new(spec: &RunSpec, shape: &TableShape) -> Result<Option<Self>> {
        let spec = spec.with_estimator(Estimator::Rbf)?;
        let (units, rows) = (shape.units, shape.rows);
        if spec.prefilter.unwrap_or(units).min(units) > MOST_UNITS {
            return Ok(Some(Self::Features(units)));
        }
        let seconds = PathCost::of_shape(&spec, shape, spec.step).path();
        Ok((seconds > LONGEST_PATH).then(|| Self::Path {
            units,
            rows,
            hours: (seconds / 3600.0).max(1.0),
        }))
    }

    /// The reason and the remedy, short.
    pub fn words(self) -> String {
        match self {
            Self::Features(units) => {
                format!("{units} features, at most {MOST_UNITS}; set --prefilter")
            }
            Self::Path { units, rows, hours } => format!(
                "one path over {units} features and {rows} rows would take about {hours:.0} hours; set --prefilter or --step"
            ),
        }
    }

    /// The refusal of a run.
    pub(super) fn error(self) -> Error {
        match self {
            Self::Features(units) => Error::usage(format!(
                "--estimator rbf takes too long for {units} features (at most {MOST_UNITS})"
            ))
            .remedy("add --prefilter 100: a linear path on the same split leaves 100 features, and kernel machines go on"),
            Self::Path { units, rows, hours } => Error::usage(format!(
                "with --estimator rbf one path over {units} features and {rows} rows would take about {hours:.0} hours"
            ))
            .remedy("add --prefilter 50 or --step half, use --estimator rcs:4, or take a sample of the rows"),
        }
    }
}
