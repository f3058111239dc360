//! Rows of another file, on which the list of a run is tested once (docs/method.md section 12): the
//! list comes from the rows that were not set aside, the calibration from those that were.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};

use super::validation::{TestedRow, chosen_list, fit_settings};
use super::{Plan, RunSpec};
use crate::data::{Dataset, NewRows, ReadOptions, RequiredColumns, RowBatch};
use crate::error::{Error, Result};
use crate::model::{ScoreComparison, fit_list, tau};
use crate::select::Method;

/// The rows of the file.
#[derive(Debug, Clone)]
pub struct External {
    /// The columns of the dataset × rows; NaN is missing.
    x: Array2<f64>,
    y: Vec<usize>,
    /// What is known of the file.
    pub info: ExternalInfo,
}

/// What is known of the file when a run starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalInfo {
    /// Its name, as it was given.
    pub file: PathBuf,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Rows with a class of the run.
    pub rows: usize,
    /// Rows of classes that the run does not know, by class.
    pub unknown_classes: BTreeMap<String, usize>,
    /// Rows without a class.
    pub without_class: usize,
}

/// What the list of a method achieved on the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExternalTest {
    /// The size that the rule chose; none if it chose none.
    pub size: Option<usize>,
    /// The list, best first.
    pub units: Vec<usize>,
    /// Calibration rows of each class.
    pub conformal: Vec<usize>,
    /// p of the comparison with the calibration rows.
    pub alike_p: Option<f64>,
    /// Every row of the file that has a class of the run; empty without a list.
    pub rows: Vec<TestedRow>,
}

impl External {
    /// Reads the file as the dataset was read: columns by name, categories by the levels that are
    /// known.
    pub fn load(path: &Path, spec: &RunSpec, data: &Dataset) -> Result<Self> {
        const BATCH: usize = 1024;
        if data.encodings.is_empty() {
            return Err(Error::usage("--test needs a table that was read from a file"));
        }
        let read = ReadOptions { sheet: None, ..spec.schema.read.clone() };
        let wanted = RequiredColumns {
            variables: &data.encodings,
            target: &data.target,
            id: None,
            id_is_named: false,
            may_be_absent: false,
            first_names_rows: false,
        };
        let mut rows = NewRows::open(path, &read, &wanted)?;
        if !rows.has_classes() {
            return Err(Error::data(format!(
                "the class column '{}' is not in the file",
                data.target
            ))
            .file(path)
            .remedy("--test needs rows whose class is known"));
        }
        let mut batches: Vec<(Array2<f64>, Vec<usize>)> = Vec::new();
        let mut unknown_classes = BTreeMap::new();
        let mut without_class = 0;
        while let Some(RowBatch { x, classes, .. }) = rows.next(BATCH)? {
            let (mut kept, mut y) = (Vec::new(), Vec::new());
            for (row, class) in classes.into_iter().enumerate() {
                let Some(class) = class else {
                    without_class += 1;
                    continue;
                };
                match data.classes.iter().position(|known| *known == class) {
                    Some(class) => {
                        kept.push(row);
                        y.push(class);
                    }
                    None => *unknown_classes.entry(class).or_default() += 1,
                }
            }
            batches.push((x.select(Axis(1), &kept), y));
        }
        let sha256 = rows.finish()?;
        let y: Vec<usize> = batches.iter().flat_map(|(_, y)| y.iter().copied()).collect();
        if y.is_empty() {
            return Err(Error::data("no row has a class of the run")
                .file(path)
                .column(&data.target)
                .remedy(format!("the classes are {}", data.classes.join(", "))));
        }
        let views: Vec<_> = batches.iter().map(|(x, _)| x.view()).collect();
        let x = ndarray::concatenate(Axis(1), &views)
            .map_err(|error| Error::internal(format!("batches of unequal width ({error})")))?;
        let info = ExternalInfo {
            file: path.to_path_buf(),
            sha256,
            rows: y.len(),
            unknown_classes,
            without_class,
        };
        Ok(Self { x, y, info })
    }
}

/// Runs the procedure on the rows that were not set aside, as the paths of the run do, and tests
/// its list on the file; `None` if it was told to end.
pub fn test_external(
    plan: &Plan,
    method: Method,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<ExternalTest>> {
    let (Some(external), Some(reserve)) = (&plan.external, plan.splits.reserve()) else {
        return Err(Error::internal("there are no rows to test on"));
    };
    let Some((size, units)) = chosen_list(plan, method, go_on)? else { return Ok(None) };
    let classes = plan.data.classes.len();
    let mut conformal = vec![0; classes];
    reserve.iter().for_each(|&row| conformal[plan.data.y[row]] += 1);
    if units.is_empty() {
        return Ok(Some(ExternalTest { size, units, conformal, alike_p: None, rows: Vec::new() }));
    }
    let settings = fit_settings(plan, plan.info.spec.split.seed, u64::MAX);
    let fitted = fit_list(&plan.data, &plan.splits.rest(&plan.data), reserve, &units, &settings)?;
    let of_row = |row: usize| tau(settings.seed, u64::MAX, row, classes);
    let tau = settings.conformal.smoothed.then_some(&of_row as &dyn Fn(usize) -> Vec<f64>);
    let predicted = fitted.predictor.predict(external.x.select(Axis(0), &fitted.columns), tau);
    let mut comparison = ScoreComparison::new(&fitted.predictor.calibrated, classes);
    let mut rows = Vec::new();
    for (row, &y) in external.y.iter().enumerate() {
        comparison.add(y, predicted.alpha[[row, y]]);
        rows.push(TestedRow {
            row,
            y,
            f: predicted.f.row(row).to_vec(),
            p: predicted.p.row(row).to_vec(),
        });
    }
    Ok(Some(ExternalTest { size, units, conformal, alike_p: comparison.p_value(), rows }))
}
