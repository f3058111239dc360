//! p-values where rows come in groups (several rows of one patient): each conformal group has one
//! vote, shared by its rows, so that coverage holds for a row of a new group (docs/method.md
//! section 6).

use std::collections::HashMap;

/// Votes are added up in units of 2⁻⁴⁴, so that the shares of a whole group add up to exactly one
/// vote.
const STEPS_PER_VOTE: f64 = 17_592_186_044_416.0;

/// The share of a vote that each conformal row has, and the number of groups in each category.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupVotes {
    /// 1/n_g for the row in each slot.
    pub(super) shares: Vec<f64>,
    /// G for each category (all rows, or each class under Mondrian).
    pub(super) groups: Vec<usize>,
}

impl GroupVotes {
    /// Takes category, slot and group of every conformal row.
    pub(super) fn new(
        rows: impl Iterator<Item = (usize, usize, usize)> + Clone,
        categories: usize,
    ) -> Self {
        let mut sizes: HashMap<(usize, usize), f64> = HashMap::new();
        for (category, _, group) in rows.clone() {
            *sizes.entry((category, group)).or_default() += 1.0;
        }
        let mut groups = vec![0; categories];
        sizes.keys().for_each(|&(category, _)| groups[category] += 1);
        let mut shares = vec![0.0; rows.clone().count()];
        for (category, slot, group) in rows {
            shares[slot] = 1.0 / sizes[&(category, group)];
        }
        Self { shares, groups }
    }

    /// The scores of one category, which lie in the slots from `start`, ready to be asked for
    /// p-values.
    pub(super) fn weigh(&self, category: usize, start: usize, scores: &[f64]) -> WeightedScores {
        let rows = scores.iter().copied().zip(self.shares[start..].iter().copied());
        WeightedScores::new(rows.collect(), self.groups[category])
    }
}

/// Ascending scores of one category with the votes at or above each.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WeightedScores {
    pub(super) scores: Vec<f64>,
    at_least: Vec<f64>,
    pub(super) groups: usize,
}

impl WeightedScores {
    /// Takes the score of each row with its share of a vote.
    pub(super) fn new(mut rows: Vec<(f64, f64)>, groups: usize) -> Self {
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut at_least = vec![0.0; rows.len() + 1];
        for (i, (_, share)) in rows.iter().enumerate().rev() {
            at_least[i] = at_least[i + 1] + share;
        }
        Self { scores: rows.into_iter().map(|(score, _)| score).collect(), at_least, groups }
    }

    /// (1 + votes at or above)/(G + 1); with τ, ties and the row itself count in part.
    pub(super) fn p_value(&self, alpha: f64, tau: Option<f64>) -> f64 {
        let votes = |sum: f64| (sum * STEPS_PER_VOTE).round() / STEPS_PER_VOTE;
        let at_least = votes(self.at_least[self.scores.partition_point(|&score| score < alpha)]);
        let count = match tau {
            None => at_least + 1.0,
            Some(tau) => {
                let above =
                    votes(self.at_least[self.scores.partition_point(|&score| score <= alpha)]);
                above + tau * (at_least - above + 1.0)
            }
        };
        count / (self.groups + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::fixtures::{answer, floats, whole};

    #[test]
    fn p_values_match_the_fixture() {
        for case in answer()["group_p_values"].as_array().unwrap() {
            let groups = whole(&case["group"]);
            let scores = floats(&case["alpha"]);
            let rows = groups.iter().enumerate().map(|(slot, &group)| (0, slot, group));
            let weighed = GroupVotes::new(rows, 1).weigh(0, 0, &scores);
            for (alpha, p) in floats(&case["test"]).into_iter().zip(floats(&case["p"])) {
                assert!((weighed.p_value(alpha, None) - p).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn groups_of_one_row_are_plain_p_values_and_whole_groups_are_whole_votes() {
        let scores = [3.0, 1.0, 2.0];
        let single = GroupVotes::new((0..3).map(|i| (0, i, i)), 1).weigh(0, 0, &scores);
        assert_eq!(single.p_value(2.0, None), 3.0 / 4.0);
        assert_eq!(single.p_value(2.0, Some(0.5)), (1.0 + 0.5 * 2.0) / 4.0);
        // 49 shares of 1/49 do not add up to 1 in floating point.
        let scores = vec![1.0; 49];
        let one = GroupVotes::new((0..49).map(|i| (0, i, 7)), 1).weigh(0, 0, &scores);
        assert_eq!(one.p_value(0.0, None), 1.0);
        assert_eq!(one.p_value(2.0, None), 0.5);
    }
}
