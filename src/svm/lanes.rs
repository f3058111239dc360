//! The inner loops: dot, axpy, Cholesky. Sums run in eight fixed lanes, so the result has the same bits on every machine.

const LANES: usize = 8;

/// Σ a_i b_i.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a.zip(b) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h)) + tail
}

/// y += factor · x.
pub fn axpy(factor: f64, x: &[f64], y: &mut [f64]) {
    debug_assert_eq!(x.len(), y.len());
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// A dense square matrix, row by row.
#[derive(Debug, Clone, Default)]
pub struct Square {
    size: usize,
    cells: Vec<f64>,
}

impl Square {
    /// All zeros.
    pub fn zeros(size: usize) -> Self {
        Self { size, cells: vec![0.0; size * size] }
    }

    /// All ones.
    pub fn ones(size: usize) -> Self {
        Self { size, cells: vec![1.0; size * size] }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Row i.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.size..(i + 1) * self.size]
    }

    /// Row i, to be changed.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.cells[i * self.size..(i + 1) * self.size]
    }

    /// self += factor · u uᵀ.
    pub fn add_outer(&mut self, factor: f64, u: &[f64]) {
        for (row, &u_i) in self.cells.chunks_exact_mut(self.size.max(1)).zip(u) {
            if u_i != 0.0 {
                axpy(factor * u_i, u, row);
            }
        }
    }

    /// The same on and below the diagonal only.
    pub fn add_outer_below(&mut self, factor: f64, u: &[f64]) {
        for (i, (row, &u_i)) in self.cells.chunks_exact_mut(self.size).zip(u).enumerate() {
            axpy(factor * u_i, &u[..=i], &mut row[..=i]);
        }
    }

    /// Copies what is below the diagonal to above it.
    pub fn mirror(&mut self) {
        for i in 0..self.size {
            for j in 0..i {
                self.cells[j * self.size + i] = self.cells[i * self.size + j];
            }
        }
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        self.row_mut(j).fill(0.0);
        self.cells.chunks_exact_mut(self.size).for_each(|row| row[j] = 0.0);
    }

    /// self · x.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.size];
        self.times_into(x, &mut product);
        product
    }

    /// self · x, into a vector that is there.
    pub fn times_into(&self, x: &[f64], product: &mut [f64]) {
        for (cell, row) in product.iter_mut().zip(self.cells.chunks_exact(self.size.max(1))) {
            *cell = dot(row, x);
        }
    }

    /// xᵀ · self · x.
    pub fn form(&self, x: &[f64]) -> f64 {
        dot(x, &self.times(x))
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        (0..self.size).map(|i| self.cells[i * self.size + i]).sum()
    }

    /// Lets row and column j go.
    pub fn shrink(&mut self, j: usize) {
        let size = self.size;
        let mut write = 0;
        for i in (0..size).filter(|&i| i != j) {
            let (start, gap) = (i * size, i * size + j);
            self.cells.copy_within(start..gap, write);
            self.cells.copy_within(gap + 1..start + size, write + j);
            write += size - 1;
        }
        self.cells.truncate(write);
        self.size = size - 1;
    }

    /// The lower Cholesky factor, in place (what is above the diagonal is left over). `None` if not positive definite.
    pub fn cholesky(mut self) -> Option<Factor> {
        let size = self.size;
        for i in 0..size {
            let (above, rest) = self.cells.split_at_mut(i * size);
            let row = &mut rest[..size];
            for j in 0..i {
                let pivot = &above[j * size..j * size + j + 1];
                row[j] = (row[j] - dot(&row[..j], &pivot[..j])) / pivot[j];
            }
            let square = row[i] - dot(&row[..i], &row[..i]);
            if square.is_nan() || square <= 0.0 {
                return None;
            }
            row[i] = square.sqrt();
        }
        Some(Factor(self))
    }
}

/// A lower Cholesky factor L of a matrix L Lᵀ.
pub struct Factor(Square);

impl Factor {
    /// (L Lᵀ)⁻¹.
    pub fn inverse(self) -> Square {
        let size = self.0.size;
        let mut inverted = self.0;
        for i in 0..size {
            let (above, rest) = inverted.cells.split_at_mut(i * size);
            let row = &mut rest[..size];
            let pivot = row[i].recip();
            let coefficients = row[..i].to_vec();
            row.fill(0.0);
            for (k, coefficient) in coefficients.iter().enumerate() {
                axpy(-coefficient * pivot, &above[k * size..=k * size + k], &mut row[..=k]);
            }
            row[i] = pivot;
        }
        let mut product = Square::zeros(size);
        for i in 0..size {
            let row = &inverted.row(i)[..=i];
            for j in 0..=i {
                axpy(row[j], &row[..=j], &mut product.row_mut(j)[..=j]);
            }
        }
        product.mirror();
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Stream};

    fn random_positive_definite(size: usize) -> Square {
        let mut stream = Stream::new(1, size as u64, Purpose::Split);
        let mut matrix = Square::zeros(size);
        for i in 0..size {
            matrix.row_mut(i)[i] = 1.0;
        }
        for _ in 0..2 * size {
            let u: Vec<f64> = (0..size).map(|_| stream.uniform() - 0.5).collect();
            matrix.add_outer(1.0, &u);
        }
        matrix
    }

    #[test]
    fn dot_sums_every_length() {
        for length in 0..40 {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            let expected = (0..length).map(|i| f64::from(i * i)).sum::<f64>();
            assert_eq!(dot(&a, &a), expected);
        }
    }

    #[test]
    fn factor_inverts() {
        for size in [1, 2, 9, 33] {
            let matrix = random_positive_definite(size);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 3.0).collect();
            let inverse = matrix.clone().cholesky().unwrap().inverse();
            for (back, x) in inverse.times(&matrix.times(&x)).iter().zip(&x) {
                assert!((back - x).abs() < 1e-11);
            }
        }
    }

    #[test]
    fn refuses_what_is_not_positive_definite() {
        let mut matrix = Square::zeros(2);
        matrix.row_mut(0).copy_from_slice(&[1.0, 2.0]);
        matrix.row_mut(1).copy_from_slice(&[2.0, 1.0]);
        assert!(matrix.cholesky().is_none());
    }

    #[test]
    fn shrinks_one_row_and_column() {
        let mut matrix = Square { size: 3, cells: (0..9).map(f64::from).collect() };
        matrix.shrink(1);
        assert_eq!(matrix.cells, [0.0, 2.0, 6.0, 8.0]);
    }
}
