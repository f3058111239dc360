//! The inner loops on vectors and rows of matrices, with the same bits on every machine: see [`super::vectors`].

use super::vectors::{LANES, tail, wide};

wide! {
    /// Σ a_i b_i.
    dot(a: &[f64], b: &[f64]) -> f64 {
        debug_assert_eq!(a.len(), b.len());
        dots([a], b)[0]
    }
}

wide! {
    /// Σ (a_i − b_i)².
    distance(a: &[f64], b: &[f64]) -> f64 {
        let mut lanes = splat(0.0);
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            let apart = minus(load(a), load(b));
            lanes = plus(lanes, times(apart, apart));
        }
        let mut each = [0.0; LANES];
        store(&mut each, lanes);
        let rest = a_rest.iter().zip(b_rest);
        rest.fold(sum(each), |sum, (a, b)| sum + (a - b) * (a - b))
    }
}

#[inline(always)]
fn sum(lanes: [f64; LANES]) -> f64 {
    super::vectors::plain::sum(lanes)
}

/// Euclidean norm.
pub fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

wide! {
    /// Finds all i for which scale · a_i + reach · b_i is not below the height, ascending. What is not a number is not below.
    find_not_below(a: &[f64], b: &[f64], scale: f64, reach: f64, height: f64, found: &mut Vec<usize>) {
        found.clear();
        let (a_blocks, a_rest) = a.as_chunks::<LANES>();
        let (b_blocks, b_rest) = b.as_chunks::<LANES>();
        let (scales, reaches, heights) = (splat(scale), splat(reach), splat(height));
        for (block, (a, b)) in a_blocks.iter().zip(b_blocks).enumerate() {
            let bounds = plus(times(scales, load(a)), times(reaches, load(b)));
            let mut others = !below(bounds, heights);
            while others != 0 {
                found.push(LANES * block + others.trailing_zeros() as usize);
                others &= others - 1;
            }
        }
        for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            let is_below = scale * a + reach * b < height;
            if !is_below {
                found.push(LANES * a_blocks.len() + lane);
            }
        }
    }
}

wide! {
    /// y += factor · x.
    axpy(factor: f64, x: &[f64], y: &mut [f64]) {
        debug_assert_eq!(x.len(), y.len());
        combine([factor], [x], y);
    }
}

wide! {
    /// y += Σ_l factor_l (v_l·x) v_l, the v_l `width` apart and as long as x at least.
    add_projections(factors: &[f64], v: &[f64], width: usize, x: &[f64], y: &mut [f64]) {
        let v = |l: usize| &v[l * width..l * width + x.len()];
        let (fours, rest) = factors.as_chunks::<4>();
        for (four, [a, b, c, d]) in fours.iter().enumerate() {
            let parts = [v(4 * four), v(4 * four + 1), v(4 * four + 2), v(4 * four + 3)];
            let [e, f, g, h] = dots(parts, x);
            combine([a * e, b * f, c * g, d * h], parts, y);
        }
        for (l, factor) in (factors.len() - rest.len()..).zip(rest) {
            combine([factor * dots([v(l)], x)[0]], [v(l)], y);
        }
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
    /// products_i = row_i · x over some rows of a matrix of x.len() columns, each with the bits of [`dot`].
    some_rows_times(cells: &[f64], rows: &[usize], x: &[f64], products: &mut [f64]) {
        let row = |i: usize| &cells[i * x.len()..(i + 1) * x.len()];
        let (whole, rest_of_x) = x.as_chunks::<LANES>();
        let (four_rows, rest) = rows.as_chunks::<4>();
        let (four_products, rest_products) = products[..rows.len()].as_chunks_mut::<4>();
        for (&[i, j, k, l], products) in four_rows.iter().zip(four_products) {
            let (i, j, k, l) = (row(i), row(j), row(k), row(l));
            let (a, b) = (&i.as_chunks::<LANES>().0[..whole.len()], &j.as_chunks::<LANES>().0[..whole.len()]);
            let (c, d) = (&k.as_chunks::<LANES>().0[..whole.len()], &l.as_chunks::<LANES>().0[..whole.len()]);
            let mut lanes = [splat(0.0); 4];
            for at in 0..whole.len() {
                let x = load(&whole[at]);
                lanes = [
                    plus(lanes[0], times(load(&a[at]), x)),
                    plus(lanes[1], times(load(&b[at]), x)),
                    plus(lanes[2], times(load(&c[at]), x)),
                    plus(lanes[3], times(load(&d[at]), x)),
                ];
            }
            four_store(products, sums(lanes));
            if !rest_of_x.is_empty() {
                for (product, row) in products.iter_mut().zip([i, j, k, l]) {
                    *product += tail(row, rest_of_x);
                }
            }
        }
        for (&i, product) in rest.iter().zip(rest_products) {
            *product = dots([row(i)], x)[0];
        }
    }
}

wide! {
    /// cells += factor · u vᵀ, row by row.
    matrix_add_outer(cells: &mut [f64], factor: f64, u: &[f64], v: &[f64]) {
        if let [a, b] = v {
            // The kernels with the leverages of two classes are as narrow as that.
            for (row, &u) in cells.as_chunks_mut::<2>().0.iter_mut().zip(u) {
                row[0] += factor * u * a;
                row[1] += factor * u * b;
            }
            return;
        }
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            if u != 0.0 {
                combine([factor * u], [v], row);
            }
        }
    }
}

wide! {
    /// product += Σ_i u_i · row_i over the rows of a matrix, a range of each; rows whose u is zero are not touched.
    rows_times(cells: &[f64], width: usize, range: std::ops::Range<usize>, u: &[f64], product: &mut [f64]) {
        let part = |i: usize| &cells[i * width + range.start..i * width + range.end];
        if let [first, second] = product {
            for i in (0..u.len()).filter(|&i| u[i] != 0.0) {
                *first += u[i] * part(i)[0];
                *second += u[i] * part(i)[1];
            }
            return;
        }
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
            combine([u[i]], [part(i)], product);
        }
    }
}

wide! {
    /// product += Σ_l u_l · row_{rows_l} over some rows of a matrix; rows whose u is zero are not touched.
    add_some_rows(cells: &[f64], rows: &[usize], u: &[f64], product: &mut [f64]) {
        let width = product.len();
        let row = |i: usize| &cells[i * width..(i + 1) * width];
        let mut four = [0; 4];
        let mut waiting = 0;
        for l in 0..rows.len() {
            four[waiting] = l;
            waiting += usize::from(u[l] != 0.0);
            if waiting == 4 {
                waiting = 0;
                let [a, b, c, d] = four;
                let parts = [row(rows[a]), row(rows[b]), row(rows[c]), row(rows[d])];
                combine([u[a], u[b], u[c], u[d]], parts, product);
            }
        }
        for &l in &four[..waiting] {
            combine([u[l]], [row(rows[l])], product);
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
                combine([w], [part(j)], sum);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_sums_every_length() {
        for length in 0..40 {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            let expected = (0..length).map(|i| f64::from(i * i)).sum::<f64>();
            assert_eq!(dot(&a, &a), expected);
        }
    }

    #[test]
    fn products_of_some_rows_have_the_bits_of_dot() {
        let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
        for width in [1, 7, 8, 16, 21] {
            let cells: Vec<f64> = (0..9 * width).map(value).collect();
            let x: Vec<f64> = (0..width).map(|i| value(i + 5000)).collect();
            for rows in [vec![], vec![3], vec![8, 0, 5, 2], vec![1, 7, 0, 3, 4, 4]] {
                let mut products = vec![0.0; rows.len()];
                some_rows_times(&cells, &rows, &x, &mut products);
                for (&i, product) in rows.iter().zip(products) {
                    assert_eq!(
                        product.to_bits(),
                        dot(&cells[i * width..(i + 1) * width], &x).to_bits(),
                        "{width} {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn finds_all_bounds_that_are_not_below() {
        for length in [0, 1, 15, 16, 17, 40, 64] {
            let b = vec![1.0; length];
            for every in 1..20 {
                let height = |i: usize| if i.is_multiple_of(2 * every) { f64::NAN } else { 0.25 };
                let a: Vec<f64> =
                    (0..length).map(|i| if i.is_multiple_of(every) { height(i) } else { -3.0 }).collect();
                let mut found = vec![7];
                find_not_below(&a, &b, 2.0, 0.5, 1.0, &mut found);
                assert_eq!(found, (0..length).step_by(every).collect::<Vec<usize>>(), "{length} {every}");
            }
        }
    }

    #[test]
    fn combines_every_length() {
        for length in 0..40 {
            let row = |r: usize| (0..length).map(|i| (i * r) as f64).collect::<Vec<f64>>();
            let cells: Vec<f64> = (1..6).flat_map(row).collect();
            let mut sum = vec![1.0; length];
            add_some_rows(&cells, &[0, 1, 2, 3, 4], &[1.0, 2.0, 0.0, 4.0, 5.0], &mut sum);
            let expected: Vec<f64> = (0..length).map(|i| (1 + i * (1 + 4 + 16 + 25)) as f64).collect();
            assert_eq!(sum, expected);
        }
    }
}
