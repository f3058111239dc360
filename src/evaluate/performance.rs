//! How well rows that were never seen are predicted, with 95 % intervals: Wilson's for shares, the bootstrap over rows for the rest
//! (docs/method.md section 12). Knows predictions, not where they come from.

use serde::Serialize;

use super::{auc, class_scores, macro_scores, predicted};
use crate::data::seed::{Purpose, Rng};

/// Resamples of rows.
const RESAMPLES: usize = 2000;
/// Tables with more rows are resampled [`FEWER_RESAMPLES`] times: their intervals are narrow.
const MANY_ROWS: usize = 20_000;
const FEWER_RESAMPLES: usize = 200;
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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
        let (n, z) = (of as f64, NORMAL_QUANTILE);
        let p = count as f64 / n;
        let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
        Some(Self { value: p, lo: (centre - half).max(0.0), hi: (centre + half).min(1.0) })
    }
}

/// The performance on rows of one class.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// Each class.
    pub classes: Vec<ClassPerformance>,
}

impl Performance {
    /// Measures predictions with sets at ε; `None` without rows.
    pub fn new(rows: &[Predicted<'_>], classes: usize, epsilon: f64, seed: u64) -> Option<Self> {
        let n = rows.len();
        let facts = Facts::new(rows, classes, epsilon);
        let value = facts.measure(&vec![1; n]);
        let share = |count: usize| Interval::share(count, n);
        let count = |wanted: &dyn Fn(&RowFacts) -> bool| facts.rows.iter().filter(|row| wanted(row)).count();
        let largest = (0..classes).map(|class| count(&|row| row.y == class)).max()?;
        let intervals = facts.bootstrap(seed);
        let with = |value: f64, (lo, hi): (f64, f64)| Interval { value, lo, hi };
        let covered = |row: &RowFacts| row.covered;
        Some(Self {
            rows: n,
            accuracy: share(count(&|row| row.y == row.predicted))?,
            no_information_rate: largest as f64 / n as f64,
            balanced_accuracy: with(value.recall, intervals.recall),
            f1_macro: with(value.f1, intervals.f1),
            auc: value.auc.map(|auc| with(auc, intervals.auc)),
            coverage: share(count(&covered))?,
            set_size: with(value.set_size, intervals.set_size),
            empty: share(count(&|row| row.size == 0))?,
            certain: share(count(&|row| row.covered && row.size == 1))?,
            classes: facts.classes(),
        })
    }
}

/// What is counted of a row.
struct RowFacts {
    y: usize,
    predicted: usize,
    size: usize,
    covered: bool,
}

/// The rows, and for each class their order by decision value.
struct Facts {
    rows: Vec<RowFacts>,
    classes: usize,
    /// For each class the rows in ascending order of f, tied rows together.
    orders: Vec<Vec<Vec<u32>>>,
}

/// The measures that have no interval of their own.
struct Measures {
    recall: f64,
    f1: f64,
    auc: Option<f64>,
    set_size: f64,
}

/// Their intervals.
struct Intervals {
    recall: (f64, f64),
    f1: (f64, f64),
    auc: (f64, f64),
    set_size: (f64, f64),
}

impl Facts {
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

    /// The measures when each row counts so often.
    fn measure(&self, times: &[u32]) -> Measures {
        let m = self.classes;
        let mut confusion = vec![0_u32; m * m];
        let mut set_size = 0.0;
        for (row, &times) in self.rows.iter().zip(times) {
            confusion[row.y * m + row.predicted] += times;
            set_size += f64::from(times) * row.size as f64;
        }
        let of_class: Vec<u32> = confusion.chunks(m).map(|row| row.iter().sum()).collect();
        let present = of_class.iter().filter(|&&n| n > 0).count().max(1) as f64;
        let scores = macro_scores(&confusion, m);
        // Classes that are absent from a resample do not count as missed.
        let mean = |mean: f64| mean * m as f64 / present;
        let total: u32 = times.iter().sum();
        Measures {
            recall: mean(scores.recall),
            f1: mean(scores.f1),
            auc: auc(&self.pairs(times), &of_class),
            set_size: set_size / f64::from(total.max(1)),
        }
    }

    /// [`concordant_pairs`] when each row counts so often.
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

    /// Percentile intervals over resamples of rows.
    fn bootstrap(&self, seed: u64) -> Intervals {
        let n = self.rows.len();
        let resamples = if n > MANY_ROWS { FEWER_RESAMPLES } else { RESAMPLES };
        let mut rng = Rng::new(seed, 1, Purpose::Bootstrap);
        let mut drawn = [const { Vec::new() }; 4];
        for _ in 0..resamples {
            let mut times = vec![0; n];
            (0..n).for_each(|_| times[rng.below(n)] += 1);
            let Measures { recall, f1, auc, set_size } = self.measure(&times);
            for (values, value) in drawn.iter_mut().zip([recall, f1, auc.unwrap_or(f64::NAN), set_size]) {
                values.push(value);
            }
        }
        let [recall, f1, auc, set_size] = drawn.map(percentiles);
        Intervals { recall, f1, auc, set_size }
    }

    fn classes(&self) -> Vec<ClassPerformance> {
        let m = self.classes;
        let mut confusion = vec![0_u32; m * m];
        self.rows.iter().for_each(|row| confusion[row.y * m + row.predicted] += 1);
        let of_class = |(class, scores): (usize, super::ClassScores)| {
            let rows: Vec<&RowFacts> = self.rows.iter().filter(|row| row.y == class).collect();
            let count = |wanted: &dyn Fn(&RowFacts) -> bool| rows.iter().filter(|row| wanted(row)).count();
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

/// Rows in ascending order of their decision value for a class, on the grid of scores; ties together.
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
        let found = Performance::new(&rows, 2, 0.1, 0).unwrap();
        assert_eq!(found.rows, 150);
        assert_eq!(found.no_information_rate, 0.5);
        let right = rows.iter().filter(|row| (row.f[1] > row.f[0]) == (row.y == 1)).count();
        assert_eq!(found.accuracy.value, right as f64 / 150.0);
        assert_eq!(found.balanced_accuracy.value, found.accuracy.value, "classes are of one size");
        let covered = rows.iter().filter(|row| row.p[row.y] > 0.1).count();
        assert_eq!(found.coverage.value, covered as f64 / 150.0);
        let area = found.auc.unwrap();
        assert!((area.value - auc_of(&rows, 2).unwrap()).abs() < 1e-15);
        for estimate in [found.accuracy, found.balanced_accuracy, found.f1_macro, area, found.set_size] {
            assert!(estimate.lo < estimate.value && estimate.value < estimate.hi, "{estimate:?}");
        }
        assert_eq!(found.classes.iter().map(|class| class.rows).sum::<usize>(), 150);
        assert_eq!(Performance::new(&rows, 2, 0.1, 0), Some(found));
        assert_eq!(Performance::new(&[], 2, 0.1, 0), None);
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        // The true balanced accuracy of these rows: f above 0 for class 1 has probability 0.7, below 0 for class 0 likewise.
        let mut covered = 0;
        for repetition in 0..100 {
            let mut rng = Rng::new(repetition, 0, Purpose::Split);
            let rows: Vec<(usize, [f64; 2], [f64; 2])> = (0..80)
                .map(|i| {
                    let f = rng.uniform() + 0.4 * (i % 2) as f64 - 0.7;
                    (i % 2, [-f, f], [1.0; 2])
                })
                .collect();
            let found = Performance::new(&borrowed(&rows), 2, 0.1, 7).unwrap().balanced_accuracy;
            covered += u32::from((found.lo..=found.hi).contains(&0.7));
        }
        // Binomial(100, 0.95): 4 sd below is 86.
        assert!(covered >= 86, "{covered}");
    }
}
