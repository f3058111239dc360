//! What chance would have given: selection counts under permuted labels (docs/method.md section
//! 14).

/// Relative: what rounding may add to a sum of p-values.
const ROUNDING: f64 = 1e-12;

/// The largest selection count of each permutation, ready to judge counts of the real run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chance {
    /// M_q, ascending.
    largest: Vec<usize>,
}

impl Chance {
    /// Takes M_q for every permutation.
    pub fn new(mut largest: Vec<usize>) -> Self {
        largest.sort_unstable();
        Self { largest }
    }

    /// How many permutations there are.
    pub fn permutations(&self) -> usize {
        self.largest.len()
    }

    /// The 95 % quantile of M_q: the smallest value with at least 95 % of them at or below it.
    pub fn count(&self) -> Option<usize> {
        // ⌈0.95 n⌉ in whole numbers.
        let position = (95 * self.largest.len()).div_ceil(100);
        position.checked_sub(1).map(|at| self.largest[at])
    }

    /// Westfall and Young's adjusted p of a feature that this many splits keep: family-wise over
    /// all features.
    pub fn adjusted_p(&self, count: usize) -> f64 {
        let below = self.largest.partition_point(|&largest| largest < count);
        permutation_p(self.largest.len() - below, self.largest.len())
    }
}

/// How many permutations are at least as good, in a statistic where small is good. Values that
/// differ by rounding alone are tied, and a tie counts.
pub fn as_small(real: f64, permuted: &[f64]) -> usize {
    let limit = real + ROUNDING * real.abs();
    permuted.iter().filter(|&&value| value <= limit).count()
}

/// p of a statistic: (1 + permutations at least as good)/(permutations + 1).
pub fn permutation_p(as_extreme: usize, permutations: usize) -> f64 {
    (1 + as_extreme) as f64 / (permutations + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::fixtures::{answer, floats, whole};

    #[test]
    fn sums_that_are_equal_but_for_rounding_are_tied() {
        let (real, permuted) = (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1);
        assert!(permuted < real, "rounding matters here");
        assert_eq!(as_small(permuted, &[real]), 1);
        assert_eq!(as_small(real, &[permuted]), 1);
        assert_eq!(as_small(0.5, &[real]), 0);
    }

    #[test]
    fn fixtures_agree_on_chance() {
        for case in answer()["permutation"].as_array().unwrap() {
            let chance = Chance::new(whole(&case["max_counts"]));
            assert_eq!(chance.count(), Some(case["by_chance"].as_u64().unwrap() as usize));
            let p: Vec<f64> =
                whole(&case["counts"]).iter().map(|&count| chance.adjusted_p(count)).collect();
            for (ours, theirs) in p.iter().zip(floats(&case["adjusted_p"])) {
                assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn without_permutations_nothing_is_significant() {
        let none = Chance::new(Vec::new());
        assert_eq!((none.count(), none.adjusted_p(20)), (None, 1.0));
        assert_eq!(permutation_p(as_small(1.0, &[]), 0), 1.0);
        assert_eq!(permutation_p(as_small(1.0, &[1.0, 2.0, 0.5]), 3), 0.75);
    }
}
