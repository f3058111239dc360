//! Symmetric matrices, of which only what is on and below the diagonal is kept: half the work of a change, and a product reads
//! half as much. Bits as in [`super::lanes`].

use super::aligned::Aligned;
use super::vectors::{LANES, wide};

/// Rows come in blocks of this many, each as long as its block needs; the blocks on the diagonal are whole.
const BLOCK: usize = 4;

/// Changes that are made together.
pub const TOGETHER: usize = 4;

/// A symmetric matrix.
#[derive(Debug, Clone, Default)]
pub struct Symmetric {
    size: usize,
    /// Of a row, with the zeros that make it a whole number of vectors; the rows are whole blocks.
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

    /// Ones on the diagonal.
    pub fn identity(size: usize) -> Self {
        let mut matrix = Self::zeros(size);
        (0..size).for_each(|i| matrix.set(i, i, 1.0));
        matrix
    }

    /// All zeros.
    pub fn zeros(size: usize) -> Self {
        let width = size.next_multiple_of(LANES);
        Self { size, width, cells: Aligned::zeros(size.next_multiple_of(BLOCK) * width) }
    }

    /// Rows and columns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The length of the vectors that a change is made of: the size, filled up with zeros to whole vectors.
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

    /// The products with two vectors of the width, which take turns as their products do: a block of four numbers of one, a
    /// block of the other.
    pub fn times_two_into(&self, x: &[f64], products: &mut [f64]) {
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

/// Two vectors, block by block in turn, filled up with zeros.
pub fn taking_turns([first, second]: [&[f64]; 2], turns: &mut [f64]) {
    let (blocks, _) = turns.as_chunks_mut::<BLOCK>();
    let (turns, _) = blocks.as_chunks_mut::<2>();
    let ((a, a_rest), (b, b_rest)) = (first.as_chunks::<BLOCK>(), second.as_chunks::<BLOCK>());
    turns.iter_mut().zip(a.iter().zip(b)).for_each(|(turn, (a, b))| *turn = [*a, *b]);
    if let Some((turn, after)) = turns[a.len()..].split_first_mut() {
        *turn = [block_of(a_rest, 0), block_of(b_rest, 0)];
        after.fill([[0.0; BLOCK]; 2]);
    }
}

/// Two vectors that take turns, one by one.
pub fn apart(turns: &[f64], [first, second]: [&mut [f64]; 2]) {
    let (blocks, _) = turns.as_chunks::<BLOCK>();
    let (turns, _) = blocks.as_chunks::<2>();
    let ((a, a_rest), (b, b_rest)) = (first.as_chunks_mut::<BLOCK>(), second.as_chunks_mut::<BLOCK>());
    a.iter_mut().zip(b.iter_mut()).zip(turns).for_each(|((a, b), turn)| [*a, *b] = *turn);
    if let Some(turn) = turns.get(a.len()) {
        set_block(a_rest, turn[0]);
        set_block(b_rest, turn[1]);
    }
}

wide! {
    /// cells += Σ_l factor_l · u_l u_lᵀ on and below the diagonal. What is above it in whole vectors has no meaning.
    symmetric_add_outers(cells: &mut [f64], width: usize, factors: &[f64], u: &[f64]) {
        let nothing = vec![0.0; if factors.len().is_multiple_of(TOGETHER) { 0 } else { width }];
        for (factors, vectors) in factors.chunks(TOGETHER).zip(u.chunks(TOGETHER * width)) {
            // With changes of nothing there are always as many.
            let (mut f, mut v) = ([0.0; TOGETHER], [&nothing[..]; TOGETHER]);
            for (l, (&factor, vector)) in factors.iter().zip(vectors.chunks_exact(width)).enumerate() {
                (f[l], v[l]) = (factor, vector);
            }
            // Two rows at a time: what is read of the vectors serves both.
            for (pair, two) in cells.chunks_exact_mut(2 * width).enumerate() {
                let (i, end) = (2 * pair, (BLOCK * (pair / 2 + 1)).div_ceil(UNIT));
                let a = [
                    unit_splat(f[0] * v[0][i]),
                    unit_splat(f[1] * v[1][i]),
                    unit_splat(f[2] * v[2][i]),
                    unit_splat(f[3] * v[3][i]),
                ];
                let b = [
                    unit_splat(f[0] * v[0][i + 1]),
                    unit_splat(f[1] * v[1][i + 1]),
                    unit_splat(f[2] * v[2][i + 1]),
                    unit_splat(f[3] * v[3][i + 1]),
                ];
                let (first, second) = two.split_at_mut(width);
                let (first, second) = (&mut first.as_chunks_mut().0[..end], &mut second.as_chunks_mut().0[..end]);
                let [p, q, r, s] = v;
                let (p, q) = (&p.as_chunks().0[..end], &q.as_chunks().0[..end]);
                let (r, s) = (&r.as_chunks().0[..end], &s.as_chunks().0[..end]);
                for at in 0..end {
                    let (p, q, r, s) = (unit_load(&p[at]), unit_load(&q[at]), unit_load(&r[at]), unit_load(&s[at]));
                    let mut sum = unit_load(&first[at]);
                    sum = unit_plus(sum, unit_times(a[0], p));
                    sum = unit_plus(sum, unit_times(a[1], q));
                    sum = unit_plus(sum, unit_times(a[2], r));
                    sum = unit_plus(sum, unit_times(a[3], s));
                    unit_store(&mut first[at], sum);
                    let mut sum = unit_load(&second[at]);
                    sum = unit_plus(sum, unit_times(b[0], p));
                    sum = unit_plus(sum, unit_times(b[1], q));
                    sum = unit_plus(sum, unit_times(b[2], r));
                    sum = unit_plus(sum, unit_times(b[3], s));
                    unit_store(&mut second[at], sum);
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
            let [s, t, u, v] = [four_splat(own[0]), four_splat(own[1]), four_splat(own[2]), four_splat(own[3])];
            let ((a, b), (c, d)) = (rows.split_at(width), rows[2 * width..].split_at(width));
            let (a, b) = (&a.as_chunks::<BLOCK>().0[..=block], &b.as_chunks::<BLOCK>().0[..=block]);
            let (c, d) = (&c.as_chunks::<BLOCK>().0[..=block], &d.as_chunks::<BLOCK>().0[..=block]);
            let before = &x.as_chunks::<BLOCK>().0[..block];
            let (above, rest) = product.split_at_mut(start);
            let above = &mut above.as_chunks_mut::<BLOCK>().0[..block];
            let mut lanes = [four_splat(0.0); BLOCK];
            for at in 0..block {
                let x = four_load(&before[at]);
                let (a, b, c, d) = (four_load(&a[at]), four_load(&b[at]), four_load(&c[at]), four_load(&d[at]));
                lanes = [
                    four_plus(lanes[0], four_times(a, x)),
                    four_plus(lanes[1], four_times(b, x)),
                    four_plus(lanes[2], four_times(c, x)),
                    four_plus(lanes[3], four_times(d, x)),
                ];
                let left = four_plus(four_times(s, a), four_times(t, b));
                let right = four_plus(four_times(u, c), four_times(v, d));
                let sum = four_plus(four_load(&above[at]), four_plus(left, right));
                four_store(&mut above[at], sum);
            }
            let (a, b) = (four_load(&a[block]), four_load(&b[block]));
            let (c, d) = (four_load(&c[block]), four_load(&d[block]));
            let left = four_plus(four_times(s, a), four_times(t, b));
            let right = four_plus(four_times(u, c), four_times(v, d));
            let mut own = [0.0; BLOCK];
            four_store(&mut own, four_plus(four_sums(lanes), four_plus(left, right)));
            set_block(rest, own);
        }
    }
}

wide! {
    /// The same of two vectors that take turns, as their products do: a block of one, a block of the other.
    symmetric_times_two(cells: &[f64], width: usize, x: &[f64], products: &mut [f64]) {
        let (x, _) = x.as_chunks::<LANES>();
        let (products, _) = products.as_chunks_mut::<LANES>();
        for (block, rows) in cells.chunks_exact(BLOCK * width.max(1)).enumerate() {
            let own = load(&x[block]);
            let [s, t, u, v] = [spread::<0>(own), spread::<0x55>(own), spread::<0xaa>(own), spread::<0xff>(own)];
            let ((a, b), (c, d)) = (rows.split_at(width), rows[2 * width..].split_at(width));
            let (a, b) = (&a.as_chunks::<BLOCK>().0[..=block], &b.as_chunks::<BLOCK>().0[..=block]);
            let (c, d) = (&c.as_chunks::<BLOCK>().0[..=block], &d.as_chunks::<BLOCK>().0[..=block]);
            let x = &x[..block];
            let (above, rest) = products.split_at_mut(block);
            let above = &mut above[..block];
            let mut lanes = [splat(0.0); BLOCK];
            for at in 0..block {
                let x = load(&x[at]);
                let (a, b, c, d) = (twice(&a[at]), twice(&b[at]), twice(&c[at]), twice(&d[at]));
                lanes = [
                    plus(lanes[0], times(a, x)),
                    plus(lanes[1], times(b, x)),
                    plus(lanes[2], times(c, x)),
                    plus(lanes[3], times(d, x)),
                ];
                let (left, right) = (plus(times(s, a), times(t, b)), plus(times(u, c), times(v, d)));
                let sum = plus(load(&above[at]), plus(left, right));
                store(&mut above[at], sum);
            }
            let (a, b, c, d) = (twice(&a[block]), twice(&b[block]), twice(&c[block]), twice(&d[block]));
            let (left, right) = (plus(times(s, a), times(t, b)), plus(times(u, c), times(v, d)));
            store(&mut rest[0], plus(half_sums(lanes), plus(left, right)));
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
            let mut products = vec![9.0; 2 * matrix.width()];
            let mut turns = vec![9.0; 2 * matrix.width()];
            taking_turns([&x, &y], &mut turns);
            matrix.times_two_into(&turns, &mut products);
            apart(&products, [&mut first, &mut second]);
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
