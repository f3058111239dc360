//! Exact Newton on the squared hinge in the primal, for fewer columns than rows (METHOD.md section 10).
//!
//! Per machine it keeps H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, or its inverse, the bias being a column of
//! ones. Removing a column with these rows fixed is closed form; rows that enter or leave are low-rank updates.
//!
//! When w moves by d, a decision value moves by at most ‖x_i‖·‖d‖. So only rows near the margin are looked at, and the gradient
//! follows from those that cross it. A fit ends with a look at all rows that have loss or could have: it computes decision
//! values and gradient from w alone. What a fit stops on is the true gradient.

use ndarray::Array2;

use super::curvature::{Curvature, Shared, Support};
use super::lanes::{add_some_rows, axpy, distance, dot, norm, rows_times};
use super::margin::{ACCEPTABLE, MOST_STEPS, Margin, TOLERANCE};
use super::rows::{Rows, some_of};
use super::{Convergence, Problem};

/// Rows that are looked at together.
const BLOCK: usize = 64;
/// So many rows to a column are many: a fit of one in [`FEWER`] is a good start then.
const MANY_ROWS: usize = 8;
/// One row of so many.
const FEWER: usize = 4;
/// When there are so many marks, most are let go.
const MANY_MARKS: usize = 12;
/// So many stay.
const KEPT_MARKS: usize = 3;

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
    /// Its decision values are those of when a row was last looked at.
    margin: Margin,
    /// By how much w could move at that time before the row crosses the margin.
    room: Vec<f64>,
    /// When that was: an index into `marks`.
    seen: Vec<u32>,
    marks: Vec<Mark>,
    w: Vec<f64>,
    /// The gradient that belongs to the rows of `support`, if it is known.
    gradient: Vec<f64>,
    is_known: bool,
    /// The gradient at the zero model, for scale: −Σ 2C_i θ_i x_i.
    start: Vec<f64>,
    /// The rows that `curvature` is made of.
    support: Vec<bool>,
    curvature: Curvature,
}

/// A model of the past.
#[derive(Clone)]
struct Mark {
    w: Vec<f64>,
    /// The squares of its weights that have no slot any more.
    lost: f64,
}

/// Room to work in.
#[derive(Clone, Default)]
struct Scratch {
    reach: Vec<f64>,
    /// Rows to look at; room for all, of which the first `count` are meant.
    near: Vec<usize>,
    count: usize,
    stale: Vec<usize>,
    products: Vec<f64>,
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
            .map(|(machine, w)| Machine::new(Margin::new(problem, machine), w, &rows))
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
    fn new(margin: Margin, mut w: Vec<f64>, rows: &Rows) -> Self {
        let count = margin.theta.len();
        w.resize(rows.width(), 0.0);
        let pull: Vec<f64> = margin.theta.iter().zip(&margin.cost).map(|(t, c)| -t * c).collect();
        let mut start = vec![0.0; rows.width()];
        rows_times(rows.cells(), rows.width(), 0..rows.width(), &pull, &mut start);
        Self {
            margin,
            room: vec![0.0; count],
            seen: vec![0; count],
            marks: Vec::new(),
            gradient: vec![0.0; w.len()],
            w,
            is_known: false,
            start,
            support: vec![false; count],
            curvature: Curvature::Unknown,
        }
    }

    /// Prepares for rows without the slots that are not in use.
    fn close_up(&mut self, kept: &[usize], width: usize) {
        for mark in &mut self.marks {
            let before = dot(&mark.w, &mark.w);
            mark.w = some_of(&mark.w, kept, width);
            // A little more, for rounding.
            mark.lost += (before * (1.0 + 1e-12) - dot(&mark.w, &mark.w)).max(0.0);
        }
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
        if self.is_known {
            self.catch_up(rows, scratch);
        } else {
            self.look(rows, true, scratch);
        }
        for iterations in 0..MOST_STEPS {
            self.follow(rows, scratch);
            if norm(&self.gradient) <= TOLERANCE * scale {
                let none_changed = scratch.changed.is_empty();
                self.look(rows, false, scratch);
                let same_rows = none_changed && scratch.changed.is_empty();
                self.follow(rows, scratch);
                let now = norm(&self.gradient) / scale;
                // With the rows fixed one step is exact; no progress then means that rounding has the word.
                stalls = if same_rows && now >= 0.5 * residual { stalls + 1 } else { 0 };
                residual = now;
                if now <= TOLERANCE || stalls > 4 {
                    debug_assert!(self.knows_all_sides(rows), "a row crossed the margin unseen");
                    self.curvature.invert(rows);
                    return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
                }
                if stalls == 2 {
                    let support = Support { rows, margin: &self.margin, inside: &self.support };
                    self.curvature.renew(support, &mut scratch.shared);
                }
            }
            self.step(rows, scratch);
        }
        // The rows of the last step are in the gradient, but not in H.
        self.is_known = false;
        self.curvature = Curvature::Unknown;
        self.support.fill(false);
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// Whether all rows, also those that were not looked at, are on the side where `support` has them, or on the margin.
    fn knows_all_sides(&self, rows: &Rows) -> bool {
        (0..self.support.len()).all(|i| {
            let slack = 1.0 - self.margin.theta[i] * dot(rows.row(i), &self.w);
            (slack > 0.0) == self.support[i] || slack.abs() <= 1e-9 / rows.inverse_length(i)
        })
    }

    /// The mark of the model as it is now.
    fn mark(&mut self) -> u32 {
        if self.marks.last().is_none_or(|mark| mark.w != self.w || mark.lost > 0.0) {
            self.marks.push(Mark { w: self.w.clone(), lost: 0.0 });
        }
        self.marks.len() as u32 - 1
    }

    /// Finds the rows that could be across the margin, as far as is known of them, when w has moved by this much more; and
    /// those that are in the support, if asked for.
    fn find(&self, further: f64, and_support: bool, scratch: &mut Scratch) {
        let Scratch { reach, near, count, .. } = scratch;
        reach.clear();
        // A little more, for what rounding adds.
        let reach_of =
            |mark: &Mark| ((distance(&mark.w, &self.w) + mark.lost).sqrt() + further) * (1.0 + 1e-9);
        reach.extend(self.marks.iter().map(reach_of));
        // Every row is written down and kept or not: a branch here would be guessed wrongly too often.
        near.resize(self.room.len() + 1, 0);
        let mut kept = 0;
        for (i, ((room, &seen), &inside)) in self.room.iter().zip(&self.seen).zip(&self.support).enumerate() {
            near[kept] = i;
            kept += usize::from((*room <= reach[seen as usize]) | (and_support & inside));
        }
        *count = kept;
    }

    /// Computes decision values and gradient from w, of all rows or of those that have loss or could have; finds those that
    /// are not on the side where `support` has them.
    fn look(&mut self, rows: &Rows, at_all: bool, scratch: &mut Scratch) {
        if at_all {
            self.marks.clear();
            scratch.near.clear();
            scratch.near.extend(0..=self.room.len());
            scratch.count = self.room.len();
        } else {
            self.find(0.0, true, scratch);
        }
        let now = self.mark();
        self.gradient.copy_from_slice(&self.w);
        scratch.changed.clear();
        // Block by block, so that rows are still in the cache when they are needed again.
        for block in scratch.near[..scratch.count].chunks(BLOCK) {
            rows.times_into(block, &self.w, &mut scratch.products);
            for (&i, product) in block.iter().zip(&mut scratch.products) {
                self.see(i, *product, now, rows);
                let (theta, f, cost) = (self.margin.theta[i], *product, self.margin.cost[i]);
                let inside = theta * f < 1.0;
                *product = if inside { cost * (f - theta) } else { 0.0 };
                if inside != self.support[i] {
                    scratch.changed.push(i);
                }
            }
            add_some_rows(rows.cells(), block, &scratch.products, &mut self.gradient);
        }
        rows.clear_gone(&mut self.gradient);
        self.is_known = true;
    }

    /// Notes the decision value of a row.
    #[inline]
    fn see(&mut self, i: usize, decision: f64, now: u32, rows: &Rows) {
        self.margin.decision[i] = decision;
        self.room[i] = (1.0 - self.margin.theta[i] * decision).abs() * rows.inverse_length(i);
        self.seen[i] = now;
    }

    /// Looks at the rows that could have crossed the margin when columns went; finds those that have.
    fn catch_up(&mut self, rows: &Rows, scratch: &mut Scratch) {
        if self.marks.len() >= MANY_MARKS {
            self.forget_marks();
        }
        self.find(0.0, false, scratch);
        self.refresh(rows, scratch);
        self.cross(rows, scratch);
    }

    /// Lets most marks go, those with the fewest rows. Of these rows nothing is known then.
    fn forget_marks(&mut self) {
        let mut members = vec![0_usize; self.marks.len()];
        self.seen.iter().for_each(|&mark| members[mark as usize] += 1);
        let mut kept: Vec<usize> = (0..self.marks.len()).collect();
        kept.sort_by_key(|&mark| std::cmp::Reverse(members[mark]));
        kept.truncate(KEPT_MARKS);
        let place_of = |mark: usize| kept.iter().position(|&kept| kept == mark);
        let places: Vec<Option<usize>> = (0..self.marks.len()).map(place_of).collect();
        for (seen, room) in self.seen.iter_mut().zip(&mut self.room) {
            let place = places[*seen as usize];
            *seen = place.unwrap_or(0) as u32;
            if place.is_none() {
                *room = 0.0;
            }
        }
        self.marks = kept.into_iter().map(|mark| self.marks[mark].clone()).collect();
    }

    /// Brings the decision values of the rows to look at up to date.
    fn refresh(&mut self, rows: &Rows, scratch: &mut Scratch) {
        let Scratch { near, count, stale, products, .. } = scratch;
        let now = self.mark();
        stale.clear();
        stale.extend(near[..*count].iter().copied().filter(|&i| self.seen[i] != now));
        rows.times_into(stale, &self.w, products);
        for (&i, &decision) in stale.iter().zip(&*products) {
            self.see(i, decision, now, rows);
        }
    }

    /// Finds the rows among those looked at that have crossed the margin; brings the gradient to them.
    fn cross(&mut self, rows: &Rows, scratch: &mut Scratch) {
        let Scratch { near, count, changed, products, .. } = scratch;
        changed.clear();
        products.clear();
        for &i in &near[..*count] {
            let inside = self.margin.inside(i);
            if inside != self.support[i] {
                changed.push(i);
                let pull = self.margin.cost[i] * (self.margin.decision[i] - self.margin.theta[i]);
                products.push(if inside { pull } else { -pull });
            }
        }
        add_some_rows(rows.cells(), changed, products, &mut self.gradient);
        rows.clear_gone(&mut self.gradient);
    }

    /// One step along the Newton direction, to the minimum or to its full length; finds the rows that cross the margin.
    fn step(&mut self, rows: &Rows, scratch: &mut Scratch) {
        let mut direction = std::mem::take(&mut scratch.direction);
        direction.resize(rows.width(), 0.0);
        self.curvature.descend(rows, &self.gradient, &mut direction);
        let (slope, square) = (dot(&self.gradient, &direction), dot(&direction, &direction));
        self.find(square.sqrt(), false, scratch);
        self.refresh(rows, scratch);
        rows.times_into(&scratch.near[..scratch.count], &direction, &mut scratch.changes);
        let step = self.line_search(scratch, slope, square);
        axpy(step, &direction, &mut self.w);
        self.gradient.iter_mut().for_each(|g| *g *= 1.0 - step);
        let now = self.mark();
        for (&i, change) in scratch.near.iter().zip(&scratch.changes) {
            let decision = self.margin.decision[i] + step * change;
            self.see(i, decision, now, rows);
        }
        self.cross(rows, scratch);
        scratch.direction = direction;
    }

    /// The minimum of the objective along a Newton direction, at most 1. With the rows of `support` its derivative is
    /// (1 − s)·slope; rows that cross the margin on the way change it.
    fn line_search(&self, scratch: &mut Scratch, slope: f64, square: f64) -> f64 {
        let Scratch { near, changes, crossings, .. } = scratch;
        crossings.clear();
        let Margin { theta, cost, decision } = &self.margin;
        for (&i, &change) in near.iter().zip(&*changes) {
            // Only a row that is on the other side at the end crosses the margin, once.
            if (theta[i] * (decision[i] + change) < 1.0) != self.support[i] {
                let s = (theta[i] - decision[i]) / change;
                let weight = cost[i] * change * change;
                crossings.push((s, if self.support[i] { -weight } else { weight }));
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
        (here - slope / curvature.max(square).max(f64::MIN_POSITIVE)).min(1.0)
    }

    /// Takes the rows that crossed into H or out of it.
    fn follow(&mut self, rows: &Rows, scratch: &mut Scratch) {
        let Scratch { changed, shared, .. } = scratch;
        for &i in &*changed {
            self.support[i] = !self.support[i];
        }
        let support = Support { rows, margin: &self.margin, inside: &self.support };
        self.curvature.follow(support, changed, shared);
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
