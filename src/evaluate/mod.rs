//! How good is a subset: prediction sets, single predictions, agreement of splits, comparison of
//! methods.
//!
//! Everything measured on the test rows of one model is a [`Tally`] of counts; a [`Metric`] is read
//! off it. So a journal holds integers, and a mean is computed from what was counted.

mod auc;
mod calibrated;
mod chance;
mod choice;
mod classic;
mod compare;
mod conformal;
mod consistency;
mod coverage;
mod frequency;
mod grouped;
mod metric;
mod p_text;
mod performance;
mod stats;
mod trend;
mod two_sample;

pub use auc::{auc, concordant_pairs};
pub use calibrated::{Calibrated, CategoryScores};
pub use chance::{Chance, as_small, permutation_p};
pub use choice::{FinishedPath, Procedure, SizeCurve, common_sizes, median_size};
pub use classic::{ClassScores, MacroScores, accuracy, class_scores, macro_scores};
pub use compare::PairedDifference;
pub use conformal::{ConformalSettings, Decisions, Evaluator, normalised_inefficiency, predicted};
pub use consistency::{
    Agreement, FEWEST_SUBSETS, Ranks, Similarity, agreement, agreement_by_size,
    agreement_from_counts, similarity, similarity_by_size,
};
pub use coverage::{Band, Calibrations, CoverageLaw, coverage_band, never_excluded};
pub use frequency::{Kept, by_frequency};
pub use metric::{Metric, PageColumn};
pub use p_text::{label_p, p_words, rounded_p};
pub use performance::{ClassPerformance, Interval, MANY_EMPTY, Performance, Predicted};
pub use stats::{Bootstrap, Spread, correlation, median, ratio, sign_test};
pub use trend::{Timed, Trend};
pub use two_sample::TwoSample;

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
    /// Sum over rows of the true label's p-value.
    pub p_true: f64,
    /// Twice the number of pairs in the right order, by class (see [`concordant_pairs`]).
    pub concordant: Vec<u64>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(classes: usize) -> Self {
        Self {
            confusion: vec![0; classes * classes],
            covered: vec![0; classes],
            set_sizes: vec![0; classes],
            concordant: vec![0; classes],
            ..Self::default()
        }
    }

    /// Counts one row: its true and its predicted class, the p-value of every label, and ε, which
    /// p-values of labels in the set exceed.
    fn add(&mut self, truth: usize, predicted: usize, p: &[f64], epsilon: f64) {
        let classes = self.classes();
        let size = p.iter().filter(|&&p| p > epsilon).count();
        let covered = p[truth] > epsilon;
        self.confusion[truth * classes + predicted] += 1;
        self.covered[truth] += u32::from(covered);
        self.set_sizes[truth] += size as u32;
        self.certain += u32::from(covered && size == 1);
        self.full += u32::from(size == classes);
        self.empty += u32::from(size == 0);
        self.p_sum += p.iter().sum::<f64>();
        self.p_max += p.iter().copied().fold(0.0, f64::max);
        self.p_true += p[truth];
    }

    /// m.
    pub fn classes(&self) -> usize {
        self.covered.len()
    }

    /// The number of test rows.
    pub fn rows(&self) -> u32 {
        self.confusion.iter().sum()
    }

    /// Area under the ROC curve, one class against the rest, mean over classes; none of one
    /// class.
    pub fn auc(&self) -> Option<f64> {
        auc(&self.concordant, &self.rows_of_class())
    }

    /// Observed fuzziness: mean sum of the false labels' p-values.
    pub fn fuzziness(&self) -> f64 {
        ratio(self.p_sum - self.p_true, self.rows())
    }

    /// The number of test rows of each class.
    pub fn rows_of_class(&self) -> Vec<u32> {
        self.confusion.chunks(self.classes().max(1)).map(|row| row.iter().sum()).collect()
    }

    /// The metrics of each class; 0 where a ratio is undefined.
    pub fn per_class(&self) -> Vec<ClassMetrics> {
        let classes = self.classes();
        let scores = class_scores(&self.confusion, classes);
        let class = |(k, scores): (usize, ClassScores)| {
            let n = self.confusion[k * classes..][..classes].iter().sum();
            ClassMetrics {
                n,
                coverage: ratio(self.covered[k], n),
                set_size: ratio(self.set_sizes[k], n),
                precision: scores.precision,
                recall: scores.recall,
                f1: scores.f1,
            }
        };
        scores.enumerate().map(class).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_rows() {
        let mut tally = Tally::new(3);
        tally.add(0, 0, &[0.9, 0.05, 0.1], 0.1); // {0}: certain
        tally.add(0, 1, &[0.2, 0.3, 0.4], 0.1); // all
        tally.add(1, 1, &[0.1, 0.1, 0.0], 0.1); // empty: p > ε is strict
        tally.add(1, 0, &[0.5, 0.0, 0.0], 0.1); // {0}: sure and wrong
        assert_eq!(tally.confusion, [1, 1, 0, 1, 1, 0, 0, 0, 0]);
        assert_eq!((tally.rows(), tally.certain, tally.full, tally.empty), (4, 1, 1, 1));
        assert!((tally.p_sum - (1.05 + 0.9 + 0.2 + 0.5)).abs() < 1e-15);
        assert!((tally.p_max - (0.9 + 0.4 + 0.1 + 0.5)).abs() < 1e-15);
        let class = tally.per_class();
        assert_eq!((class[0].n, class[0].coverage, class[0].set_size), (2, 1.0, 2.0));
        assert_eq!((class[1].n, class[1].coverage, class[1].set_size), (2, 0.0, 0.5));
        let absent = ClassMetrics {
            n: 0,
            coverage: 0.0,
            set_size: 0.0,
            precision: 0.0,
            recall: 0.0,
            f1: 0.0,
        };
        assert_eq!(class[2], absent);
    }
}
