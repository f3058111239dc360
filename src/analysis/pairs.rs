//! Two methods side by side on the splits that both have finished.

use super::{History, Metric, Trace};
use crate::evaluate::{Bootstrap, PairedDifference, common_sizes};
use crate::run::RunInfo;
use crate::select::Method;

/// Two methods, and their traces on the splits that both have finished.
pub struct Pair<'a> {
    pub info: &'a RunInfo,
    /// The first.
    pub a: Method,
    /// The second.
    pub b: Method,
    /// Their traces, split by split.
    pub both: Vec<(&'a Trace, &'a Trace)>,
}

/// How two methods differ at a size: for each metric a − b, paired over splits.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeDifferences {
    /// The first.
    pub a: Method,
    /// The second.
    pub b: Method,
    pub size: usize,
    /// Metric by metric, with interval and corrected p.
    pub differences: Vec<(Metric, PairedDifference)>,
}

impl SizeDifferences {
    /// The difference of one metric.
    pub fn of(&self, metric: Metric) -> Option<&PairedDifference> {
        self.differences
            .iter()
            .find(|(other, _)| *other == metric)
            .map(|(_, difference)| difference)
    }
}

impl<'a> Pair<'a> {
    /// Each pair of methods.
    pub fn all(history: &'a History, info: &'a RunInfo) -> Vec<Self> {
        let methods = history.methods();
        let mut pairs = Vec::new();
        for (i, &a) in methods.iter().enumerate() {
            for &b in &methods[i + 1..] {
                let second: std::collections::BTreeMap<usize, &Trace> =
                    history.of_method(b).collect();
                let both: Vec<_> = history
                    .of_method(a)
                    .filter_map(|(split, trace)| second.get(&split).map(|&other| (trace, other)))
                    .collect();
                pairs.push(Pair { info, a, b, both });
            }
        }
        pairs
    }

    /// The sizes that all traces have visited, falling.
    pub fn sizes(&self) -> Vec<usize> {
        let all: Vec<&Trace> = self.both.iter().flat_map(|&(a, b)| [a, b]).collect();
        common_sizes(&all)
    }

    /// For every metric the differences a − b at a size, one per split.
    pub fn differences(&self, size: usize) -> Vec<(Metric, Vec<f64>)> {
        let tallies: Vec<_> = self
            .both
            .iter()
            .filter_map(|(a, b)| Some((&a.at_size(size)?.tally, &b.at_size(size)?.tally)))
            .collect();
        let of = |&metric: &Metric| {
            (metric, tallies.iter().map(|(a, b)| metric.value(a) - metric.value(b)).collect())
        };
        Metric::ALL.iter().map(of).collect()
    }

    /// Every difference at a size, judged; `None` if no split has come to it.
    pub fn comparison(&self, size: usize) -> Option<SizeDifferences> {
        let share = self.test_share()?;
        let mut bootstrap = Bootstrap::new(self.info.spec.split.seed);
        let judged = |(metric, values): (Metric, Vec<f64>)| {
            Some((metric, bootstrap.paired(&values, share)?))
        };
        let differences: Vec<_> = self.differences(size).into_iter().filter_map(judged).collect();
        let has_any = !differences.is_empty();
        has_any.then_some(SizeDifferences { a: self.a, b: self.b, size, differences })
    }

    /// n_test/(n − n_test), as the corrected t wants it.
    pub fn test_share(&self) -> Option<f64> {
        let (first, _) = self.both.first()?;
        let test = first.parts().test.iter().sum::<usize>() as f64;
        Some(test / (self.info.rows as f64 - test))
    }
}
