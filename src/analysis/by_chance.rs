//! What the permutations of the labels say about a method's answer, as far as they have come
//! (docs/method.md section 14).

use serde::Serialize;

use super::{Choice, History, LEVEL, Metric, Paths, p_words};
use crate::evaluate::{Chance, as_small, permutation_p};
use crate::run::{
    DEFAULT_PERMUTATIONS, Kind, Outcome, PERMUTATION_BUDGET, PermutedRun, RunInfo, evaluated,
};
use crate::select::StopRule;

/// With fewer permutations no p can reach [`LEVEL`].
pub const FEWEST_PERMUTATIONS: usize = 19;

/// How many label permutations a run has, and why: the default depends on the nominal cost, never
/// on a clock.
pub fn permutation_words(info: &RunInfo) -> String {
    let seconds = |count: usize| {
        let seconds = info.permutation_cost.unwrap_or(0.0) * count as f64;
        if seconds < 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
    };
    let [most, fewest] = DEFAULT_PERMUTATIONS;
    let count = info.permutations;
    let budget = PERMUTATION_BUDGET;
    match info.permutation_cost {
        None if info.spec.split.splits_from.is_some() => {
            "no label permutations: the splits that were given belong to the labels as they are"
                .to_owned()
        }
        None if count == 0 => {
            "no label permutations, as asked: nothing is known about what chance would select"
                .to_owned()
        }
        None => format!("{count} label permutations, as asked"),
        Some(_) if count == most => {
            format!(
                "{count} label permutations (nominal cost {} s; the default allows {budget} s)",
                seconds(most)
            )
        }
        Some(_) if count > 0 => format!(
            "{count} label permutations ({most} have a nominal cost of {} s, and the default allows {budget} s; --permutations {most} runs them)",
            seconds(most)
        ),
        Some(_) => format!(
            "no label permutations: even {fewest} have a nominal cost of {} s, and the default allows {budget} s; --permutations {fewest} runs them",
            seconds(fewest)
        ),
    }
}

/// What chance selects at the size of the answer, and how well it predicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByChance {
    /// Permutations that have ended.
    pub permutations: usize,
    pub of_permutations: usize,
    /// How many splits keep some feature by chance: the 95 % quantile of the largest count under
    /// permuted labels.
    pub count: usize,
    /// p of the whole: how often permuted labels give a mean sum of p-values as small as that of
    /// the real ones.
    pub p: Option<f64>,
    /// In how many permutations they do.
    pub at_least_as_good: usize,
    /// Where the whole was compared.
    pub compared: Compared,
    /// The size of the real labels in that comparison.
    pub compared_at: Option<usize>,
    /// Whether the size was chosen by hand: p of the whole is then not one of this list.
    #[serde(skip)]
    pub size_is_by_hand: bool,
    #[serde(skip)]
    chance: Chance,
}

/// The size at which real and permuted labels are compared as a whole. Where the data choose the
/// size, permuted labels must be given the same choice: judged at a size that suits the real ones,
/// they look worse than they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compared {
    /// A size that was fixed before the run: the same for all.
    FixedSize,
    /// The real labels and each permutation at the size where they do best.
    BestSize,
}

impl Compared {
    fn new(choice: &Choice) -> Self {
        match (choice.rule, choice.size) {
            (StopRule::Size(_), None) => Self::FixedSize,
            _ => Self::BestSize,
        }
    }

    /// Where a run is judged, of its mean sums of p-values by size: at the largest evaluated size
    /// that is not above the answer's, or at the best.
    fn pick(self, s_scores: &[(usize, f64)], size: usize) -> Option<(usize, f64)> {
        match self {
            Self::FixedSize => {
                s_scores.iter().copied().filter(|&(own, _)| own <= size).max_by_key(|&(own, _)| own)
            }
            Self::BestSize => {
                s_scores.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))
            }
        }
    }
}

impl ByChance {
    /// Reads it off a history; `None` before the first permutation.
    pub fn new(history: &History, paths: &Paths<'_>, choice: &Choice, size: usize) -> Option<Self> {
        let info = paths.info;
        let runs: Vec<&PermutedRun> = history
            .outcomes(Kind::Permutation, paths.method)
            .filter_map(|(_, outcome)| match outcome {
                Outcome::Permutation(run) => Some(run),
                _ => None,
            })
            .collect();
        let removable = size.saturating_sub(info.kept());
        let chance = Chance::new(runs.iter().map(|run| run.largest_count(removable)).collect());
        let compared = Compared::new(choice);
        let real = compared.pick(&real_s_scores(paths), size);
        let permuted: Vec<f64> =
            runs.iter().filter_map(|run| Some(compared.pick(&run.s_score, size)?.1)).collect();
        let at_least_as_good = real.map_or(0, |(_, real)| as_small(real, &permuted));
        Some(Self {
            permutations: runs.len(),
            of_permutations: info.permutations,
            count: chance.count()?,
            p: real.map(|_| permutation_p(at_least_as_good, permuted.len())),
            at_least_as_good,
            compared,
            compared_at: real.map(|(size, _)| size),
            size_is_by_hand: choice.size.is_some(),
            chance,
        })
    }

    /// The adjusted p of a feature that this many splits keep.
    pub fn adjusted_p(&self, count: usize) -> f64 {
        self.chance.adjusted_p(count)
    }

    /// How often permuted labels do as well, in words.
    pub fn words(&self) -> String {
        let p = self.p.map_or_else(String::new, |p| format!(" ({})", p_words(p)));
        match (self.at_least_as_good, self.permutations) {
            (all, permutations) if all == permutations => {
                format!(
                    "all {permutations} label permutations are predicted at least as well as the real labels{p}"
                )
            }
            (1, permutations) => {
                format!(
                    "1 of {permutations} label permutations is predicted at least as well as the real labels{p}"
                )
            }
            (some, permutations) => format!(
                "{some} of {permutations} label permutations are predicted at least as well as the real labels{p}"
            ),
        }
    }

    /// Whether the real labels are predicted better than chance predicts.
    pub fn is_beyond(&self) -> bool {
        self.p.is_some_and(|p| p <= LEVEL)
    }

    /// Whether they are not, however the permutations that are still to come turn out.
    pub fn is_not_beyond(&self) -> bool {
        let in_all = self.of_permutations.max(FEWEST_PERMUTATIONS);
        self.p.is_some() && permutation_p(self.at_least_as_good, in_all) > LEVEL
    }
}

/// The mean sum of p-values of the real labels, at the sizes at which permuted labels are
/// evaluated.
fn real_s_scores(paths: &Paths<'_>) -> Vec<(usize, f64)> {
    let visited = paths.common_sizes();
    let mut at = evaluated(paths.info.units.len());
    at.retain(|size| visited.contains(size));
    let spreads = paths.spreads(&at, &[Metric::SScore]).into_iter().flatten();
    at.into_iter().zip(spreads).filter_map(|(size, own)| Some((size, own?.mean))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_size_is_compared_there_and_a_chosen_one_at_the_best() {
        let s_scores = [(1, 0.9), (5, 0.8), (6, 0.8), (9, 0.85)];
        assert_eq!(Compared::FixedSize.pick(&s_scores, 4), Some((1, 0.9)));
        assert_eq!(Compared::FixedSize.pick(&s_scores, 9), Some((9, 0.85)));
        assert_eq!(Compared::BestSize.pick(&s_scores, 9), Some((5, 0.8)));
        assert_eq!(Compared::BestSize.pick(&[], 9), None);
    }

    #[test]
    fn too_few_permutations_say_neither() {
        let of = |permutations, of_permutations, at_least_as_good| ByChance {
            permutations,
            of_permutations,
            count: 1,
            p: Some(permutation_p(at_least_as_good, permutations)),
            at_least_as_good,
            compared: Compared::BestSize,
            compared_at: Some(1),
            size_is_by_hand: false,
            chance: Chance::new(vec![1; permutations]),
        };
        let said = |chance: ByChance| (chance.is_beyond(), chance.is_not_beyond());
        assert_eq!(said(of(19, 19, 0)), (true, false));
        assert_eq!(said(of(19, 19, 1)), (false, true));
        assert_eq!(said(of(5, 5, 0)), (false, false), "p = 0.17 although none is as good");
        assert_eq!(said(of(5, 5, 1)), (false, true));
        assert_eq!(said(of(10, 99, 4)), (false, false), "the other 89 decide");
        assert_eq!(said(of(10, 99, 5)), (false, true));
    }
}
