//! Dense square matrices: products, low-rank changes, Cholesky. Bits as in [`super::lanes`].

use super::lanes::{axpy, dot, wide};

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

    /// self += Σ_l factor_l · u_l u_lᵀ of a symmetric matrix, the u_l one after the other.
    pub fn add_outers(&mut self, factors: &[f64], u: &[f64]) {
        matrix_add_outers(&mut self.cells, factors, u, false);
    }

    /// As [`Square::add_outers`], on and below the diagonal; what is above it loses its meaning.
    pub fn add_outers_below(&mut self, factors: &[f64], u: &[f64]) {
        matrix_add_outers(&mut self.cells, factors, u, true);
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

    /// self · x of a symmetric matrix.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.size];
        self.times_into(x, &mut product);
        product
    }

    /// self · x of a symmetric matrix, into a vector that is there.
    pub fn times_into(&self, x: &[f64], product: &mut [f64]) {
        symmetric_times(&self.cells, x, product);
    }

    /// The products of a symmetric matrix with four vectors, one after the other.
    pub fn times_four_into(&self, x: [&[f64]; 4], products: &mut [f64]) {
        symmetric_times_four(&self.cells, x, products);
    }

    /// xᵀ · self · x of a symmetric matrix.
    pub fn form(&self, x: &[f64]) -> f64 {
        dot(x, &self.times(x))
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        (0..self.size).map(|i| self.cells[i * self.size + i]).sum()
    }

    /// The Cholesky factor of a symmetric matrix of which only what is on and below the diagonal counts, in its place. `None`
    /// if it is not positive definite.
    pub fn cholesky(mut self) -> Option<Factor> {
        self.mirror();
        factorise(&mut self.cells, self.size).then_some(Factor(self))
    }
}

/// The upper Cholesky factor U of a matrix UᵀU, row by row; what is below its diagonal has no meaning.
pub struct Factor(Square);

impl Factor {
    /// (UᵀU)⁻¹ b in the place of b.
    pub fn solve(&self, b: &mut [f64]) {
        let upper = &self.0;
        for i in 0..upper.size {
            let row = &upper.row(i)[i..];
            b[i] /= row[0];
            let (own, after) = b[i..].split_at_mut(1);
            axpy(-own[0], &row[1..], after);
        }
        for i in (0..upper.size).rev() {
            let row = &upper.row(i)[i..];
            b[i] = (b[i] - dot(&row[1..], &b[i + 1..])) / row[0];
        }
    }

    /// (UᵀU)⁻¹.
    pub fn inverse(self) -> Square {
        let mut lower = Square::zeros(self.0.size);
        for i in 0..lower.size {
            for (j, &cell) in self.0.row(i).iter().enumerate().skip(i) {
                lower.cells[j * lower.size + i] = cell;
            }
        }
        invert_lower(&mut lower.cells, lower.size);
        let mut product = Square::zeros(lower.size);
        add_square_of_lower(&lower.cells, &mut product.cells, lower.size);
        product.mirror();
        product
    }
}

/// Some columns of Σ_i x_i · row_i for each of R vectors x: sums stay in registers while the rows pass by.
#[inline(always)]
fn part_of_products<const R: usize, const W: usize>(
    cells: &[f64],
    x: [&[f64]; R],
    start: usize,
) -> [[f64; W]; R] {
    let mut sums = [[0.0; W]; R];
    for (i, row) in cells.chunks_exact(x[0].len()).enumerate() {
        let Some(row) = row[start..].first_chunk::<W>() else { break };
        for r in 0..R {
            for lane in 0..W {
                sums[r][lane] += x[r][i] * row[lane];
            }
        }
    }
    sums
}

wide! {
    /// product = Σ_i x_i · row_i over the rows of a square matrix: its product with x, if it is symmetric.
    symmetric_times(cells: &[f64], x: &[f64], product: &mut [f64]) {
        let mut start = 0;
        while start + 32 <= x.len() {
            product[start..start + 32].copy_from_slice(&part_of_products::<1, 32>(cells, [x], start)[0]);
            start += 32;
        }
        while start + 8 <= x.len() {
            product[start..start + 8].copy_from_slice(&part_of_products::<1, 8>(cells, [x], start)[0]);
            start += 8;
        }
        if start < x.len() && x.len() >= 8 {
            // The last ones, some of them again.
            start = x.len() - 8;
            product[start..].copy_from_slice(&part_of_products::<1, 8>(cells, [x], start)[0]);
            return;
        }
        while start < x.len() {
            product[start] = part_of_products::<1, 1>(cells, [x], start)[0][0];
            start += 1;
        }
    }
}

wide! {
    /// The same of four vectors at once, to the same bits; the products one after the other.
    symmetric_times_four(cells: &[f64], x: [&[f64]; 4], products: &mut [f64]) {
        let size = x[0].len();
        let mut start = 0;
        while start + 8 <= size {
            let sums = part_of_products::<4, 8>(cells, x, start);
            for (product, sums) in products.chunks_exact_mut(size).zip(&sums) {
                product[start..start + 8].copy_from_slice(sums);
            }
            start += 8;
        }
        while start < size {
            let sums = part_of_products::<4, 1>(cells, x, start);
            for (product, sum) in products.chunks_exact_mut(size).zip(sums) {
                product[start] = sum[0];
            }
            start += 1;
        }
    }
}

wide! {
    /// cells += Σ_l factor_l · u_l u_lᵀ of a square matrix, the u_l one after the other; if `only_below`, on and below the diagonal,
    /// and perhaps above it.
    matrix_add_outers(cells: &mut [f64], factors: &[f64], u: &[f64], only_below: bool) {
        let size = u.len() / factors.len().max(1);
        let end = |i: usize| if only_below { (i + 1).next_multiple_of(4).min(size) } else { size };
        let (mut fours, mut vectors) = (factors.chunks_exact(4), u.chunks_exact((4 * size).max(1)));
        for (f, four) in (&mut fours).zip(&mut vectors) {
            let [a, b, c, d] = four_rows(four, size, 0);
            for (i, row) in cells.chunks_exact_mut(size).enumerate() {
                let parts = [&a[..end(i)], &b[..end(i)], &c[..end(i)], &d[..end(i)]];
                combine([f[0] * a[i], f[1] * b[i], f[2] * c[i], f[3] * d[i]], parts, &mut row[..end(i)]);
            }
        }
        for (factor, u) in fours.remainder().iter().zip(vectors.remainder().chunks_exact(size.max(1))) {
            for (i, (row, u_i)) in cells.chunks_exact_mut(size).zip(u).enumerate() {
                combine([factor * u_i], [&u[..end(i)]], &mut row[..end(i)]);
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

wide! {
    /// L⁻¹ in the place of L, with zeros above the diagonal.
    invert_lower(cells: &mut [f64], size: usize) {
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
                combine(factors, four_rows(above, size, k), &mut row[..k + 4]);
                k += 4;
            }
            while k < i {
                combine([-own[k] * pivot], [&above[k * size..=k * size + k]], &mut row[..=k]);
                k += 1;
            }
            row[i] = pivot;
        }
    }
}

wide! {
    /// product += LᵀL, on and below the diagonal, for an L that is zero above it.
    add_square_of_lower(lower: &[f64], product: &mut [f64], size: usize) {
        let mut i = 0;
        while i < size {
            let together = if i + 4 <= size { 4 } else { 1 };
            for (j, target) in product.chunks_exact_mut(size).take(i + together).enumerate() {
                let target = &mut target[..(j + 1).next_multiple_of(4).min(size)];
                if together == 4 {
                    let rows = four_rows(lower, size, i);
                    combine([rows[0][j], rows[1][j], rows[2][j], rows[3][j]], rows, target);
                } else {
                    let row = &lower[i * size..(i + 1) * size];
                    combine([row[j]], [row], target);
                }
            }
            i += together;
        }
    }
}

wide! {
    /// The upper Cholesky factor in the place of the upper half; false if the matrix is not positive definite.
    factorise(cells: &mut [f64], size: usize) -> bool {
        let mut start = 0;
        while start < size {
            let end = (start + 4).min(size);
            // Four rows of the factor; what is left of the diagonal goes along, for the sake of whole vectors.
            for i in start..end {
                let (above, rest) = cells.split_at_mut(i * size);
                for other in above[start * size..].chunks_exact(size) {
                    combine([-other[i]], [&other[start..]], &mut rest[start..size]);
                }
                if rest[i].is_nan() || rest[i] <= 0.0 {
                    return false;
                }
                let pivot = rest[i].sqrt().recip();
                rest[start..size].iter_mut().for_each(|cell| *cell *= pivot);
            }
            // What they take from all rows below.
            if end < size {
                let (above, below) = cells.split_at_mut(end * size);
                let [a, b, c, d] = four_rows(above, size, start);
                for (i, row) in (end..).zip(below.chunks_exact_mut(size)) {
                    let from = i - i % 4;
                    let parts = [&a[from..], &b[from..], &c[from..], &d[from..]];
                    combine([-a[i], -b[i], -c[i], -d[i]], parts, &mut row[from..]);
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
    use crate::data::seed::{Purpose, Stream};

    fn random_positive_definite(size: usize) -> Square {
        let mut stream = Stream::new(1, size as u64, Purpose::Split);
        let mut matrix = Square::zeros(size);
        for i in 0..size {
            matrix.row_mut(i)[i] = 1.0;
        }
        for _ in 0..2 * size {
            let u: Vec<f64> = (0..size).map(|_| stream.uniform() - 0.5).collect();
            matrix.add_outers(&[1.0], &u);
        }
        matrix
    }

    #[test]
    fn factor_inverts() {
        for size in [1, 2, 4, 9, 16, 33] {
            let matrix = random_positive_definite(size);
            let x: Vec<f64> = (0..size).map(|i| i as f64 - 3.0).collect();
            let factor = matrix.clone().cholesky().unwrap();
            let mut solved = matrix.times(&x);
            factor.solve(&mut solved);
            for (back, x) in solved.iter().zip(&x) {
                assert!((back - x).abs() < 1e-11);
            }
            let inverse = factor.inverse();
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
}
