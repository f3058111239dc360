//! The Cholesky factor: solving and inverting. Bits are reproducible as [`super::simd`] describes.

use super::kernels::{axpy, dot};
use super::packed_symmetric::PackedSymmetric;
use super::simd::{combine, kernel};

/// The upper Cholesky factor U of a matrix UᵀU.
pub struct Cholesky {
    size: usize,
    /// Row by row; cells below the diagonal are meaningless.
    cells: Vec<f64>,
}

impl Cholesky {
    /// Factorises a symmetric matrix; `None` if it is not positive definite.
    pub fn new(matrix: &PackedSymmetric) -> Option<Self> {
        let size = matrix.size();
        let mut cells = vec![0.0; size * size];
        for i in 0..size {
            matrix.row(i).iter().enumerate().for_each(|(j, &cell)| cells[j * size + i] = cell);
        }
        factorise(&mut cells, size).then_some(Self { size, cells })
    }

    /// Row i from the diagonal on.
    fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.size + i..(i + 1) * self.size]
    }

    /// Replaces b by (UᵀU)⁻¹ b.
    pub fn solve(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = self.row(i);
            b[i] /= row[0];
            let (own, after) = b[i..].split_at_mut(1);
            axpy(-own[0], &row[1..], after);
        }
        for i in (0..self.size).rev() {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[1..], &b[i + 1..])) / row[0];
        }
    }

    /// (UᵀU)⁻¹.
    pub fn inverse(&self) -> PackedSymmetric {
        let size = self.size;
        let mut lower = vec![0.0; size * size];
        for i in 0..size {
            (i..).zip(self.row(i)).for_each(|(j, &cell)| lower[j * size + i] = cell);
        }
        invert_lower(&mut lower, size);
        let mut product = vec![0.0; size * size];
        add_square_of_lower(&lower, &mut product, size);
        PackedSymmetric::new(size, |i, j| product[i * size + j])
    }
}

/// Four rows of a matrix, from the i-th on.
#[inline(always)]
fn four_rows(cells: &[f64], size: usize, i: usize) -> [&[f64]; 4] {
    let (a, b) = cells[i * size..(i + 4) * size].split_at(2 * size);
    let ((a, b), (c, d)) = (a.split_at(size), b.split_at(size));
    [a, b, c, d]
}

kernel! {
    /// Replaces L by L⁻¹, with zeros above the diagonal.
    invert_lower(s; cells: &mut [f64], size: usize) {
        let mut own = vec![0.0; size];
        for i in 0..size {
            let (above, rest) = cells.split_at_mut(i * size);
            let row = &mut rest[..size];
            own[..=i].copy_from_slice(&row[..=i]);
            let pivot = own[i].recip();
            row.fill(0.0);
            let mut k = 0;
            while k + 4 <= i {
                let factors = [-own[k] * pivot, -own[k + 1] * pivot, -own[k + 2] * pivot, -own[k + 3] * pivot];
                combine(s, factors, four_rows(above, size, k), &mut row[..k + 4]);
                k += 4;
            }
            while k < i {
                combine(s, [-own[k] * pivot], [&above[k * size..=k * size + k]], &mut row[..=k]);
                k += 1;
            }
            row[i] = pivot;
        }
    }
}

kernel! {
    /// product += LᵀL, on and below the diagonal, for an L that is zero above it.
    add_square_of_lower(s; lower: &[f64], product: &mut [f64], size: usize) {
        let mut i = 0;
        while i < size {
            let together = if i + 4 <= size { 4 } else { 1 };
            for (j, target) in product.chunks_exact_mut(size).take(i + together).enumerate() {
                let target = &mut target[..(j + 1).next_multiple_of(4).min(size)];
                if together == 4 {
                    let rows = four_rows(lower, size, i);
                    combine(s, [rows[0][j], rows[1][j], rows[2][j], rows[3][j]], rows, target);
                } else {
                    let row = &lower[i * size..(i + 1) * size];
                    combine(s, [row[j]], [row], target);
                }
            }
            i += together;
        }
    }
}

kernel! {
    /// Replaces the upper triangle by the upper Cholesky factor; false if the matrix is not positive definite.
    factorise(s; cells: &mut [f64], size: usize) -> bool {
        let mut start = 0;
        while start < size {
            let end = (start + 4).min(size);
            // Four rows of the factor; cells left of the diagonal are computed as well, to fill whole vectors.
            for i in start..end {
                let (above, rest) = cells.split_at_mut(i * size);
                for other in above[start * size..].chunks_exact(size) {
                    combine(s, [-other[i]], [&other[start..]], &mut rest[start..size]);
                }
                if rest[i].is_nan() || rest[i] <= 0.0 {
                    return false;
                }
                let pivot = rest[i].sqrt().recip();
                rest[start..size].iter_mut().for_each(|cell| *cell *= pivot);
            }
            // Subtract their contribution from all rows below.
            if end < size {
                let (above, below) = cells.split_at_mut(end * size);
                let [a, b, c, d] = four_rows(above, size, start);
                for (i, row) in (end..).zip(below.chunks_exact_mut(size)) {
                    let from = i - i % 4;
                    let parts = [&a[from..], &b[from..], &c[from..], &d[from..]];
                    combine(s, [-a[i], -b[i], -c[i], -d[i]], parts, &mut row[from..]);
                }
            }
            start = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    fn random_positive_definite(size: usize) -> PackedSymmetric {
        let mut rng = Rng::new(1, size as u64, Purpose::Split);
        let mut matrix = PackedSymmetric::identity(size);
        for _ in 0..2 * size {
            let mut u: Vec<f64> = (0..size).map(|_| rng.uniform() - 0.5).collect();
            u.resize(matrix.width(), 0.0);
            matrix.rank_k_update(&[1.0], &u);
        }
        matrix
    }

    #[test]
    fn factor_solves_and_inverts() {
        for size in [1, 2, 4, 9, 16, 33] {
            let matrix = random_positive_definite(size);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 3.0).collect();
            let (mut image, mut back) = (vec![0.0; size], vec![0.0; size]);
            matrix.multiply(&x, &mut image);
            let factor = Cholesky::new(&matrix).unwrap();
            factor.inverse().multiply(&image, &mut back);
            factor.solve(&mut image);
            // The condition numbers are below a hundred.
            for ((x, solved), back) in x.iter().zip(&image).zip(&back) {
                assert!(
                    (solved - x).abs() < 1e-11 && (back - x).abs() < 1e-11,
                    "{size}: {x} {solved} {back}"
                );
            }
        }
    }

    #[test]
    fn refuses_what_is_not_positive_definite() {
        assert!(Cholesky::new(&PackedSymmetric::new(2, |i, j| if i == j { 1.0 } else { 2.0 })).is_none());
        assert!(Cholesky::new(&PackedSymmetric::new(5, |_, _| f64::NAN)).is_none());
    }
}
