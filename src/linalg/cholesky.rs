//! The Cholesky factor: solving and inverting. Bits are reproducible as [`super::simd`] describes.

use pulp::{cast, f64x8};

use super::aligned::{Aligned, Line};
use super::kernels::{axpy, dot};
use super::packed_symmetric::PackedSymmetric;
use super::simd::{LANES, Lanes, combine, kernel};

/// The upper Cholesky factor U of a matrix UᵀU.
#[derive(Default)]
pub struct Cholesky {
    size: usize,
    /// Cells of a row: the size, rounded up to whole vectors. The number of rows is rounded up to
    /// whole panels.
    width: usize,
    /// Row by row; cells below the diagonal are meaningless. There may be more than are needed.
    cells: Aligned,
}

/// Rows of the factor that are computed together.
const PANEL: usize = 4;

impl Cholesky {
    /// Factorises a symmetric matrix; `None` if it is not positive definite.
    pub fn new(matrix: &PackedSymmetric) -> Option<Self> {
        let mut factor = Self::default();
        let is_definite = factor.renew(matrix.size(), |i, row| {
            row.iter_mut().zip(i..).for_each(|(cell, j)| *cell = matrix.get(j, i));
        });
        is_definite.then_some(factor)
    }

    /// Factorises another matrix in the same memory, whose rows are written, each from the diagonal
    /// on, by a function. False if it is not positive definite; the factor is of no use then.
    pub fn renew(&mut self, size: usize, mut write: impl FnMut(usize, &mut [f64])) -> bool {
        let width = size.next_multiple_of(LANES);
        let needed = size.next_multiple_of(PANEL) * width;
        if self.cells.len() < needed {
            self.cells = Aligned::zeros(needed);
        }
        (self.size, self.width) = (size, width);
        for (i, row) in self.cells[..needed].chunks_exact_mut(width.max(1)).enumerate() {
            // Whole vectors are computed, from the first one that the panel's diagonal reaches.
            row[(i - i % PANEL) / LANES * LANES..].fill(0.0);
            if i < size {
                write(i, &mut row[i..size]);
            }
        }
        factorise(&mut self.cells[..needed], width, size)
    }

    /// Row i from the diagonal on.
    fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width + i..i * self.width + self.size]
    }

    /// Replaces b by (UᵀU)⁻¹ b.
    pub fn solve(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = self.row(i);
            b[i] /= row[0];
            let (own, after) = b[i..].split_at_mut(1);
            axpy(-own[0], &row[1..], after);
        }
        self.backward(b);
    }

    /// Replaces eight vectors B, whose entries lie side by side, by U⁻ᵀB.
    pub fn forward(&self, vectors: &mut [Line<[f64; LANES]>]) {
        forward(&self.cells, self.width, &mut vectors[..self.size]);
    }

    /// Replaces b by U⁻¹b.
    pub fn backward(&self, b: &mut [f64]) {
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

kernel! {
    /// Replaces eight vectors by their solutions with the lower triangle Uᵀ, four entries of each
    /// at a time.
    forward(s; cells: &[f64], width: usize, vectors: &mut [Line<[f64; LANES]>]) {
        for start in (0..vectors.len()).step_by(PANEL) {
            let (known, rest) = vectors.split_at_mut(start);
            // Sums over rows in turn: two chains of additions that do not wait for each other.
            let mut sums = [[s.splat_f64s(0.0); PANEL]; 2];
            let rows = cells[..start * width].chunks_exact(2 * width.max(1));
            for (rows, known) in rows.zip(known.as_chunks::<2>().0) {
                for turn in 0..2 {
                    let factors = &rows[turn * width + start..][..PANEL];
                    for r in 0..PANEL {
                        let product = s.mul_f64s(s.splat_f64s(factors[r]), cast(known[turn].0));
                        sums[turn][r] = s.add_f64s(sums[turn][r], product);
                    }
                }
            }
            for r in 0..PANEL.min(rest.len()) {
                let mut own = s.sub_f64s(cast(rest[r].0), s.add_f64s(sums[0][r], sums[1][r]));
                for above in 0..r {
                    let factor = s.splat_f64s(cells[(start + above) * width + start + r]);
                    own = s.sub_f64s(own, s.mul_f64s(factor, cast(rest[above].0)));
                }
                let inverse = s.splat_f64s(cells[(start + r) * width + start + r].recip());
                rest[r] = Line(cast(s.mul_f64s(own, inverse)));
            }
        }
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
    /// Replaces the upper triangle by the upper Cholesky factor; false if the matrix is not
    /// positive definite.
    factorise(s; cells: &mut [f64], width: usize, size: usize) -> bool {
        for start in (0..size).step_by(PANEL) {
            let (above, rest) = cells.split_at_mut(start * width);
            let panel = &mut rest[..PANEL * width];
            // Cells left of the diagonal are computed as well, to fill whole vectors.
            let mut at = start - start % LANES;
            let first = without_above::<_, 1>(s, above, panel, start, at);
            let Some(diagonal) = Diagonal::new(first, start - at, PANEL.min(size - start)) else { return false };
            diagonal.solve(s, first, panel, at);
            at += LANES;
            while at + 2 * LANES <= width {
                diagonal.solve(s, without_above::<_, 2>(s, above, panel, start, at), panel, at);
                at += 2 * LANES;
            }
            if at < width {
                diagonal.solve(s, without_above::<_, 1>(s, above, panel, start, at), panel, at);
            }
        }
        true
    }
}

/// V vectors from a column on, of each row of a panel, minus what the rows of the factor above it
/// contribute.
#[inline(always)]
fn without_above<S: Lanes, const V: usize>(
    s: S,
    above: &[f64],
    panel: &[f64],
    start: usize,
    at: usize,
) -> [[f64x8; V]; PANEL] {
    let width = panel.len() / PANEL;
    let mut cells = [[s.splat_f64s(0.0); V]; PANEL];
    for r in 0..PANEL {
        let row = panel[r * width + at..][..V * LANES].as_chunks::<LANES>().0;
        (0..V).for_each(|v| cells[r][v] = cast(row[v]));
    }
    for row in above.chunks_exact(width) {
        let vectors = row[at..][..V * LANES].as_chunks::<LANES>().0;
        let factors = &row[start..][..PANEL];
        for r in 0..PANEL {
            let factor = s.splat_f64s(factors[r]);
            (0..V).for_each(|v| {
                cells[r][v] = s.sub_f64s(cells[r][v], s.mul_f64s(factor, cast(vectors[v])))
            });
        }
    }
    cells
}

/// The block of the factor where a panel crosses the diagonal.
struct Diagonal {
    /// Above the diagonal.
    cells: [[f64; PANEL]; PANEL],
    /// One over the diagonal; zero for rows that the matrix does not have.
    inverse: [f64; PANEL],
}

impl Diagonal {
    /// Of the first vectors of the rows, `before` cells of which are left of the panel's diagonal;
    /// `None` if the matrix is not positive definite.
    #[inline(always)]
    fn new(first: [[f64x8; 1]; PANEL], before: usize, rows: usize) -> Option<Self> {
        let mut block = Self { cells: [[0.0; PANEL]; PANEL], inverse: [0.0; PANEL] };
        for i in 0..rows {
            let row: [f64; LANES] = cast(first[i][0]);
            let mut row: [f64; PANEL] = std::array::from_fn(|j| row[before + j]);
            for above in 0..i {
                (i..PANEL).for_each(|j| row[j] -= block.cells[above][i] * block.cells[above][j]);
            }
            if row[i].is_nan() || row[i] <= 0.0 {
                return None;
            }
            block.inverse[i] = row[i].sqrt().recip();
            (i..PANEL).for_each(|j| block.cells[i][j] = row[j] * block.inverse[i]);
        }
        Some(block)
    }

    /// Writes vectors of the panel's rows of the factor, from a column on.
    #[inline(always)]
    fn solve<S: Lanes, const V: usize>(
        &self,
        s: S,
        mut cells: [[f64x8; V]; PANEL],
        panel: &mut [f64],
        at: usize,
    ) {
        let width = panel.len() / PANEL;
        for r in 0..PANEL {
            let row = panel[r * width + at..][..V * LANES].as_chunks_mut::<LANES>().0;
            for v in 0..V {
                for above in 0..r {
                    let factor = s.splat_f64s(self.cells[above][r]);
                    cells[r][v] = s.sub_f64s(cells[r][v], s.mul_f64s(factor, cells[above][v]));
                }
                cells[r][v] = s.mul_f64s(cells[r][v], s.splat_f64s(self.inverse[r]));
                row[v] = cast(cells[r][v]);
            }
        }
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
            let lanes = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
            let mut side_by_side: Vec<Line<[f64; LANES]>> =
                image.iter().map(|&b| Line(lanes.map(|lane| lane * b))).collect();
            factor.forward(&mut side_by_side);
            for lane in 0..LANES {
                let mut own: Vec<f64> = side_by_side.iter().map(|lanes| lanes.0[lane]).collect();
                factor.backward(&mut own);
                for (own, x) in own.iter().zip(&x) {
                    let expected = (lane + 1) as f64 * x;
                    assert!((own - expected).abs() < 1e-10, "{size} {lane}: {own} {expected}");
                }
            }
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
        assert!(
            Cholesky::new(&PackedSymmetric::new(2, |i, j| if i == j { 1.0 } else { 2.0 }))
                .is_none()
        );
        assert!(Cholesky::new(&PackedSymmetric::new(5, |_, _| f64::NAN)).is_none());
    }
}
