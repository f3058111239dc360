//! H = I + 2 Σ C_i x_i x_iᵀ over the active rows: explicit while many rows change, inverted once
//! few do.

use super::active_set::RowState;
use super::training_rows::{TrainingRows, gather};
use crate::linalg::Cholesky;
use crate::linalg::DelayedUpdates;
use crate::linalg::PackedSymmetric;

/// Rows that enter or leave H together.
const BLOCK: usize = 16;

/// H of one machine.
#[derive(Clone)]
pub enum Hessian {
    /// To be rebuilt.
    Missing,
    /// H, by position of the columns present; then ones on the diagonal up to a row's width.
    Explicit(PackedSymmetric),
    /// H⁻¹, by slot.
    Inverse(DelayedUpdates),
}

/// What the machines of a problem share while they are fitted.
#[derive(Clone, Default)]
pub struct HessianCache {
    /// The costs of all rows, and H of all rows.
    of_all: Option<(Vec<f64>, PackedSymmetric)>,
    /// Scratch.
    weights: Vec<f64>,
    vectors: Vec<f64>,
}

/// The training rows of one machine.
#[derive(Clone, Copy)]
pub struct Support<'s> {
    /// The rows by slot.
    pub rows: &'s TrainingRows,
    /// Their costs, and whether they are active.
    pub states: &'s [RowState],
}

impl Support<'_> {
    /// How many rows are active.
    fn count(&self) -> usize {
        self.states.iter().filter(|state| state.active).count()
    }

    /// What a row that crossed the margin adds to H.
    fn weight(&self, i: usize) -> f64 {
        let RowState { cost, active, .. } = self.states[i];
        if active { cost } else { -cost }
    }
}

impl HessianCache {
    /// Drops H of all rows, which only first fits use.
    pub fn clear(&mut self) {
        self.of_all = None;
    }
}

impl Hessian {
    /// Adds the rows that became active and removes those that no longer are; `support` is the
    /// state after the change.
    pub fn change_rows(
        &mut self,
        support: Support<'_>,
        changed: &[usize],
        cache: &mut HessianCache,
    ) {
        let size = support.rows.slots().len();
        match self {
            Self::Missing => self.rebuild(support, cache),
            Self::Explicit(hessian) if changed.len() < support.count() => {
                add_rows(hessian, support, changed)
            }
            Self::Explicit(_) => self.rebuild(support, cache),
            Self::Inverse(_) if changed.is_empty() => {}
            Self::Inverse(inverse) => {
                // Rebuilding costs as much as updating (2·size + active rows)/3 rows; active rows
                // are counted only if that can decide.
                let many =
                    3 * changed.len() > 2 * size && 3 * changed.len() > 2 * size + support.count();
                if many || !update(inverse, support, changed, cache) {
                    self.rebuild(support, cache);
                }
            }
        }
        // A factor of H costs as much as size/2 rows in and out of the inverse.
        if 2 * changed.len() <= size {
            self.invert(support.rows);
        }
    }

    /// H from scratch.
    pub fn rebuild(&mut self, support: Support<'_>, cache: &mut HessianCache) {
        let states = support.states;
        let rows: Vec<usize> = (0..states.len()).filter(|&i| states[i].active).collect();
        let is_all = rows.len() == states.len();
        if let Some((costs, hessian)) = &cache.of_all
            && is_all
            && costs.iter().zip(states).all(|(cost, state)| *cost == state.cost)
        {
            *self = Self::Explicit(hessian.clone());
            return;
        }
        // Of the size of a row by slot, for the sake of whole vectors.
        let mut hessian = PackedSymmetric::identity(support.rows.width());
        add_rows(&mut hessian, support, &rows);
        if is_all {
            cache.of_all = Some((states.iter().map(|state| state.cost).collect(), hessian.clone()));
        }
        *self = Self::Explicit(hessian);
    }

    /// Inverts H unless that is done. As H ⪰ I, the factorisation fails only if values overflow.
    pub fn invert(&mut self, rows: &TrainingRows) {
        if let Self::Explicit(hessian) = self {
            let factor = Cholesky::new(hessian);
            *self = factor
                .map_or(Self::Missing, |factor| Self::Inverse(scatter(&factor.inverse(), rows)));
        }
    }

    /// −H⁻¹ times a vector by slot; zero if H is unavailable: the stall detection then reports
    /// non-convergence.
    pub fn newton_direction(&self, rows: &TrainingRows, gradient: &[f64], direction: &mut [f64]) {
        direction.fill(0.0);
        match self {
            Self::Missing => {}
            Self::Inverse(inverse) => inverse.multiply(gradient, direction),
            Self::Explicit(hessian) => {
                let mut solution = gather(gradient, rows.slots(), rows.width());
                if let Some(factor) = Cholesky::new(hessian) {
                    factor.solve(&mut solution);
                    rows.slots()
                        .iter()
                        .zip(solution)
                        .for_each(|(&slot, value)| direction[slot] = value);
                }
            }
        }
        direction.iter_mut().for_each(|d| *d = -*d);
    }

    /// Removes a slot with the active rows fixed, A −= A_j A_jᵀ/A_jj for A = H⁻¹; returns A_jj, and
    /// A_j in `row`, if A is known.
    pub fn remove(&mut self, slot: usize, row: &mut [f64]) -> Option<f64> {
        if let Self::Inverse(inverse) = self {
            inverse.row_into(slot, row);
            let pivot = row[slot];
            if pivot > 0.0 {
                inverse.update(-pivot.recip(), row);
                inverse.clear(slot);
                return Some(pivot);
            }
        }
        *self = Self::Missing;
        None
    }

    /// Drops the slots that are not kept.
    pub fn compact(&mut self, kept: &[usize], width: usize) {
        if let Self::Inverse(inverse) = std::mem::replace(self, Self::Missing) {
            *self = Self::Inverse(inverse.submatrix(kept, width));
        }
    }
}

/// Adds 2C_i x_i x_iᵀ for rows that are active, and subtracts it for rows that are not.
fn add_rows(hessian: &mut PackedSymmetric, support: Support<'_>, rows: &[usize]) {
    let slots = support.rows.slots();
    let mut factors = Vec::with_capacity(BLOCK);
    let mut vectors = vec![0.0; BLOCK.min(rows.len()) * hessian.size()];
    for block in rows.chunks(BLOCK) {
        factors.clear();
        for (&i, vector) in block.iter().zip(vectors.chunks_exact_mut(hessian.size())) {
            factors.push(support.weight(i));
            let row = support.rows.row(i);
            vector.iter_mut().zip(slots).for_each(|(value, &slot)| *value = row[slot]);
        }
        hessian.rank_k_update(&factors, &vectors[..block.len() * hessian.size()]);
    }
}

/// Adds rows to H⁻¹ or removes them; false if a pivot is lost to rounding. H ⪰ I holds before and
/// after.
fn update(
    inverse: &mut DelayedUpdates,
    support: Support<'_>,
    changed: &[usize],
    cache: &mut HessianCache,
) -> bool {
    let HessianCache { weights, vectors, .. } = cache;
    weights.clear();
    weights.extend(changed.iter().map(|&i| support.weight(i)));
    vectors.clear();
    changed.iter().for_each(|&i| vectors.extend_from_slice(support.rows.row(i)));
    inverse.update_inverse(weights, vectors)
}

/// A matrix by position of columns as one by slot.
fn scatter(matrix: &PackedSymmetric, rows: &TrainingRows) -> DelayedUpdates {
    let mut by_slot = PackedSymmetric::zeros(rows.width());
    for (position, &slot) in rows.slots().iter().enumerate() {
        rows.slots()[..=position]
            .iter()
            .zip(matrix.row(position))
            .for_each(|(&other, &cell)| by_slot.set(slot, other, cell));
    }
    DelayedUpdates::new(by_slot)
}
