//! The 1se rule: the smallest size that is, within one standard error, as good as the best
//! (docs/method.md section 11). Knows curves by size, one per split; not what they measure:
//! `evaluate::Procedure` makes the curves.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{Chooses, Rule, StopRule};

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::OneSe,
    name: "1se",
    symbol: "1se",
    label: "1se rule",
    letter: "1",
    prose: |_| {
        "the smallest size whose paired difference from the best size, over splits, is within one standard error".to_owned()
    },
    chooses: Chooses::BySplits,
};

/// Up to so many splits, each is left out by itself; of more, a block at a time.
const MOST_ALONE: usize = 200;
/// Blocks of more splits.
const BLOCKS: usize = 100;

/// Relative to the largest value: what rounding may add to a sum of values that are equal in exact
/// arithmetic.
const ROUNDING: f64 = 1e-12;

/// One quantity by split and size, with its sign chosen so that small is good.
#[derive(Debug, Clone, Copy)]
pub struct CurveBySplit<'a> {
    /// The sizes, in any order, each once.
    pub sizes: &'a [usize],
    /// For each split the value at every size.
    pub values: &'a [Vec<f64>],
}

/// What the rule reads off one curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneSe {
    /// The size with the smallest mean, the smaller one on a tie.
    pub best: usize,
    /// The smallest size whose mean paired difference from the best is at most its standard error.
    pub size: usize,
    /// Whether every size is within the limit: such a curve says nothing about size.
    pub flat: bool,
}

impl CurveBySplit<'_> {
    /// Applies the rule; `None` without sizes or splits.
    pub fn one_se(&self) -> Option<OneSe> {
        let splits = self.values.len();
        if splits == 0 {
            return None;
        }
        let sum = |at: usize| self.values.iter().map(|values| values[at]).sum::<f64>();
        let by_size = |at: &usize| self.sizes[*at];
        let all = 0..self.sizes.len();
        let least = all.clone().map(sum).min_by(f64::total_cmp)?;
        let largest = self.values.iter().map(|values| largest(values)).fold(0.0, f64::max);
        let rounding = ROUNDING * largest * splits as f64;
        let best = all.clone().filter(|&at| sum(at) <= least + rounding).min_by_key(by_size)?;
        let is_close = |at: &usize| {
            let differences = self.values.iter().map(|values| values[*at] - values[best]);
            let squares = differences.clone().map(|difference| difference.powi(2)).sum();
            is_close(differences.sum(), squares, splits, rounding)
        };
        let close: Vec<usize> = all.filter(is_close).collect();
        Some(OneSe {
            best: self.sizes[best],
            size: close.iter().map(by_size).min()?,
            flat: self.sizes.len() > 1 && close.len() == self.sizes.len(),
        })
    }

    /// The same without each split in turn, or without the block of it. The time grows with the
    /// number of splits, not with its square.
    fn one_se_without_each(&self) -> Vec<Option<OneSe>> {
        let splits = self.values.len();
        if splits < 2 || self.sizes.is_empty() {
            return vec![None; splits];
        }
        let blocks = blocks(splits);
        let others: Vec<usize> = blocks.iter().map(|block| splits - block.len()).collect();
        let rounding: Vec<f64> =
            without_each(&blocks, f64::max, |split| largest(&self.values[split]))
                .iter()
                .zip(&others)
                .map(|(largest, &others)| ROUNDING * largest * others as f64)
                .collect();
        let sums = |at: usize| without_each(&blocks, |a, b| a + b, |split| self.values[split][at]);
        let mut least = vec![f64::INFINITY; blocks.len()];
        for at in 0..self.sizes.len() {
            least.iter_mut().zip(sums(at)).for_each(|(least, sum)| *least = least.min(sum));
        }
        let mut rising: Vec<usize> = (0..self.sizes.len()).collect();
        rising.sort_unstable_by_key(|&at| self.sizes[at]);
        let mut best: Vec<Option<usize>> = vec![None; blocks.len()];
        for &at in &rising {
            for (block, sum) in sums(at).into_iter().enumerate() {
                if best[block].is_none() && sum <= least[block] + rounding[block] {
                    best[block] = Some(at);
                }
            }
        }
        // Differences are from the best size, which is nearly always the same few.
        let mut found: Vec<Option<OneSe>> = vec![None; blocks.len()];
        let bests: BTreeSet<usize> = best.iter().flatten().copied().collect();
        for of in bests {
            let members: Vec<usize> =
                (0..blocks.len()).filter(|&block| best[block] == Some(of)).collect();
            let mut close: Vec<(usize, Option<usize>)> = vec![(0, None); members.len()];
            for &at in &rising {
                let difference = |split: usize| self.values[split][at] - self.values[split][of];
                let sums = without_each(&blocks, |a, b| a + b, difference);
                let squares =
                    without_each(&blocks, |a, b| a + b, |split| difference(split).powi(2));
                for (&block, (count, smallest)) in members.iter().zip(&mut close) {
                    if is_close(sums[block], squares[block], others[block], rounding[block]) {
                        *count += 1;
                        smallest.get_or_insert(self.sizes[at]);
                    }
                }
            }
            for (&block, (count, smallest)) in members.iter().zip(close) {
                found[block] = smallest.map(|size| OneSe {
                    best: self.sizes[of],
                    size,
                    flat: self.sizes.len() > 1 && count == self.sizes.len(),
                });
            }
        }
        let each = blocks.iter().zip(found);
        each.flat_map(|(block, found)| std::iter::repeat_n(found, block.len())).collect()
    }
}

/// The splits that are left out together.
fn blocks(splits: usize) -> Vec<Range<usize>> {
    let blocks = if splits > MOST_ALONE { BLOCKS } else { splits };
    (0..blocks).map(|block| block * splits / blocks..(block + 1) * splits / blocks).collect()
}

/// mean(d) ≤ sd(d)/√K is Σd ≤ 0 or (Σd)² ≤ Σd²; one split has no standard error. Shares such as
/// 7/90 are rounded: sums that are equal in exact arithmetic may differ by that.
fn is_close(sum: f64, squares: f64, splits: usize, rounding: f64) -> bool {
    sum <= rounding || (splits > 1 && sum <= squares.sqrt() + rounding)
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

/// For each block of splits, the sum (or maximum) over all others: of those before it and those
/// after it, so that nothing is subtracted.
fn without_each(
    blocks: &[Range<usize>],
    add: impl Fn(f64, f64) -> f64,
    value: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let of_block = |block: &Range<usize>| block.clone().map(&value).fold(0.0, &add);
    let own: Vec<f64> = blocks.iter().map(of_block).collect();
    let mut sums = vec![0.0; own.len()];
    let mut after = 0.0;
    for (sum, own) in sums.iter_mut().zip(&own).rev() {
        *sum = after;
        after = add(after, *own);
    }
    let mut before = 0.0;
    for (sum, own) in sums.iter_mut().zip(&own) {
        *sum = add(*sum, before);
        before = add(before, *own);
    }
    sums
}

/// The answer's size over several curves: the largest of their sizes, flat curves left out; `None`
/// if all are flat.
pub fn one_se_size(curves: &[CurveBySplit<'_>]) -> Option<usize> {
    curves
        .iter()
        .filter_map(CurveBySplit::one_se)
        .filter(|found| !found.flat)
        .map(|found| found.size)
        .max()
}

/// The same for each split, from the other splits alone; of more than 200 splits, from those
/// outside its block.
pub fn one_se_sizes_without_each(curves: &[CurveBySplit<'_>]) -> Vec<Option<usize>> {
    let splits = curves.first().map_or(0, |curve| curve.values.len());
    let mut sizes = vec![None; splits];
    for curve in curves {
        for (size, found) in sizes.iter_mut().zip(curve.one_se_without_each()) {
            *size = found.filter(|found| !found.flat).map(|found| found.size).max(*size);
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::select::fixtures::{answer, floats, rows, whole};

    #[test]
    fn fixtures_agree_on_every_size() {
        let fixture = answer();
        for case in fixture["one_se"].as_array().unwrap() {
            let sizes: Vec<usize> = whole(&case["sizes"]);
            let inefficiency = rows(&case["inefficiency"]);
            let errors: Vec<Vec<f64>> = rows(&case["accuracy"])
                .iter()
                .map(|row| row.iter().map(|value| -value).collect())
                .collect();
            let curves =
                [&inefficiency, &errors].map(|values| CurveBySplit { sizes: &sizes, values });
            let expected = |key: &str| case[key].as_u64().unwrap() as usize;
            let found = curves.map(|curve| curve.one_se().unwrap());
            assert_eq!(found.map(|f| f.best), ["best_inefficiency", "best_accuracy"].map(expected));
            assert_eq!(found.map(|f| f.size), ["size_inefficiency", "size_accuracy"].map(expected));
            assert_eq!(one_se_size(&curves), Some(expected("size")));
            if !case["leave_one_split_out"].is_null() {
                let expected: Vec<Option<usize>> =
                    whole(&case["leave_one_split_out"]).into_iter().map(Some).collect();
                assert_eq!(one_se_sizes_without_each(&curves), expected);
            }
        }
        assert_eq!(floats(&fixture["one_se"][0]["inefficiency"][0])[0], 2.906206);
    }

    /// Shares of rows tie often, and a tie must not be decided by how their sum is rounded.
    #[test]
    fn ties_are_those_of_exact_arithmetic() {
        let mut rng = Rng::new(8, 0, Purpose::Split);
        for case in 0..2000 {
            let (splits, rows) = (2 + case % 5, 3 + case % 89);
            let sizes: Vec<usize> = (1..=6).rev().collect();
            // Counts that differ little, as neighbouring sizes do.
            let counts: Vec<Vec<i64>> = (0..splits)
                .map(|_| sizes.iter().map(|_| rng.below(4.min(rows)) as i64).collect())
                .collect();
            let sum = |at: &usize| counts.iter().map(|of_split| of_split[*at]).sum::<i64>();
            let best = (0..6).min_by_key(|at| (sum(at), sizes[*at])).unwrap();
            let size = (0..6)
                .filter(|&at| {
                    let differences = counts.iter().map(|of_split| of_split[at] - of_split[best]);
                    let squares: i64 = differences.clone().map(|d| d * d).sum();
                    let sum: i64 = differences.sum();
                    sum <= 0 || sum * sum <= squares
                })
                .map(|at| sizes[at])
                .min()
                .unwrap();
            let share = |&count: &i64| count as f64 / rows as f64;
            let values: Vec<Vec<f64>> =
                counts.iter().map(|of_split| of_split.iter().map(share).collect()).collect();
            let curve = CurveBySplit { sizes: &sizes, values: &values };
            let found = curve.one_se().unwrap();
            assert_eq!((found.best, found.size), (sizes[best], size), "{counts:?} of {rows} rows");
            let without_each: Vec<Option<OneSe>> = (0..splits)
                .map(|left_out| {
                    let mut others = values.clone();
                    others.remove(left_out);
                    CurveBySplit { sizes: &sizes, values: &others }.one_se()
                })
                .collect();
            assert_eq!(curve.one_se_without_each(), without_each, "{counts:?} of {rows} rows");
        }
    }

    #[test]
    fn of_many_splits_each_block_is_left_out() {
        let mut rng = Rng::new(9, 0, Purpose::Split);
        let sizes = [4, 3, 2, 1];
        let (splits, spread) = (450, 3.0);
        let value = |size: usize| 1.0 / (1 + size) as f64;
        let values: Vec<Vec<f64>> = (0..splits)
            .map(|_| sizes.iter().map(|&size| value(size) + spread * rng.uniform()).collect())
            .collect();
        let curve = CurveBySplit { sizes: &sizes, values: &values };
        let without_each = curve.one_se_without_each();
        assert_eq!((without_each.len(), blocks(splits).len()), (splits, BLOCKS));
        for block in blocks(splits) {
            let mut others = values.clone();
            others.drain(block.clone());
            let expected = CurveBySplit { sizes: &sizes, values: &others }.one_se();
            assert!(without_each[block].iter().all(|found| *found == expected));
        }
        // Σd = 2 is more than √Σd² = √2; without one of the two splits that differ, 1 is not.
        let differs = |split| if split == 0 || split == splits - 1 { 1.0 } else { 0.0 };
        let values: Vec<Vec<f64>> = (0..splits).map(|split| vec![0.0, differs(split)]).collect();
        let found = CurveBySplit { sizes: &[2, 1], values: &values }.one_se_without_each();
        let sizes: Vec<usize> = found.into_iter().flatten().map(|found| found.size).collect();
        assert_eq!(sizes, [vec![1; 4], vec![2; 441], vec![1; 5]].concat());
    }

    #[test]
    fn a_flat_curve_does_not_count() {
        let sizes = [3, 2, 1];
        let flat = vec![vec![2.0; 3]; 4];
        let falling = vec![vec![1.0, 1.5, 2.0]; 4];
        let curve = |values| CurveBySplit { sizes: &sizes, values };
        assert_eq!(curve(&flat).one_se(), Some(OneSe { best: 1, size: 1, flat: true }));
        assert_eq!(one_se_size(&[curve(&flat)]), None);
        assert_eq!(one_se_size(&[curve(&flat), curve(&falling)]), Some(3));
        assert_eq!(one_se_size(&[]), None);
    }

    #[test]
    fn one_split_takes_its_best_size_and_one_size_is_never_flat() {
        let values = vec![vec![1.0, 0.5, 0.5]];
        let curve = CurveBySplit { sizes: &[5, 4, 3], values: &values };
        assert_eq!(curve.one_se(), Some(OneSe { best: 3, size: 3, flat: false }));
        assert_eq!(curve.one_se_without_each(), [None]);
        let single = CurveBySplit { sizes: &[1], values: &[vec![0.3], vec![0.3]] };
        assert_eq!(one_se_size(&[single]), Some(1));
    }
}
