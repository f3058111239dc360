//! Symmetric matrices, of which only what is on and below the diagonal is kept: half the work of a change, and a product reads
//! half as much. Bits as in [`super::lanes`].

use super::aligned::Aligned;
use super::lanes::wide;

/// Rows come in blocks of this many, each as long as its block needs; the blocks on the diagonal are whole.
const BLOCK: usize = 4;

/// A symmetric matrix.
#[derive(Debug, Clone, Default)]
pub struct Symmetric {
    size: usize,
    /// Rows and columns with the zeros that make them a whole number of blocks.
    width: usize,
    cells: Aligned,
}

impl Symmetric {
    /// From what it has at (i, j), j ≤ i.
    pub fn new(size: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let mut matrix = Self::zeros(size);
        for i in 0..size {
            for j in 0..=i {
                matrix.set(i, j, cell(i, j));
            }
        }
        matrix
    }

    /// All zeros.
    pub fn zeros(size: usize) -> Self {
        let width = size.next_multiple_of(BLOCK);
        Self { size, width, cells: Aligned::zeros(width * width) }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The length of the vectors that a change is made of: the size, filled up with zeros to whole blocks.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Row i up to the diagonal.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..=i * self.width + i]
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
    pub fn add_outers(&mut self, factors: &[f64], u: &[f64]) {
        symmetric_add_outers(&mut self.cells, self.width, factors, u);
    }

    /// self · x.
    pub fn times_into(&self, x: &[f64], product: &mut [f64]) {
        symmetric_times(&self.cells, self.width, x, product);
    }

    /// The products with two vectors, each to the same bits as alone.
    pub fn times_two_into(&self, x: [&[f64]; 2], products: [&mut [f64]; 2]) {
        symmetric_times_two(&self.cells, self.width, x, products);
    }

    /// The sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.cells.iter().step_by(self.width + 1).sum()
    }

    /// Sets row and column j to zero.
    pub fn clear(&mut self, j: usize) {
        let start = j - j % BLOCK;
        self.cells[j * self.width..j * self.width + start + BLOCK].fill(0.0);
        self.cells[start * self.width + j..].iter_mut().step_by(self.width).for_each(|cell| *cell = 0.0);
    }
}

wide! {
    /// cells += Σ_l factor_l · u_l u_lᵀ on and below the diagonal.
    symmetric_add_outers(cells: &mut [f64], width: usize, factors: &[f64], u: &[f64]) {
        let nothing = vec![0.0; if factors.len().is_multiple_of(4) { 0 } else { width }];
        for (factors, vectors) in factors.chunks(4).zip(u.chunks(4 * width)) {
            // With changes of nothing there are always four.
            let (mut f, mut v) = ([0.0; 4], [&nothing[..]; 4]);
            for (l, (&factor, vector)) in factors.iter().zip(vectors.chunks_exact(width)).enumerate() {
                (f[l], v[l]) = (factor, vector);
            }
            // Two rows at a time: what is read of the vectors serves both.
            for (pair, two) in cells.chunks_exact_mut(2 * width).enumerate() {
                let (i, end) = (2 * pair, pair / 2 + 1);
                let a = [splat(f[0] * v[0][i]), splat(f[1] * v[1][i]), splat(f[2] * v[2][i]), splat(f[3] * v[3][i])];
                let b = [
                    splat(f[0] * v[0][i + 1]),
                    splat(f[1] * v[1][i + 1]),
                    splat(f[2] * v[2][i + 1]),
                    splat(f[3] * v[3][i + 1]),
                ];
                let (first, second) = two.split_at_mut(width);
                let (first, second) = (&mut first.as_chunks_mut().0[..end], &mut second.as_chunks_mut().0[..end]);
                let [p, q, r, s] = v;
                let (p, q) = (&p.as_chunks().0[..end], &q.as_chunks().0[..end]);
                let (r, s) = (&r.as_chunks().0[..end], &s.as_chunks().0[..end]);
                for at in 0..end {
                    let (p, q, r, s) = (load(&p[at]), load(&q[at]), load(&r[at]), load(&s[at]));
                    let mut sum = load(&first[at]);
                    sum = plus(sum, times(a[0], p));
                    sum = plus(sum, times(a[1], q));
                    sum = plus(sum, times(a[2], r));
                    sum = plus(sum, times(a[3], s));
                    store(&mut first[at], sum);
                    let mut sum = load(&second[at]);
                    sum = plus(sum, times(b[0], p));
                    sum = plus(sum, times(b[1], q));
                    sum = plus(sum, times(b[2], r));
                    sum = plus(sum, times(b[3], s));
                    store(&mut second[at], sum);
                }
            }
        }
    }
}

/// The values of a block, and zeros where the vector ends.
#[inline(always)]
fn block_of(x: &[f64], start: usize) -> [f64; BLOCK] {
    if let Some(block) = x[start..].first_chunk() {
        return *block;
    }
    let mut block = [0.0; BLOCK];
    block.iter_mut().zip(&x[start..]).for_each(|(value, x)| *value = *x);
    block
}

/// Sets the first values of a vector to a block, as far as it goes.
#[inline(always)]
fn set_block(vector: &mut [f64], block: [f64; BLOCK]) {
    match vector.first_chunk_mut() {
        Some(whole) => *whole = block,
        None => vector.iter_mut().zip(block).for_each(|(value, new)| *value = new),
    }
}

wide! {
    /// product = matrix · x.
    symmetric_times(cells: &[f64], width: usize, x: &[f64], product: &mut [f64]) {
        for (block, rows) in cells.chunks_exact(BLOCK * width.max(1)).enumerate() {
            let start = BLOCK * block;
            let own = block_of(x, start);
            let [s, t, u, v] = [splat(own[0]), splat(own[1]), splat(own[2]), splat(own[3])];
            let (a, b, c, d) = (&rows[..width], &rows[width..2 * width], &rows[2 * width..3 * width], &rows[3 * width..]);
            let (a, b) = (&a.as_chunks().0[..=block], &b.as_chunks().0[..=block]);
            let (c, d) = (&c.as_chunks().0[..=block], &d.as_chunks().0[..=block]);
            let before = &x.as_chunks().0[..block];
            let (above, rest) = product.split_at_mut(start);
            let above = &mut above.as_chunks_mut().0[..block];
            let mut sums = [splat(0.0); BLOCK];
            for at in 0..block {
                let x = load(&before[at]);
                let (a, b, c, d) = (load(&a[at]), load(&b[at]), load(&c[at]), load(&d[at]));
                sums = [
                    plus(sums[0], times(a, x)),
                    plus(sums[1], times(b, x)),
                    plus(sums[2], times(c, x)),
                    plus(sums[3], times(d, x)),
                ];
                let left = plus(times(s, a), times(t, b));
                let right = plus(times(u, c), times(v, d));
                let sum = plus(load(&above[at]), plus(left, right));
                store(&mut above[at], sum);
            }
            let left = plus(times(s, load(&a[block])), times(t, load(&b[block])));
            let right = plus(times(u, load(&c[block])), times(v, load(&d[block])));
            let mut own = [0.0; BLOCK];
            store(&mut own, plus(sum_each(sums), plus(left, right)));
            set_block(rest, own);
        }
    }
}

wide! {
    /// The same of two vectors, each to the same bits.
    symmetric_times_two(cells: &[f64], width: usize, x: [&[f64]; 2], products: [&mut [f64]; 2]) {
        let [first, second] = products;
        for (block, rows) in cells.chunks_exact(BLOCK * width.max(1)).enumerate() {
            let start = BLOCK * block;
            let (p, q) = (block_of(x[0], start), block_of(x[1], start));
            let [s, t, u, v] = [splat(p[0]), splat(p[1]), splat(p[2]), splat(p[3])];
            let [k, l, m, n] = [splat(q[0]), splat(q[1]), splat(q[2]), splat(q[3])];
            let (a, b, c, d) = (&rows[..width], &rows[width..2 * width], &rows[2 * width..3 * width], &rows[3 * width..]);
            let (a, b) = (&a.as_chunks().0[..=block], &b.as_chunks().0[..=block]);
            let (c, d) = (&c.as_chunks().0[..=block], &d.as_chunks().0[..=block]);
            let (x, y) = (&x[0].as_chunks().0[..block], &x[1].as_chunks().0[..block]);
            let (first_above, first_rest) = first.split_at_mut(start);
            let (second_above, second_rest) = second.split_at_mut(start);
            let first_above = &mut first_above.as_chunks_mut().0[..block];
            let second_above = &mut second_above.as_chunks_mut().0[..block];
            let (mut sums, mut others) = ([splat(0.0); BLOCK], [splat(0.0); BLOCK]);
            for at in 0..block {
                let (x, y) = (load(&x[at]), load(&y[at]));
                let (a, b, c, d) = (load(&a[at]), load(&b[at]), load(&c[at]), load(&d[at]));
                sums = [
                    plus(sums[0], times(a, x)),
                    plus(sums[1], times(b, x)),
                    plus(sums[2], times(c, x)),
                    plus(sums[3], times(d, x)),
                ];
                others = [
                    plus(others[0], times(a, y)),
                    plus(others[1], times(b, y)),
                    plus(others[2], times(c, y)),
                    plus(others[3], times(d, y)),
                ];
                let left = plus(times(s, a), times(t, b));
                let right = plus(times(u, c), times(v, d));
                let sum = plus(load(&first_above[at]), plus(left, right));
                store(&mut first_above[at], sum);
                let left = plus(times(k, a), times(l, b));
                let right = plus(times(m, c), times(n, d));
                let sum = plus(load(&second_above[at]), plus(left, right));
                store(&mut second_above[at], sum);
            }
            let (a, b, c, d) = (load(&a[block]), load(&b[block]), load(&c[block]), load(&d[block]));
            let mut own = [0.0; BLOCK];
            store(&mut own, plus(sum_each(sums), plus(plus(times(s, a), times(t, b)), plus(times(u, c), times(v, d)))));
            set_block(first_rest, own);
            store(&mut own, plus(sum_each(others), plus(plus(times(k, a), times(l, b)), plus(times(m, c), times(n, d)))));
            set_block(second_rest, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small whole numbers: sums are exact in any order.
    fn matrix(size: usize) -> Symmetric {
        Symmetric::new(size, |i, j| ((3 * i + 5 * j) % 7) as f64 - 3.0)
    }

    /// All cells, row by row.
    fn whole(matrix: &Symmetric) -> Vec<Vec<f64>> {
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
            let (matrix, x, y) = (matrix(size), vector(size, 3), vector(size, 2));
            let expected = |x: &[f64]| -> Vec<f64> {
                whole(&matrix).iter().map(|row| row.iter().zip(x).map(|(a, b)| a * b).sum()).collect()
            };
            let (mut first, mut second) = (vec![9.0; size], vec![9.0; size]);
            matrix.times_into(&x, &mut first);
            assert_eq!(first, expected(&x), "{size}");
            matrix.times_two_into([&x, &y], [&mut first, &mut second]);
            assert_eq!((first, second), (expected(&x), expected(&y)), "{size}");
        }
    }

    #[test]
    fn two_products_have_the_bits_of_one() {
        for size in [1, 6, 75, 112] {
            let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
            let matrix = Symmetric::new(size, |i, j| value(i * size + j));
            let x: Vec<f64> = (0..size).map(value).collect();
            let y: Vec<f64> = (0..size).map(|i| value(i + 1000)).collect();
            let (mut one, mut first, mut second) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
            matrix.times_two_into([&y, &x], [&mut first, &mut second]);
            matrix.times_into(&x, &mut one);
            let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            assert_eq!(bits(&one), bits(&second), "{size}");
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
            changed.add_outers(&factors, &vectors);
            let before = whole(&matrix(size));
            for (i, row) in whole(&changed).iter().enumerate() {
                for (j, cell) in row.iter().enumerate() {
                    let added = |l: usize| factors[l] * vector(size, l + 1)[i] * vector(size, l + 1)[j];
                    assert_eq!(*cell, before[i][j] + (0..changes).map(added).sum::<f64>(), "{size} {i} {j}");
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
            cleared.times_into(&vector(9, 2), &mut product);
            assert_eq!(product[j], 0.0);
        }
    }
}
