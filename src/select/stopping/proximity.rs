//! The proximity rule of CRFE 0.1.1: classes should stay apart (docs/method.md section 15). It
//! looks at training rows, so the run follows it along the path and records the size.

use ndarray::ArrayView2;

use super::{Chooses, Rule, StopRule};
use crate::data::quantile;

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::Proximity,
    name: "proximity",
    symbol: "proximity",
    label: "proximity rule",
    letter: "P",
    prose: |_| "the proximity rule of CRFE 0.1.1 on training rows".to_owned(),
    chooses: Chooses::ByRun(|sizes| sizes.proximity),
};

/// ξ: the share of each class that may lie outside.
const OUTSIDE: f64 = 0.1;
/// A new best ratio is at least this many times the old one.
const BETTER: f64 = 1.005;
/// The rule fires when the ratio is this far below the best.
const DROP: f64 = 0.12;

/// How far classes are apart in the columns present, relative to their width.
pub struct Proximity<'a> {
    x: ArrayView2<'a, f64>,
    y: &'a [usize],
    /// The centroid of each class: class by class, column by column.
    centroids: Vec<f64>,
    classes: usize,
    present: Vec<bool>,
    /// ‖x_i − c_k‖² of row i and class k over the columns present.
    squares: Vec<f64>,
    /// Columns present, now and when the squares were last computed from the data.
    left: usize,
    computed_at: usize,
}

impl<'a> Proximity<'a> {
    /// Of training rows, feature-major, with all columns.
    pub fn new(x: ArrayView2<'a, f64>, y: &'a [usize], classes: usize) -> Self {
        let (columns, rows) = x.dim();
        let mut counts = vec![0.0; classes];
        y.iter().for_each(|&class| counts[class] += 1.0);
        let mut centroids = vec![0.0; classes * columns];
        for (j, values) in x.outer_iter().enumerate() {
            values
                .iter()
                .zip(y)
                .for_each(|(value, &class)| centroids[class * columns + j] += value);
        }
        centroids.chunks_exact_mut(columns).zip(&counts).for_each(|(sums, count)| {
            sums.iter_mut().for_each(|sum| *sum /= count);
        });
        let present = vec![true; columns];
        let squares = vec![0.0; rows * classes];
        let mut proximity = Self {
            x,
            y,
            centroids,
            classes,
            present,
            squares,
            left: columns,
            computed_at: columns,
        };
        proximity.compute();
        proximity
    }

    /// The squares from the data.
    fn compute(&mut self) {
        self.squares.fill(0.0);
        for column in
            (0..self.present.len()).filter(|&column| self.present[column]).collect::<Vec<_>>()
        {
            self.add(column, 1.0);
        }
        self.computed_at = self.left;
    }

    fn add(&mut self, column: usize, sign: f64) {
        let columns = self.present.len();
        for (squares, value) in self.squares.chunks_exact_mut(self.classes).zip(self.x.row(column))
        {
            for (class, square) in squares.iter_mut().enumerate() {
                *square += sign * (value - self.centroids[class * columns + column]).powi(2);
            }
        }
    }

    /// Removes columns.
    pub fn remove(&mut self, columns: &[usize]) {
        for &column in columns {
            if std::mem::replace(&mut self.present[column], false) {
                self.left -= 1;
                self.add(column, -1.0);
            }
        }
        // Downdates accumulate rounding.
        if self.left <= self.computed_at / 2 {
            self.compute();
        }
    }

    /// ρ: the smallest ratio, over pairs of classes, of the distance of the nearest rows of one
    /// from the centroid of the other to the distance of the other's own farthest rows.
    pub fn ratio(&self) -> f64 {
        let mut smallest = f64::INFINITY;
        for class in 0..self.classes {
            let from_centroid = |of: usize| {
                let rows =
                    self.squares.chunks_exact(self.classes).zip(self.y).filter(|&(_, &y)| y == of);
                let mut distances: Vec<f64> =
                    rows.map(|(squares, _)| squares[class].max(0.0).sqrt()).collect();
                distances.sort_unstable_by(f64::total_cmp);
                distances
            };
            let own = quantile(&from_centroid(class), 1.0 - OUTSIDE);
            for other in (0..self.classes).filter(|&other| other != class) {
                let away = quantile(&from_centroid(other), OUTSIDE);
                // Two classes that each are one point count as touching.
                smallest = smallest.min(if away == 0.0 { 0.0 } else { away / own });
            }
        }
        smallest
    }
}

/// What the rule has seen of a path.
#[derive(Debug, Default)]
pub struct ProximityRule {
    /// The best ratio and its size.
    best: Option<(f64, usize)>,
    fired: Option<usize>,
    last: Option<usize>,
}

impl ProximityRule {
    /// Takes the ratio of the next model.
    pub fn follow(&mut self, size: usize, ratio: f64) {
        if self.fired.is_some() {
            return;
        }
        self.last = Some(size);
        match self.best {
            Some((best, _)) if ratio < best - DROP => self.fired = Some(size),
            Some((best, _)) if ratio < BETTER * best => {}
            _ => self.best = Some((ratio, size)),
        }
    }

    /// The size with the best ratio until the rule fired; `as_published`, the size at which it
    /// fired, or what was left at the end.
    pub fn size(&self, as_published: bool) -> Option<usize> {
        if as_published { self.fired.or(self.last) } else { self.best.map(|(_, size)| size) }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn the_best_so_far_is_kept_and_a_drop_ends_it() {
        let mut rule = ProximityRule::default();
        for (size, ratio) in [(6, 1.0), (5, 1.004), (4, 1.3), (3, 1.2), (2, 1.17), (1, 9.0)] {
            rule.follow(size, ratio);
        }
        // 1.004 is not enough of an improvement, 1.2 is within the tolerance, 1.17 fires; nothing
        // counts after it.
        assert_eq!((rule.size(false), rule.size(true)), (Some(4), Some(2)));
        let mut rule = ProximityRule::default();
        [(3, 0.5), (2, 0.6), (1, 0.55)]
            .into_iter()
            .for_each(|(size, ratio)| rule.follow(size, ratio));
        assert_eq!((rule.size(false), rule.size(true)), (Some(2), Some(1)), "it never fired");
        assert_eq!(ProximityRule::default().size(false), None);
    }

    /// By the definition, from nothing.
    fn by_definition(x: &Array2<f64>, y: &[usize], classes: usize, columns: &[usize]) -> f64 {
        let centroid = |class: usize, j: usize| {
            let own: Vec<f64> =
                (0..y.len()).filter(|&i| y[i] == class).map(|i| x[[j, i]]).collect();
            own.iter().sum::<f64>() / own.len() as f64
        };
        let distances = |from: usize, of: usize| {
            let mut all: Vec<f64> = (0..y.len())
                .filter(|&i| y[i] == of)
                .map(|i| {
                    columns
                        .iter()
                        .map(|&j| (x[[j, i]] - centroid(from, j)).powi(2))
                        .sum::<f64>()
                        .sqrt()
                })
                .collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let pairs =
            (0..classes).flat_map(|i| (0..classes).filter(move |&j| j != i).map(move |j| (i, j)));
        pairs
            .map(|(i, j)| quantile(&distances(i, j), 0.1) / quantile(&distances(i, i), 0.9))
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn ratios_follow_removals() {
        let x = Array2::from_shape_fn((7, 45), |(j, i)| {
            ((i * (31 + 7 * j) + 5 * j) % 43) as f64 / 10.0
                + if j < 2 { (i % 3) as f64 } else { 0.0 }
        });
        let y: Vec<usize> = (0..45).map(|i| i % 3).collect();
        let mut proximity = Proximity::new(x.view(), &y, 3);
        let mut left: Vec<usize> = (0..7).collect();
        for removed in [5, 3, 6, 0, 4, 2] {
            assert!(
                (proximity.ratio() - by_definition(&x, &y, 3, &left)).abs() < 1e-12,
                "{left:?}"
            );
            proximity.remove(&[removed]);
            left.retain(|&column| column != removed);
        }
        let far = array![[0.0, 0.1, 0.2, 9.0, 9.1, 9.2]];
        assert!(Proximity::new(far.view(), &[0, 0, 0, 1, 1, 1], 2).ratio() > 50.0);
    }
}
