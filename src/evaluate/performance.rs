//! How well rows that were never seen are predicted, with 95 % intervals: Wilson's for shares, the
//! bootstrap over rows for the rest; where rows come in groups, the bootstrap over groups for all
//! (docs/method.md section 12). Knows predictions, not where they come from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{auc, class_scores, macro_scores, predicted};
use crate::data::seed::{Purpose, Rng};

/// Resamples of rows.
const RESAMPLES: usize = 2000;
/// Tables with more rows are resampled [`FEWER_RESAMPLES`] times: their intervals are narrow.
const MANY_ROWS: usize = 20_000;
const FEWER_RESAMPLES: usize = 200;
/// A larger share of empty sets says that ε is larger than the error of the models.
pub const MANY_EMPTY: f64 = 0.05;
/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// What was predicted for a row whose class is known.
#[derive(Debug, Clone, Copy)]
pub struct Predicted<'a> {
    /// Its class.
    pub y: usize,
    /// The decision value of each class.
    pub f: &'a [f64],
    /// The p-value of each class.
    pub p: &'a [f64],
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

impl Interval {
    /// A share with Wilson's interval; `None` of nothing.
    pub fn share(count: usize, of: usize) -> Option<Self> {
        if of == 0 {
            return None;
        }
        let n = of as f64;
        let z = NORMAL_QUANTILE;
        let p = count as f64 / n;
        let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
        Some(Self { value: p, lo: (centre - half).max(0.0), hi: (centre + half).min(1.0) })
    }
}

/// The performance on rows of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassPerformance {
    /// The class.
    pub class: usize,
    /// Its rows.
    pub rows: usize,
    /// Share of them whose set holds the class.
    pub coverage: Option<Interval>,
    /// Share of them predicted right.
    pub recall: Option<Interval>,
    /// Of the rows predicted as this class, the share that is.
    pub precision: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
    /// Mean set size.
    pub set_size: f64,
    /// Rows with an empty set.
    pub empty: usize,
}

/// The performance on all rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Performance {
    /// Rows.
    pub rows: usize,
    /// Share predicted right.
    pub accuracy: Interval,
    /// Share of the largest class: what always answering it would achieve.
    pub no_information_rate: f64,
    /// Mean recall over classes.
    pub balanced_accuracy: Interval,
    /// Mean F1 over classes.
    pub f1_macro: Interval,
    /// Area under the ROC curve, one class against the rest; none where only one class is present.
    pub auc: Option<Interval>,
    /// Share of sets that hold the true class.
    pub coverage: Interval,
    /// Mean set size.
    pub set_size: Interval,
    /// Share of empty sets.
    pub empty: Interval,
    /// Share of sets that are exactly the true class.
    pub certain: Interval,
    /// The largest ε, in steps of 0.01 (below that of 0.001), at which at most 5 % of these sets
    /// are empty; none if there is no such ε.
    pub fitting_epsilon: Option<f64>,
    /// Each class.
    pub classes: Vec<ClassPerformance>,
}

impl Performance {
    /// Measures predictions with sets at ε; `None` without rows. `groups` has the group of each
    /// row, or is empty where rows do not come in groups: rows of a group are alike, so intervals
    /// are over groups.
    pub fn new(
        rows: &[Predicted<'_>],
        groups: &[usize],
        classes: usize,
        epsilon: f64,
        seed: u64,
    ) -> Option<Self> {
        let groups = (!groups.is_empty()).then_some(groups);
        let n = rows.len();
        let facts = RankedRows::new(rows, classes, epsilon);
        let value = facts.measure(&vec![1; n]);
        let intervals = facts.bootstrap(groups, seed);
        let with = |value: f64, (lo, hi): (f64, f64)| Interval { value, lo, hi };
        let share = |count: usize, of: usize, resampled: (f64, f64)| match groups {
            None => Interval::share(count, of),
            // All or none: resampling shows no spread; as many rows as there are groups hold that
            // much information at least.
            Some(groups) if of > 0 && (count == 0 || count == of) => {
                let groups = by_group(groups).len().min(of);
                Interval::share(if count == 0 { 0 } else { groups }, groups)
            }
            Some(_) => (of > 0).then(|| with(count as f64 / of as f64, resampled)),
        };
        let count = |wanted: &dyn Fn(&RowFacts) -> bool| {
            facts.rows.iter().filter(|row| wanted(row)).count()
        };
        let largest = (0..classes).map(|class| count(&|row| row.y == class)).max()?;
        let class = |mut own: ClassPerformance| {
            let resampled = &intervals.classes[own.class];
            let in_rows = |share: Option<Interval>| {
                share.map(|share| (share.value * own.rows as f64).round())
            };
            let (covered, right) = (in_rows(own.coverage), in_rows(own.recall));
            own.coverage =
                covered.and_then(|covered| share(covered as usize, own.rows, resampled.coverage));
            own.recall = right.and_then(|right| share(right as usize, own.rows, resampled.recall));
            own
        };
        Some(Self {
            rows: n,
            accuracy: share(count(&|row| row.y == row.predicted), n, intervals.accuracy)?,
            no_information_rate: largest as f64 / n as f64,
            balanced_accuracy: with(value.recall, intervals.recall),
            f1_macro: with(value.f1, intervals.f1),
            auc: (!value.auc.is_nan()).then(|| with(value.auc, intervals.auc)),
            coverage: share(count(&|row| row.covered), n, intervals.coverage)?,
            set_size: with(value.set_size, intervals.set_size),
            empty: share(count(&|row| row.size == 0), n, intervals.empty)?,
            certain: share(count(&|row| row.covered && row.size == 1), n, intervals.certain)?,
            fitting_epsilon: fitting_epsilon(rows),
            classes: facts.classes().into_iter().map(class).collect(),
        })
    }
}

/// The largest ε at which at most [`MANY_EMPTY`] of the sets are empty. A set is empty where its
/// largest p-value is at most ε.
fn fitting_epsilon(rows: &[Predicted<'_>]) -> Option<f64> {
    let largest_p = |row: &Predicted<'_>| row.p.iter().copied().fold(0.0, f64::max);
    let mut largest: Vec<f64> = rows.iter().map(largest_p).collect();
    largest.sort_unstable_by(f64::total_cmp);
    // So many rows may have an empty set; the next one may not.
    let allowed = (MANY_EMPTY * rows.len() as f64) as usize;
    let bound = *largest.get(allowed)?;
    let below = |steps: f64| {
        let step = (bound * steps).floor();
        if step / steps < bound { step / steps } else { (step - 1.0) / steps }
    };
    [100.0, 1000.0].into_iter().map(below).find(|&epsilon| epsilon > 0.0)
}

/// What is counted of a row.
struct RowFacts {
    y: usize,
    predicted: usize,
    size: usize,
    covered: bool,
}

/// The rows, and for each class their order by decision value.
struct RankedRows {
    rows: Vec<RowFacts>,
    classes: usize,
    /// For each class the rows in ascending order of f, tied rows together.
    orders: Vec<Vec<Vec<u32>>>,
}

/// What is measured: the values, NaN where they are not defined, or their percentile intervals.
struct Measures<T> {
    recall: T,
    f1: T,
    auc: T,
    set_size: T,
    accuracy: T,
    coverage: T,
    empty: T,
    certain: T,
    classes: Vec<ClassMeasures<T>>,
}

struct ClassMeasures<T> {
    coverage: T,
    recall: T,
}

impl RankedRows {
    fn new(rows: &[Predicted<'_>], classes: usize, epsilon: f64) -> Self {
        let orders = (0..classes).map(|class| tied_order(rows, class)).collect();
        let facts = |row: &Predicted<'_>| RowFacts {
            y: row.y,
            predicted: predicted(row.f),
            size: row.p.iter().filter(|&&p| p > epsilon).count(),
            covered: row.p[row.y] > epsilon,
        };
        Self { rows: rows.iter().map(facts).collect(), classes, orders }
    }

    /// The measures when row i counts `times[i]` times.
    fn measure(&self, times: &[u32]) -> Measures<f64> {
        let m = self.classes;
        let mut confusion = vec![0_u32; m * m];
        let mut covered = vec![0_u32; m];
        let mut set_size = 0.0;
        let mut empty = 0;
        let mut certain = 0;
        for (row, &times) in self.rows.iter().zip(times) {
            confusion[row.y * m + row.predicted] += times;
            set_size += f64::from(times) * row.size as f64;
            covered[row.y] += times * u32::from(row.covered);
            empty += times * u32::from(row.size == 0);
            certain += times * u32::from(row.covered && row.size == 1);
        }
        let of_class: Vec<u32> = confusion.chunks(m).map(|row| row.iter().sum()).collect();
        let present = of_class.iter().filter(|&&n| n > 0).count().max(1) as f64;
        let scores = macro_scores(&confusion, m);
        // Classes that are absent from a resample do not count as missed.
        let mean = |mean: f64| mean * m as f64 / present;
        let total: u32 = times.iter().sum();
        let total = f64::from(total.max(1));
        // NaN where a class is absent.
        let share_of = |count: u32, class: usize| f64::from(count) / f64::from(of_class[class]);
        let class = |class: usize| ClassMeasures {
            coverage: share_of(covered[class], class),
            recall: share_of(confusion[class * m + class], class),
        };
        Measures {
            recall: mean(scores.recall),
            f1: mean(scores.f1),
            auc: auc(&self.pairs(times), &of_class).unwrap_or(f64::NAN),
            set_size: set_size / total,
            accuracy: scores.accuracy,
            coverage: f64::from(covered.iter().sum::<u32>()) / total,
            empty: f64::from(empty) / total,
            certain: f64::from(certain) / total,
            classes: (0..m).map(class).collect(),
        }
    }

    /// [`concordant_pairs`] when row i counts `times[i]` times.
    fn pairs(&self, times: &[u32]) -> Vec<u64> {
        let of_class = |(class, order): (usize, &Vec<Vec<u32>>)| {
            let (mut pairs, mut others_below) = (0, 0);
            for tied in order {
                let (mut own, mut others) = (0, 0);
                for &row in tied {
                    let times = u64::from(times[row as usize]);
                    if self.rows[row as usize].y == class {
                        own += times;
                    } else {
                        others += times;
                    }
                }
                pairs += own * (2 * others_below + others);
                others_below += others;
            }
            pairs
        };
        self.orders.iter().enumerate().map(of_class).collect()
    }

    /// Percentile intervals over resamples of rows, or of whole groups.
    fn bootstrap(&self, groups: Option<&[usize]>, seed: u64) -> Measures<(f64, f64)> {
        let n = self.rows.len();
        let resamples = if n > MANY_ROWS { FEWER_RESAMPLES } else { RESAMPLES };
        let members = groups.map(by_group);
        let mut rng = Rng::new(seed, 1, Purpose::Bootstrap);
        let mut drawn: Vec<Measures<f64>> = Vec::with_capacity(resamples);
        for _ in 0..resamples {
            let mut times = vec![0; n];
            match &members {
                None => (0..n).for_each(|_| times[rng.below(n)] += 1),
                Some(members) => {
                    for _ in 0..members.len() {
                        members[rng.below(members.len())].iter().for_each(|&row| times[row] += 1);
                    }
                }
            }
            drawn.push(self.measure(&times));
        }
        let over =
            |value: &dyn Fn(&Measures<f64>) -> f64| percentiles(drawn.iter().map(value).collect());
        let class = |class: usize| ClassMeasures {
            coverage: over(&|drawn| drawn.classes[class].coverage),
            recall: over(&|drawn| drawn.classes[class].recall),
        };
        Measures {
            recall: over(&|drawn| drawn.recall),
            f1: over(&|drawn| drawn.f1),
            auc: over(&|drawn| drawn.auc),
            set_size: over(&|drawn| drawn.set_size),
            accuracy: over(&|drawn| drawn.accuracy),
            coverage: over(&|drawn| drawn.coverage),
            empty: over(&|drawn| drawn.empty),
            certain: over(&|drawn| drawn.certain),
            classes: (0..self.classes).map(class).collect(),
        }
    }

    fn classes(&self) -> Vec<ClassPerformance> {
        let m = self.classes;
        let mut confusion = vec![0_u32; m * m];
        self.rows.iter().for_each(|row| confusion[row.y * m + row.predicted] += 1);
        let of_class = |(class, scores): (usize, super::ClassScores)| {
            let rows: Vec<&RowFacts> = self.rows.iter().filter(|row| row.y == class).collect();
            let count =
                |wanted: &dyn Fn(&RowFacts) -> bool| rows.iter().filter(|row| wanted(row)).count();
            let sizes: usize = rows.iter().map(|row| row.size).sum();
            ClassPerformance {
                class,
                rows: rows.len(),
                coverage: Interval::share(count(&|row| row.covered), rows.len()),
                recall: Interval::share(count(&|row| row.predicted == class), rows.len()),
                precision: scores.precision,
                f1: scores.f1,
                set_size: super::ratio(sizes as f64, rows.len() as f64),
                empty: count(&|row| row.size == 0),
            }
        };
        class_scores(&confusion, m).enumerate().map(of_class).collect()
    }
}

/// The rows of each group.
fn by_group(groups: &[usize]) -> Vec<Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, &group) in groups.iter().enumerate() {
        members.entry(group).or_default().push(row);
    }
    members.into_values().collect()
}

/// Rows in ascending order of their decision value for a class, on the grid of scores; ties
/// together.
fn tied_order(rows: &[Predicted<'_>], class: usize) -> Vec<Vec<u32>> {
    let score = |&row: &u32| super::conformal::on_grid(rows[row as usize].f[class]) + 0.0;
    let mut order: Vec<u32> = (0..rows.len() as u32).collect();
    order.sort_by(|a, b| score(a).total_cmp(&score(b)));
    order.chunk_by(|a, b| score(a) == score(b)).map(<[u32]>::to_vec).collect()
}

/// The 2.5 % and 97.5 % percentiles, NaN left out.
fn percentiles(mut values: Vec<f64>) -> (f64, f64) {
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let tail = values.len() / 40;
    match values.len() {
        0 => (f64::NAN, f64::NAN),
        n => (values[tail], values[n - 1 - tail]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::concordant_pairs;
    use ndarray::Array2;

    /// The macro AUC, from the counts of all rows.
    fn auc_of(rows: &[Predicted<'_>], classes: usize) -> Option<f64> {
        let f = Array2::from_shape_fn((rows.len(), classes), |(i, k)| rows[i].f[k]);
        let y: Vec<usize> = rows.iter().map(|row| row.y).collect();
        let mut of_class = vec![0; classes];
        y.iter().for_each(|&class| of_class[class] += 1);
        auc(&concordant_pairs(f.view(), &y), &of_class)
    }

    #[test]
    fn wilson_is_as_published() {
        // Newcombe (1998), method 3: 81 of 263 is 0.2553 to 0.3662, 15 of 148 is 0.0624 to 0.1605.
        for (count, of, lo, hi) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)] {
            let share = Interval::share(count, of).unwrap();
            assert!((share.lo - lo).abs() < 5e-5 && (share.hi - hi).abs() < 5e-5, "{share:?}");
        }
        assert_eq!(Interval::share(0, 0), None);
        assert_eq!(Interval::share(0, 10).unwrap().lo, 0.0);
    }

    /// Rows of two classes whose decision values overlap.
    fn rows(n: usize) -> Vec<(usize, [f64; 2], [f64; 2])> {
        let mut rng = Rng::new(2, 0, Purpose::Split);
        (0..n)
            .map(|i| {
                let y = i % 2;
                let f = rng.uniform() + 0.4 * y as f64 - 0.7;
                (y, [-f, f], [1.0 - rng.uniform(), rng.uniform()])
            })
            .collect()
    }

    fn borrowed(rows: &[(usize, [f64; 2], [f64; 2])]) -> Vec<Predicted<'_>> {
        rows.iter().map(|(y, f, p)| Predicted { y: *y, f, p }).collect()
    }

    #[test]
    fn values_are_those_of_the_rows_and_lie_in_their_intervals() {
        let rows = rows(150);
        let rows = borrowed(&rows);
        let found = Performance::new(&rows, &[], 2, 0.1, 0).unwrap();
        assert_eq!(found.rows, 150);
        assert_eq!(found.no_information_rate, 0.5);
        let right = rows.iter().filter(|row| (row.f[1] > row.f[0]) == (row.y == 1)).count();
        assert_eq!(found.accuracy.value, right as f64 / 150.0);
        assert_eq!(found.balanced_accuracy.value, found.accuracy.value, "classes are of one size");
        let covered = rows.iter().filter(|row| row.p[row.y] > 0.1).count();
        assert_eq!(found.coverage.value, covered as f64 / 150.0);
        let area = found.auc.unwrap();
        assert!((area.value - auc_of(&rows, 2).unwrap()).abs() < 1e-15);
        for estimate in
            [found.accuracy, found.balanced_accuracy, found.f1_macro, area, found.set_size]
        {
            assert!(estimate.lo < estimate.value && estimate.value < estimate.hi, "{estimate:?}");
        }
        assert_eq!(found.classes.iter().map(|class| class.rows).sum::<usize>(), 150);
        assert_eq!(Performance::new(&rows, &[], 2, 0.1, 0), Some(found));
        assert_eq!(Performance::new(&[], &[], 2, 0.1, 0), None);
    }

    #[test]
    fn the_fitting_epsilon_is_the_largest_that_leaves_few_sets_empty() {
        // The largest p-values of 40 rows: 0.01, 0.02, …, 0.40. Two rows (5 %) may be empty.
        let rows: Vec<(usize, [f64; 2], [f64; 2])> =
            (0..40).map(|i| (i % 2, [0.0; 2], [0.01 * (i + 1) as f64, 0.0])).collect();
        let found = Performance::new(&borrowed(&rows), &[], 2, 0.1, 0).unwrap();
        let fitting = found.fitting_epsilon.unwrap();
        let empty = |epsilon: f64| rows.iter().filter(|row| row.2[0] <= epsilon).count();
        assert_eq!(fitting, 0.02);
        assert!(empty(fitting) <= 2 && empty(fitting + 0.011) > 2);
        let surely_empty: Vec<(usize, [f64; 2], [f64; 2])> = vec![(0, [0.0; 2], [0.0; 2]); 40];
        assert_eq!(
            Performance::new(&borrowed(&surely_empty), &[], 2, 0.1, 0).unwrap().fitting_epsilon,
            None
        );
    }

    #[test]
    fn intervals_of_groups_are_as_wide_as_those_of_one_row_per_group() {
        let rows = rows(60);
        let alone = Performance::new(&borrowed(&rows), &[], 2, 0.1, 3).unwrap();
        // Ten identical rows per group hold no more information than one.
        let repeated: Vec<_> = rows.iter().flat_map(|row| std::iter::repeat_n(*row, 10)).collect();
        let groups: Vec<usize> = (0..600).map(|row| row / 10).collect();
        let grouped = Performance::new(&borrowed(&repeated), &groups, 2, 0.1, 3).unwrap();
        let pooled = Performance::new(&borrowed(&repeated), &[], 2, 0.1, 3).unwrap();
        assert!((grouped.accuracy.value - alone.accuracy.value).abs() < 1e-12);
        let width = |own: Interval| own.hi - own.lo;
        let class = |found: &Performance| found.classes[1].recall.unwrap();
        for (grouped, alone, pooled) in [
            (grouped.balanced_accuracy, alone.balanced_accuracy, pooled.balanced_accuracy),
            (grouped.accuracy, alone.accuracy, pooled.accuracy),
            (class(&grouped), class(&alone), class(&pooled)),
        ] {
            assert!((width(grouped) / width(alone) - 1.0).abs() < 0.2, "{grouped:?} {alone:?}");
            assert!(width(grouped) > 2.0 * width(pooled), "{grouped:?} {pooled:?}");
        }
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        // The true balanced accuracy of these rows: f above 0 for class 1 has probability 0.7,
        // below 0 for class 0 likewise.
        let mut covered = 0;
        for repetition in 0..100 {
            let mut rng = Rng::new(repetition, 0, Purpose::Split);
            let rows: Vec<(usize, [f64; 2], [f64; 2])> = (0..80)
                .map(|i| {
                    let f = rng.uniform() + 0.4 * (i % 2) as f64 - 0.7;
                    (i % 2, [-f, f], [1.0; 2])
                })
                .collect();
            let found =
                Performance::new(&borrowed(&rows), &[], 2, 0.1, 7).unwrap().balanced_accuracy;
            covered += u32::from((found.lo..=found.hi).contains(&0.7));
        }
        // Binomial(100, 0.95): 4 sd below is 86.
        assert!(covered >= 86, "{covered}");
    }
}
