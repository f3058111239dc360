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
        __m256d, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd,
        _mm256_castpd256_pd128, _mm256_extractf128_pd, _mm256_hadd_pd, _mm256_mul_pd, _mm256_setr_pd,
        _mm256_setzero_pd,
    };

    use super::LANES;

    /// The same as the plain one, to the bit. Written out, for the compiler makes vectors across the R sums and shuffles.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
        let (b, b_tail) = b.as_chunks::<LANES>();
        let mut lanes = [[_mm256_setzero_pd(); 2]; R];
        // Loops, not closures: these would not be compiled for AVX2.
        let mut whole = [&[][..]; R];
        for r in 0..R {
            whole[r] = &a[r].as_chunks::<LANES>().0[..b.len()];
        }
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
    let mut sum = 0.0;
    for (x, y) in a[a.len() - b_tail.len()..].iter().zip(b_tail) {
        sum += x * y;
    }
    sum
}

/// y += Σ_r u_r · a_r, in this order.
#[inline(always)]
fn combine<const R: usize>(u: [f64; R], a: [&[f64]; R], y: &mut [f64]) {
    let mut whole = [&[][..]; R];
    let mut rest = [&[][..]; R];
    for r in 0..R {
        (whole[r], rest[r]) = a[r][..y.len()].as_chunks::<4>();
    }
    let (y_whole, y_rest) = y.as_chunks_mut::<4>();
    for (at, y) in y_whole.iter_mut().enumerate() {
        for r in 0..R {
            let x = &whole[r][at];
            for lane in 0..4 {
                y[lane] += u[r] * x[lane];
            }
        }
    }
    for (at, y) in y_rest.iter_mut().enumerate() {
        for r in 0..R {
            *y += u[r] * rest[r][at];
        }
    }
}

#[inline(always)]
fn add_scaled(factor: f64, x: &[f64], y: &mut [f64]) {
    combine([factor], [x], y);
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
    /// product = Σ_i x_i · row_i over the rows of a square matrix: its product with x, if it is symmetric.
    symmetric_times(cells: &[f64], x: &[f64], product: &mut [f64]) {
        let size = x.len().max(1);
        product.fill(0.0);
        let (mut fours, mut x_fours) = (cells.chunks_exact(4 * size), x.chunks_exact(4));
        for (four, x) in (&mut fours).zip(&mut x_fours) {
            let (a, b) = four.split_at(2 * size);
            let ((a, b), (c, d)) = (a.split_at(size), b.split_at(size));
            combine([x[0], x[1], x[2], x[3]], [a, b, c, d], product);
        }
        for (row, &x) in fours.remainder().chunks_exact(size).zip(x_fours.remainder()) {
            add_scaled(x, row, product);
        }
    }
}

wide! {
    /// products_i = row_i · x over some rows of a matrix of x.len() columns.
    some_rows_times(cells: &[f64], rows: &[usize], x: &[f64], products: &mut [f64]) {
        let row = |i: usize| &cells[i * x.len()..(i + 1) * x.len()];
        let mut four = rows.chunks_exact(4);
        let mut sums = products.chunks_exact_mut(4);
        for (four, sums) in (&mut four).zip(&mut sums) {
            sums.copy_from_slice(&dots([row(four[0]), row(four[1]), row(four[2]), row(four[3])], x));
        }
        for (&i, sum) in four.remainder().iter().zip(sums.into_remainder()) {
            *sum = dots([row(i)], x)[0];
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
    /// cells += Σ_l factor_l · u_l u_lᵀ of a square matrix, the u_l one after the other.
    matrix_add_outers(cells: &mut [f64], factors: &[f64], u: &[f64]) {
        let size = u.len() / factors.len().max(1);
        let (mut fours, mut vectors) = (factors.chunks_exact(4), u.chunks_exact((4 * size).max(1)));
        for (f, four) in (&mut fours).zip(&mut vectors) {
            let (a, b) = four.split_at(2 * size);
            let ((a, b), (c, d)) = (a.split_at(size), b.split_at(size));
            for (i, row) in cells.chunks_exact_mut(size).enumerate() {
                combine([f[0] * a[i], f[1] * b[i], f[2] * c[i], f[3] * d[i]], [a, b, c, d], row);
            }
        }
        for (factor, u) in fours.remainder().iter().zip(vectors.remainder().chunks_exact(size.max(1))) {
            for (row, u_i) in cells.chunks_exact_mut(size).zip(u) {
                add_scaled(factor * u_i, u, row);
            }
        }
    }
}

wide! {
    /// product += Σ_i u_i · row_i over the rows of a matrix, a range of each; rows whose u is zero are not touched.
    rows_times(cells: &[f64], width: usize, range: std::ops::Range<usize>, u: &[f64], product: &mut [f64]) {
        let part = |i: usize| &cells[i * width + range.start..i * width + range.end];
        let mut four = [0; 4];
        let mut waiting = 0;
        for i in (0..u.len()).filter(|&i| u[i] != 0.0) {
            four[waiting] = i;
            waiting += 1;
            if waiting == 4 {
                waiting = 0;
                let [a, b, c, d] = four;
                combine([u[a], u[b], u[c], u[d]], [part(a), part(b), part(c), part(d)], product);
            }
        }
        for &i in &four[..waiting] {
            add_scaled(u[i], part(i), product);
        }
    }
}

wide! {
    /// sum += Σ_c w_c · column_c over some columns of a matrix that lies column by column, a range of each.
    add_columns(matrix: Columns<'_>, range: std::ops::Range<usize>, w: &[f64], sum: &mut [f64]) {
        // A block of the sum stays in the nearest cache while the columns pass by.
        for (block, sum) in sum.chunks_mut(1024).enumerate() {
            let start = range.start + 1024 * block;
            let end = start + sum.len();
            let part = |j: usize| &matrix.column(j)[start..end];
            let (mut four, mut weights) = (matrix.which.chunks_exact(4), w.chunks_exact(4));
            for (j, w) in (&mut four).zip(&mut weights) {
                combine([w[0], w[1], w[2], w[3]], [part(j[0]), part(j[1]), part(j[2]), part(j[3])], sum);
            }
            for (&j, &w) in four.remainder().iter().zip(weights.remainder()) {
                add_scaled(w, part(j), sum);
            }
        }
    }
}

wide! {
    /// products_c += column_c · v for some columns of a matrix that lies column by column, a range of each.
    add_columns_times(matrix: Columns<'_>, range: std::ops::Range<usize>, v: &[f64], products: &mut [f64]) {
        let part = |j: usize| &matrix.column(j)[range.clone()];
        let mut four = matrix.which.chunks_exact(4);
        let mut sums = products.chunks_exact_mut(4);
        for (four, sums) in (&mut four).zip(&mut sums) {
            let products = dots([part(four[0]), part(four[1]), part(four[2]), part(four[3])], v);
            for (sum, product) in sums.iter_mut().zip(products) {
                *sum += product;
            }
        }
        for (&j, sum) in four.remainder().iter().zip(sums.into_remainder()) {
            *sum += dots([part(j)], v)[0];
        }
    }
}

/// Some columns of a matrix that lies column by column.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The whole matrix.
    pub cells: &'a [f64],
    /// The length of a column.
    pub length: usize,
    /// Which.
    pub which: &'a [usize],
}

impl<'a> Columns<'a> {
    #[inline(always)]
    fn column(self, j: usize) -> &'a [f64] {
        &self.cells[j * self.length..(j + 1) * self.length]
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

    /// self += Σ_l factor_l · u_l u_lᵀ, the u_l one after the other.
    pub fn add_outers(&mut self, factors: &[f64], u: &[f64]) {
        matrix_add_outers(&mut self.cells, factors, u);
    }

    /// As [`Square::add_outer`], on and below the diagonal only.
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

    /// xᵀ · self · x of a symmetric matrix.
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
        factorise(&mut self).then_some(Factor(self))
    }
}

/// A lower Cholesky factor L of a matrix L Lᵀ.
pub struct Factor(Square);

impl Factor {
    /// (L Lᵀ)⁻¹.
    pub fn inverse(self) -> Square {
        let mut inverted = self.0;
        invert_lower(&mut inverted);
        let mut product = Square::zeros(inverted.size);
        add_square_of_lower(&inverted, &mut product);
        product.mirror();
        product
    }
}

wide! {
    /// L⁻¹ in the place of L.
    invert_lower(lower: &mut Square) {
        let size = lower.size;
        let mut coefficients = vec![0.0; size];
        for i in 0..size {
            let (above, rest) = lower.cells.split_at_mut(i * size);
            let row = &mut rest[..size];
            let pivot = row[i].recip();
            coefficients[..i].copy_from_slice(&row[..i]);
            row.fill(0.0);
            for k in 0..i {
                add_scaled(-coefficients[k] * pivot, &above[k * size..=k * size + k], &mut row[..=k]);
            }
            row[i] = pivot;
        }
    }
}

wide! {
    /// product += Lᵀ L, on and below the diagonal.
    add_square_of_lower(lower: &Square, product: &mut Square) {
        for i in 0..lower.size {
            let row = &lower.row(i)[..=i];
            for j in 0..=i {
                add_scaled(row[j], &row[..=j], &mut product.row_mut(j)[..=j]);
            }
        }
    }
}

wide! {
    /// The lower Cholesky factor in the place of the lower half; false if the matrix is not positive definite.
    factorise(matrix: &mut Square) -> bool {
        let size = matrix.size;
        for i in 0..size {
            let (above, rest) = matrix.cells.split_at_mut(i * size);
            let row = &mut rest[..size];
            for j in 0..i {
                let pivot = &above[j * size..j * size + j + 1];
                row[j] = (row[j] - dots([&row[..j]], &pivot[..j])[0]) / pivot[j];
            }
            let square = row[i] - dots([&row[..i]], &row[..i])[0];
            if square.is_nan() || square <= 0.0 {
                return false;
            }
            row[i] = square.sqrt();
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
