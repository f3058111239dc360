//! A symmetric matrix that takes its low-rank changes late: several at once cost little more than one.

use super::lanes::{axpy, dot};
use super::square::Square;

/// Changes that may wait.
const MOST: usize = 8;

/// A matrix and the changes Σ_l f_l v_l v_lᵀ that wait to be added to it.
#[derive(Clone, Default)]
pub struct Lagging {
    matrix: Square,
    factors: Vec<f64>,
    /// One after the other.
    vectors: Vec<f64>,
}

impl Lagging {
    /// A matrix with nothing waiting.
    pub fn new(matrix: Square) -> Self {
        Self { matrix, factors: Vec::with_capacity(MOST), vectors: Vec::new() }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.matrix.size()
    }

    /// The product with a vector.
    pub fn times_into(&self, x: &[f64], product: &mut [f64]) {
        self.matrix.times_into(x, product);
        self.correct(x, product);
    }

    /// The products with up to four vectors, one after the other, without the changes that wait.
    pub fn images_into(&self, x: &[f64], images: &mut [f64]) {
        let size = self.size();
        if x.len() == 4 * size {
            let (a, b) = x.split_at(2 * size);
            let ((a, b), (c, d)) = (a.split_at(size), b.split_at(size));
            self.matrix.times_four_into([a, b, c, d], images);
        } else {
            let pairs = x.chunks_exact(size).zip(images.chunks_exact_mut(size));
            pairs.for_each(|(x, image)| self.matrix.times_into(x, image));
        }
    }

    /// Adds to a product with x what the changes that wait make of it.
    pub fn correct(&self, x: &[f64], product: &mut [f64]) {
        for (factor, v) in self.changes() {
            axpy(factor * dot(v, x), v, product);
        }
    }

    /// Row j.
    pub fn row_into(&self, j: usize, row: &mut [f64]) {
        row.copy_from_slice(self.matrix.row(j));
        for (factor, v) in self.changes() {
            axpy(factor * v[j], v, row);
        }
    }

    fn changes(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.factors.iter().copied().zip(self.vectors.chunks_exact(self.size().max(1)))
    }

    /// Makes sure that so many changes can be taken without touching the matrix.
    pub fn make_room(&mut self, changes: usize) {
        if self.factors.len() + changes > MOST {
            self.add_up();
        }
    }

    /// Takes the change factor · v vᵀ.
    pub fn change(&mut self, factor: f64, v: &[f64]) {
        self.make_room(1);
        self.factors.push(factor);
        self.vectors.extend_from_slice(v);
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.changes().fold(self.matrix.trace(), |trace, (factor, v)| trace + factor * dot(v, v))
    }

    /// The matrix, with nothing waiting.
    pub fn whole(&mut self) -> &Square {
        self.add_up();
        &self.matrix
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        self.matrix.clear(j);
        self.vectors.chunks_exact_mut(self.matrix.size()).for_each(|v| v[j] = 0.0);
    }

    /// Adds what waits.
    fn add_up(&mut self) {
        self.matrix.add_outers(&self.factors, &self.vectors);
        self.factors.clear();
        self.vectors.clear();
    }

    /// Some of its rows and columns, in a matrix of another size, the rest of which is zero.
    #[must_use]
    pub fn some(mut self, which: &[usize], size: usize) -> Self {
        self.add_up();
        let mut matrix = Square::zeros(size);
        for (at, &i) in which.iter().enumerate() {
            let source = self.matrix.row(i);
            matrix.row_mut(at).iter_mut().zip(which).for_each(|(cell, &j)| *cell = source[j]);
        }
        Self::new(matrix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of ones that took some changes, late and at once.
    fn late_and_soon(size: usize, changes: usize) -> (Lagging, Square) {
        let (mut late, mut soon) = (Lagging::new(Square::ones(size)), Square::ones(size));
        for change in 1..=changes {
            let t = change as f64;
            let v: Vec<f64> = (0..size).map(|i| if i % 3 == 0 { t } else { 1.0 - i as f64 }).collect();
            let factor = if change.is_multiple_of(2) { t } else { -t };
            late.change(factor, &v);
            soon.add_outers(&[factor], &v);
        }
        (late, soon)
    }

    #[test]
    fn what_waits_counts() {
        // Small whole numbers: sums are exact in any order.
        for (size, changes) in [(1, 3), (5, 8), (9, 9), (40, 21)] {
            let (mut late, soon) = late_and_soon(size, changes);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 2.0).collect();
            let mut product = vec![0.0; size];
            late.times_into(&x, &mut product);
            assert_eq!(product, soon.times(&x));
            let mut row = vec![0.0; size];
            for j in 0..size {
                late.row_into(j, &mut row);
                assert_eq!(row, soon.row(j));
            }
            assert_eq!(late.trace(), soon.trace());
            let vectors: Vec<f64> = (0..4 * size).map(|i| (i % 7) as f64).collect();
            let mut images = vec![0.0; 4 * size];
            late.images_into(&vectors, &mut images);
            for (x, image) in vectors.chunks_exact(size).zip(images.chunks_exact_mut(size)) {
                late.correct(x, image);
                assert_eq!(image, soon.times(x));
            }
            for j in 0..size {
                assert_eq!(late.whole().row(j), soon.row(j));
            }
        }
    }

    #[test]
    fn cleared_and_chosen_rows() {
        let (mut late, soon) = late_and_soon(9, 5);
        late.clear(4);
        let mut row = vec![0.0; 9];
        late.row_into(4, &mut row);
        assert_eq!(row, [0.0; 9]);
        let some = late.some(&[0, 2, 7], 4);
        let mut row = vec![0.0; 4];
        some.row_into(1, &mut row);
        assert_eq!(row, [soon.row(2)[0], soon.row(2)[2], soon.row(2)[7], 0.0]);
    }
}
