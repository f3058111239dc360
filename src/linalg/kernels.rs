//! Loops over vectors and over rows and columns of matrices. They know nothing of models; bits are
//! reproducible as [`super::simd`] describes.

use pulp::{cast, f64x8};

use super::simd::{self, LANES, combine, four_dots, kernel, sum};

kernel! {
    /// Σ a_i b_i.
    dot(s; a: &[f64], b: &[f64]) -> f64 {
        debug_assert_eq!(a.len(), b.len());
        simd::dot(s, a, b)
    }
}

kernel! {
    /// Σ (a_i − b_i)².
    squared_distance(s; a: &[f64], b: &[f64]) -> f64 {
        let mut lanes = s.splat_f64s(0.0);
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            let difference: f64x8 = s.sub_f64s(cast(*a), cast(*b));
            lanes = s.add_f64s(lanes, s.mul_f64s(difference, difference));
        }
        let rest = a_rest.iter().zip(b_rest);
        rest.fold(sum(lanes), |sum, (a, b)| sum + (a - b) * (a - b))
    }
}

/// Euclidean norm.
pub fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

kernel! {
    /// Finds all i for which scale · a_i + radius · b_i is not below the threshold, ascending; NaN
    /// is not below.
    find_not_below(s; a: &[f64], b: &[f64], scale: f64, radius: f64, threshold: f64, found: &mut Vec<usize>) {
        found.clear();
        let (scales, radii, thresholds) = (s.splat_f64s(scale), s.splat_f64s(radius), s.splat_f64s(threshold));
        let (a_blocks, a_rest) = a.as_chunks::<LANES>();
        let (b_blocks, b_rest) = b.as_chunks::<LANES>();
        let mut block = 0;
        let blocks = a_blocks.len().min(b_blocks.len());
        loop {
            // Most blocks have none, and a loop without calls keeps the constants in registers.
            let mut others = 0;
            while others == 0 && block < blocks {
                let bounds = s.add_f64s(s.mul_f64s(scales, cast(a_blocks[block])), s.mul_f64s(radii, cast(b_blocks[block])));
                others = !s.less_than(bounds, thresholds);
                block += 1;
            }
            if others == 0 {
                break;
            }
            while others != 0 {
                found.push(LANES * (block - 1) + others.trailing_zeros() as usize);
                others &= others - 1;
            }
        }
        for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
            let is_below = scale * a + radius * b < threshold;
            if !is_below {
                found.push(LANES * a_blocks.len() + lane);
            }
        }
    }
}

kernel! {
    /// y += factor · x.
    axpy(s; factor: f64, x: &[f64], y: &mut [f64]) {
        debug_assert_eq!(x.len(), y.len());
        combine(s, [factor], [x], y);
    }
}

kernel! {
    /// y += Σ_l factor_l (v_l·x) v_l, the v_l `width` apart and at least as long as x.
    add_projections(s; factors: &[f64], v: &[f64], width: usize, x: &[f64], y: &mut [f64]) {
        let v = |l: usize| &v[l * width..l * width + x.len()];
        let (fours, rest) = factors.as_chunks::<4>();
        for (four, [a, b, c, d]) in fours.iter().enumerate() {
            let parts = [v(4 * four), v(4 * four + 1), v(4 * four + 2), v(4 * four + 3)];
            let [e, f, g, h] = four_dots(s, parts, x);
            combine(s, [a * e, b * f, c * g, d * h], parts, y);
        }
        for (l, factor) in (factors.len() - rest.len()..).zip(rest) {
            combine(s, [factor * simd::dot(s, v(l), x)], [v(l)], y);
        }
    }
}

kernel! {
    /// products_i = row_i · x over some rows of a matrix of x.len() columns, each with the bits of
    /// [`dot`].
    row_dots(s; cells: &[f64], rows: &[usize], x: &[f64], products: &mut [f64]) {
        let row = |i: usize| &cells[i * x.len()..(i + 1) * x.len()];
        let (fours, rest) = rows.as_chunks::<4>();
        let (four_products, rest_products) = products[..rows.len()].as_chunks_mut::<4>();
        for (&[i, j, k, l], products) in fours.iter().zip(four_products) {
            *products = four_dots(s, [row(i), row(j), row(k), row(l)], x);
        }
        for (&i, product) in rest.iter().zip(rest_products) {
            *product = simd::dot(s, row(i), x);
        }
    }
}

kernel! {
    /// cells += factor · u vᵀ, row by row.
    rank_one_update(s; cells: &mut [f64], factor: f64, u: &[f64], v: &[f64]) {
        if let [a, b] = v {
            // Two columns: the kernels with the β coefficients of two classes.
            for (row, &u) in cells.as_chunks_mut::<2>().0.iter_mut().zip(u) {
                row[0] += factor * u * a;
                row[1] += factor * u * b;
            }
            return;
        }
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            if u != 0.0 {
                combine(s, [factor * u], [v], row);
            }
        }
    }
}

kernel! {
    /// product += Σ_i u_i · row_i over the rows of a matrix, a range of each; rows whose u is zero
    /// are skipped.
    add_all_rows(s; cells: &[f64], width: usize, range: std::ops::Range<usize>, u: &[f64], product: &mut [f64]) {
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
                combine(s, [u[a], u[b], u[c], u[d]], [part(a), part(b), part(c), part(d)], product);
            }
        }
        for &i in &four[..waiting] {
            combine(s, [u[i]], [part(i)], product);
        }
    }
}

kernel! {
    /// product += Σ_l u_l · row_{rows_l} over some rows of a matrix; rows whose u is zero are
    /// skipped.
    add_rows(s; cells: &[f64], rows: &[usize], u: &[f64], product: &mut [f64]) {
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
                combine(s, [u[a], u[b], u[c], u[d]], parts, product);
            }
        }
        for &l in &four[..waiting] {
            combine(s, [u[l]], [row(rows[l])], product);
        }
    }
}

kernel! {
    /// sum += Σ_c w_c · column_c over some columns of a matrix stored by column.
    add_columns(s; matrix: Columns<'_>, w: &[f64], sum: &mut [f64]) {
        // A block of the sum stays in the first-level cache while the columns pass by.
        for (block, sum) in sum.chunks_mut(1024).enumerate() {
            let start = 1024 * block;
            let end = 1024 * block + sum.len();
            let part = |j: usize| &matrix.column(j)[start..end];
            let mut four = matrix.which.chunks_exact(4);
            let mut weights = w.chunks_exact(4);
            for (j, w) in (&mut four).zip(&mut weights) {
                combine(s, [w[0], w[1], w[2], w[3]], [part(j[0]), part(j[1]), part(j[2]), part(j[3])], sum);
            }
            for (&j, &w) in four.remainder().iter().zip(weights.remainder()) {
                combine(s, [w], [part(j)], sum);
            }
        }
    }
}

/// Some columns of a matrix stored by column.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The whole matrix.
    pub cells: &'a [f64],
    /// The length of a column.
    pub length: usize,
    /// The indices of the columns.
    pub which: &'a [usize],
}

impl<'a> Columns<'a> {
    #[inline(always)]
    fn column(self, j: usize) -> &'a [f64] {
        &self.cells[j * self.length..(j + 1) * self.length]
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
                row_dots(&cells, &rows, &x, &mut products);
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
                let a: Vec<f64> = (0..length)
                    .map(|i| if i.is_multiple_of(every) { height(i) } else { -3.0 })
                    .collect();
                let mut found = vec![7];
                find_not_below(&a, &b, 2.0, 0.5, 1.0, &mut found);
                assert_eq!(
                    found,
                    (0..length).step_by(every).collect::<Vec<usize>>(),
                    "{length} {every}"
                );
            }
        }
    }

    #[test]
    fn combines_every_length() {
        for length in 0..40 {
            let row = |r: usize| (0..length).map(|i| (i * r) as f64).collect::<Vec<f64>>();
            let cells: Vec<f64> = (1..6).flat_map(row).collect();
            let mut sum = vec![1.0; length];
            add_rows(&cells, &[0, 1, 2, 3, 4], &[1.0, 2.0, 0.0, 4.0, 5.0], &mut sum);
            let expected: Vec<f64> =
                (0..length).map(|i| (1 + i * (1 + 4 + 16 + 25)) as f64).collect();
            assert_eq!(sum, expected);
        }
    }
}
