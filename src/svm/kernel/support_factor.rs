//! The factor of the system that the supporting rows S of a machine give, (K_SS + diag(1/2C_i)) x =
//! b, and its solution for other rows near S: a row more or less is a border of the system, not
//! another factor.

use pulp::cast;

use crate::linalg::simd::{LANES, kernel};
use crate::linalg::{Cholesky, Line, PackedSymmetric};

/// The Cholesky factor of K_SS + diag(1/2C_i).
#[derive(Default)]
pub struct SupportFactor {
    /// S, descending: what a symmetric matrix keeps of a row then lies from the diagonal on.
    rows: Vec<usize>,
    /// For each training row its place among them.
    places: Vec<Option<usize>>,
    factor: Cholesky,
}

/// The matrix of a machine: kernels of the training rows, and 2C_i.
#[derive(Clone, Copy)]
pub struct SupportSystem<'a> {
    /// K.
    pub kernel: &'a PackedSymmetric,
    /// 2C_i.
    pub cost: &'a [f64],
}

impl SupportSystem<'_> {
    /// The cell of K + diag(1/2C_i) at two training rows.
    fn get(&self, i: usize, j: usize) -> f64 {
        self.kernel.get(i.max(j), i.min(j)) + if i == j { self.cost[i].recip() } else { 0.0 }
    }
}

/// One factor in this many rows may change before another factor is cheaper.
const EXCHANGED_SHARE: usize = 4;

impl SupportFactor {
    /// Factorises anew, for the rows that support; false if rounding has made the matrix
    /// indefinite.
    pub fn renew(&mut self, system: SupportSystem<'_>, supports: &[bool]) -> bool {
        self.rows.clear();
        self.rows.extend((0..supports.len()).rev().filter(|&row| supports[row]));
        self.places.clear();
        self.places.resize(supports.len(), None);
        self.rows.iter().enumerate().for_each(|(place, &row)| self.places[row] = Some(place));
        self.factor.renew(self.rows.len(), |i, cells| {
            let rows = &self.rows[i..];
            let own = system.kernel.row(rows[0]);
            cells.iter_mut().zip(rows).for_each(|(cell, &row)| *cell = own[row]);
            cells[0] += system.cost[rows[0]].recip();
        })
    }

    /// Solves the system of the rows that support now for b, which has an entry for every training
    /// row; x is zero elsewhere. False if too many rows have changed since the factor was made.
    ///
    /// With the rows A that came and R that went, x and multipliers μ that keep x_R = 0 solve the
    /// bordered system
    ///
    /// ```text
    /// M x_S + M_SA x_A + E_R μ = b_S      M_AS x_S + M_AA x_A = b_A      x_R = 0
    /// ```
    ///
    /// With M_SS = UᵀU and Y = U⁻ᵀ [M_SA E_R], what is left for (x_A, μ) has the matrix diag(M_AA,
    /// 0) − YᵀY.
    pub fn solve(
        &self,
        system: SupportSystem<'_>,
        supports: &[bool],
        b: &[f64],
        x: &mut [f64],
    ) -> bool {
        let came: Vec<usize> = (0..supports.len())
            .filter(|&row| supports[row] && self.places[row].is_none())
            .collect();
        let went: Vec<usize> =
            (0..self.rows.len()).filter(|&place| !supports[self.rows[place]]).collect();
        let borders = came.len() + went.len();
        if EXCHANGED_SHARE * borders > self.rows.len() {
            return false;
        }
        // b and the borders, eight side by side.
        let mut blocks =
            vec![vec![Line([0.0; LANES]); self.rows.len()]; (borders + 1).div_ceil(LANES)];
        for (place, &row) in self.rows.iter().enumerate() {
            blocks[0][place].0[0] = if supports[row] { b[row] } else { 0.0 };
        }
        for (&row, number) in came.iter().zip(1..) {
            let block = &mut blocks[number / LANES];
            block
                .iter_mut()
                .zip(&self.rows)
                .for_each(|(cells, &s)| cells.0[number % LANES] = system.get(row, s));
        }
        for (&place, number) in went.iter().zip(1 + came.len()..) {
            blocks[number / LANES][place].0[number % LANES] = 1.0;
        }
        blocks.iter_mut().for_each(|block| self.factor.forward(block));
        let mut left = Vec::new();
        if borders > 0 {
            let products = Products::new(&blocks);
            let cell = |i: usize, j: usize| {
                let own = if i < came.len() && j < came.len() {
                    system.get(came[i], came[j])
                } else {
                    0.0
                };
                own - products.get(i + 1, j + 1)
            };
            let right = |i: usize| came.get(i).map_or(0.0, |&row| b[row]) - products.get(i + 1, 0);
            match solve_quasidefinite(borders, cell, right) {
                Some(solution) => left = solution,
                None => return false,
            }
        }
        let mut of_factor: Vec<f64> = blocks[0].iter().map(|cells| cells.0[0]).collect();
        for (number, value) in (1..).zip(&left) {
            let block = &blocks[number / LANES];
            of_factor
                .iter_mut()
                .zip(block)
                .for_each(|(own, cells)| *own -= value * cells.0[number % LANES]);
        }
        self.factor.backward(&mut of_factor);
        x.fill(0.0);
        self.rows.iter().zip(of_factor).for_each(|(&row, value)| x[row] = value);
        went.iter().for_each(|&place| x[self.rows[place]] = 0.0);
        came.iter().zip(left).for_each(|(&row, value)| x[row] = value);
        true
    }
}

/// YᵀY of vectors that lie in blocks of eight, side by side.
struct Products {
    /// Block by block, eight rows of eight.
    cells: Vec<[[f64; LANES]; LANES]>,
    blocks: usize,
}

impl Products {
    fn new(blocks: &[Vec<Line<[f64; LANES]>>]) -> Self {
        let pairs = blocks.iter().flat_map(|a| blocks.iter().map(move |b| (a, b)));
        Self { cells: pairs.map(|(a, b)| products(a, b)).collect(), blocks: blocks.len() }
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        self.cells[i / LANES * self.blocks + j / LANES][i % LANES][j % LANES]
    }
}

kernel! {
    /// Σ a_i b_j over the entries of vectors, for eight a and eight b.
    products(s; a: &[Line<[f64; LANES]>], b: &[Line<[f64; LANES]>]) -> [[f64; LANES]; LANES] {
        let mut sums = [s.splat_f64s(0.0); LANES];
        for (a, b) in a.iter().zip(b) {
            for (sum, &a) in sums.iter_mut().zip(&a.0) {
                *sum = s.add_f64s(*sum, s.mul_f64s(s.splat_f64s(a), cast(b.0)));
            }
        }
        sums.map(cast)
    }
}

/// Solves a small symmetric system whose first part is positive definite and whose last part is
/// negative definite: LDLᵀ needs no pivoting then (Vanderbei 1995).
fn solve_quasidefinite(
    size: usize,
    cell: impl Fn(usize, usize) -> f64,
    right: impl Fn(usize) -> f64,
) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; size * size];
    let mut x: Vec<f64> = (0..size).map(right).collect();
    for i in 0..size {
        for j in 0..=i {
            let of_before =
                |k: usize| lower[i * size + k] * lower[j * size + k] * lower[k * size + k];
            let value = cell(i, j) - (0..j).map(of_before).sum::<f64>();
            lower[i * size + j] = if i == j { value } else { value / lower[j * size + j] };
        }
        if lower[i * size + i] == 0.0 || !lower[i * size + i].is_finite() {
            return None;
        }
        x[i] -= (0..i).map(|k| lower[i * size + k] * x[k]).sum::<f64>();
    }
    for i in (0..size).rev() {
        x[i] /= lower[i * size + i];
        x[i] -= (i + 1..size).map(|k| lower[k * size + i] * x[k]).sum::<f64>();
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    /// Whatever rows come and go, the solution satisfies the system of the rows that support now.
    #[test]
    fn solutions_satisfy_the_system_of_the_rows_that_support_now() {
        let n = 60;
        let mut rng = Rng::new(5, 0, Purpose::Split);
        let x: Vec<[f64; 3]> =
            (0..n).map(|_| [rng.uniform(), rng.uniform(), rng.uniform()]).collect();
        let square = |i: usize, j: usize| (0..3).map(|c| (x[i][c] - x[j][c]).powi(2)).sum::<f64>();
        let kernel = PackedSymmetric::new(n, |i, j| (-square(i, j)).exp() + 1.0);
        let cost: Vec<f64> = (0..n).map(|_| 0.5 + rng.uniform()).collect();
        let system = SupportSystem { kernel: &kernel, cost: &cost };
        let supported: Vec<bool> = (0..n).map(|_| rng.uniform() < 0.7).collect();
        let mut factor = SupportFactor::default();
        assert!(factor.renew(system, &supported));
        let mut exchanged = 0;
        for share in [0.0, 0.02, 0.05, 0.1, 0.15, 0.5] {
            let supports: Vec<bool> =
                supported.iter().map(|&was| was ^ (rng.uniform() < share)).collect();
            let b: Vec<f64> = (0..n).map(|_| rng.uniform() - 0.5).collect();
            let mut solution = vec![9.0; n];
            if !factor.solve(system, &supports, &b, &mut solution) {
                assert!(share > 0.1, "{share}: a few rows can be exchanged");
                continue;
            }
            exchanged += supports.iter().zip(&supported).filter(|(now, was)| now != was).count();
            for i in 0..n {
                if supports[i] {
                    let product: f64 = (0..n).map(|j| system.get(i, j) * solution[j]).sum();
                    assert!((product - b[i]).abs() < 1e-12, "{share} {i}: {product} {}", b[i]);
                } else {
                    assert_eq!(solution[i], 0.0, "{share} {i}");
                }
            }
        }
        assert!(exchanged > 9, "borders of more than eight vectors are among them: {exchanged}");
        assert!(
            !factor.solve(system, &vec![false; n], &vec![0.0; n], &mut vec![0.0; n]),
            "too many have gone"
        );
    }
}
