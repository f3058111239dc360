//! The size rule `1se`: the smallest size that is, within one standard error, as good as the best (docs/method.md section 11).
//! Knows curves by size, one per split; not what they measure.

/// Relative to the largest value: what rounding may add to a sum of values that are equal in exact arithmetic.
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
        self.one_se_without(None)
    }

    /// The same with one split left out.
    pub fn one_se_without(&self, left_out: Option<usize>) -> Option<OneSe> {
        let splits: Vec<&Vec<f64>> = self
            .values
            .iter()
            .enumerate()
            .filter(|&(i, _)| Some(i) != left_out)
            .map(|(_, values)| values)
            .collect();
        if splits.is_empty() {
            return None;
        }
        let sum = |at: usize| splits.iter().map(|values| values[at]).sum::<f64>();
        let by_size = |at: &usize| self.sizes[*at];
        let all = 0..self.sizes.len();
        let least = all.clone().map(sum).min_by(f64::total_cmp)?;
        // Shares such as 7/90 are rounded: sums and differences that are equal in exact arithmetic may differ by that.
        let largest =
            splits.iter().flat_map(|values| values.iter()).fold(0.0_f64, |most, value| most.max(value.abs()));
        let rounding = ROUNDING * largest * splits.len() as f64;
        let best = all.clone().filter(|&at| sum(at) <= least + rounding).min_by_key(by_size)?;
        // mean(d) ≤ sd(d)/√K is Σd ≤ 0 or (Σd)² ≤ Σd²; one split has no standard error.
        let within = |at: &usize| {
            let difference = |values: &&Vec<f64>| values[*at] - values[best];
            let sum: f64 = splits.iter().map(difference).sum();
            let squares: f64 = splits.iter().map(|values| difference(values).powi(2)).sum();
            sum <= rounding || (splits.len() > 1 && sum <= squares.sqrt() + rounding)
        };
        let close: Vec<usize> = all.filter(within).collect();
        Some(OneSe {
            best: self.sizes[best],
            size: close.iter().map(by_size).min()?,
            flat: self.sizes.len() > 1 && close.len() == self.sizes.len(),
        })
    }
}

/// The answer's size over several curves: the largest of their sizes, flat curves left out; `None` if all are flat.
pub fn one_se_size(curves: &[CurveBySplit<'_>], left_out: Option<usize>) -> Option<usize> {
    let each = curves.iter().filter_map(|curve| curve.one_se_without(left_out));
    each.filter(|found| !found.flat).map(|found| found.size).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::evaluate::fixtures::{answer, floats, rows, whole};

    #[test]
    fn fixtures_agree_on_every_size() {
        let fixture = answer();
        for case in fixture["one_se"].as_array().unwrap() {
            let sizes: Vec<usize> = whole(&case["sizes"]);
            let inefficiency = rows(&case["inefficiency"]);
            let errors: Vec<Vec<f64>> =
                rows(&case["accuracy"]).iter().map(|row| row.iter().map(|value| -value).collect()).collect();
            let curves = [&inefficiency, &errors].map(|values| CurveBySplit { sizes: &sizes, values });
            let expected = |key: &str| case[key].as_u64().unwrap() as usize;
            let found = curves.map(|curve| curve.one_se().unwrap());
            assert_eq!(found.map(|f| f.best), ["best_inefficiency", "best_accuracy"].map(expected));
            assert_eq!(found.map(|f| f.size), ["size_inefficiency", "size_accuracy"].map(expected));
            assert_eq!(one_se_size(&curves, None), Some(expected("size")));
            if !case["leave_one_split_out"].is_null() {
                for (split, &size) in whole(&case["leave_one_split_out"]).iter().enumerate() {
                    assert_eq!(one_se_size(&curves, Some(split)), Some(size), "without split {split}");
                }
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
            let counts: Vec<Vec<i64>> =
                (0..splits).map(|_| sizes.iter().map(|_| rng.below(4.min(rows)) as i64).collect()).collect();
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
            let found = CurveBySplit { sizes: &sizes, values: &values }.one_se().unwrap();
            assert_eq!((found.best, found.size), (sizes[best], size), "{counts:?} of {rows} rows");
        }
    }

    #[test]
    fn a_flat_curve_does_not_count() {
        let sizes = [3, 2, 1];
        let flat = vec![vec![2.0; 3]; 4];
        let falling = vec![vec![1.0, 1.5, 2.0]; 4];
        let curve = |values| CurveBySplit { sizes: &sizes, values };
        assert_eq!(curve(&flat).one_se(), Some(OneSe { best: 1, size: 1, flat: true }));
        assert_eq!(one_se_size(&[curve(&flat)], None), None);
        assert_eq!(one_se_size(&[curve(&flat), curve(&falling)], None), Some(3));
        assert_eq!(one_se_size(&[], None), None);
    }

    #[test]
    fn one_split_takes_its_best_size_and_one_size_is_never_flat() {
        let values = vec![vec![1.0, 0.5, 0.5]];
        let curve = CurveBySplit { sizes: &[5, 4, 3], values: &values };
        assert_eq!(curve.one_se(), Some(OneSe { best: 3, size: 3, flat: false }));
        assert_eq!(curve.one_se_without(Some(0)), None);
        let single = CurveBySplit { sizes: &[1], values: &[vec![0.3], vec![0.3]] };
        assert_eq!(one_se_size(&[single], None), Some(1));
    }
}
