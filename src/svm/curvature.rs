//! H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, in the form that serves best: H itself while many rows come and
//! go, its inverse when few do.

use super::lagging::Lagging;
use super::lanes::dot;
use super::margin::Margin;
use super::rows::{Rows, some_of};
use super::square::Square;

/// Rows that enter or leave H together.
const BLOCK: usize = 16;
/// Rows that enter or leave the inverse together.
const BATCH: usize = 4;

/// H of one machine.
#[derive(Clone)]
pub enum Curvature {
    /// It has to be made afresh.
    Unknown,
    /// H, on and below the diagonal, by position of the columns present; then ones on the diagonal up to a row's width.
    Itself(Square),
    /// H⁻¹, by slot.
    Inverse(Lagging),
}

/// What machines make of the same rows.
#[derive(Clone, Default)]
pub struct Shared {
    /// The costs of all rows, and H of all rows.
    of_all: Option<(Vec<f64>, Square)>,
    vectors: Vec<f64>,
    images: Vec<f64>,
}

/// Some training rows of one machine.
#[derive(Clone, Copy)]
pub struct Support<'s> {
    /// The rows by slot.
    pub rows: &'s Rows,
    /// Their costs.
    pub margin: &'s Margin,
    /// Whether a row is in H.
    pub inside: &'s [bool],
}

impl Shared {
    /// Lets H of all rows go: it is of use to first fits only.
    pub fn forget(&mut self) {
        self.of_all = None;
    }
}

impl Curvature {
    /// Follows rows that entered or left; `support` is as it is now.
    pub fn follow(&mut self, support: Support<'_>, changed: &[usize], shared: &mut Shared) {
        let size = support.rows.slots().len();
        match self {
            Self::Unknown => self.renew(support, shared),
            Self::Itself(hessian) => add_rows(hessian, support, changed),
            Self::Inverse(_) if changed.is_empty() => {}
            Self::Inverse(inverse) => {
                let inside = support.inside.iter().filter(|&&inside| inside).count();
                if changed.len() > (inside + 2 * size) / 4 || !update(inverse, support, changed, shared) {
                    self.renew(support, shared);
                }
            }
        }
        // A factor of H costs as much as size/12 rows in and out of the inverse.
        if 12 * changed.len() <= size {
            self.invert(support.rows);
        }
    }

    /// H from scratch.
    pub fn renew(&mut self, support: Support<'_>, shared: &mut Shared) {
        let rows: Vec<usize> = (0..support.inside.len()).filter(|&i| support.inside[i]).collect();
        let is_all = rows.len() == support.inside.len();
        if let Some((costs, hessian)) = &shared.of_all
            && is_all
            && *costs == support.margin.cost
        {
            *self = Self::Itself(hessian.clone());
            return;
        }
        // Of the size of a row by slot, for the sake of whole vectors.
        let mut hessian = Square::zeros(support.rows.width());
        add_rows(&mut hessian, support, &rows);
        for i in 0..hessian.size() {
            hessian.row_mut(i)[i] += 1.0;
        }
        if is_all {
            shared.of_all = Some((support.margin.cost.clone(), hessian.clone()));
        }
        *self = Self::Itself(hessian);
    }

    /// H⁻¹, if it is not there yet. H ⪰ I: a factor fails only on values too large for the sum.
    pub fn invert(&mut self, rows: &Rows) {
        if let Self::Itself(hessian) = self {
            let factor = std::mem::take(hessian).cholesky();
            *self = factor.map_or(Self::Unknown, |factor| Self::Inverse(spread(&factor.inverse(), rows)));
        }
    }

    /// −H⁻¹ times a vector by slot; zero if there is no H, so that a fit stalls openly.
    pub fn descend(&self, rows: &Rows, gradient: &[f64], direction: &mut [f64]) {
        direction.fill(0.0);
        match self {
            Self::Unknown => {}
            Self::Inverse(inverse) => inverse.times_into(gradient, direction),
            Self::Itself(hessian) => {
                let mut solution = some_of(gradient, rows.slots(), rows.width());
                if let Some(factor) = hessian.clone().cholesky() {
                    factor.solve(&mut solution);
                    rows.slots().iter().zip(solution).for_each(|(&slot, value)| direction[slot] = value);
                }
            }
        }
        direction.iter_mut().for_each(|d| *d = -*d);
    }

    /// Lets a slot go with the rows fixed, A −= A_j A_jᵀ/A_jj; gives A_j and A_jj if they are known.
    pub fn remove(&mut self, slot: usize, row: &mut [f64]) -> Option<f64> {
        if let Self::Inverse(inverse) = self {
            inverse.row_into(slot, row);
            let pivot = row[slot];
            if pivot > 0.0 {
                inverse.change(-pivot.recip(), row);
                inverse.clear(slot);
                return Some(pivot);
            }
        }
        *self = Self::Unknown;
        None
    }

    /// Prepares for rows without the slots that are not in use.
    pub fn close_up(&mut self, kept: &[usize], width: usize) {
        if let Self::Inverse(inverse) = std::mem::replace(self, Self::Unknown) {
            *self = Self::Inverse(inverse.some(kept, width));
        }
    }
}

/// Adds 2C_i x_i x_iᵀ of the rows that are inside, or takes it away of those that are not, on and below the diagonal.
fn add_rows(hessian: &mut Square, support: Support<'_>, rows: &[usize]) {
    let slots = support.rows.slots();
    let mut factors = Vec::with_capacity(BLOCK);
    let mut vectors = vec![0.0; BLOCK * hessian.size()];
    for block in rows.chunks(BLOCK) {
        factors.clear();
        for (&i, vector) in block.iter().zip(vectors.chunks_exact_mut(hessian.size())) {
            let cost = support.margin.cost[i];
            factors.push(if support.inside[i] { cost } else { -cost });
            let row = support.rows.row(i);
            vector.iter_mut().zip(slots).for_each(|(value, &slot)| *value = row[slot]);
        }
        hessian.add_outers_below(&factors, &vectors[..block.len() * hessian.size()]);
    }
}

/// Takes rows into A or out of it; false if rounding stands against it.
fn update(inverse: &mut Lagging, support: Support<'_>, changed: &[usize], shared: &mut Shared) -> bool {
    let Shared { vectors, images, .. } = shared;
    let width = support.rows.width();
    for batch in changed.chunks(BATCH) {
        inverse.make_room(batch.len());
        vectors.clear();
        batch.iter().for_each(|&i| vectors.extend_from_slice(support.rows.row(i)));
        images.resize(vectors.len(), 0.0);
        inverse.images_into(vectors, images);
        for ((&i, row), image) in
            batch.iter().zip(vectors.chunks_exact(width)).zip(images.chunks_exact_mut(width))
        {
            inverse.correct(row, image);
            let cost = support.margin.cost[i];
            let weight = if support.inside[i] { cost } else { -cost };
            let pivot = 1.0 + weight * dot(row, image);
            // A leaving row leaves H ⪰ I, so the pivot is positive; near zero only rounding is left of it.
            if pivot < 1e-8 {
                return false;
            }
            inverse.change(-weight / pivot, image);
        }
    }
    true
}

/// A matrix by position as one by slot.
fn spread(matrix: &Square, rows: &Rows) -> Lagging {
    let mut by_slot = Square::zeros(rows.width());
    for (position, &slot) in rows.slots().iter().enumerate() {
        let target = by_slot.row_mut(slot);
        rows.slots().iter().zip(matrix.row(position)).for_each(|(&slot, &cell)| target[slot] = cell);
    }
    Lagging::new(by_slot)
}
