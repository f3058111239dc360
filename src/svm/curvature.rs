//! H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, in the form that serves best: H itself while many rows come and
//! go, its inverse when few do.

use super::factor::Factor;
use super::lagging::Lagging;
use super::rows::{Rows, some_of};
use super::symmetric::Symmetric;

/// Rows that enter or leave H together.
const BLOCK: usize = 16;

/// H of one machine.
#[derive(Clone)]
pub enum Curvature {
    /// It has to be made afresh.
    Unknown,
    /// H, by position of the columns present; then ones on the diagonal up to a row's width.
    Itself(Symmetric),
    /// H⁻¹, by slot.
    Inverse(Lagging),
}

/// What machines make of the same rows.
#[derive(Clone, Default)]
pub struct Shared {
    /// The costs of all rows, and H of all rows.
    of_all: Option<(Vec<f64>, Symmetric)>,
    /// Room to work in.
    weights: Vec<f64>,
    vectors: Vec<f64>,
}

/// Some training rows of one machine.
#[derive(Clone, Copy)]
pub struct Support<'s> {
    /// The rows by slot.
    pub rows: &'s Rows,
    /// Their costs, and whether they are inside.
    pub states: &'s [State],
}

/// One training row of one machine.
#[derive(Clone, Copy)]
pub struct State {
    /// ±1.
    pub theta: f64,
    /// 2C_i.
    pub cost: f64,
    /// Its decision value when it was last looked at.
    pub decision: f64,
    /// Whether it is held to have loss, and so is in H.
    pub inside: bool,
}

impl State {
    /// Whether it has loss by its decision value.
    #[inline]
    pub fn has_loss(&self) -> bool {
        self.theta * self.decision < 1.0
    }

    /// How far its decision value is from the margin.
    #[inline]
    pub fn distance(&self) -> f64 {
        (1.0 - self.theta * self.decision).abs()
    }

    /// The derivative of its loss, if it has any, by its decision value.
    #[inline]
    pub fn push(&self) -> f64 {
        self.cost * (self.decision - self.theta)
    }
}

impl Support<'_> {
    /// How many rows are inside.
    fn count(&self) -> usize {
        self.states.iter().filter(|state| state.inside).count()
    }

    /// What a row that crossed the margin adds to H.
    fn weight(&self, i: usize) -> f64 {
        let State { cost, inside, .. } = self.states[i];
        if inside { cost } else { -cost }
    }
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
            Self::Itself(hessian) if changed.len() < support.count() => add_rows(hessian, support, changed),
            Self::Itself(_) => self.renew(support, shared),
            Self::Inverse(_) if changed.is_empty() => {}
            Self::Inverse(inverse) => {
                // All of it costs as much as so many rows; they are counted only if they could be few enough.
                let many = 3 * changed.len() > 2 * size && 3 * changed.len() > 2 * size + support.count();
                if many || !update(inverse, support, changed, shared) {
                    self.renew(support, shared);
                }
            }
        }
        // A factor of H costs as much as size/2 rows in and out of the inverse.
        if 2 * changed.len() <= size {
            self.invert(support.rows);
        }
    }

    /// H from scratch.
    pub fn renew(&mut self, support: Support<'_>, shared: &mut Shared) {
        let states = support.states;
        let rows: Vec<usize> = (0..states.len()).filter(|&i| states[i].inside).collect();
        let is_all = rows.len() == states.len();
        if let Some((costs, hessian)) = &shared.of_all
            && is_all
            && costs.iter().zip(states).all(|(cost, state)| *cost == state.cost)
        {
            *self = Self::Itself(hessian.clone());
            return;
        }
        // Of the size of a row by slot, for the sake of whole vectors.
        let mut hessian = Symmetric::identity(support.rows.width());
        add_rows(&mut hessian, support, &rows);
        if is_all {
            shared.of_all = Some((states.iter().map(|state| state.cost).collect(), hessian.clone()));
        }
        *self = Self::Itself(hessian);
    }

    /// H⁻¹, if it is not there yet. H ⪰ I: a factor fails only on values too large for the sum.
    pub fn invert(&mut self, rows: &Rows) {
        if let Self::Itself(hessian) = self {
            let factor = Factor::new(hessian);
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
                if let Some(factor) = Factor::new(hessian) {
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

/// Adds 2C_i x_i x_iᵀ of the rows that are inside, or takes it away of those that are not.
fn add_rows(hessian: &mut Symmetric, support: Support<'_>, rows: &[usize]) {
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
        hessian.add_outers(&factors, &vectors[..block.len() * hessian.size()]);
    }
}

/// Takes rows into H⁻¹ or out of it; false if rounding stands against it. A row that leaves leaves H ⪰ I behind.
fn update(inverse: &mut Lagging, support: Support<'_>, changed: &[usize], shared: &mut Shared) -> bool {
    let Shared { weights, vectors, .. } = shared;
    weights.clear();
    weights.extend(changed.iter().map(|&i| support.weight(i)));
    vectors.clear();
    changed.iter().for_each(|&i| vectors.extend_from_slice(support.rows.row(i)));
    inverse.follow(weights, vectors)
}

/// A matrix by position as one by slot.
fn spread(matrix: &Symmetric, rows: &Rows) -> Lagging {
    let mut by_slot = Symmetric::zeros(rows.width());
    for (position, &slot) in rows.slots().iter().enumerate() {
        rows.slots()[..=position]
            .iter()
            .zip(matrix.row(position))
            .for_each(|(&other, &cell)| by_slot.set(slot, other, cell));
    }
    Lagging::new(by_slot)
}
