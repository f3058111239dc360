//! Symmetric matrices stored as their lower triangle: an update is half the work, and a product
//! reads half the memory. Bits are reproducible as [`super::simd`] describes.

use pulp::{Simd, cast, f64x4, f64x8};

use super::aligned::Aligned;
use super::simd::{LANES, Lanes, half_sums, kernel};

/// Rows come in blocks of four, each as long as its block needs; the blocks on the diagonal are
/// whole.
const BLOCK: usize = 4;

/// Rank-one updates that are applied in one pass.
pub const UPDATES_PER_PASS: usize = 4;

/// A symmetric matrix, lower triangle.
#[derive(Debug, Clone, Default)]
pub struct PackedSymmetric {
    size: usize,
    /// Cells of a row: the size, rounded up to whole vectors. The number of rows is rounded up to
    /// whole blocks.
    width: usize,
    cells: Aligned,
}

impl PackedSymmetric {
    /// From its cells at (i, j), j ≤ i.
    pub fn new(size: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(size);
        for i in 0..size {
            for j in 0..=i {
                matrix.set(i, j, cell(i, j));
            }
        }
        matrix
    }

    /// Ones on the diagonal.
    pub fn identity(size: usize) -> Self {
        let mut matrix = Self::zeros(size);
        (0..size).for_each(|i| matrix.set(i, i, 1.0));
        matrix
    }

    pub fn zeros(size: usize) -> Self {
        let width = size.next_multiple_of(LANES);
        Self { size, width, cells: Aligned::zeros(size.next_multiple_of(BLOCK) * width) }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The length of the vectors of an update: the size, rounded up to whole vectors.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The cell at (i, j), j ≤ i.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.cells[i * self.width + j]
    }

    /// Row i up to the diagonal.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..=i * self.width + i]
    }

    /// What is kept of row i: up to the end of its block on the diagonal.
    pub fn kept(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..][..self.kept_cells(i)]
    }

    /// The same, to be changed; what is on both sides of the diagonal must be changed alike.
    pub fn kept_mut(&mut self, i: usize) -> &mut [f64] {
        let kept = self.kept_cells(i);
        &mut self.cells[i * self.width..][..kept]
    }

    fn kept_cells(&self, i: usize) -> usize {
        self.size.min(i - i % BLOCK + BLOCK)
    }

    /// Sets the cells at (i, j) and (j, i), j ≤ i.
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.cells[i * self.width + j] = value;
        if i / BLOCK == j / BLOCK {
            self.cells[j * self.width + i] = value;
        }
    }

    /// Row j, whole.
    pub fn row_into(&self, j: usize, row: &mut [f64]) {
        let (own, after) = row.split_at_mut(j + 1);
        own.copy_from_slice(self.row(j));
        let column = self.cells[j..].iter().step_by(self.width).skip(j + 1);
        after.iter_mut().zip(column).for_each(|(value, cell)| *value = *cell);
    }

    /// self += Σ_l factor_l · u_l u_lᵀ, the u_l one after the other, each of the width.
    pub fn rank_k_update(&mut self, factors: &[f64], u: &[f64]) {
        update(&mut self.cells, self.width, factors, u);
    }

    pub fn multiply(&self, x: &[f64], product: &mut [f64]) {
        multiply(&self.cells, self.width, x, product);
    }

    /// The products with two vectors of the width that are interleaved in blocks of four, as their
    /// products are.
    pub fn multiply_two(&self, x: &[f64], products: &mut [f64]) {
        multiply_two(&self.cells, self.width, x, products);
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.cells.iter().step_by(self.width + 1).sum()
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        let start = j - j % BLOCK;
        self.cells[j * self.width..j * self.width + start + BLOCK].fill(0.0);
        self.cells[start * self.width + j..]
            .iter_mut()
            .step_by(self.width)
            .for_each(|cell| *cell = 0.0);
    }
}

/// Two vectors interleaved block by block, filled up with zeros.
pub fn interleave([first, second]: [&[f64]; 2], interleaved: &mut [f64]) {
    let (blocks, _) = interleaved.as_chunks_mut::<LANES>();
    let ((a, a_rest), (b, b_rest)) = (first.as_chunks::<BLOCK>(), second.as_chunks::<BLOCK>());
    let (whole, rest) = blocks.split_at_mut(a.len());
    whole.iter_mut().zip(a.iter().zip(b)).for_each(|(block, (a, b))| *block = cast([*a, *b]));
    rest.fill([0.0; LANES]);
    if let Some(block) = rest.first_mut() {
        *block = cast([block_of(a_rest), block_of(b_rest)]);
    }
}

/// Two vectors that were interleaved, one by one.
pub fn deinterleave(interleaved: &[f64], [first, second]: [&mut [f64]; 2]) {
    let (blocks, _) = interleaved.as_chunks::<LANES>();
    let ((a, a_rest), (b, b_rest)) =
        (first.as_chunks_mut::<BLOCK>(), second.as_chunks_mut::<BLOCK>());
    let (whole, rest) = blocks.split_at(a.len());
    whole.iter().zip(a.iter_mut().zip(b)).for_each(|(block, (a, b))| [*a, *b] = cast(*block));
    if let Some(block) = rest.first() {
        let [one, other]: [[f64; BLOCK]; 2] = cast(*block);
        set_block(a_rest, one);
        set_block(b_rest, other);
    }
}

/// The first values of a vector, and zeros where it ends.
#[inline(always)]
fn block_of(x: &[f64]) -> [f64; BLOCK] {
    if let Some(block) = x.first_chunk() {
        return *block;
    }
    let mut block = [0.0; BLOCK];
    block.iter_mut().zip(x).for_each(|(value, x)| *value = *x);
    block
}

/// Sets the first values of a vector to a block, as far as the vector goes.
#[inline(always)]
fn set_block(vector: &mut [f64], block: [f64; BLOCK]) {
    match vector.first_chunk_mut() {
        Some(whole) => *whole = block,
        None => vector.iter_mut().zip(block).for_each(|(value, new)| *value = new),
    }
}

/// The first `count` blocks of N of a vector.
#[inline(always)]
fn blocks<const N: usize>(vector: &[f64], count: usize) -> &[[f64; N]] {
    &vector.as_chunks::<N>().0[..count]
}

kernel! {
    /// cells += Σ_l factor_l · u_l u_lᵀ in the lower triangle; cells that whole vectors reach above
    /// the diagonal are meaningless.
    update(s; cells: &mut [f64], width: usize, factors: &[f64], u: &[f64]) {
        let zeros = vec![0.0; if factors.len().is_multiple_of(UPDATES_PER_PASS) { 0 } else { width }];
        for (factors, vectors) in factors.chunks(UPDATES_PER_PASS).zip(u.chunks(UPDATES_PER_PASS * width)) {
            // Missing updates are updates by zero.
            let mut f = [0.0; UPDATES_PER_PASS];
            let mut v = [&zeros[..]; UPDATES_PER_PASS];
            for (l, (&factor, vector)) in factors.iter().zip(vectors.chunks_exact(width)).enumerate() {
                (f[l], v[l]) = (factor, vector);
            }
            // Two rows at a time share the loads of the vectors.
            for (pair, two) in cells.chunks_exact_mut(2 * width).enumerate() {
                let (first, second) = two.split_at_mut(width);
                update_pair(s, 2 * pair, (f, v), (first, second));
            }
        }
    }
}

/// Updates rows i and i + 1.
#[inline(always)]
fn update_pair<S: Lanes>(
    s: S,
    i: usize,
    (f, v): ([f64; UPDATES_PER_PASS], [&[f64]; UPDATES_PER_PASS]),
    (first, second): (&mut [f64], &mut [f64]),
) {
    let end = (i / BLOCK * BLOCK + BLOCK).div_ceil(LANES);
    let mut a = [s.splat_f64s(0.0); 4];
    let mut b = [s.splat_f64s(0.0); 4];
    for l in 0..4 {
        a[l] = s.splat_f64s(f[l] * v[l][i]);
        b[l] = s.splat_f64s(f[l] * v[l][i + 1]);
    }
    let [p, q, r, t] = v;
    let whole: [&[[f64; LANES]]; 4] =
        [blocks(p, end), blocks(q, end), blocks(r, end), blocks(t, end)];
    let first = &mut first.as_chunks_mut::<LANES>().0[..end];
    let second = &mut second.as_chunks_mut::<LANES>().0[..end];
    for at in 0..end {
        let (mut x, mut y): (f64x8, f64x8) = (cast(first[at]), cast(second[at]));
        for l in 0..4 {
            let v = cast(whole[l][at]);
            x = s.add_f64s(x, s.mul_f64s(a[l], v));
            y = s.add_f64s(y, s.mul_f64s(b[l], v));
        }
        (first[at], second[at]) = (cast(x), cast(y));
    }
}

/// The contribution of four rows, times their own x, to one block of columns.
#[inline(always)]
fn weighted_sum<S: Simd>(s: S, x: [S::f64s; 4], rows: [S::f64s; 4]) -> S::f64s {
    let left = s.add_f64s(s.mul_f64s(x[0], rows[0]), s.mul_f64s(x[1], rows[1]));
    let right = s.add_f64s(s.mul_f64s(x[2], rows[2]), s.mul_f64s(x[3], rows[3]));
    s.add_f64s(left, right)
}

kernel! {
    /// product = matrix · x.
    multiply(s; cells: &[f64], width: usize, x: &[f64], product: &mut [f64]) {
        let h = s.half();
        for (block, rows) in cells.chunks_exact(BLOCK * width.max(1)).enumerate() {
            let start = BLOCK * block;
            let [a, b, c, d] = block_of(&x[start..]);
            let own = [h.splat_f64s(a), h.splat_f64s(b), h.splat_f64s(c), h.splat_f64s(d)];
            let ((a, b), (c, d)) = (rows.split_at(width), rows[2 * width..].split_at(width));
            let rows: [&[[f64; BLOCK]]; 4] =
                [blocks(a, block + 1), blocks(b, block + 1), blocks(c, block + 1), blocks(d, block + 1)];
            let before = blocks::<BLOCK>(x, block);
            let (above, rest) = product.split_at_mut(start);
            let above = &mut above.as_chunks_mut::<BLOCK>().0[..block];
            let mut lanes = [h.splat_f64s(0.0); BLOCK];
            for at in 0..block {
                let x = cast(before[at]);
                let r: [f64x4; 4] = [cast(rows[0][at]), cast(rows[1][at]), cast(rows[2][at]), cast(rows[3][at])];
                for l in 0..BLOCK {
                    lanes[l] = h.add_f64s(lanes[l], h.mul_f64s(r[l], x));
                }
                above[at] = cast(h.add_f64s(cast(above[at]), weighted_sum(h, own, r)));
            }
            let r = [cast(rows[0][block]), cast(rows[1][block]), cast(rows[2][block]), cast(rows[3][block])];
            set_block(rest, cast(h.add_f64s(s.sum_each(lanes), weighted_sum(h, own, r))));
        }
    }
}

kernel! {
    /// The same for two interleaved vectors.
    multiply_two(s; cells: &[f64], width: usize, x: &[f64], products: &mut [f64]) {
        let (x, _) = x.as_chunks::<LANES>();
        let (products, _) = products.as_chunks_mut::<LANES>();
        for (block, rows) in cells.chunks_exact(BLOCK * width.max(1)).enumerate() {
            let own = x[block];
            let both = |l: usize| -> f64x8 { cast([[own[l]; BLOCK], [own[BLOCK + l]; BLOCK]]) };
            let own = [both(0), both(1), both(2), both(3)];
            let ((a, b), (c, d)) = (rows.split_at(width), rows[2 * width..].split_at(width));
            let rows: [&[[f64; BLOCK]]; 4] =
                [blocks(a, block + 1), blocks(b, block + 1), blocks(c, block + 1), blocks(d, block + 1)];
            let (above, rest) = products.split_at_mut(block);
            let x = &x[..block];
            let mut lanes = [s.splat_f64s(0.0); BLOCK];
            for at in 0..block {
                let x = cast(x[at]);
                let r: [f64x8; 4] = [cast([rows[0][at]; 2]), cast([rows[1][at]; 2]), cast([rows[2][at]; 2]), cast([rows[3][at]; 2])];
                for l in 0..BLOCK {
                    lanes[l] = s.add_f64s(lanes[l], s.mul_f64s(r[l], x));
                }
                above[at] = cast(s.add_f64s(cast(above[at]), weighted_sum(s, own, r)));
            }
            let r = [cast([rows[0][block]; 2]), cast([rows[1][block]; 2]), cast([rows[2][block]; 2]), cast([rows[3][block]; 2])];
            rest[0] = cast(s.add_f64s(half_sums(s, lanes), weighted_sum(s, own, r)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers: sums are exact in any order.
    fn matrix(size: usize) -> PackedSymmetric {
        PackedSymmetric::new(size, |i, j| ((3 * i + 5 * j) % 7) as f64 - 3.0)
    }

    /// All cells, row by row.
    fn whole(matrix: &PackedSymmetric) -> Vec<Vec<f64>> {
        let row = |i: usize| {
            let mut row = vec![0.0; matrix.size()];
            matrix.row_into(i, &mut row);
            row
        };
        (0..matrix.size()).map(row).collect()
    }

    fn vector(size: usize, seed: usize) -> Vec<f64> {
        (0..size).map(|i| ((i * seed) % 5) as f64 - 2.0).collect()
    }

    #[test]
    fn products_are_those_of_all_rows() {
        for size in 1..40 {
            let matrix = matrix(size);
            let x = vector(size, 3);
            let y = vector(size, 2);
            let expected = |x: &[f64]| -> Vec<f64> {
                whole(&matrix)
                    .iter()
                    .map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum())
                    .collect()
            };
            let (mut first, mut second) = (vec![9.0; size], vec![9.0; size]);
            matrix.multiply(&x, &mut first);
            assert_eq!(first, expected(&x), "{size}");
            let mut products = vec![9.0; 2 * matrix.width()];
            let mut interleaved = vec![9.0; 2 * matrix.width()];
            interleave([&x, &y], &mut interleaved);
            matrix.multiply_two(&interleaved, &mut products);
            deinterleave(&products, [&mut first, &mut second]);
            assert_eq!((first, second), (expected(&x), expected(&y)), "{size}");
        }
    }

    #[test]
    fn takes_any_number_of_changes() {
        for (size, changes) in [(1, 1), (3, 4), (5, 2), (8, 7), (13, 9)] {
            let mut changed = matrix(size);
            let factors: Vec<f64> = (0..changes).map(|l| l as f64 - 1.0).collect();
            let mut vectors = Vec::new();
            for l in 0..changes {
                vectors.extend(vector(size, l + 1));
                vectors.resize((l + 1) * changed.width(), 0.0);
            }
            changed.rank_k_update(&factors, &vectors);
            let before = whole(&matrix(size));
            for (i, row) in whole(&changed).iter().enumerate() {
                for (j, cell) in row.iter().enumerate() {
                    let added =
                        |l: usize| factors[l] * vector(size, l + 1)[i] * vector(size, l + 1)[j];
                    assert_eq!(
                        *cell,
                        before[i][j] + (0..changes).map(added).sum::<f64>(),
                        "{size} {i} {j}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_cleared_row_is_gone_from_all_others() {
        for j in 0..9 {
            let mut cleared = matrix(9);
            cleared.clear(j);
            let before = whole(&matrix(9));
            for (i, row) in whole(&cleared).iter().enumerate() {
                for (k, &cell) in row.iter().enumerate() {
                    assert_eq!(cell, if i == j || k == j { 0.0 } else { before[i][k] });
                }
            }
            let mut product = vec![0.0; 9];
            cleared.multiply(&vector(9, 2), &mut product);
            assert_eq!(product[j], 0.0);
        }
    }
}
