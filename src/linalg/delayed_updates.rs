//! A symmetric matrix with delayed rank-k updates: four rank-one updates in one pass cost little
//! more than one.

use super::kernels::{add_projections, axpy, dot};
use super::packed_symmetric::{PackedSymmetric, UPDATES_PER_PASS, deinterleave, interleave};

/// Vectors whose products are computed together.
const BATCH: usize = 4;
/// A pivot below this has lost its digits to cancellation.
const LEAST_PIVOT: f64 = 1e-8;

/// A matrix and the pending updates Σ_l f_l v_l v_lᵀ.
#[derive(Clone, Default)]
pub struct DelayedUpdates {
    matrix: PackedSymmetric,
    factors: Vec<f64>,
    /// The vectors, concatenated.
    vectors: Vec<f64>,
    /// Scratch.
    products: Vec<f64>,
    interleaved: Vec<f64>,
}

impl DelayedUpdates {
    /// A matrix without pending updates.
    pub fn new(matrix: PackedSymmetric) -> Self {
        Self { matrix, factors: Vec::with_capacity(UPDATES_PER_PASS + BATCH), ..Self::default() }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.matrix.size()
    }

    /// The product with a vector.
    pub fn multiply(&self, x: &[f64], product: &mut [f64]) {
        self.matrix.multiply(x, product);
        self.apply_pending(x, product);
    }

    /// The products of the matrix, without pending updates, with several vectors, one after the
    /// other.
    fn multiply_several(&self, x: &[f64], products: &mut [f64], interleaved: &mut Vec<f64>) {
        let size = self.size();
        let width = self.matrix.width();
        interleaved.resize(4 * width, 0.0);
        let (of_x, of_products) = interleaved.split_at_mut(2 * width);
        for (x, products) in x.chunks(2 * size).zip(products.chunks_mut(2 * size)) {
            if x.len() == 2 * size {
                interleave(x.split_at(size).into(), of_x);
                self.matrix.multiply_two(of_x, of_products);
                deinterleave(of_products, products.split_at_mut(size).into());
            } else {
                self.matrix.multiply(x, products);
            }
        }
    }

    /// Adds the contribution of the pending updates to a product with x.
    fn apply_pending(&self, x: &[f64], product: &mut [f64]) {
        add_projections(&self.factors, &self.vectors, self.matrix.width(), x, product);
    }

    pub fn row_into(&self, j: usize, row: &mut [f64]) {
        self.matrix.row_into(j, row);
        for (factor, v) in self.pending() {
            axpy(factor * v[j], v, row);
        }
    }

    fn pending(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let vectors = self.vectors.chunks_exact(self.matrix.width().max(1));
        self.factors.iter().copied().zip(vectors.map(|v| &v[..self.size()]))
    }

    /// Applies the oldest pending updates once there are enough for a pass.
    fn flush_full_pass(&mut self) {
        if self.factors.len() >= UPDATES_PER_PASS {
            let length = UPDATES_PER_PASS * self.matrix.width();
            self.matrix.rank_k_update(&self.factors[..UPDATES_PER_PASS], &self.vectors[..length]);
            self.factors.drain(..UPDATES_PER_PASS);
            self.vectors.drain(..length);
        }
    }

    /// Adds factor · v vᵀ.
    pub fn update(&mut self, factor: f64, v: &[f64]) {
        self.flush_full_pass();
        self.push(factor, v);
    }

    fn push(&mut self, factor: f64, v: &[f64]) {
        self.factors.push(factor);
        self.vectors.extend_from_slice(v);
        self.vectors.resize(self.factors.len() * self.matrix.width(), 0.0);
    }

    /// Sherman–Morrison update of an inverse H⁻¹ for H + Σ_l weight_l · x_l x_lᵀ, the x_l one after
    /// the other. Returns false, leaving `self` unusable, if a pivot is not safely positive.
    pub fn update_inverse(&mut self, weights: &[f64], x: &[f64]) -> bool {
        let size = self.size();
        let mut products = std::mem::take(&mut self.products);
        let mut interleaved = std::mem::take(&mut self.interleaved);
        let mut is_safe = true;
        for (weights, x) in weights.chunks(BATCH).zip(x.chunks(BATCH * size.max(1))) {
            self.flush_full_pass();
            products.resize(x.len(), 0.0);
            self.multiply_several(x, &mut products, &mut interleaved);
            let pairs = x.chunks_exact(size).zip(products.chunks_exact_mut(size));
            for (weight, (x, product)) in weights.iter().zip(pairs) {
                // Include the earlier updates of this batch.
                self.apply_pending(x, product);
                let pivot = 1.0 + weight * dot(x, product);
                is_safe &= pivot >= LEAST_PIVOT;
                self.push(-weight / pivot, product);
            }
            if !is_safe {
                break;
            }
        }
        (self.products, self.interleaved) = (products, interleaved);
        is_safe
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.pending().fold(self.matrix.trace(), |trace, (factor, v)| trace + factor * dot(v, v))
    }

    /// The matrix with all pending updates applied.
    pub fn flushed(&mut self) -> &PackedSymmetric {
        self.flush();
        &self.matrix
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        self.matrix.clear(j);
        self.vectors.chunks_exact_mut(self.matrix.width()).for_each(|v| v[j] = 0.0);
    }

    /// Applies all pending updates.
    fn flush(&mut self) {
        self.matrix.rank_k_update(&self.factors, &self.vectors);
        self.factors.clear();
        self.vectors.clear();
    }

    /// The given rows and columns (ascending), in a matrix of another size, the rest of which is
    /// zero.
    #[must_use]
    pub fn submatrix(mut self, which: &[usize], size: usize) -> Self {
        self.flush();
        let mut matrix = PackedSymmetric::zeros(size);
        for (at, &i) in which.iter().enumerate() {
            let source = self.matrix.row(i);
            which[..=at].iter().enumerate().for_each(|(to, &j)| matrix.set(at, to, source[j]));
        }
        Self::new(matrix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of ones after some updates, delayed and at once.
    fn delayed_and_immediate(size: usize, changes: usize) -> (DelayedUpdates, PackedSymmetric) {
        let ones = PackedSymmetric::new(size, |_, _| 1.0);
        let mut late = DelayedUpdates::new(ones.clone());
        let mut soon = ones;
        for change in 1..=changes {
            let t = change as f64;
            let mut v: Vec<f64> =
                (0..size).map(|i| if i % 3 == 0 { t } else { 1.0 - i as f64 }).collect();
            let factor = if change.is_multiple_of(2) { t } else { -t };
            late.update(factor, &v);
            v.resize(soon.width(), 0.0);
            soon.rank_k_update(&[factor], &v);
        }
        (late, soon)
    }

    fn row_of(matrix: &PackedSymmetric, j: usize) -> Vec<f64> {
        let mut row = vec![0.0; matrix.size()];
        matrix.row_into(j, &mut row);
        row
    }

    #[test]
    fn pending_updates_count() {
        // Small whole numbers: sums are exact in any order.
        for (size, changes) in [(1, 3), (5, 8), (9, 9), (40, 21)] {
            let (mut late, soon) = delayed_and_immediate(size, changes);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 2.0).collect();
            let (mut product, mut expected) = (vec![0.0; size], vec![0.0; size]);
            late.multiply(&x, &mut product);
            soon.multiply(&x, &mut expected);
            assert_eq!(product, expected);
            let mut row = vec![0.0; size];
            for j in 0..size {
                late.row_into(j, &mut row);
                assert_eq!(row, row_of(&soon, j));
            }
            assert_eq!(late.trace(), soon.trace());
            for j in 0..size {
                assert_eq!(row_of(late.flushed(), j), row_of(&soon, j));
            }
        }
    }

    #[test]
    fn an_inverse_is_updated() {
        for changes in 1..=11 {
            // (I + Σ w x xᵀ) times what is claimed to be its inverse.
            let size = 6;
            let vector = |l: usize| {
                (0..size).map(|i| ((i * (l + 2)) % 5) as f64 - 2.0).collect::<Vec<f64>>()
            };
            let weights: Vec<f64> = (0..changes).map(|l| 1.0 + (l % 3) as f64).collect();
            let x: Vec<f64> = (0..changes).flat_map(vector).collect();
            let mut inverse = DelayedUpdates::new(PackedSymmetric::identity(size));
            assert!(inverse.update_inverse(&weights, &x));
            let matrix = PackedSymmetric::new(size, |i, j| {
                let added = |l: usize| weights[l] * vector(l)[i] * vector(l)[j];
                f64::from(i == j) + (0..changes).map(added).sum::<f64>()
            });
            for j in 0..size {
                let mut unit = vec![0.0; size];
                matrix.multiply(&row_of(inverse.flushed(), j), &mut unit);
                for (i, &cell) in unit.iter().enumerate() {
                    // Condition numbers are below 10³.
                    assert!((cell - f64::from(i == j)).abs() < 1e-12, "{changes} {i} {j}: {cell}");
                }
            }
            // What came can go; what never came cannot.
            let back: Vec<f64> = weights.iter().map(|weight| -weight).collect();
            assert!(inverse.update_inverse(&back, &x));
            assert!(!inverse.update_inverse(&[-1.0], &[1.0; 6]));
        }
    }

    #[test]
    fn cleared_and_chosen_rows() {
        let (mut late, soon) = delayed_and_immediate(9, 5);
        late.clear(4);
        let mut row = vec![0.0; 9];
        late.row_into(4, &mut row);
        assert_eq!(row, [0.0; 9]);
        let some = late.submatrix(&[0, 2, 7], 4);
        let mut row = vec![0.0; 4];
        some.row_into(1, &mut row);
        let expected = row_of(&soon, 2);
        assert_eq!(row, [expected[0], expected[2], expected[7], 0.0]);
    }
}
