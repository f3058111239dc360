//! Columns in single precision, for weights that may be approximate as long as their error is
//! bounded: half the memory and half the time.

use super::Problem;
use pulp::cast;

use crate::linalg::simd::{F32_LANES, kernel};

/// If the norms of all columns are within these limits, single precision neither overflows nor
/// underflows where it matters.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-12..=1e12;

/// All columns of a problem, in single precision.
#[derive(Debug)]
pub struct F32Columns {
    cells: Vec<f32>,
    /// Length of a column, padding included.
    width: usize,
}

/// The coefficients of a model divided by their norm, in single precision.
#[derive(Debug, Clone, Default)]
pub struct F32Coefficients {
    length: f64,
    direction: Vec<f32>,
}

impl F32Columns {
    /// The columns of a problem; `None` if a norm is out of range. Columns of zeros are allowed.
    pub fn new(problem: &Problem<'_>) -> Option<Self> {
        let rows = problem.rows();
        let width = rows.next_multiple_of(F32_LANES);
        let mut cells = vec![0.0; problem.columns() * width];
        for (j, rounded) in cells.chunks_exact_mut(width).enumerate() {
            let column = problem.feature(j);
            let length = crate::linalg::norm(column);
            if length != 0.0 && !LENGTHS.contains(&length) {
                return None;
            }
            rounded.iter_mut().zip(column).for_each(|(rounded, &value)| *rounded = value as f32);
        }
        Some(Self { cells, width })
    }

    /// Bound on the error of a weight, relative to the product of the norms of column and
    /// coefficients: both are rounded, and so are every product and every sum. Doubled to cover
    /// terms of higher order.
    pub fn error(&self) -> f64 {
        (self.width + 8) as f64 * f64::from(f32::EPSILON)
    }

    /// The products of some columns with coefficients.
    pub fn weights_into(
        &self,
        columns: &[usize],
        coefficients: &F32Coefficients,
        weights: &mut [f64],
    ) {
        let F32Coefficients { length, direction } = coefficients;
        approximate_dots(&self.cells, columns, direction, *length, weights);
    }
}

impl F32Coefficients {
    /// Takes the coefficients of a model.
    pub fn set(&mut self, a: &[f64]) {
        self.length = crate::linalg::norm(a);
        let inverse = if self.length > 0.0 { self.length.recip() } else { 0.0 };
        self.direction.resize(a.len().next_multiple_of(F32_LANES), 0.0);
        self.direction
            .iter_mut()
            .zip(a)
            .for_each(|(rounded, &value)| *rounded = (value * inverse) as f32);
    }
}

kernel! {
    /// products_l = scale · column_{columns_l} · a, for columns as long as a.
    approximate_dots(s; cells: &[f32], columns: &[usize], a: &[f32], scale: f64, products: &mut [f64]) {
        let (cells, _) = cells.as_chunks::<F32_LANES>();
        let (a, _) = a.as_chunks::<F32_LANES>();
        let column = |j: usize| &cells[j * a.len()..(j + 1) * a.len()];
        for (columns, products) in columns.chunks(4).zip(products.chunks_mut(4)) {
            let mut four = [column(columns[0]); 4];
            for (part, &j) in four.iter_mut().zip(columns) {
                *part = column(j);
            }
            let mut lanes = [s.splat_f32s(0.0); 4];
            for (at, a) in a.iter().enumerate() {
                let a = cast(*a);
                for r in 0..4 {
                    lanes[r] = s.add_f32s(lanes[r], s.mul_f32s(cast(four[r][at]), a));
                }
            }
            for (product, lanes) in products.iter_mut().zip(lanes) {
                *product = scale * f64::from(s.reduce_sum_f32s(lanes));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::linalg;
    use crate::linalg::simd::limited;
    use ndarray::Array2;

    #[test]
    fn weights_are_off_by_no_more_than_they_say() {
        let mut rng = Rng::new(4, 0, Purpose::Split);
        for rows in [1, 15, 16, 17, 75, 130] {
            let y: Vec<usize> = (0..rows).map(|i| i % 2).collect();
            // From column to column a thousand times longer.
            let x = Array2::from_shape_fn((7, rows), |(j, _)| {
                (rng.uniform() - 0.5) * 1000.0_f64.powi(j as i32 - 3)
            });
            let problem = Problem::new(x.view(), &y, 2).unwrap();
            let columns_f32 = F32Columns::new(&problem).unwrap();
            let a: Vec<f64> = (0..rows).map(|_| 1e-40 * (rng.uniform() - 0.5)).collect();
            let mut coefficients = F32Coefficients::default();
            coefficients.set(&a);
            for columns in [vec![], vec![3], vec![6, 0, 1, 2], vec![0, 1, 2, 3, 4, 5, 6]] {
                for bits in [128, 256, 512] {
                    let mut weights = vec![0.0; columns.len()];
                    limited::to(bits, || {
                        columns_f32.weights_into(&columns, &coefficients, &mut weights)
                    });
                    for (&j, weight) in columns.iter().zip(weights) {
                        let column = problem.feature(j);
                        let most = columns_f32.error() * linalg::norm(column) * linalg::norm(&a);
                        let off = (weight - linalg::dot(column, &a)).abs();
                        assert!(off <= most, "{rows} {j} {bits}: {off} {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn columns_out_of_range_are_refused() {
        let y = [0, 1];
        for (value, is_fine) in
            [(0.0, true), (1.0, true), (1e-30, false), (1e30, false), (f64::NAN, false)]
        {
            let x = Array2::from_shape_fn((2, 2), |(j, _)| if j == 0 { 1.0 } else { value });
            let problem = Problem::new(x.view(), &y, 2).unwrap();
            assert_eq!(F32Columns::new(&problem).is_some(), is_fine, "{value}");
        }
    }
}
