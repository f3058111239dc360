//! The paths of a run once more with another family of models, on the same splits (docs/method.md
//! section 15): what its subsets achieve at the size that its own paths choose.

use serde::{Deserialize, Serialize};

use super::task::SplitWork;
use super::validation::finished_trace;
use super::{Plan, TaskId, Trace};
use crate::error::Result;
use crate::evaluate::{FinishedPath, Tally};
use crate::select::Method;
use crate::svm::Estimator;

/// What another family of models achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EstimatorTest {
    /// The size that the rule chose; none if it chose none.
    pub size: Option<usize>,
    /// The list of this size, best first.
    pub units: Vec<usize>,
    /// What each split's own subset did on its test rows, at the size that its other splits choose
    /// where the rule looks at test rows.
    pub tallies: Vec<(usize, Tally)>,
}

/// Runs all splits with another family of models; `None` if it was cancelled.
pub fn test_estimator(
    plan: &Plan,
    method: Method,
    estimator: Estimator,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<EstimatorTest>> {
    let other = plan.with_estimator(estimator)?;
    let mut traces = Vec::new();
    for split in 0..other.splits.count() {
        let work = SplitWork::new(&other, split)?;
        let Some(trace) = finished_trace(&other, &work, TaskId { method, split }, go_on)? else {
            return Ok(None);
        };
        traces.push(trace);
    }
    let paths: Vec<&Trace> = traces.iter().collect();
    let procedure = other.info.procedure();
    let Some(size) = procedure.size(&paths) else {
        return Ok(Some(EstimatorTest { size: None, units: Vec::new(), tallies: Vec::new() }));
    };
    let units = other.info.list(&procedure.by_frequency(&paths, size), size);
    let measured = traces.iter().zip(procedure.measured_sizes(&paths, size)).enumerate();
    let tally = |(split, (trace, size)): (usize, (&Trace, usize))| {
        Some((split, trace.tally(size)?.clone()))
    };
    let tallies = measured.filter_map(tally).collect();
    Ok(Some(EstimatorTest { size: Some(size), units, tallies }))
}
