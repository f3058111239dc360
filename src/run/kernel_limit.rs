//! Where kernel machines are not run: they compare all pairs of rows, for all features, at every
//! step.

use super::RunSpec;
use super::cost::{PathCost, TableShape};
use crate::error::{Error, Result};

/// More features than these need a linear start.
const MOST_UNITS: usize = 500;
/// A path is computed on one thread, so no machine shortens it.
const LONGEST_PATH: f64 = 3600.0;

/// Refuses settings under which kernel machines would take hours.
pub(super) fn refuse_slow_kernels(spec: &RunSpec, shape: &TableShape) -> Result<()> {
    let (units, rows) = (shape.units, shape.rows);
    if spec.prefilter.unwrap_or(units).min(units) > MOST_UNITS {
        return Err(Error::usage(format!(
            "--estimator rbf takes too long for {units} features (at most {MOST_UNITS})"
        ))
        .remedy("add --prefilter 100: a linear path on the same split leaves 100 features, and kernel machines go on").option("--prefilter"));
    }
    let seconds = PathCost::of_shape(spec, shape, spec.step).path();
    if seconds > LONGEST_PATH {
        let hours = (seconds / 3600.0).max(1.0);
        return Err(Error::usage(format!(
            "with --estimator rbf one path over {units} features and {rows} rows would take about {hours:.0} hours"
        ))
        .remedy("add --prefilter 50 or --step half, use --estimator rcs:4, or take a sample of the rows").option("--prefilter"));
    }
    Ok(())
}
