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
