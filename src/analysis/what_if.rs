//! What a forced choice changes: the branch beside the path that it leaves, judged at one size.

use std::sync::Arc;

use super::{History, Metric};
use crate::run::{Branch, Forced, Step};

/// One metric on both paths of a split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BranchMetric {
    pub metric: Metric,
    /// Its value on the main path.
    pub main: f64,
    /// Its value on the branch.
    pub branch: f64,
    /// Standard deviation over the splits at this size; none before a second split.
    pub sd: Option<f64>,
}

/// What the branch is, compared with the main path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchVerdict {
    /// Both have the same features.
    Same,
    /// No metric differs by more than it varies over the splits.
    NoDifference,
    /// One is better by more than that, none worse.
    Better,
    /// One is worse by more than that, none better.
    Worse,
    /// One is better, another worse.
    Mixed,
    /// There is one split, so nothing says how much a metric varies.
    Unknown,
}

/// The branch and the main path at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchComparison {
    /// The size: that of the answer where both have come to it, else the largest below the choice.
    pub size: usize,
    /// Whether it is the size of the answer.
    pub is_answer: bool,
    /// Set size and accuracy.
    pub metrics: [BranchMetric; 2],
    /// What they come to.
    pub verdict: BranchVerdict,
}

impl BranchComparison {
    /// Compares a branch with its path; none while the path has not come below the choice.
    pub fn new(history: &History, branch: &Branch, answer: Option<usize>) -> Option<Self> {
        let trace = history.trace(branch.task)?;
        let curve = history.curve(branch.task.method)?;
        let both = || {
            let below = branch.steps.iter().filter(|step| step.size < branch.from);
            below.filter_map(|step| Some((step, trace.at_size(step.size)?)))
        };
        let (other, main) =
            both().find(|(step, _)| Some(step.size) == answer).or_else(|| both().next())?;
        let metrics = [Metric::Inefficiency, Metric::Accuracy].map(|metric| BranchMetric {
            metric,
            main: metric.value(&main.tally),
            branch: metric.value(&other.tally),
            sd: curve.spread(main.size, metric).and_then(|spread| spread.sd),
        });
        let verdict = if has_same_features(branch, trace.steps(), main.size) {
            BranchVerdict::Same
        } else {
            judge(&metrics)
        };
        Some(Self { size: main.size, is_answer: Some(main.size) == answer, metrics, verdict })
    }
}

/// Whether branch and path have removed the same features on their way to a size.
fn has_same_features(branch: &Branch, steps: &[Arc<Step>], size: usize) -> bool {
    let passed = steps.iter().filter(|step| (size + 1..=branch.from).contains(&step.size));
    let mut main: Vec<usize> = passed.flat_map(|step| step.removed.iter().copied()).collect();
    let first = match branch.forced {
        Forced::Removed(unit) => Some(unit),
        Forced::Kept(_) => None,
    };
    let later = branch.steps.iter().filter(|step| step.size > size).filter_map(|step| step.removed);
    let mut other: Vec<usize> = first.into_iter().chain(later).collect();
    main.sort_unstable();
    other.sort_unstable();
    main == other
}

fn judge(metrics: &[BranchMetric]) -> BranchVerdict {
    if metrics.iter().any(|own| own.sd.is_none()) {
        return BranchVerdict::Unknown;
    }
    let gain = |own: &BranchMetric| match own.metric {
        Metric::Inefficiency => own.main - own.branch,
        _ => own.branch - own.main,
    };
    let is_better = metrics.iter().any(|own| own.sd.is_some_and(|sd| gain(own) > sd));
    let is_worse = metrics.iter().any(|own| own.sd.is_some_and(|sd| gain(own) < -sd));
    match (is_better, is_worse) {
        (false, false) => BranchVerdict::NoDifference,
        (true, false) => BranchVerdict::Better,
        (false, true) => BranchVerdict::Worse,
        (true, true) => BranchVerdict::Mixed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(metric: Metric, main: f64, branch: f64) -> BranchMetric {
        BranchMetric { metric, main, branch, sd: Some(0.05) }
    }

    #[test]
    fn only_what_exceeds_the_spread_between_splits_counts() {
        let of = |sets: f64, accuracy: f64| {
            judge(&[
                metric(Metric::Inefficiency, 1.2, sets),
                metric(Metric::Accuracy, 0.8, accuracy),
            ])
        };
        assert_eq!(of(1.24, 0.76), BranchVerdict::NoDifference);
        assert_eq!(of(1.26, 0.8), BranchVerdict::Worse);
        assert_eq!(of(1.1, 0.8), BranchVerdict::Better);
        assert_eq!(of(1.1, 0.9), BranchVerdict::Better);
        assert_eq!(of(1.1, 0.7), BranchVerdict::Mixed);
        let alone = BranchMetric { sd: None, ..metric(Metric::Accuracy, 0.8, 0.7) };
        assert_eq!(judge(&[alone]), BranchVerdict::Unknown);
    }
}
