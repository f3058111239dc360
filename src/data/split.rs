//! Seeded stratified splits: which rows train, select, calibrate and test.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Dataset;
use crate::error::Result;

/// Whether β and the p-values look at the same rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    /// Calibration rows are halved: selection rows for β, conformal rows for p-values. Coverage is guaranteed.
    #[default]
    Strict,
    /// All calibration rows for both, as in the paper. The guarantee is void.
    Shared,
}

/// How to split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitOptions {
    /// How many splits.
    pub splits: usize,
    /// The seed of all.
    pub seed: u64,
    /// Share of test rows.
    pub test_size: f64,
    /// Share of calibration rows among the others.
    pub cal_size: f64,
    /// Strict or shared.
    pub calibration: Calibration,
    /// The user's own splits.
    pub splits_from: Option<PathBuf>,
}

impl Default for SplitOptions {
    fn default() -> Self {
        let (test_size, cal_size) = (0.25, 0.5);
        Self { splits: 20, seed: 0, test_size, cal_size, calibration: Calibration::Strict, splits_from: None }
    }
}

/// The rows of each part, ascending, as positions in the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Models are fitted on these.
    pub train: Vec<usize>,
    /// β is computed on these.
    pub selection: Vec<usize>,
    /// p-values are computed on these; the same as `selection` when shared.
    pub conformal: Vec<usize>,
    /// Metrics are computed on these.
    pub test: Vec<usize>,
}

/// Makes any split of a dataset on demand; construction checks that every split can be made.
#[derive(Debug, Clone)]
pub struct Splits {
    _private: (),
}

impl Splits {
    /// Checks the options against the data (class sizes, the user's file) once.
    pub fn new(data: &Dataset, options: &SplitOptions) -> Result<Self> {
        let _ = (data, options);
        todo!()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        todo!()
    }

    /// Split `index`; depends on (seed, index) and the data alone.
    pub fn split(&self, data: &Dataset, index: usize) -> Result<Split> {
        let _ = (data, index);
        todo!()
    }
}
