//! How good is a subset: prediction sets, single predictions, agreement of splits, comparison of methods.
//!
//! Everything measured on the test rows of one model is a [`Tally`] of counts; metrics are read off it. So a journal
//! holds integers, and a mean is computed from what was counted.

mod classic;
mod compare;
mod conformal;
mod consistency;

pub use classic::{ClassScores, MacroScores, class_scores, macro_scores};
pub use compare::{Bootstrap, PairedDifference, paired_difference};
pub use conformal::{
    Band, ConformalSettings, Evaluator, coverage_band, never_excluded, normalised_inefficiency, predicted,
};
pub use consistency::{
    Agreement, Ranks, Similarity, Spread, agreement, agreement_by_size, agreement_from_counts,
    frequency_at_size, selection_frequency, similarity, similarity_by_size,
};

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

impl Tally {
    /// Nothing counted yet.
    pub fn new(classes: usize) -> Self {
        Self {
            confusion: vec![0; classes * classes],
            covered: vec![0; classes],
            set_sizes: vec![0; classes],
            ..Self::default()
        }
    }

    /// Counts one row: its true and its predicted class, the p-value of every label, and the labels' bar ε.
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
    }

    /// m.
    pub fn classes(&self) -> usize {
        self.covered.len()
    }

    /// The number of test rows.
    pub fn rows(&self) -> u32 {
        self.confusion.iter().sum()
    }

    /// The metrics of all rows; 0 where there are none.
    pub fn metrics(&self) -> Metrics {
        let rows = self.rows();
        let scores = macro_scores(&self.confusion, self.classes());
        Metrics {
            coverage: ratio(self.covered.iter().sum::<u32>(), rows),
            inefficiency: ratio(self.set_sizes.iter().sum::<u32>(), rows),
            certainty: ratio(self.certain, rows),
            uncertainty: ratio(self.full, rows),
            mistrust: ratio(self.empty, rows),
            s_score: ratio(self.p_sum, rows),
            credibility: ratio(self.p_max, rows),
            accuracy: scores.accuracy,
            precision_macro: scores.precision,
            recall_macro: scores.recall,
            f1_macro: scores.f1,
        }
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

/// A quotient that is 0 where it is undefined (METHOD.md section 7).
fn ratio(part: impl Into<f64>, whole: impl Into<f64>) -> f64 {
    let whole = whole.into();
    if whole == 0.0 { 0.0 } else { part.into() / whole }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_rows_into_metrics() {
        let mut tally = Tally::new(3);
        tally.add(0, 0, &[0.9, 0.05, 0.1], 0.1); // {0}: certain
        tally.add(0, 1, &[0.2, 0.3, 0.4], 0.1); // all
        tally.add(1, 1, &[0.1, 0.1, 0.0], 0.1); // empty: p > ε is strict
        tally.add(1, 0, &[0.5, 0.0, 0.0], 0.1); // {0}: sure and wrong
        assert_eq!(tally.confusion, [1, 1, 0, 1, 1, 0, 0, 0, 0]);
        let metrics = tally.metrics();
        assert_eq!((metrics.coverage, metrics.inefficiency, metrics.certainty), (0.5, 1.25, 0.25));
        assert_eq!((metrics.uncertainty, metrics.mistrust, metrics.accuracy), (0.25, 0.25, 0.5));
        assert!((metrics.s_score - (1.05 + 0.9 + 0.2 + 0.5) / 4.0).abs() < 1e-15);
        assert!((metrics.credibility - (0.9 + 0.4 + 0.1 + 0.5) / 4.0).abs() < 1e-15);
        let class = tally.per_class();
        assert_eq!((class[0].n, class[0].coverage, class[0].set_size), (2, 1.0, 2.0));
        assert_eq!((class[1].n, class[1].coverage, class[1].set_size), (2, 0.0, 0.5));
        let absent =
            ClassMetrics { n: 0, coverage: 0.0, set_size: 0.0, precision: 0.0, recall: 0.0, f1: 0.0 };
        assert_eq!(class[2], absent);
    }

    #[test]
    fn no_rows_give_zeros() {
        assert!(Tally::new(2).metrics().named().iter().all(|&(_, value)| value == 0.0));
    }
}
