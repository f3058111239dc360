//! One permutation of the labels: all paths of a method are made again, and only their selection
//! counts and mean sums of p-values are kept (docs/method.md section 14).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RunInfo;
use super::followup::{FollowupKind, FollowupWork, Outcome};
use super::task::{SplitWork, light_path};
use super::validation::{FOLD, inner_seed, splits_within};
use crate::data::seed::Purpose;
use crate::error::Result;

/// What a permuted run achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermutedRun {
    /// For each count c from 1 the smallest number of removable units at which some unit is kept by
    /// c splits.
    pub reached: Vec<usize>,
    /// (size, mean s_score over the splits) at the sizes of [`evaluated`].
    pub s_score: Vec<(usize, f64)>,
}

impl PermutedRun {
    /// Whether a run can have it.
    fn fits(&self, info: &RunInfo) -> bool {
        let Self { reached, s_score } = self;
        reached.len() <= info.splits
            && reached.is_sorted()
            && s_score.iter().all(|&(size, _)| (1..=info.units.len()).contains(&size))
    }

    /// The largest number of splits that keep one unit, when this many removable units are left.
    pub fn largest_count(&self, removable: usize) -> usize {
        self.reached.partition_point(|&size| size <= removable)
    }
}

/// The sizes at which permuted runs are evaluated: all up to 10, then steps of about a tenth. They
/// do not depend on the answer, so that permutations can run before it is known and serve any size.
pub fn evaluated(units: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut size = 1;
    while size <= units {
        sizes.push(size);
        size += (size / 10).max(1);
    }
    sizes
}

/// All splits under permuted labels.
pub(super) const PERMUTATION: FollowupKind = FollowupKind {
    name: "permutation",
    counted: "permutations",
    words: |method, index| format!("{method} under permutation {}", index + 1),
    count: |info| info.permutations,
    // A permuted run is evaluated at all sizes, whichever is chosen.
    determined_by: |_| Value::Null,
    run: |work, go_on| Ok(run_permutation(work, go_on)?.map(Outcome::Permutation)),
    allows: |outcome, info| matches!(outcome, Outcome::Permutation(run) if run.fits(info)),
    ..FOLD
};

fn run_permutation(
    work: &FollowupWork<'_>,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<PermutedRun>> {
    let &FollowupWork { plan, method, index, .. } = work;
    let seed = plan.info.spec.split.seed;
    let rows = plan.splits.rest(&plan.data);
    let permuted = plan.data.labels_of(&rows, &plan.data.y).permuted_labels(seed, index);
    let mut y = plan.data.y.clone();
    rows.iter().zip(permuted).for_each(|(&row, class)| y[row] = class);
    let seed = inner_seed(seed, index, Purpose::Permutation);
    let splits = splits_within(plan, &rows, &y, seed)?;
    let sizes = evaluated(plan.data.units.len());
    let mut counts = vec![0_usize; plan.data.units.len()];
    let mut by_rank: Vec<Vec<usize>> = vec![Vec::new(); plan.data.units.len() + 1];
    let mut sums: Vec<(f64, usize)> = vec![(0.0, 0); sizes.len()];
    for (split, rows) in splits.iter().enumerate() {
        let work = SplitWork::on(plan, rows, Some(&y), seed, split);
        let Some(path) = light_path(plan, &work, method, &sizes, go_on)? else { return Ok(None) };
        for (rank, &unit) in path.order.iter().rev().enumerate() {
            by_rank[rank + 1].push(unit);
        }
        for (size, s_score) in path.s_scores {
            if let Ok(at) = sizes.binary_search(&size) {
                sums[at] = (sums[at].0 + s_score, sums[at].1 + 1);
            }
        }
    }
    let mut reached = Vec::new();
    for (removable, units) in by_rank.iter().enumerate() {
        for &unit in units {
            counts[unit] += 1;
            if counts[unit] > reached.len() {
                reached.push(removable);
            }
        }
    }
    let visited_by_all = |&(_, &(_, count)): &(&usize, &(f64, usize))| count == splits.len();
    let s_score = sizes
        .iter()
        .zip(&sums)
        .filter(visited_by_all)
        .map(|(&size, &(sum, count))| (size, sum / count as f64))
        .collect();
    Ok(Some(PermutedRun { reached, s_score }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_count_grows_with_size() {
        let run = PermutedRun { reached: vec![1, 1, 4, 9], s_score: Vec::new() };
        assert_eq!(
            [0, 1, 3, 4, 8, 9, 50].map(|size| run.largest_count(size)),
            [0, 2, 2, 3, 3, 4, 4]
        );
    }

    #[test]
    fn small_sizes_are_all_evaluated_and_large_ones_in_steps_of_a_tenth() {
        assert_eq!(evaluated(12), (1..=12).collect::<Vec<_>>());
        let sizes = evaluated(20_000);
        assert!(sizes.len() < 100, "{}", sizes.len());
        assert!(sizes.windows(2).all(|pair| pair[1] <= pair[0] + (pair[0] / 10).max(1)));
    }
}
