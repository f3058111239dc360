//! The order in which removable units are removed: constants first, then by score, ties by
//! position.

use std::cmp::Ordering;

/// Criteria with a smaller relative difference are tied: the lowest unit is removed first.
pub(super) const TIE: f64 = 1e-9;

/// A removable unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) unit: usize,
    /// β or Σ w², as shown.
    pub(super) criterion: f64,
    /// The higher, the sooner it is removed.
    pub(super) removal_score: f64,
    pub(super) constant: bool,
}

impl Candidate {
    /// Constants first, then by removal score, then by position.
    fn before(&self, other: &Self) -> Ordering {
        let removal_score = other.removal_score.total_cmp(&self.removal_score);
        other.constant.cmp(&self.constant).then(removal_score).then(self.unit.cmp(&other.unit))
    }

    /// Whether the criteria are equal within rounding. An infinite or undefined one may not even
    /// tie with itself.
    fn ties(&self, other: &Self) -> bool {
        let (a, b) = (self.removal_score, other.removal_score);
        self.constant == other.constant
            && (self.constant || (a - b).abs() <= TIE * a.abs().max(b.abs()))
    }
}

/// The first `count` candidates; among tied ones the lowest unit comes first.
pub(super) fn first_to_go(mut candidates: Vec<Candidate>, count: usize) -> Vec<Candidate> {
    if candidates.len() > count && count > 0 {
        let (_, &mut last, _) = candidates.select_nth_unstable_by(count - 1, Candidate::before);
        candidates.retain(|candidate| {
            candidate.before(&last) != Ordering::Greater || candidate.ties(&last)
        });
    }
    candidates.sort_unstable_by(Candidate::before);
    let mut start = 0;
    while start < candidates.len() {
        let head = candidates[start];
        let tied =
            candidates[start..].iter().take_while(|candidate| candidate.ties(&head)).count().max(1);
        candidates[start..start + tied].sort_unstable_by_key(|candidate| candidate.unit);
        start += tied;
    }
    candidates.truncate(count);
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(unit: usize, removal_score: f64) -> Candidate {
        Candidate { unit, criterion: removal_score, removal_score, constant: false }
    }

    fn units_of(order: Vec<Candidate>) -> Vec<usize> {
        order.into_iter().map(|candidate| candidate.unit).collect()
    }

    #[test]
    fn ties_go_by_position_and_constants_first() {
        let close = 5.0 * (1.0 + 1e-11);
        let mut candidates =
            vec![candidate(0, 1.0), candidate(1, 5.0), candidate(2, close), candidate(3, -2.0)];
        assert_eq!(units_of(first_to_go(candidates.clone(), 1)), [1]);
        candidates[3].constant = true;
        assert_eq!(units_of(first_to_go(candidates.clone(), 2)), [3, 1]);
        assert_eq!(units_of(first_to_go(candidates, 9)), [3, 1, 2, 0]);
    }

    proptest::proptest! {
        #[test]
        fn choosing_ends_for_any_criterion(
            removal_scores in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::num::f64::ANY,
                    proptest::sample::select(vec![f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0]),
                ],
                0..12,
            ),
            count in 0_usize..14,
        ) {
            let candidates: Vec<Candidate> =
                removal_scores.iter().enumerate().map(|(unit, &removal_score)| candidate(unit, removal_score)).collect();
            let mut order = units_of(first_to_go(candidates, count));
            proptest::prop_assert_eq!(order.len(), count.min(removal_scores.len()));
            order.sort_unstable();
            order.dedup();
            proptest::prop_assert_eq!(order.len(), count.min(removal_scores.len()), "each unit once");
        }
    }
}
