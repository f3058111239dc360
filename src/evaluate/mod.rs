//! How good is a subset: prediction sets, single predictions, agreement of splits, comparison of methods.
//!
//! Everything measured on the test rows of one model is a [`Tally`] of counts; metrics are read off it. So a journal
//! holds integers, and a mean is computed from what was counted.

mod classic;
mod compare;
mod conformal;
mod consistency;

pub use classic::{ClassScores, MacroScores};
pub use compare::{PairedDifference, paired_difference};
pub use conformal::{Band, ConformalSettings, Evaluator, coverage_band};
pub use consistency::{Agreement, Similarity, agreement, i_w, jaccard, kuncheva_pair, nogueira, similarity};

use serde::{Deserialize, Serialize};

/// What was counted on the test rows of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// m × m, row by row: rows of true class k that were predicted as class l.
    pub confusion: Vec<u32>,
    /// For each true class, the rows whose set holds it.
    pub covered: Vec<u32>,
    /// For each true class, the sum of the set sizes of its rows.
    pub set_sizes: Vec<u32>,
    /// Rows whose set is exactly the true class.
    pub certain: u32,
    /// Rows whose set is all classes.
    pub full: u32,
    /// Rows whose set is empty.
    pub empty: u32,
    /// Sum over rows of the sum of p-values.
    pub p_sum: f64,
    /// Sum over rows of the largest p-value.
    pub p_max: f64,
}

/// The metrics of METHOD.md sections 6 and 7, in the order of metrics.csv.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Share of rows whose set holds the true class.
    pub coverage: f64,
    /// Mean set size.
    pub inefficiency: f64,
    /// Share of rows whose set is exactly the true class.
    pub certainty: f64,
    /// Share of rows whose set is all classes.
    pub uncertainty: f64,
    /// Share of rows whose set is empty.
    pub mistrust: f64,
    /// Mean sum of p-values.
    pub s_score: f64,
    /// Mean largest p-value.
    pub credibility: f64,
    /// Share of rows predicted right.
    pub accuracy: f64,
    /// Mean over classes of precision.
    pub precision_macro: f64,
    /// Mean over classes of recall: the balanced accuracy.
    pub recall_macro: f64,
    /// Mean over classes of F1.
    pub f1_macro: f64,
}

impl Metrics {
    /// Names and values, in the order of metrics.csv.
    pub fn named(&self) -> [(&'static str, f64); 11] {
        [
            ("coverage", self.coverage),
            ("inefficiency", self.inefficiency),
            ("certainty", self.certainty),
            ("uncertainty", self.uncertainty),
            ("mistrust", self.mistrust),
            ("s_score", self.s_score),
            ("credibility", self.credibility),
            ("accuracy", self.accuracy),
            ("precision_macro", self.precision_macro),
            ("recall_macro", self.recall_macro),
            ("f1_macro", self.f1_macro),
        ]
    }
}

/// What per_class.csv says of one class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClassMetrics {
    /// Test rows of this class.
    pub n: u32,
    /// Share of them whose set holds the class.
    pub coverage: f64,
    /// Their mean set size.
    pub set_size: f64,
    /// Of the rows predicted as this class, the share that is.
    pub precision: f64,
    /// Of the rows of this class, the share predicted so.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}
