//! A symmetric matrix that takes its low-rank changes late: several at once cost little more than one.

use super::lanes::{add_projections, axpy, dot};
use super::symmetric::{Symmetric, TOGETHER, apart, taking_turns};

/// Vectors whose images are computed together.
const BATCH: usize = 4;
/// A pivot below this has lost its digits to cancellation.
const LOST: f64 = 1e-8;

/// A matrix and the changes Σ_l f_l v_l v_lᵀ that wait to be added to it.
#[derive(Clone, Default)]
pub struct Lagging {
    matrix: Symmetric,
    factors: Vec<f64>,
    /// One after the other.
    vectors: Vec<f64>,
    /// Room to work in.
    images: Vec<f64>,
    turns: Vec<f64>,
}

impl Lagging {
    /// A matrix with nothing waiting.
    pub fn new(matrix: Symmetric) -> Self {
        Self { matrix, factors: Vec::with_capacity(TOGETHER + BATCH), ..Self::default() }
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

    /// The products of the matrix, without the changes that wait, with several vectors, one after the other.
    fn images_into(&self, x: &[f64], images: &mut [f64], turns: &mut Vec<f64>) {
        let (size, width) = (self.size(), self.matrix.width());
        turns.resize(4 * width, 0.0);
        let (of_x, of_images) = turns.split_at_mut(2 * width);
        for (x, images) in x.chunks(2 * size).zip(images.chunks_mut(2 * size)) {
            if x.len() == 2 * size {
                taking_turns(x.split_at(size).into(), of_x);
                self.matrix.times_two_into(of_x, of_images);
                apart(of_images, images.split_at_mut(size).into());
            } else {
                self.matrix.times_into(x, images);
            }
        }
    }

    /// Adds to a product with x what the changes that wait make of it.
    fn correct(&self, x: &[f64], product: &mut [f64]) {
        add_projections(&self.factors, &self.vectors, self.matrix.width(), x, product);
    }

    /// Row j.
    pub fn row_into(&self, j: usize, row: &mut [f64]) {
        self.matrix.row_into(j, row);
        for (factor, v) in self.changes() {
            axpy(factor * v[j], v, row);
        }
    }

    fn changes(&self) -> impl Iterator<Item = (f64, &[f64])> {
        let vectors = self.vectors.chunks_exact(self.matrix.width().max(1));
        self.factors.iter().copied().zip(vectors.map(|v| &v[..self.size()]))
    }

    /// Adds the changes that have waited longest, if enough of them do to be added at once.
    fn make_room(&mut self) {
        if self.factors.len() >= TOGETHER {
            let length = TOGETHER * self.matrix.width();
            self.matrix.add_outers(&self.factors[..TOGETHER], &self.vectors[..length]);
            self.factors.drain(..TOGETHER);
            self.vectors.drain(..length);
        }
    }

    /// Takes the change factor · v vᵀ.
    pub fn change(&mut self, factor: f64, v: &[f64]) {
        self.make_room();
        self.take(factor, v);
    }

    fn take(&mut self, factor: f64, v: &[f64]) {
        self.factors.push(factor);
        self.vectors.extend_from_slice(v);
        self.vectors.resize(self.factors.len() * self.matrix.width(), 0.0);
    }

    /// Of an inverse H⁻¹ makes that of H + Σ_l weight_l · x_l x_lᵀ, the x_l one after the other. Where that is not clearly positive
    /// definite it gives up half-way, and tells so.
    pub fn follow(&mut self, weights: &[f64], x: &[f64]) -> bool {
        let size = self.size();
        let (mut images, mut turns) = (std::mem::take(&mut self.images), std::mem::take(&mut self.turns));
        let mut is_clear = true;
        for (weights, x) in weights.chunks(BATCH).zip(x.chunks(BATCH * size.max(1))) {
            self.make_room();
            images.resize(x.len(), 0.0);
            self.images_into(x, &mut images, &mut turns);
            let pairs = x.chunks_exact(size).zip(images.chunks_exact_mut(size));
            for (weight, (x, image)) in weights.iter().zip(pairs) {
                // Those of this batch that went before count, too.
                self.correct(x, image);
                let pivot = 1.0 + weight * dot(x, image);
                is_clear &= pivot >= LOST;
                self.take(-weight / pivot, image);
            }
            if !is_clear {
                break;
            }
        }
        (self.images, self.turns) = (images, turns);
        is_clear
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.changes().fold(self.matrix.trace(), |trace, (factor, v)| trace + factor * dot(v, v))
    }

    /// The matrix, with nothing waiting.
    pub fn whole(&mut self) -> &Symmetric {
        self.add_up();
        &self.matrix
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        self.matrix.clear(j);
        self.vectors.chunks_exact_mut(self.matrix.width()).for_each(|v| v[j] = 0.0);
    }

    /// Adds what waits.
    fn add_up(&mut self) {
        self.matrix.add_outers(&self.factors, &self.vectors);
        self.factors.clear();
        self.vectors.clear();
    }

    /// Some of its rows and columns (ascending), in a matrix of another size, the rest of which is zero.
    #[must_use]
    pub fn some(mut self, which: &[usize], size: usize) -> Self {
        self.add_up();
        let mut matrix = Symmetric::zeros(size);
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

    /// A matrix of ones that took some changes, late and at once.
    fn late_and_soon(size: usize, changes: usize) -> (Lagging, Symmetric) {
        let ones = Symmetric::new(size, |_, _| 1.0);
        let (mut late, mut soon) = (Lagging::new(ones.clone()), ones);
        for change in 1..=changes {
            let t = change as f64;
            let mut v: Vec<f64> = (0..size).map(|i| if i % 3 == 0 { t } else { 1.0 - i as f64 }).collect();
            let factor = if change.is_multiple_of(2) { t } else { -t };
            late.change(factor, &v);
            v.resize(soon.width(), 0.0);
            soon.add_outers(&[factor], &v);
        }
        (late, soon)
    }

    fn row_of(matrix: &Symmetric, j: usize) -> Vec<f64> {
        let mut row = vec![0.0; matrix.size()];
        matrix.row_into(j, &mut row);
        row
    }

    #[test]
    fn what_waits_counts() {
        // Small whole numbers: sums are exact in any order.
        for (size, changes) in [(1, 3), (5, 8), (9, 9), (40, 21)] {
            let (mut late, soon) = late_and_soon(size, changes);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 2.0).collect();
            let (mut product, mut expected) = (vec![0.0; size], vec![0.0; size]);
            late.times_into(&x, &mut product);
            soon.times_into(&x, &mut expected);
            assert_eq!(product, expected);
            let mut row = vec![0.0; size];
            for j in 0..size {
                late.row_into(j, &mut row);
                assert_eq!(row, row_of(&soon, j));
            }
            assert_eq!(late.trace(), soon.trace());
            for j in 0..size {
                assert_eq!(row_of(late.whole(), j), row_of(&soon, j));
            }
        }
    }

    #[test]
    fn an_inverse_follows() {
        for changes in 1..=11 {
            // (I + Σ w x xᵀ) times what is claimed to be its inverse.
            let size = 6;
            let vector = |l: usize| (0..size).map(|i| ((i * (l + 2)) % 5) as f64 - 2.0).collect::<Vec<f64>>();
            let weights: Vec<f64> = (0..changes).map(|l| 1.0 + (l % 3) as f64).collect();
            let x: Vec<f64> = (0..changes).flat_map(vector).collect();
            let mut inverse = Lagging::new(Symmetric::identity(size));
            assert!(inverse.follow(&weights, &x));
            let matrix = Symmetric::new(size, |i, j| {
                let added = |l: usize| weights[l] * vector(l)[i] * vector(l)[j];
                f64::from(i == j) + (0..changes).map(added).sum::<f64>()
            });
            for j in 0..size {
                let mut unit = vec![0.0; size];
                matrix.times_into(&row_of(inverse.whole(), j), &mut unit);
                for (i, &cell) in unit.iter().enumerate() {
                    // Condition numbers are below 10³.
                    assert!((cell - f64::from(i == j)).abs() < 1e-12, "{changes} {i} {j}: {cell}");
                }
            }
            // What came can go; what never came cannot.
            let back: Vec<f64> = weights.iter().map(|weight| -weight).collect();
            assert!(inverse.follow(&back, &x));
            assert!(!inverse.follow(&[-1.0], &[1.0; 6]));
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
        let expected = row_of(&soon, 2);
        assert_eq!(row, [expected[0], expected[2], expected[7], 0.0]);
    }
}
