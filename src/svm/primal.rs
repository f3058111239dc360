//! The primal: exact Newton on w, for fewer columns than rows (docs/method.md section 10).
//!
//! Per machine it keeps H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, or its inverse,
//! the bias being a column of ones. Removing a column with these rows fixed is closed form; rows
//! that enter or leave are low-rank updates.
//!
//! Steps evaluate only rows that are likely to cross the margin ([`super::active_set::Screening`]),
//! and the gradient follows from those that do. A fit ends with an evaluation of all rows that have
//! loss or may have it, by a bound that holds: it computes decision values and gradient from w
//! alone, and finds what steps have missed. What a fit stops on is the true gradient.

use ndarray::Array2;

use super::active_set::{HingeRows, RowState, Screening};
use super::hessian::{Hessian, HessianCache, Support};
use super::newton::{FEW_STEPS, MAX_STEPS, System, exact_line_search, minimise, tolerance};
use super::training_rows::{TrainingRows, gather};
use super::{Convergence, Problem};
use crate::linalg::{add_all_rows, add_rows, axpy, dot, norm};

/// Rows that are evaluated together.
const BLOCK: usize = 64;
/// With this many rows per column, fits start from a fit of every [`SUBSAMPLE`]-th row.
const MANY_ROWS: usize = 8;
/// Every fourth row.
const SUBSAMPLE: usize = 4;
/// Longest step, in multiples of the Newton step, while all rows have loss, as under the zero
/// model: Newton does not foresee that rows leave the active set.
const LONGEST_STEP: f64 = 3.0;

/// A decision value that shrinks by more than this factor in a step is recomputed from scratch.
const CANCELLATION: f64 = 1e6;

/// Warm-started Newton with closed-form removal.
#[derive(Clone)]
pub struct Primal {
    columns: Vec<usize>,
    /// The slot of every column; 0, the slot of the bias, for removed columns.
    slots: Vec<usize>,
    rows: TrainingRows,
    machines: Vec<Machine>,
    scratch: Scratch,
}

/// One one-vs-all model. Vectors over the bias and the columns are by slot of [`TrainingRows`].
#[derive(Clone)]
struct Machine {
    states: Vec<RowState>,
    screening: Screening,
    w: Vec<f64>,
    /// The gradient for the current active rows, if known.
    gradient: Vec<f64>,
    gradient_is_known: bool,
    /// The gradient at the zero model, for scale: −Σ 2C_i θ_i x_i.
    start: Vec<f64>,
    tolerance: f64,
    hessian: Hessian,
    /// Whether a fit has run out of steps without converging: where C is too large for the data,
    /// later fits usually do, too.
    was_given_up: bool,
}

/// Buffers.
#[derive(Clone, Default)]
struct Scratch {
    /// Rows to evaluate.
    near: Vec<usize>,
    stale: Vec<usize>,
    products: Vec<f64>,
    /// The changes of their decision values.
    changes: Vec<f64>,
    crossings: Vec<(f64, f64)>,
    /// Rows that crossed the margin.
    changed: Vec<usize>,
    direction: Vec<f64>,
    cache: HessianCache,
}

impl Primal {
    /// Starts with some of the columns, from the zero model or, if rows are many, from the models
    /// of some of them.
    pub fn new(problem: &Problem<'_>, columns: Vec<usize>) -> Self {
        let models = if problem.rows() < MANY_ROWS * (columns.len() + 1) {
            vec![vec![0.0; columns.len() + 1]; problem.machines()]
        } else {
            models_of_subsample(problem, &columns)
        };
        Self::warm(problem, columns, models)
    }

    /// The models, bias first.
    fn models(&self) -> Vec<Vec<f64>> {
        let slots = self.rows.slots();
        self.machines.iter().map(|machine| gather(&machine.w, slots, slots.len())).collect()
    }

    /// Starts from given models (bias first) on some of the columns.
    pub fn warm(problem: &Problem<'_>, columns: Vec<usize>, models: Vec<Vec<f64>>) -> Self {
        let rows = TrainingRows::new(problem, &columns);
        let machines = models
            .into_iter()
            .enumerate()
            .map(|(machine, w)| Machine::new(&HingeRows::new(problem, machine), w, &rows))
            .collect();
        let mut slots = vec![0; problem.columns()];
        columns.iter().zip(1..).for_each(|(&column, slot)| slots[column] = slot);
        Self { columns, slots, rows, machines, scratch: Scratch::default() }
    }

    /// Fits all machines.
    pub fn fit(&mut self) -> Convergence {
        let Self { columns, slots, rows, machines, scratch } = self;
        let fits = machines.iter_mut().map(|machine| machine.fit(rows, scratch));
        let convergence = fits.fold(Convergence::NONE, Convergence::and);
        scratch.cache.clear();
        if let Some((kept, width)) = rows.compact() {
            machines.iter_mut().for_each(|machine| machine.compact(&kept, width));
            columns.iter().zip(1..).for_each(|(&column, slot)| slots[column] = slot);
        }
        convergence
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of a column; zero if it was removed.
    pub fn weight(&self, machine: usize, column: usize) -> f64 {
        match self.slots[column] {
            0 => 0.0,
            slot => self.machines[machine].w[slot],
        }
    }

    /// The bias of a machine.
    pub fn bias(&self, machine: usize) -> f64 {
        self.machines[machine].w[0]
    }

    /// Removes columns.
    pub fn remove(&mut self, columns: &[usize]) {
        for column in columns {
            if let Ok(position) = self.columns.binary_search(column) {
                self.columns.remove(position);
                let slot = self.rows.remove(position + 1);
                self.slots[*column] = 0;
                let row = &mut self.scratch.direction;
                row.resize(self.rows.width(), 0.0);
                self.machines.iter_mut().for_each(|machine| machine.remove(slot, row));
            }
        }
    }
}

/// Heuristic: the largest fraction of a step that is likely to act along one row. A step has many
/// directions, and three times the usual fraction is rare; rows that are missed are found when a
/// fit verifies its gradient.
fn likely_fraction(rows: &TrainingRows) -> f64 {
    (9.0 / rows.slots().len() as f64).sqrt().min(1.0)
}

/// The models of a subsample of the rows, with costs scaled up to compensate.
fn models_of_subsample(problem: &Problem<'_>, columns: &[usize]) -> Vec<Vec<f64>> {
    let some: Vec<usize> = (0..problem.rows()).step_by(SUBSAMPLE).collect();
    let x = Array2::from_shape_fn((columns.len(), some.len()), |(j, l)| {
        problem.feature(columns[j])[some[l]]
    });
    let y: Vec<usize> = some.iter().map(|&i| problem.y()[i]).collect();
    let cost = SUBSAMPLE as f64 * problem.cost();
    let smaller = problem.on_rows(x.view(), &y, cost);
    let mut smaller = Primal::new(&smaller, (0..columns.len()).collect());
    smaller.fit();
    smaller.models()
}

impl Machine {
    fn new(hinge: &HingeRows, mut w: Vec<f64>, rows: &TrainingRows) -> Self {
        w.resize(rows.width(), 0.0);
        let state = |(&theta, &cost)| RowState { theta, cost, decision: 0.0, active: false };
        let states: Vec<RowState> = hinge.theta.iter().zip(&hinge.cost).map(state).collect();
        let pull: Vec<f64> = states.iter().map(|state| -state.theta * state.cost).collect();
        let mut start = vec![0.0; rows.width()];
        add_all_rows(rows.cells(), rows.width(), 0..rows.width(), &pull, &mut start);
        Self {
            screening: Screening::new(states.len()),
            states,
            gradient: vec![0.0; w.len()],
            w,
            gradient_is_known: false,
            start,
            tolerance: tolerance(&hinge.cost),
            hessian: Hessian::Missing,
            was_given_up: false,
        }
    }

    /// Drops the slots that are not kept.
    fn compact(&mut self, kept: &[usize], width: usize) {
        self.screening.compact(kept, width);
        for vector in [&mut self.w, &mut self.gradient, &mut self.start] {
            *vector = gather(vector, kept, width);
        }
        self.hessian.compact(kept, width);
    }

    /// Fits from the current model.
    fn fit(&mut self, rows: &TrainingRows, scratch: &mut Scratch) -> Convergence {
        let scale = norm(&self.start).max(f64::MIN_POSITIVE);
        if self.gradient_is_known {
            self.evaluate_likely(rows, scratch);
        } else {
            self.evaluate(rows, true, scratch);
        }
        let fraction = likely_fraction(rows);
        let tolerance = self.tolerance;
        let max_steps = if self.was_given_up { FEW_STEPS } else { MAX_STEPS };
        let mut fit =
            Fit { machine: self, rows, scratch, scale, fraction, verified: None, found: 0 };
        let convergence = minimise(&mut fit, tolerance, max_steps);
        let is_verified = fit.verified.is_some();
        self.was_given_up |= !convergence.converged && convergence.iterations == max_steps;
        if is_verified {
            debug_assert!(self.knows_all_sides(rows), "a row crossed the margin unseen");
            self.hessian.invert(rows);
        } else {
            // The rows of the last step are in the gradient, but not in H.
            self.gradient_is_known = false;
            self.hessian = Hessian::Missing;
            self.states.iter_mut().for_each(|state| state.active = false);
        }
        convergence
    }

    /// Whether all rows, including those not evaluated, are on the recorded side of the margin, or
    /// on it.
    fn knows_all_sides(&self, rows: &TrainingRows) -> bool {
        // The rounding of a decision value is relative to the lengths of the row and of the model.
        let length = norm(&self.w).max(1.0);
        self.states.iter().enumerate().all(|(i, state)| {
            let slack = 1.0 - state.theta * dot(rows.row(i), &self.w);
            (slack > 0.0) == state.active
                || slack.abs() <= 1e-9 * length / rows.inverse_lengths()[i]
        })
    }

    /// Computes decision values and gradient from w, for all rows or for those that have or may
    /// have loss; finds the rows that changed side.
    fn evaluate(&mut self, rows: &TrainingRows, all: bool, scratch: &mut Scratch) {
        let Self { states, screening, w, gradient, .. } = self;
        let Scratch { near, products, changed, .. } = scratch;
        let near = if all {
            screening.clear();
            near.clear();
            near.extend(0..states.len());
            &near[..]
        } else {
            screening.find_with_loss(w, near)
        };
        let mut recorder = screening.recorder(w);
        let lengths = rows.inverse_lengths();
        gradient.copy_from_slice(w);
        changed.clear();
        // Block by block, so that rows are still in the cache when they are needed again.
        for block in near.chunks(BLOCK) {
            rows.row_dots(block, w, products);
            for (&i, product) in block.iter().zip(&mut *products) {
                let state = &mut states[i];
                state.decision = *product;
                let has_loss = state.has_loss();
                recorder.record(i, state.distance() * lengths[i], has_loss);
                *product = if has_loss { state.loss_gradient() } else { 0.0 };
                if has_loss != state.active {
                    changed.push(i);
                }
            }
            add_rows(rows.cells(), block, products, gradient);
        }
        rows.clear_removed(gradient);
        self.gradient_is_known = true;
    }

    /// Evaluates the rows that are likely to have crossed the margin when columns were removed;
    /// finds those that have.
    fn evaluate_likely(&mut self, rows: &TrainingRows, scratch: &mut Scratch) {
        self.screening.prune_if_many();
        let near =
            self.screening.find_crossing(&self.w, 0.0, likely_fraction(rows), &mut scratch.near);
        rows.row_dots(near, &self.w, &mut scratch.changes);
        self.update_near(rows, near.len(), scratch, |_, decision| decision);
    }

    /// Computes the decision values of the rows found near the margin from the old ones and the
    /// changes; finds the rows that have crossed, and updates the gradient by them.
    fn update_near(
        &mut self,
        rows: &TrainingRows,
        count: usize,
        scratch: &mut Scratch,
        decision: impl Fn(f64, f64) -> f64,
    ) {
        let Scratch { near, changes, changed, products, .. } = scratch;
        let mut recorder = self.screening.recorder(&self.w);
        let lengths = rows.inverse_lengths();
        changed.clear();
        products.clear();
        let states = &mut self.states[..];
        for (&i, &change) in near[..count].iter().zip(&*changes) {
            let state = &mut states[i];
            let before = state.decision;
            state.decision = decision(before, change);
            if before.abs() > CANCELLATION * (1.0 + state.decision.abs()) {
                // After cancellation the remainder may be rounding alone.
                state.decision = dot(rows.row(i), &self.w);
            }
            let has_loss = state.has_loss();
            recorder.record(i, state.distance() * lengths[i], has_loss);
            if has_loss != state.active {
                changed.push(i);
                products.push(if has_loss {
                    state.loss_gradient()
                } else {
                    -state.loss_gradient()
                });
            }
        }
        add_rows(rows.cells(), changed, products, &mut self.gradient);
        rows.clear_removed(&mut self.gradient);
    }

    /// Adds the rows that crossed to H, or removes them.
    fn change_rows(&mut self, rows: &TrainingRows, scratch: &mut Scratch) {
        let Scratch { changed, cache, .. } = scratch;
        for &i in &*changed {
            self.states[i].active = !self.states[i].active;
        }
        self.hessian.change_rows(Support { rows, states: &self.states }, changed, cache);
    }

    /// Removes a slot with the active rows fixed: w −= (w_j/A_jj) A_j. The gradient changes in that
    /// slot alone.
    fn remove(&mut self, slot: usize, row: &mut [f64]) {
        match self.hessian.remove(slot, row) {
            Some(pivot) => axpy(-self.w[slot] / pivot, row, &mut self.w),
            None => self.gradient_is_known = false,
        }
        for vector in [&mut self.w, &mut self.gradient, &mut self.start] {
            vector[slot] = 0.0;
        }
    }
}

/// One fit of a machine.
struct Fit<'f> {
    machine: &'f mut Machine,
    rows: &'f TrainingRows,
    scratch: &'f mut Scratch,
    /// The norm of the gradient at the zero model.
    scale: f64,
    /// The largest fraction of a step that may act along one row.
    fraction: f64,
    /// If the gradient is the true one: whether the active rows are those of the previous step.
    verified: Option<bool>,
    /// How many rows were found near the margin for the step.
    found: usize,
}

impl System for Fit<'_> {
    const MAX_STALLS: usize = 4;

    fn gradient(&mut self) -> f64 {
        let Self { machine, rows, scratch, .. } = self;
        machine.change_rows(rows, scratch);
        if norm(&machine.gradient) <= machine.tolerance * self.scale {
            let none_changed = scratch.changed.is_empty();
            machine.evaluate(rows, false, scratch);
            if !scratch.changed.is_empty() {
                // From here on, screening uses the bound that holds.
                self.fraction = 1.0;
            }
            self.verified = Some(none_changed && scratch.changed.is_empty());
            machine.change_rows(rows, scratch);
        }
        norm(&machine.gradient) / self.scale
    }

    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
        // With the active rows fixed one step is exact, so lack of progress means that rounding
        // level is reached.
        self.verified.map(|same_rows| same_rows && after >= 0.5 * before)
    }

    fn rebuild(&mut self) {
        let Self { machine, rows, scratch, .. } = self;
        machine.hessian.rebuild(Support { rows, states: &machine.states }, &mut scratch.cache);
    }

    fn direction(&mut self) {
        let direction = &mut self.scratch.direction;
        direction.resize(self.rows.width(), 0.0);
        self.machine.hessian.newton_direction(self.rows, &self.machine.gradient, direction);
    }

    /// With the active rows the derivative is (1 − s)·slope; rows that cross the margin on the way
    /// change it.
    fn line_search(&mut self) -> f64 {
        let Self { machine, rows, scratch, fraction, .. } = self;
        let Scratch { near, stale, products, changes, crossings, direction, .. } = &mut **scratch;
        let slope = dot(&machine.gradient, direction);
        let square = dot(direction, direction);
        let all_active = machine.states.iter().all(|state| state.active);
        let (longest, fraction) = if all_active { (LONGEST_STEP, 1.0) } else { (1.0, *fraction) };
        let near =
            machine.screening.find_crossing(&machine.w, longest * square.sqrt(), fraction, near);
        // Update the decision values of rows that were not evaluated since w moved.
        let newest = machine.screening.snapshot(&machine.w);
        let stale = machine.screening.stale(near, newest, stale);
        rows.row_dots(stale, &machine.w, products);
        for (&i, &decision) in stale.iter().zip(&*products) {
            machine.states[i].decision = decision;
        }
        rows.row_dots(near, direction, changes);
        crossings.clear();
        let states = &machine.states[..];
        for (&i, &change) in near.iter().zip(&*changes) {
            let state = &states[i];
            // A row crosses the margin at most once, and only if it ends on the other side; before
            // the start, if the crossing was missed.
            if (state.theta * (state.decision + longest * change) < 1.0) != state.active {
                let weight = state.cost * change * change;
                let at = (state.theta - state.decision) / change;
                crossings.push((at, if state.active { -weight } else { weight }));
            }
        }
        self.found = near.len();
        // H ⪰ I: a lower curvature is due to rounding.
        exact_line_search(slope, -slope, crossings, square).min(longest)
    }

    fn accept(&mut self, step: f64) {
        let Self { machine, rows, scratch, found, .. } = self;
        axpy(step, &scratch.direction, &mut machine.w);
        machine.gradient.iter_mut().for_each(|g| *g *= 1.0 - step);
        machine.update_near(rows, *found, scratch, |decision, change| decision + step * change);
        self.verified = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    /// Fits of columns from 1e-320 to 1e100, of which single rows may be much longer than others.
    /// Debug builds look after every fit whether a row has crossed the margin unseen.
    #[test]
    fn no_row_crosses_the_margin_unseen_at_any_magnitude() {
        for seed in 0..400 {
            let mut rng = Rng::new(8, seed, Purpose::Split);
            let (columns, rows) = (1 + rng.below(4), 12 + rng.below(16));
            let spread = 1.0 + rng.below(420) as f64;
            let mut cell = || {
                let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
                sign * (1.0 + rng.uniform()) * 10.0_f64.powf(100.0 - spread * rng.uniform())
            };
            let x = Array2::from_shape_fn((columns, rows), |_| cell());
            let y: Vec<usize> = (0..rows).map(|i| i % 2).collect();
            let problem = Problem::new(x.view(), &y, 2).unwrap();
            let mut primal = Primal::new(&problem, (0..columns).collect());
            for gone in 0..columns {
                primal.fit();
                primal.remove(&[gone]);
            }
            primal.fit();
        }
    }
}
