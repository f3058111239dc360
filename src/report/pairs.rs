//! Two methods side by side on the splits that both have finished.

use crate::evaluate::Ranks;
use crate::history::{History, Trace};
use crate::select::Method;

/// Two methods, and their traces on the splits that both have finished.
pub struct Pair<'a> {
    /// The first.
    pub a: Method,
    /// The second.
    pub b: Method,
    /// Their traces, split by split.
    pub both: Vec<(&'a Trace, &'a Trace)>,
}

impl<'a> Pair<'a> {
    /// Each pair of methods.
    pub fn all(history: &'a History) -> Vec<Self> {
        let methods = history.methods();
        let mut pairs = Vec::new();
        for (i, &a) in methods.iter().enumerate() {
            for &b in &methods[i + 1..] {
                let second: std::collections::BTreeMap<usize, &Trace> = history.of_method(b).collect();
                let both: Vec<_> = history
                    .of_method(a)
                    .filter_map(|(split, trace)| second.get(&split).map(|&other| (trace, other)))
                    .collect();
                pairs.push(Pair { a, b, both });
            }
        }
        pairs
    }

    /// The sizes that all traces have visited, falling.
    pub fn sizes(&self) -> Vec<usize> {
        let Some((first, _)) = self.both.first() else { return Vec::new() };
        let visited =
            |size: usize| move |(a, b): &(&Trace, &Trace)| a.at_size(size).and(b.at_size(size)).is_some();
        first
            .steps()
            .iter()
            .map(|step| step.size)
            .filter(|&size| self.both.iter().all(visited(size)))
            .collect()
    }

    /// The ranks of both, split by split.
    pub fn ranks(&self) -> (Vec<Ranks>, Vec<Ranks>) {
        self.both.iter().map(|(a, b)| (a.ranks().to_vec(), b.ranks().to_vec())).unzip()
    }

    /// For every metric, by its name: the differences a − b at a size, one a split.
    pub fn differences(&self, size: usize) -> Vec<(&'static str, Vec<f64>)> {
        let metrics: Vec<_> = self
            .both
            .iter()
            .filter_map(|(a, b)| {
                Some((a.at_size(size)?.tally.metrics().named(), b.at_size(size)?.tally.metrics().named()))
            })
            .collect();
        let names = metrics.first().map_or(Vec::new(), |(named, _)| named.map(|(name, _)| name).to_vec());
        let of = |(metric, name): (usize, &'static str)| {
            (name, metrics.iter().map(|(a, b)| a[metric].1 - b[metric].1).collect())
        };
        names.into_iter().enumerate().map(of).collect()
    }

    /// n_test/(n − n_test), as the corrected t wants it.
    pub fn test_share(&self, rows: usize) -> Option<f64> {
        let (first, _) = self.both.first()?;
        let test = first.parts().test.iter().sum::<usize>() as f64;
        Some(test / (rows as f64 - test))
    }
}
