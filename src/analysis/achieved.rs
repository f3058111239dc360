//! What the splits' own subsets achieved on their test rows, over all rows and by class.

use serde::Serialize;

use super::{Metric, Paths, RuleSize, Tested, class_mean, coverage_band};
use crate::evaluate::{ClassMetrics, ClassPerformance, Spread, Tally, normalised_inefficiency};

/// Means over the splits' own subsets. Where the size was chosen on test rows, that of each split
/// comes from the other splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Achieved {
    /// Whether each split was measured at the size that the other splits choose.
    pub leave_one_split_out: bool,
    /// Mean coverage.
    pub coverage: f64,
    /// 95 % band of one split's coverage, where there is one.
    pub coverage_band: Option<(f64, f64)>,
    /// Mean set size.
    pub inefficiency: f64,
    /// Its standard deviation over splits.
    pub inefficiency_sd: Option<f64>,
    /// (N − 1)/(m − 1).
    pub inefficiency_normalised: f64,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Its standard deviation over splits.
    pub accuracy_sd: Option<f64>,
}

impl Achieved {
    pub(super) fn new(paths: &Paths<'_>, chosen: &RuleSize) -> Option<Self> {
        let info = paths.info;
        let parts = paths.traces().next()?.parts();
        let tallies: Vec<&Tally> =
            paths.achieved(chosen).into_iter().map(|(_, tally)| tally).collect();
        let spread = |metric: Metric| {
            Spread::of(&tallies.iter().map(|tally| metric.value(tally)).collect::<Vec<f64>>())
        };
        let (inefficiency, accuracy) = (spread(Metric::Inefficiency)?, spread(Metric::Accuracy)?);
        Some(Self {
            leave_one_split_out: paths.leaves_one_split_out(chosen),
            coverage: spread(Metric::Coverage)?.mean,
            coverage_band: coverage_band(&info.spec, parts).map(|band| (band.lo, band.hi)),
            inefficiency: inefficiency.mean,
            inefficiency_sd: inefficiency.sd,
            inefficiency_normalised: normalised_inefficiency(inefficiency.mean, info.classes.len()),
            accuracy: accuracy.mean,
            accuracy_sd: accuracy.sd,
        })
    }
}

impl<'a> Paths<'a> {
    /// Whether what a size achieved is measured leave-one-split-out: where the size was chosen on
    /// test rows.
    fn leaves_one_split_out(&self, chosen: &RuleSize) -> bool {
        self.procedure(chosen.stop, &self.info.spec.beta_rule).leaves_one_split_out(self.len())
    }

    /// What the subsets of the chosen size achieved: the number of each split and its counts.
    pub(super) fn achieved(&self, chosen: &RuleSize) -> Vec<(usize, &'a Tally)> {
        let Some(size) = chosen.size else { return Vec::new() };
        let procedure = self.procedure(chosen.stop, &self.info.spec.beta_rule);
        let sizes = procedure.measured_sizes(&self.all(), size);
        let at = |((split, trace), size): ((usize, &'a super::Trace), usize)| {
            Some((split, &trace.at_size(size)?.tally))
        };
        self.splits().zip(sizes).filter_map(at).collect()
    }
}

/// One class of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassAnswer {
    /// Its label.
    pub class: String,
    /// Its rows: those that were tested, or all if none was.
    pub rows: usize,
    /// On rows that the procedure never saw.
    pub tested: Option<ClassPerformance>,
    /// On the test rows of the splits, at the chosen size: means over the splits.
    pub splits: Option<ClassMeans>,
}

/// Means of one class over the splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClassMeans {
    /// Share of its rows whose set holds the class.
    pub coverage: f64,
    /// Mean set size.
    pub set_size: f64,
    /// Share of its rows predicted right.
    pub recall: f64,
    /// Of the rows predicted as this class, the share that is.
    pub precision: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

impl ClassAnswer {
    /// All classes, worst first: by the share of their rows predicted right, then by coverage.
    pub(super) fn all(paths: &Paths<'_>, chosen: &RuleSize, tested: Option<&Tested>) -> Vec<Self> {
        let info = paths.info;
        let splits: Vec<Vec<ClassMetrics>> =
            paths.achieved(chosen).iter().map(|(_, tally)| tally.per_class()).collect();
        let tested = tested.and_then(|tested| tested.performance.as_ref());
        let class = |(class, label): (usize, &String)| {
            let tested = tested.and_then(|tested| tested.classes.get(class).cloned());
            Self {
                class: label.clone(),
                rows: tested.as_ref().map_or(info.class_counts[class], |tested| tested.rows),
                tested,
                splits: ClassMeans::new(&splits, class),
            }
        };
        let mut classes: Vec<Self> = info.classes.iter().enumerate().map(class).collect();
        if chosen.size.is_none() && tested.is_none() {
            classes.clear();
        }
        classes.sort_by(|a, b| {
            a.order().0.total_cmp(&b.order().0).then(a.order().1.total_cmp(&b.order().1))
        });
        classes
    }

    /// Recall and coverage; a class of which nothing is known comes last.
    fn order(&self) -> (f64, f64) {
        let tested = self
            .tested
            .as_ref()
            .and_then(|tested| Some((tested.recall?.value, tested.coverage?.value)));
        tested
            .or(self.splits.map(|means| (means.recall, means.coverage)))
            .unwrap_or((f64::INFINITY, 0.0))
    }
}

impl ClassMeans {
    fn new(splits: &[Vec<ClassMetrics>], class: usize) -> Option<Self> {
        let mean = |value: fn(&ClassMetrics) -> f64| class_mean(splits, class, value);
        Some(Self {
            coverage: mean(|class| class.coverage)?,
            set_size: mean(|class| class.set_size)?,
            recall: mean(|class| class.recall)?,
            precision: mean(|class| class.precision)?,
            f1: mean(|class| class.f1)?,
        })
    }
}
