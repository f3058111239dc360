//! (K_SS + diag(1/2C_i))⁻¹ over the rows S with positive loss, kept up to date by rank-1 updates.

use super::active_set::HingeRows;
use crate::linalg::Cholesky;
use crate::linalg::DelayedUpdates;
use crate::linalg::PackedSymmetric;
use crate::linalg::dot;

/// A pivot below this fraction of its terms has lost its digits to cancellation.
const LEAST_PIVOT: f64 = 1e-8;

/// The inverse, embedded in a matrix over all rows that is zero outside S, so that no row ever
/// moves.
#[derive(Clone)]
pub struct SupportInverse {
    matrix: DelayedUpdates,
    support: Vec<bool>,
    stale: bool,
    image: Vec<f64>,
    row: Vec<f64>,
}

impl SupportInverse {
    /// Of no rows yet.
    pub fn new(rows: usize) -> Self {
        let zeros = || vec![0.0; rows];
        Self {
            matrix: DelayedUpdates::default(),
            support: vec![false; rows],
            stale: true,
            image: zeros(),
            row: zeros(),
        }
    }

    /// Whether a row is in S.
    pub fn contains(&self, row: usize) -> bool {
        self.support[row]
    }

    /// Its product with a vector, zero outside S.
    pub fn multiply(&self, x: &[f64], product: &mut [f64]) {
        self.matrix.multiply(x, product);
    }

    /// Follows K −= x xᵀ; returns (K_SS + D)⁻¹ x of before and 1 − x·that, or nothing if it has to
    /// be rebuilt.
    pub fn downdate(&mut self, x: &[f64]) -> Option<(&[f64], f64)> {
        if self.stale {
            return None;
        }
        self.matrix.multiply(x, &mut self.image);
        let pivot = 1.0 - dot(x, &self.image);
        if pivot.is_nan() || pivot < LEAST_PIVOT {
            self.stale = true;
            return None;
        }
        self.matrix.update(pivot.recip(), &self.image);
        Some((&self.image, pivot))
    }

    /// Takes rows into S that have positive loss now, and out of it those that have none.
    pub fn change_rows(&mut self, hinge: &HingeRows, kernel: &mut DelayedUpdates) {
        let rows = self.support.len();
        let changed = (0..rows).filter(|&i| hinge.has_loss(i) != self.support[i]).count();
        let inside = (0..rows).filter(|&i| hinge.has_loss(i)).count();
        if self.stale || changed > inside / 4 + 1 {
            self.rebuild(hinge, kernel);
            return;
        }
        if changed > 0 {
            for i in 0..rows {
                let now = hinge.has_loss(i);
                if now != self.support[i]
                    && !if now { self.enter(i, hinge, kernel) } else { self.leave(i) }
                {
                    self.rebuild(hinge, kernel);
                    break;
                }
            }
        }
    }

    /// Takes a row into S: M += v vᵀ/s with v = (M k, −1) and s what K_ii + D_ii adds beyond S.
    fn enter(&mut self, i: usize, hinge: &HingeRows, kernel: &mut DelayedUpdates) -> bool {
        kernel.row_into(i, &mut self.row);
        self.matrix.multiply(&self.row, &mut self.image);
        let whole = self.row[i] + hinge.cost[i].recip();
        let pivot = whole - dot(&self.row, &self.image);
        if pivot.is_nan() || pivot < LEAST_PIVOT * whole {
            return false;
        }
        self.image[i] = -1.0;
        self.matrix.update(pivot.recip(), &self.image);
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
        self.matrix.update(-pivot.recip(), &self.image);
        self.matrix.clear(i);
        self.support[i] = false;
        true
    }

    /// From scratch, by Cholesky.
    pub fn rebuild(&mut self, hinge: &HingeRows, kernel: &mut DelayedUpdates) {
        let rows: Vec<usize> = (0..self.support.len()).filter(|&i| hinge.has_loss(i)).collect();
        let kernel = kernel.flushed();
        let system = PackedSymmetric::new(rows.len(), |s, t| {
            let own = if s == t { hinge.cost[rows[s]].recip() } else { 0.0 };
            kernel.row(rows[s])[rows[t]] + own
        });
        (0..self.support.len()).for_each(|i| self.support[i] = hinge.has_loss(i));
        let mut matrix = PackedSymmetric::zeros(self.support.len());
        // Without a factor the matrix stays zero; the stall detection then reports non-convergence.
        if let Some(factor) = Cholesky::new(&system) {
            let inverse = factor.inverse();
            for (s, &i) in rows.iter().enumerate() {
                rows[..=s]
                    .iter()
                    .zip(inverse.row(s))
                    .for_each(|(&j, &cell)| matrix.set(i, j, cell));
            }
        }
        self.matrix = DelayedUpdates::new(matrix);
        self.stale = false;
    }
}
