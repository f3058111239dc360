//! Scale and impute one split: fitted on its training rows, applied to the others.

use std::sync::Arc;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Dataset, Split};

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

/// Prepares one split. `seed` and `index` choose the donors when there are too many to compare with.
pub fn prepare(
    data: &Dataset,
    split: &Split,
    scale: Scale,
    impute: Impute,
    seed: u64,
    index: usize,
) -> Prepared {
    let _ = (data, split, scale, impute, seed, index);
    todo!()
}
