//! From the paths of several splits to one size and one list (docs/method.md section 11). The same
//! procedure makes the answer of a run and the lists of the validation's folds.

use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Kept, Metric, Tally, by_frequency, median};
use crate::select::{BetaRule, CurveBySplit, StopRule, one_se_size, one_se_sizes_without_each};

/// A finished path of one split, as the choice of a size and a list sees it.
pub trait FinishedPath {
    /// The sizes visited, falling.
    fn sizes(&self) -> Vec<usize>;
    /// What was counted on the test rows at a size.
    fn tally(&self, size: usize) -> Option<&Tally>;
    /// The size chosen by a rule that looks at this path alone.
    fn stop(&self, rule: StopRule, beta_rule: &BetaRule, units: usize) -> Option<usize>;
    /// The rank of each unit, 1 the last survivor; none for a unit that is never removed.
    fn ranks(&self) -> &[Option<u32>];
}

/// A metric whose curve by size the rule `1se` can look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SizeCurve {
    metric: Metric,
    words: &'static str,
    low_is_good: bool,
}

impl SizeCurve {
    /// Mean set size.
    pub const INEFFICIENCY: Self = Self::low(Metric::Inefficiency, "mean set size");
    /// Share of rows predicted right.
    pub const ACCURACY: Self = Self::high(Metric::Accuracy, "accuracy");
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::INEFFICIENCY,
        Self::ACCURACY,
        Self::low(Metric::SScore, "mean sum of p-values"),
        Self::high(Metric::RecallMacro, "balanced accuracy"),
        Self::high(Metric::F1Macro, "macro-averaged F1"),
        Self::high(Metric::Auc, "area under the ROC curve"),
    ];

    const fn low(metric: Metric, words: &'static str) -> Self {
        Self { metric, words, low_is_good: true }
    }

    const fn high(metric: Metric, words: &'static str) -> Self {
        Self { metric, words, low_is_good: false }
    }

    /// The name in files and on the command line: that of the metric.
    pub fn name(self) -> &'static str {
        self.metric.key()
    }

    /// What it is called in a sentence.
    pub fn words(self) -> &'static str {
        self.words
    }

    /// The value of one model, with its sign chosen so that small is good.
    fn loss(self, tally: &Tally) -> f64 {
        let value = self.metric.value(tally);
        if self.low_is_good { value } else { -value }
    }
}

impl Serialize for SizeCurve {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SizeCurve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for SizeCurve {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|curve| curve.name() == text)
            .ok_or_else(|| format!("write one or more of {names}, separated by commas"))
    }
}

/// How a size and a list come from the paths of several splits.
#[derive(Debug, Clone, Copy)]
pub struct Procedure<'a> {
    /// The rule that chooses the size.
    pub rule: StopRule,
    /// The parameters of the β rule.
    pub beta_rule: &'a BetaRule,
    /// The curves that `1se` looks at.
    pub by: &'a [SizeCurve],
    /// The number of units.
    pub units: usize,
    /// How many of them are never removed.
    pub kept: usize,
}

impl Procedure<'_> {
    /// The size; `None` if the rule chooses none.
    pub fn size<P: FinishedPath>(&self, paths: &[&P]) -> Option<usize> {
        if self.nothing_to_eliminate() {
            return (self.rule != StopRule::None && !paths.is_empty()).then_some(self.units);
        }
        if self.rule == StopRule::OneSe {
            return self.with_curves(paths, one_se_size);
        }
        let sizes = paths
            .iter()
            .filter_map(|path| path.stop(self.rule, self.beta_rule, self.units))
            .collect();
        let visited: Vec<usize> = paths.iter().flat_map(|path| path.sizes()).collect();
        median_size(sizes, &visited)
    }

    /// Whether what a size achieves is measured leave-one-split-out: where the size was chosen on
    /// test rows.
    pub fn leaves_one_split_out(&self, splits: usize) -> bool {
        self.rule == StopRule::OneSe && splits > 1
    }

    /// The size at which each split is measured: the chosen one, or that which the other splits
    /// choose.
    pub fn measured_sizes<P: FinishedPath>(&self, paths: &[&P], chosen: usize) -> Vec<usize> {
        if !self.leaves_one_split_out(paths.len()) {
            return vec![chosen; paths.len()];
        }
        self.one_se_sizes_without_each(paths)
            .into_iter()
            .map(|size| size.unwrap_or(chosen))
            .collect()
    }

    /// The size of the rule `1se` for each path, from the other paths alone.
    pub fn one_se_sizes_without_each<P: FinishedPath>(&self, paths: &[&P]) -> Vec<Option<usize>> {
        if self.nothing_to_eliminate() {
            return vec![Some(self.units); paths.len()];
        }
        self.with_curves(paths, one_se_sizes_without_each)
    }

    fn nothing_to_eliminate(&self) -> bool {
        self.units <= self.kept.max(1)
    }

    /// Hands over the curves of `by` at the sizes that every path visits.
    fn with_curves<P: FinishedPath, R>(
        &self,
        paths: &[&P],
        use_them: fn(&[CurveBySplit<'_>]) -> R,
    ) -> R {
        let sizes = common_sizes(paths);
        let values: Vec<Vec<Vec<f64>>> = self
            .by
            .iter()
            .map(|curve| {
                let of_path = |path: &&P| -> Vec<f64> {
                    let loss = |&size| path.tally(size).map_or(f64::NAN, |tally| curve.loss(tally));
                    sizes.iter().map(loss).collect()
                };
                paths.iter().map(of_path).collect()
            })
            .collect();
        let curves: Vec<CurveBySplit<'_>> =
            values.iter().map(|values| CurveBySplit { sizes: &sizes, values }).collect();
        use_them(&curves)
    }

    /// All removable units, best first, with the number of splits that keep them at a size.
    pub fn by_frequency<P: FinishedPath>(&self, paths: &[&P], size: usize) -> Vec<Kept> {
        by_frequency(paths.iter().map(|path| path.ranks()), size.saturating_sub(self.kept))
    }
}

/// The sizes that every path visits, falling.
pub fn common_sizes<P: FinishedPath>(paths: &[&P]) -> Vec<usize> {
    let Some((first, others)) = paths.split_first() else { return Vec::new() };
    let visited = |size: &usize| others.iter().all(|path| path.tally(*size).is_some());
    first.sizes().into_iter().filter(visited).collect()
}

/// The visited size nearest to the median of some sizes, the smaller on a tie.
pub fn median_size(mut sizes: Vec<usize>, visited: &[usize]) -> Option<usize> {
    sizes.sort_unstable();
    let median = median(&sizes)?;
    let distance = |size: usize| (size as f64 - median).abs();
    visited.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_visited_size() {
        let visited = [10, 5, 2, 1];
        assert_eq!(median_size(vec![5, 10], &visited), Some(5));
        assert_eq!(median_size(vec![2, 1], &visited), Some(1));
        assert_eq!(median_size(Vec::new(), &visited), None);
    }

    #[test]
    fn curves_are_known_by_the_names_of_their_metrics() {
        for curve in SizeCurve::ALL {
            assert_eq!(curve.name().parse(), Ok(curve));
            let written = serde_json::to_string(&curve).unwrap();
            assert_eq!(written, format!("\"{}\"", curve.name()));
            assert_eq!(serde_json::from_str::<SizeCurve>(&written).unwrap(), curve);
        }
        assert!("size".parse::<SizeCurve>().unwrap_err().contains("inefficiency, accuracy"));
    }
}
