//! (K_SS + diag(1/2C_i))⁻¹ over the rows S with positive loss, kept up to date by rank-1 updates.

use super::factor::Factor;
use super::lagging::Lagging;
use super::lanes::dot;
use super::margin::Margin;
use super::symmetric::Symmetric;

/// A pivot that lost all but this share of its size to cancellation is not to be trusted.
const LOST: f64 = 1e-8;

/// The inverse, embedded in a matrix over all rows that is zero outside S: no row ever moves.
#[derive(Clone)]
pub struct Inverse {
    matrix: Lagging,
    support: Vec<bool>,
    stale: bool,
    image: Vec<f64>,
    row: Vec<f64>,
}

impl Inverse {
    /// Of no rows yet.
    pub fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Self {
            matrix: Lagging::default(),
            support: vec![false; rows],
            stale: true,
            image: zeros(),
            row: zeros(),
        }
    }

    /// Whether a row is in S.
    pub fn holds(&self, row: usize) -> bool {
        self.support[row]
    }

    /// Its product with a vector, zero outside S.
    pub fn times_into(&self, x: &[f64], product: &mut [f64]) {
        self.matrix.times_into(x, product);
    }

    /// Follows K −= x xᵀ; returns (K_SS + D)⁻¹ x of before and 1 − x·that, or nothing if it has to be made afresh.
    pub fn downdate(&mut self, x: &[f64]) -> Option<(&[f64], f64)> {
        if self.stale {
            return None;
        }
        self.matrix.times_into(x, &mut self.image);
        let pivot = 1.0 - dot(x, &self.image);
        if pivot.is_nan() || pivot < LOST {
            self.stale = true;
            return None;
        }
        self.matrix.change(pivot.recip(), &self.image);
        Some((&self.image, pivot))
    }

    /// Follows the rows that have positive loss now; true if they are the same as before.
    pub fn follow(&mut self, margin: &Margin, kernel: &mut Lagging, afresh: bool) -> bool {
        let rows = self.support.len();
        let changed = (0..rows).filter(|&i| margin.inside(i) != self.support[i]).count();
        let inside = (0..rows).filter(|&i| margin.inside(i)).count();
        if afresh || self.stale || changed > inside / 4 + 1 {
            self.rebuild(margin, kernel);
            return changed == 0;
        }
        if changed > 0 {
            for i in 0..rows {
                let now = margin.inside(i);
                if now != self.support[i] && !if now { self.enter(i, margin, kernel) } else { self.leave(i) }
                {
                    self.rebuild(margin, kernel);
                    break;
                }
            }
        }
        changed == 0
    }

    /// Takes a row into S: M += v vᵀ/s with v = (M k, −1) and s what K_ii + D_ii adds beyond S.
    fn enter(&mut self, i: usize, margin: &Margin, kernel: &mut Lagging) -> bool {
        kernel.row_into(i, &mut self.row);
        self.matrix.times_into(&self.row, &mut self.image);
        let whole = self.row[i] + margin.cost[i].recip();
        let pivot = whole - dot(&self.row, &self.image);
        if pivot.is_nan() || pivot < LOST * whole {
            return false;
        }
        self.image[i] = -1.0;
        self.matrix.change(pivot.recip(), &self.image);
        self.support[i] = true;
        true
    }

    /// Takes a row out of S: M −= M_i M_iᵀ/M_ii.
    fn leave(&mut self, i: usize) -> bool {
        self.matrix.row_into(i, &mut self.image);
        let pivot = self.image[i];
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        self.matrix.change(-pivot.recip(), &self.image);
        self.matrix.clear(i);
        self.support[i] = false;
        true
    }

    /// From scratch, by Cholesky.
    fn rebuild(&mut self, margin: &Margin, kernel: &mut Lagging) {
        let rows: Vec<usize> = (0..self.support.len()).filter(|&i| margin.inside(i)).collect();
        let kernel = kernel.whole();
        let system = Symmetric::new(rows.len(), |s, t| {
            let own = if s == t { margin.cost[rows[s]].recip() } else { 0.0 };
            kernel.row(rows[s])[rows[t]] + own
        });
        (0..self.support.len()).for_each(|i| self.support[i] = margin.inside(i));
        let mut matrix = Symmetric::zeros(self.support.len());
        // Without a factor the matrix stays zero, and the fit stalls openly.
        if let Some(factor) = Factor::new(&system) {
            let inverse = factor.inverse();
            for (s, &i) in rows.iter().enumerate() {
                rows[..=s].iter().zip(inverse.row(s)).for_each(|(&j, &cell)| matrix.set(i, j, cell));
            }
        }
        self.matrix = Lagging::new(matrix);
        self.stale = false;
    }
}
