//! The inner loops: dot, axpy, products, Cholesky. Sums run in eight fixed lanes and multiplications are never fused with
//! additions, so the result has the same bits on every machine: wider vectors, chosen at run time, change only the speed.

const LANES: usize = 8;

/// Makes a function of its body twice, the second time for the 256-bit vectors of AVX2 (without FMA), and calls the one that
/// the processor can run. `dots` in the body is the one that goes with it.
macro_rules! wide {
    ($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$about])*
        pub fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    #[allow(unused_imports, reason = "not every body needs it")]
                    use avx2::dots;
                    $body
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
                    return unsafe { avx2($($argument),*) };
                }
            }
            #[allow(unused_imports, reason = "not every body needs it")]
            use plain::dots;
            $body
        }
    };
}

mod plain {
    use super::LANES;

    /// R sums Σ a_i b_i with one b: each has the bits of [`super::dot`], and they do not wait for one another.
    #[inline(always)]
    pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
        let (b, b_tail) = b.as_chunks::<LANES>();
        let mut lanes = [[0.0; LANES]; R];
        let whole = a.map(|a| &a.as_chunks::<LANES>().0[..b.len()]);
        for (start, y) in b.iter().enumerate() {
            for r in 0..R {
                let x = &whole[r][start];
                for lane in 0..LANES {
                    lanes[r][lane] += x[lane] * y[lane];
                }
            }
        }
        std::array::from_fn(|r| super::sum(lanes[r]) + super::tail(a[r], b_tail))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd, _mm256_castpd256_pd128,
        _mm256_extractf128_pd, _mm256_hadd_pd, _mm256_mul_pd, _mm256_setr_pd, _mm256_setzero_pd,
    };

    use super::LANES;

    /// The same as the plain one, to the bit. Written out, for the compiler makes vectors across the R sums and shuffles.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
        let (b, b_tail) = b.as_chunks::<LANES>();
        let mut lanes = [[_mm256_setzero_pd(); 2]; R];
        let whole = a.map(|a| &a.as_chunks::<LANES>().0[..b.len()]);
        for (start, y) in b.iter().enumerate() {
            let y = halves(y);
            for r in 0..R {
                let x = halves(&whole[r][start]);
                for half in 0..2 {
                    lanes[r][half] = _mm256_add_pd(lanes[r][half], _mm256_mul_pd(x[half], y[half]));
                }
            }
        }
        let mut sums = [0.0; R];
        for r in 0..R {
            sums[r] = sum(lanes[r]) + super::tail(a[r], b_tail);
        }
        sums
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn halves(x: &[f64; LANES]) -> [__m256d; 2] {
        [_mm256_setr_pd(x[0], x[1], x[2], x[3]), _mm256_setr_pd(x[4], x[5], x[6], x[7])]
    }

    /// In the order of [`super::sum`].
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum(lanes: [__m256d; 2]) -> f64 {
        let pairs = _mm256_hadd_pd(lanes[0], lanes[1]);
        let fours = _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd::<1>(pairs));
        _mm_cvtsd_f64(_mm_add_sd(fours, _mm_unpackhi_pd(fours, fours)))
    }
}

#[inline(always)]
fn sum(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// What is left of a sum when the lanes are full.
#[inline(always)]
fn tail(a: &[f64], b_tail: &[f64]) -> f64 {
    a[a.len() - b_tail.len()..].iter().zip(b_tail).map(|(x, y)| x * y).sum()
}

#[inline(always)]
fn add_scaled(factor: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

wide! {
    /// Σ a_i b_i.
    dot(a: &[f64], b: &[f64]) -> f64 {
        debug_assert_eq!(a.len(), b.len());
        dots([a], b)[0]
    }
}

wide! {
    /// y += factor · x.
    axpy(factor: f64, x: &[f64], y: &mut [f64]) {
        debug_assert_eq!(x.len(), y.len());
        add_scaled(factor, x, y);
    }
}

wide! {
    /// product_i = row_i · x over the rows of a matrix of x.len() columns.
    matrix_times(cells: &[f64], x: &[f64], product: &mut [f64]) {
        let width = x.len().max(1);
        let mut rows = cells.chunks_exact(4 * width);
        let mut products = product.chunks_exact_mut(4);
        for (four, product) in (&mut rows).zip(&mut products) {
            let row = |r: usize| &four[r * width..(r + 1) * width];
            product.copy_from_slice(&dots([row(0), row(1), row(2), row(3)], x));
        }
        let rest = rows.remainder().chunks_exact(width);
        for (product, row) in products.into_remainder().iter_mut().zip(rest) {
            *product = dots([row], x)[0];
        }
    }
}

wide! {
    /// cells += factor · u vᵀ, row by row.
    matrix_add_outer(cells: &mut [f64], factor: f64, u: &[f64], v: &[f64]) {
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            if u != 0.0 {
                add_scaled(factor * u, v, row);
            }
        }
    }
}

wide! {
    /// product += Σ_i u_i · row_i over the rows of a matrix, a range of each.
    rows_times(cells: &[f64], width: usize, range: std::ops::Range<usize>, u: &[f64], product: &mut [f64]) {
        for (row, &u) in cells.chunks_exact(width.max(1)).zip(u) {
            add_scaled(u, &row[range.clone()], product);
        }
    }
}

wide! {
    /// products_c = column_c · v for some columns of a matrix that lies column by column.
    columns_times(cells: &[f64], columns: &[usize], v: &[f64], products: &mut [f64]) {
        let column = |j: usize| &cells[j * v.len()..(j + 1) * v.len()];
        let mut four = columns.chunks_exact(4);
        let mut sums = products.chunks_exact_mut(4);
        for (four, sums) in (&mut four).zip(&mut sums) {
            let a = [column(four[0]), column(four[1]), column(four[2]), column(four[3])];
            sums.copy_from_slice(&dots(a, v));
        }
        for (&j, sum) in four.remainder().iter().zip(sums.into_remainder()) {
            *sum = dots([column(j)], v)[0];
        }
    }
}

wide! {
    /// sum += Σ_c w_c · column_c over some columns of a matrix that lies column by column.
    add_columns(cells: &[f64], columns: &[usize], w: &[f64], sum: &mut [f64]) {
        let length = sum.len();
        // A block of the sum stays in the nearest cache while the columns pass by.
        for start in (0..length).step_by(1024) {
            let block = start..(start + 1024).min(length);
            let part = |j: usize| &cells[j * length + block.start..j * length + block.end];
            let sum = &mut sum[block.clone()];
            let (mut four, mut weights) = (columns.chunks_exact(4), w.chunks_exact(4));
            for (j, w) in (&mut four).zip(&mut weights) {
                let parts = part(j[0]).iter().zip(part(j[1])).zip(part(j[2])).zip(part(j[3]));
                for (sum, (((a, b), c), d)) in sum.iter_mut().zip(parts) {
                    *sum = *sum + w[0] * a + w[1] * b + w[2] * c + w[3] * d;
                }
            }
            for (&j, &w) in four.remainder().iter().zip(weights.remainder()) {
                add_scaled(w, part(j), sum);
            }
        }
    }
}

wide! {
    /// 2C_i (θ_i − f_i) where θ_i f_i < 1, else 0.
    pull(theta: &[f64], decision: &[f64], cost: &[f64], pull: &mut [f64]) {
        for (pull, ((theta, f), cost)) in pull.iter_mut().zip(theta.iter().zip(decision).zip(cost)) {
            *pull = if theta * f < 1.0 { cost * (theta - f) } else { 0.0 };
        }
    }
}

wide! {
    /// Σ 2C_i (θ_i − g_i)·change_i over the rows with θ_i g_i < 1, where g = f, and where g = f + change.
    pulls_along(theta: &[f64], decision: &[f64], cost: &[f64], change: &[f64]) -> (f64, f64) {
        let (mut here, mut there) = ([0.0; LANES], [0.0; LANES]);
        let length = theta.len();
        for start in (0..length).step_by(LANES) {
            for lane in 0..LANES.min(length - start) {
                let i = start + lane;
                let (g, h) = (decision[i], decision[i] + change[i]);
                let weight = cost[i] * change[i];
                here[lane] += if theta[i] * g < 1.0 { weight * (theta[i] - g) } else { 0.0 };
                there[lane] += if theta[i] * h < 1.0 { weight * (theta[i] - h) } else { 0.0 };
            }
        }
        (sum(here), sum(there))
    }
}

wide! {
    /// Adds to the lower triangle of a square matrix the products of all pairs of `columns`, each `length` long.
    add_products(matrix: &mut Square, columns: &[f64], length: usize) {
        let column = |j: usize| &columns[j * length..(j + 1) * length];
        for i in 0..matrix.size {
            let (own, row) = (column(i), &mut matrix.cells[i * matrix.size..]);
            let mut j = 0;
            while j + 4 <= i + 1 {
                let products = dots([column(j), column(j + 1), column(j + 2), column(j + 3)], own);
                row[j..j + 4].iter_mut().zip(products).for_each(|(cell, product)| *cell += product);
                j += 4;
            }
            for (cell, j) in row[j..=i].iter_mut().zip(j..) {
                *cell += dots([column(j)], own)[0];
            }
        }
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
        matrix_add_outer(&mut self.cells, factor, u, u);
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
        matrix_times(&self.cells, x, product);
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
