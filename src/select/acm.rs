//! ACM, average confidence maximisation: forward selection by the confidence of a transductive
//! conformal predictor on class centroids (docs/method.md section 15). The paper cites it; its
//! details are interpreted here as described there.

use ndarray::ArrayView2;

use super::Labelled;
use crate::data::Unit;

/// More units than this are refused: the time grows with their square.
pub const MOST_UNITS: usize = 500;

/// The place of each unit in the order of adding, from 1; kept units are there from the start and
/// have place 0.
///
/// `parts` are feature-major rows with their classes, taken together.
pub fn order_of_adding(parts: &[Labelled<'_>], units: &[Unit], classes: usize) -> Vec<usize> {
    let rows = ClassRows::new(parts, classes);
    let mut squares = vec![0.0; rows.y.len() * classes];
    let mut place = vec![0; units.len()];
    units.iter().filter(|unit| unit.kept).for_each(|unit| rows.add(unit, &mut squares));
    let mut left: Vec<usize> = (0..units.len()).filter(|&unit| !units[unit].kept).collect();
    for next in 1..=left.len() {
        let mut best: Option<(u64, usize, Vec<f64>)> = None;
        for (at, &unit) in left.iter().enumerate() {
            let mut with = squares.clone();
            rows.add(&units[unit], &mut with);
            let doubt = rows.doubt(&with);
            // Ties: the first.
            if best.as_ref().is_none_or(|(least, ..)| doubt < *least) {
                best = Some((doubt, at, with));
            }
        }
        let Some((_, at, with)) = best else { break };
        place[left.remove(at)] = next;
        squares = with;
    }
    place
}

/// Rows of several parts, and the sums of their classes.
struct ClassRows<'a> {
    parts: Vec<ArrayView2<'a, f64>>,
    y: Vec<usize>,
    counts: Vec<f64>,
}

impl<'a> ClassRows<'a> {
    fn new(parts: &[Labelled<'a>], classes: usize) -> Self {
        let y: Vec<usize> = parts.iter().flat_map(|(_, y)| y.iter().copied()).collect();
        let mut counts = vec![0.0; classes];
        y.iter().for_each(|&class| counts[class] += 1.0);
        Self { parts: parts.iter().map(|(x, _)| *x).collect(), y, counts }
    }

    /// Adds the columns of a unit to the squared distances of each row from the centroid of each
    /// class, which is that of its other rows.
    fn add(&self, unit: &Unit, squares: &mut [f64]) {
        let classes = self.counts.len();
        for &column in &unit.columns {
            let values = || self.parts.iter().flat_map(|x| x.row(column).into_iter());
            let mut sums = vec![0.0; classes];
            values().zip(&self.y).for_each(|(value, &class)| sums[class] += value);
            for ((squares, value), &own) in
                squares.chunks_exact_mut(classes).zip(values()).zip(&self.y)
            {
                for (class, square) in squares.iter_mut().enumerate() {
                    let is_own = class == own;
                    let sum = if is_own { sums[class] - value } else { sums[class] };
                    let count = self.counts[class] - f64::from(u8::from(is_own));
                    *square += (value - sum / count).powi(2);
                }
            }
        }
    }

    /// Σ_i of the second largest p-value of row i, in units of 1/n: the smaller, the more
    /// confident. It is a whole number, so ties are exact.
    fn doubt(&self, squares: &[f64]) -> u64 {
        let classes = self.counts.len();
        let rows = || squares.chunks_exact(classes);
        let own: Vec<f64> =
            rows().zip(&self.y).map(|(squares, &class)| strangeness(squares, class)).collect();
        let mut sorted = own.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let second = |(i, squares): (usize, &[f64])| {
            let mut largest = [0; 2];
            for class in 0..classes {
                let score = if class == self.y[i] { own[i] } else { strangeness(squares, class) };
                let at_least =
                    sorted.len() - sorted.partition_point(|other| other.total_cmp(&score).is_lt());
                // Over the other rows, and the row itself with this label.
                let p = at_least - usize::from(own[i] >= score) + 1;
                if p > largest[0] {
                    largest = [p, largest[0]];
                } else if p > largest[1] {
                    largest[1] = p;
                }
            }
            largest[1] as u64
        };
        rows().enumerate().map(second).sum()
    }
}

/// The squared distance from the centroid of a class over the least from that of another, on a grid
/// on which sums in another order are equal.
fn strangeness(squares: &[f64], class: usize) -> f64 {
    const GRID: f64 = (1_u64 << 32) as f64;
    let others =
        squares.iter().enumerate().filter(|&(other, _)| other != class).map(|(_, &square)| square);
    let least = others.fold(f64::INFINITY, f64::min);
    let ratio = if least > 0.0 { squares[class] / least } else { f64::INFINITY };
    // A class of one row has no centroid without it.
    if ratio.is_nan() {
        f64::INFINITY
    } else if ratio < GRID {
        (ratio * GRID).round() / GRID
    } else {
        ratio
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    /// By the definition: every centroid and p-value from nothing.
    fn mean_confidence(x: &Array2<f64>, y: &[usize], classes: usize, columns: &[usize]) -> f64 {
        let n = y.len();
        let distance = |i: usize, class: usize| {
            let others: Vec<usize> = (0..n).filter(|&k| k != i && y[k] == class).collect();
            let part = |&j: &usize| {
                let centre = others.iter().map(|&k| x[[j, k]]).sum::<f64>() / others.len() as f64;
                (x[[j, i]] - centre).powi(2)
            };
            columns.iter().map(part).sum::<f64>()
        };
        let score = |i: usize, class: usize| {
            let least = (0..classes)
                .filter(|&c| c != class)
                .map(|c| distance(i, c))
                .fold(f64::INFINITY, f64::min);
            distance(i, class) / least
        };
        let own: Vec<f64> = (0..n).map(|i| score(i, y[i])).collect();
        let confidence = |i: usize| {
            let mut p: Vec<f64> = (0..classes)
                .map(|class| {
                    let score = score(i, class);
                    let larger = (0..n).filter(|&k| k != i && own[k] >= score - 1e-9).count();
                    (larger + 1) as f64 / n as f64
                })
                .collect();
            p.sort_unstable_by(f64::total_cmp);
            1.0 - p[classes - 2]
        };
        (0..n).map(confidence).sum::<f64>() / n as f64
    }

    #[test]
    fn each_round_adds_what_raises_confidence_most() {
        let mut state = 5_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let y: Vec<usize> = (0..36).map(|i| i % 3).collect();
        let x = Array2::from_shape_fn((6, 36), |(j, i)| {
            draw()
                + [0.0, 0.9, 0.0, 0.4, 0.0, 0.0][j]
                    * (y[i] as f64 - 1.0)
                    * if j == 3 { (y[i] % 2) as f64 } else { 1.0 }
        });
        let mut units: Vec<Unit> = (0..6).map(|j| Unit::single(format!("x{j}"), j)).collect();
        units[5].kept = true;
        let train = x.slice(ndarray::s![.., ..20]);
        let selection = x.slice(ndarray::s![.., 20..]);
        let place = order_of_adding(&[(train, &y[..20]), (selection, &y[20..])], &units, 3);
        assert_eq!(place[5], 0);
        let mut present = vec![5];
        for next in 1..=5 {
            let added = place.iter().position(|&place| place == next).unwrap();
            let with = |unit: usize| {
                let columns: Vec<usize> = present.iter().copied().chain([unit]).collect();
                mean_confidence(&x, &y, 3, &columns)
            };
            let rest = (0..5).filter(|unit| !present.contains(unit));
            for other in rest {
                assert!(
                    with(added) >= with(other) - 1e-12,
                    "round {next}: {added} against {other}"
                );
            }
            present.push(added);
        }
        assert_eq!(place[1], 1, "the feature that tells the classes apart is added first");
    }
}
