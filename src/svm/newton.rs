//! Exact Newton on the squared hinge in the primal, for fewer columns than rows (METHOD.md section 10).
//!
//! Per machine it keeps H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, or its inverse, the bias being a column of
//! ones. Removing a column with these rows fixed is closed form; rows that enter or leave are low-rank updates.
//!
//! Steps look only at rows that are likely to cross the margin ([`super::sight`]), and the gradient follows from those that do.
//! A fit ends with a look at all rows that have loss or could have, by a bound that holds: it computes decision values and
//! gradient from w alone, and finds what steps have missed. What a fit stops on is the true gradient.

use ndarray::Array2;

use super::curvature::{Curvature, Shared, State, Support};
use super::lanes::{add_some_rows, axpy, dot, norm, rows_times};
use super::margin::{ACCEPTABLE, MOST_STEPS, Margin};
use super::rows::{Rows, some_of};
use super::sight::Sight;
use super::{Convergence, Problem};

/// Rows that are looked at together.
const BLOCK: usize = 64;
/// So many rows to a column are many: a fit of one in [`FEWER`] is a good start then.
const MANY_ROWS: usize = 8;
/// One row of so many.
const FEWER: usize = 4;
/// Steps from where all rows have loss, as under the zero model, may be so many times Newton's: it does not foresee that rows
/// lose theirs.
const LONGEST: f64 = 3.0;

/// Warm-started Newton with closed-form removal.
#[derive(Clone)]
pub struct Newton {
    columns: Vec<usize>,
    /// The slot of every column; zero, which is the bias's, if it is gone.
    slots: Vec<usize>,
    rows: Rows,
    machines: Vec<Machine>,
    scratch: Scratch,
}

/// One one-vs-all model. Vectors over the bias and the columns are by slot of [`Rows`].
#[derive(Clone)]
struct Machine {
    states: Vec<State>,
    sight: Sight,
    w: Vec<f64>,
    /// The gradient that belongs to the rows that are inside, if it is known.
    gradient: Vec<f64>,
    is_known: bool,
    /// The gradient at the zero model, for scale: −Σ 2C_i θ_i x_i.
    start: Vec<f64>,
    tolerance: f64,
    curvature: Curvature,
}

/// Room to work in.
#[derive(Clone, Default)]
struct Scratch {
    /// Rows to look at.
    near: Vec<usize>,
    stale: Vec<usize>,
    products: Vec<f64>,
    /// What is added to the decision values of the rows that are near.
    changes: Vec<f64>,
    crossings: Vec<(f64, f64)>,
    /// Rows that crossed the margin.
    changed: Vec<usize>,
    direction: Vec<f64>,
    shared: Shared,
}

impl Newton {
    /// Starts with some of the columns, from the zero model or, if rows are many, from the models of some of them.
    pub fn new(problem: &Problem<'_>, columns: Vec<usize>) -> Self {
        let models = if problem.y.len() < MANY_ROWS * (columns.len() + 1) {
            vec![vec![0.0; columns.len() + 1]; problem.machines()]
        } else {
            models_of_some_rows(problem, &columns)
        };
        Self::warm(problem, columns, models)
    }

    /// The models, bias first.
    fn models(&self) -> Vec<Vec<f64>> {
        let slots = self.rows.slots();
        self.machines.iter().map(|machine| some_of(&machine.w, slots, slots.len())).collect()
    }

    /// Starts from given models (bias first) on some of the columns.
    pub fn warm(problem: &Problem<'_>, columns: Vec<usize>, models: Vec<Vec<f64>>) -> Self {
        let rows = Rows::new(problem, &columns);
        let machines = models
            .into_iter()
            .enumerate()
            .map(|(machine, w)| Machine::new(&Margin::new(problem, machine), w, &rows))
            .collect();
        let mut slots = vec![0; problem.x.nrows()];
        columns.iter().zip(1..).for_each(|(&column, slot)| slots[column] = slot);
        Self { columns, slots, rows, machines, scratch: Scratch::default() }
    }

    /// Fits all machines.
    pub fn fit(&mut self) -> Convergence {
        let Self { columns, slots, rows, machines, scratch } = self;
        let fits = machines.iter_mut().map(|machine| machine.fit(rows, scratch));
        let convergence = fits.fold(Convergence::NONE, Convergence::and);
        scratch.shared.forget();
        if let Some((kept, width)) = rows.close_up() {
            machines.iter_mut().for_each(|machine| machine.close_up(&kept, width));
            columns.iter().zip(1..).for_each(|(&column, slot)| slots[column] = slot);
        }
        convergence
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of a column; zero if it is gone.
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

    /// Lets columns go.
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

/// The share of its way that a model is likely to move against a row at most: ways have many directions, and three times what is
/// usual is rare. What is missed is found when a fit looks at all rows that could have crossed.
fn likely(rows: &Rows) -> f64 {
    (9.0 / rows.slots().len() as f64).sqrt().min(1.0)
}

/// The models of a few of the rows, whose costs make up for the others.
fn models_of_some_rows(problem: &Problem<'_>, columns: &[usize]) -> Vec<Vec<f64>> {
    let some: Vec<usize> = (0..problem.y.len()).step_by(FEWER).collect();
    let x = Array2::from_shape_fn((columns.len(), some.len()), |(j, l)| problem.x[[columns[j], some[l]]]);
    let y: Vec<usize> = some.iter().map(|&i| problem.y[i]).collect();
    let cost = FEWER as f64 * problem.cost;
    let smaller = Problem { x: x.view(), y: &y, cost, ..*problem };
    let mut smaller = Newton::new(&smaller, (0..columns.len()).collect());
    smaller.fit();
    smaller.models()
}

impl Machine {
    fn new(margin: &Margin, mut w: Vec<f64>, rows: &Rows) -> Self {
        w.resize(rows.width(), 0.0);
        let state = |(&theta, &cost)| State { theta, cost, decision: 0.0, inside: false };
        let states: Vec<State> = margin.theta.iter().zip(&margin.cost).map(state).collect();
        let pull: Vec<f64> = states.iter().map(|state| -state.theta * state.cost).collect();
        let mut start = vec![0.0; rows.width()];
        rows_times(rows.cells(), rows.width(), 0..rows.width(), &pull, &mut start);
        Self {
            sight: Sight::new(states.len()),
            states,
            gradient: vec![0.0; w.len()],
            w,
            is_known: false,
            start,
            tolerance: margin.tolerance(),
            curvature: Curvature::Unknown,
        }
    }

    /// Prepares for rows without the slots that are not in use.
    fn close_up(&mut self, kept: &[usize], width: usize) {
        self.sight.close_up(kept, width);
        for vector in [&mut self.w, &mut self.gradient, &mut self.start] {
            *vector = some_of(vector, kept, width);
        }
        self.curvature.close_up(kept, width);
    }

    /// Newton steps until the true gradient vanishes.
    fn fit(&mut self, rows: &Rows, scratch: &mut Scratch) -> Convergence {
        let scale = norm(&self.start).max(f64::MIN_POSITIVE);
        let mut residual = f64::INFINITY;
        let mut stalls = 0;
        let mut share = likely(rows);
        if self.is_known {
            self.catch_up(rows, scratch);
        } else {
            self.look(rows, true, scratch);
        }
        for iterations in 0..MOST_STEPS {
            self.follow(rows, scratch);
            if norm(&self.gradient) <= self.tolerance * scale {
                let none_changed = scratch.changed.is_empty();
                self.look(rows, false, scratch);
                let same_rows = none_changed && scratch.changed.is_empty();
                if !scratch.changed.is_empty() {
                    // From here on nothing is missed.
                    share = 1.0;
                }
                self.follow(rows, scratch);
                let now = norm(&self.gradient) / scale;
                // With the rows fixed one step is exact; no progress then means that rounding has the word.
                stalls = if same_rows && now >= 0.5 * residual { stalls + 1 } else { 0 };
                residual = now;
                if now <= self.tolerance || stalls > 4 {
                    debug_assert!(self.knows_all_sides(rows), "a row crossed the margin unseen");
                    self.curvature.invert(rows);
                    return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
                }
                if stalls == 2 {
                    self.curvature.renew(Support { rows, states: &self.states }, &mut scratch.shared);
                }
            }
            self.step(rows, share, scratch);
        }
        // The rows of the last step are in the gradient, but not in H.
        self.is_known = false;
        self.curvature = Curvature::Unknown;
        self.states.iter_mut().for_each(|state| state.inside = false);
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// Whether all rows, also those that were not looked at, are on the side where they are held to be, or on the margin.
    fn knows_all_sides(&self, rows: &Rows) -> bool {
        self.states.iter().enumerate().all(|(i, state)| {
            let slack = 1.0 - state.theta * dot(rows.row(i), &self.w);
            (slack > 0.0) == state.inside || slack.abs() <= 1e-9 / rows.inverse_lengths()[i]
        })
    }

    /// Computes decision values and gradient from w, of all rows or of those that have loss or could have; finds those that
    /// are not on the side where they were.
    fn look(&mut self, rows: &Rows, at_all: bool, scratch: &mut Scratch) {
        let Self { states, sight, w, gradient, .. } = self;
        let Scratch { near, products, changed, .. } = scratch;
        let near = if at_all {
            sight.forget();
            near.clear();
            near.extend(0..states.len());
            &near[..]
        } else {
            sight.find_with_loss(w, near)
        };
        let (mut notes, lengths) = (sight.notes(w), rows.inverse_lengths());
        gradient.copy_from_slice(w);
        changed.clear();
        // Block by block, so that rows are still in the cache when they are needed again.
        for block in near.chunks(BLOCK) {
            rows.times_into(block, w, products);
            for (&i, product) in block.iter().zip(&mut *products) {
                let state = &mut states[i];
                state.decision = *product;
                let has_loss = state.has_loss();
                notes.note(i, state.distance() * lengths[i], has_loss);
                *product = if has_loss { state.push() } else { 0.0 };
                if has_loss != state.inside {
                    changed.push(i);
                }
            }
            add_some_rows(rows.cells(), block, products, gradient);
        }
        rows.clear_gone(gradient);
        self.is_known = true;
    }

    /// Looks at the rows that are likely to have crossed the margin when columns went; finds those that have.
    fn catch_up(&mut self, rows: &Rows, scratch: &mut Scratch) {
        self.sight.tidy_up();
        let near = self.sight.find(&self.w, 0.0, likely(rows), &mut scratch.near);
        rows.times_into(near, &self.w, &mut scratch.changes);
        self.see(rows, near.len(), scratch, |_, decision| decision);
    }

    /// One step along the Newton direction, to the minimum or to its end; finds the rows that cross the margin, if w moves against
    /// them with no more than a share of its way.
    fn step(&mut self, rows: &Rows, share: f64, scratch: &mut Scratch) {
        let Scratch { near, stale, products, changes, direction, .. } = scratch;
        direction.resize(rows.width(), 0.0);
        self.curvature.descend(rows, &self.gradient, direction);
        let (slope, square) = (dot(&self.gradient, direction), dot(direction, direction));
        let all_inside = self.states.iter().all(|state| state.inside);
        let (longest, share) = if all_inside { (LONGEST, 1.0) } else { (1.0, share) };
        let near = self.sight.find(&self.w, longest * square.sqrt(), share, near);
        // Of a row that was not looked at since w has moved, the decision value is an old one.
        let now = self.sight.mark(&self.w);
        let stale = self.sight.stale(near, now, stale);
        rows.times_into(stale, &self.w, products);
        for (&i, &decision) in stale.iter().zip(&*products) {
            self.states[i].decision = decision;
        }
        rows.times_into(near, direction, changes);
        let count = near.len();
        let step = self.line_search(scratch, count, (slope, square), longest);
        axpy(step, &scratch.direction, &mut self.w);
        self.gradient.iter_mut().for_each(|g| *g *= 1.0 - step);
        self.see(rows, count, scratch, |decision, change| decision + step * change);
    }

    /// Computes the decision values of the rows that are near, from the old ones and the changes; finds those that have crossed
    /// the margin, and brings the gradient to them.
    fn see(&mut self, rows: &Rows, count: usize, scratch: &mut Scratch, decision: impl Fn(f64, f64) -> f64) {
        let Scratch { near, changes, changed, products, .. } = scratch;
        let (mut notes, lengths) = (self.sight.notes(&self.w), rows.inverse_lengths());
        changed.clear();
        products.clear();
        let states = &mut self.states[..];
        for (&i, &change) in near[..count].iter().zip(&*changes) {
            let state = &mut states[i];
            state.decision = decision(state.decision, change);
            let has_loss = state.has_loss();
            notes.note(i, state.distance() * lengths[i], has_loss);
            if has_loss != state.inside {
                changed.push(i);
                products.push(if has_loss { state.push() } else { -state.push() });
            }
        }
        add_some_rows(rows.cells(), changed, products, &mut self.gradient);
        rows.clear_gone(&mut self.gradient);
    }

    /// The minimum of the objective along a Newton direction, at most `longest`. With the rows that are inside its derivative is
    /// (1 − s)·slope; rows that cross the margin on the way change it.
    fn line_search(
        &self,
        scratch: &mut Scratch,
        count: usize,
        (slope, square): (f64, f64),
        longest: f64,
    ) -> f64 {
        let Scratch { near, changes, crossings, .. } = scratch;
        crossings.clear();
        let states = &self.states[..];
        for (&i, &change) in near[..count].iter().zip(&*changes) {
            let state = &states[i];
            // Only a row that is on the other side at the end crosses the margin, once; before the start, if that was not seen.
            if (state.theta * (state.decision + longest * change) < 1.0) != state.inside {
                let s = (state.theta - state.decision) / change;
                let weight = state.cost * change * change;
                crossings.push((s, if state.inside { -weight } else { weight }));
            }
        }
        crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut here, mut slope, mut curvature) = (0.0, slope, -slope);
        for &(s, weight) in &*crossings {
            let ahead = slope + curvature * (s - here);
            if ahead >= 0.0 {
                break;
            }
            (here, slope) = (s, ahead);
            curvature += weight;
        }
        // H ⪰ I: less curvature than that is rounding.
        (here - slope / curvature.max(square).max(f64::MIN_POSITIVE)).min(longest)
    }

    /// Takes the rows that crossed into H or out of it.
    fn follow(&mut self, rows: &Rows, scratch: &mut Scratch) {
        let Scratch { changed, shared, .. } = scratch;
        for &i in &*changed {
            self.states[i].inside = !self.states[i].inside;
        }
        self.curvature.follow(Support { rows, states: &self.states }, changed, shared);
    }

    /// Lets a slot go with the supporting rows fixed: w −= (w_j/A_jj) A_j. The gradient changes in that slot alone.
    fn remove(&mut self, slot: usize, row: &mut [f64]) {
        match self.curvature.remove(slot, row) {
            Some(pivot) => axpy(-self.w[slot] / pivot, row, &mut self.w),
            None => self.is_known = false,
        }
        for vector in [&mut self.w, &mut self.gradient, &mut self.start] {
            vector[slot] = 0.0;
        }
    }
}
