//! Exact Newton on the squared hinge in the primal, for fewer columns than rows (METHOD.md section 10).
//!
//! Per machine it keeps A = H⁻¹, H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, the bias being a column of
//! ones. Removing a column with these rows fixed is closed form; rows that enter or leave are low-rank updates.
//!
//! When w moves by d, a decision value moves by at most ‖x_i‖·‖d‖. So only rows near the margin are looked at, and the gradient
//! follows from those that cross it. A fit ends with a look at all rows that computes decision values and gradient from w
//! alone: what it stops on is the true gradient.

use super::lanes::{
    Columns, Square, add_columns, add_columns_times, add_products, axpy, dot, rows_times, some_rows_times,
};
use super::margin::{ACCEPTABLE, MOST_STEPS, Margin, TOLERANCE};
use super::{Convergence, Problem};

/// Rows of which products are taken together.
const BLOCK: usize = 256;
/// Rows that enter or leave A in one update.
const BATCH: usize = 4;

/// Warm-started Newton with closed-form removal.
pub struct Newton<'a> {
    problem: Problem<'a>,
    columns: Vec<usize>,
    rows: Rows,
    machines: Vec<Machine>,
}

/// The training rows, one after the other, the bias first: a row that is looked at by itself lies together.
struct Rows {
    cells: Vec<f64>,
    width: usize,
    /// Where the bias and the columns present are in a row.
    slots: Vec<usize>,
    /// ‖x_i‖, of all columns of the layout.
    lengths: Vec<f64>,
}

/// One one-vs-all model. Position 0 is the bias, position 1 + i the i-th column present.
struct Machine {
    /// Its decision values are those of when a row was last looked at.
    margin: Margin,
    /// When that was: an index into `marks`.
    seen: Vec<usize>,
    /// By how much w had moved since all rows were looked at, by slot; the first is zero.
    marks: Vec<Vec<f64>>,
    /// By how much it has moved now.
    moved: Vec<f64>,
    w: Vec<f64>,
    /// The gradient that belongs to the rows of `support`, if it is known.
    gradient: Option<Vec<f64>>,
    /// The gradient at the zero model, for scale, by slot: −Σ 2C_i θ_i x_i.
    start: Vec<f64>,
    inverse: Square,
    /// The rows that `inverse` is made of.
    support: Vec<bool>,
}

impl<'a> Newton<'a> {
    /// Starts from the zero model with all columns.
    pub fn new(problem: Problem<'a>) -> Self {
        let columns: Vec<usize> = (0..problem.x.nrows()).collect();
        let zero = vec![0.0; columns.len() + 1];
        Self::warm(problem, columns, vec![zero; problem.machines()])
    }

    /// Starts from given models (bias first) on some of the columns.
    pub fn warm(problem: Problem<'a>, columns: Vec<usize>, models: Vec<Vec<f64>>) -> Self {
        let rows = Rows::new(&problem, &columns);
        let machine = |(machine, w): (usize, Vec<f64>)| {
            let margin = Margin::new(&problem, machine);
            let pull: Vec<f64> = margin.theta.iter().zip(&margin.cost).map(|(t, c)| -t * c).collect();
            let mut start = vec![0.0; rows.width];
            rows_times(&rows.cells, rows.width, 0..rows.width, &pull, &mut start);
            Machine {
                margin,
                w,
                seen: vec![0; problem.y.len()],
                marks: Vec::new(),
                moved: vec![0.0; rows.width],
                gradient: None,
                start,
                inverse: Square::default(),
                support: vec![false; problem.y.len()],
            }
        };
        let machines = models.into_iter().enumerate().map(machine).collect();
        Self { problem, columns, rows, machines }
    }

    /// Fits all machines.
    pub fn fit(&mut self) -> Convergence {
        let Self { problem, columns, rows, machines } = self;
        let fits = machines.iter_mut().map(|machine| machine.fit(problem, columns, rows));
        let convergence = fits.fold(Convergence::NONE, Convergence::and);
        if 4 * rows.slots.len() <= 3 * rows.width {
            machines.iter_mut().for_each(|machine| machine.close_up(rows));
            rows.close_up();
        }
        convergence
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of a column; zero if it is gone.
    pub fn weight(&self, machine: usize, column: usize) -> f64 {
        self.columns.binary_search(&column).map_or(0.0, |position| self.machines[machine].w[position + 1])
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
                self.machines.iter_mut().for_each(|machine| machine.remove(position + 1, &self.rows));
                self.rows.slots.remove(position + 1);
            }
        }
    }
}

impl Rows {
    fn new(problem: &Problem<'_>, columns: &[usize]) -> Self {
        let (count, width) = (problem.y.len(), columns.len() + 1);
        let mut cells = vec![1.0; count * width];
        // Block by block, so that the rows that are written stay in the cache while the columns pass by.
        for (block, rows) in cells.chunks_mut(BLOCK * width).enumerate() {
            for (slot, &j) in (1..).zip(columns) {
                let column = &feature(problem, j)[block * BLOCK..];
                rows.chunks_exact_mut(width).zip(column).for_each(|(row, &value)| row[slot] = value);
            }
        }
        let lengths = cells.chunks_exact(width).map(norm).collect();
        Self { cells, width, slots: (0..width).collect(), lengths }
    }

    /// Lets go of the slots that are not in use.
    fn close_up(&mut self) {
        let width = self.slots.len();
        for i in 0..self.lengths.len() {
            for (at, &slot) in self.slots.iter().enumerate() {
                self.cells[i * width + at] = self.cells[i * self.width + slot];
            }
            self.lengths[i] = norm(&self.cells[i * width..(i + 1) * width]);
        }
        self.cells.truncate(self.lengths.len() * width);
        self.width = width;
        self.slots = (0..width).collect();
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..(i + 1) * self.width]
    }

    /// The products of some rows with a vector by slot.
    fn times(&self, rows: &[usize], by_slot: &[f64]) -> Vec<f64> {
        let mut products = vec![0.0; rows.len()];
        some_rows_times(&self.cells, rows, by_slot, &mut products);
        products
    }

    /// A vector by position as one by slot.
    fn spread(&self, by_position: &[f64]) -> Vec<f64> {
        let mut by_slot = vec![0.0; self.width];
        self.slots.iter().zip(by_position).for_each(|(&slot, &value)| by_slot[slot] = value);
        by_slot
    }

    /// A vector by slot as one by position.
    fn gather(&self, by_slot: &[f64]) -> Vec<f64> {
        let mut by_position = vec![0.0; self.slots.len()];
        self.gather_into(by_slot, &mut by_position);
        by_position
    }

    fn gather_into(&self, by_slot: &[f64], by_position: &mut [f64]) {
        by_position.iter_mut().zip(&self.slots).for_each(|(value, &slot)| *value = by_slot[slot]);
    }
}

impl Machine {
    /// Prepares for rows without the slots that are not in use.
    fn close_up(&mut self, rows: &Rows) {
        self.start = rows.gather(&self.start);
        // A fit ends with a look at all rows, unless it failed; what moved since is not known without those slots.
        if self.moved.iter().any(|&moved| moved != 0.0) {
            self.gradient = None;
        }
        self.moved = vec![0.0; rows.slots.len()];
        self.marks = vec![self.moved.clone()];
        self.seen.fill(0);
    }

    /// Newton steps until the true gradient vanishes.
    fn fit(&mut self, problem: &Problem<'_>, columns: &[usize], rows: &Rows) -> Convergence {
        let scale = norm(&rows.gather(&self.start)).max(f64::MIN_POSITIVE);
        let mut residual = f64::INFINITY;
        let mut stalls = 0;
        let is_known = self.gradient.is_some();
        let mut changed = if is_known { self.catch_up(rows) } else { self.look_at_all(problem, columns) };
        for iterations in 0..MOST_STEPS {
            self.update(problem, columns, rows, &changed);
            if self.gradient.as_deref().is_none_or(|gradient| norm(gradient) <= TOLERANCE * scale) {
                let astray = self.look_at_all(problem, columns);
                let same_rows = changed.is_empty() && astray.is_empty();
                self.update(problem, columns, rows, &astray);
                let now = self.gradient.as_deref().map_or(f64::NAN, norm) / scale;
                // With the rows fixed one step is exact; no progress then means that rounding has the word.
                stalls = if same_rows && now >= 0.5 * residual { stalls + 1 } else { 0 };
                residual = now;
                if now <= TOLERANCE || stalls > 4 {
                    return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
                }
                if stalls == 2 {
                    self.rebuild(problem, columns);
                }
            }
            changed = self.step(rows);
        }
        // The rows of the last step are in the gradient, but not in A.
        self.gradient = None;
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// Computes decision values and gradient from w; gives the rows that are not on the side where `support` has them.
    fn look_at_all(&mut self, problem: &Problem<'_>, columns: &[usize]) -> Vec<usize> {
        let columns = some_columns(problem, columns);
        let mut gradient = self.w.clone();
        let mut pull = vec![0.0; BLOCK];
        let Margin { theta, cost, decision } = &mut self.margin;
        let parts = decision.chunks_mut(BLOCK).zip(theta.chunks(BLOCK)).zip(cost.chunks(BLOCK));
        // Block by block, so that a block of all columns is still in the cache when it is needed again.
        for (block, ((decision, theta), cost)) in parts.enumerate() {
            let range = block * BLOCK..block * BLOCK + decision.len();
            let pull = &mut pull[..decision.len()];
            decision.fill(self.w[0]);
            add_columns(columns, range.clone(), &self.w[1..], decision);
            for (pull, ((f, theta), cost)) in pull.iter_mut().zip(decision.iter().zip(theta).zip(cost)) {
                *pull = if theta * f < 1.0 { cost * (f - theta) } else { 0.0 };
            }
            gradient[0] += pull.iter().sum::<f64>();
            add_columns_times(columns, range, pull, &mut gradient[1..]);
        }
        self.gradient = Some(gradient);
        self.moved.fill(0.0);
        self.marks = vec![self.moved.clone()];
        self.seen.fill(0);
        (0..self.support.len()).filter(|&i| self.margin.inside(i) != self.support[i]).collect()
    }

    /// The rows that could be across the margin, as far as is known of them, when w has moved by this much more.
    fn near(&self, rows: &Rows, further: f64) -> Vec<usize> {
        let apart =
            |mark: &Vec<f64>| mark.iter().zip(&self.moved).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        // A little more, for what rounding adds.
        let reach: Vec<f64> =
            self.marks.iter().map(|mark| (apart(mark).sqrt() + further) * (1.0 + 1e-9)).collect();
        let Margin { theta, decision, .. } = &self.margin;
        let known = theta.iter().zip(decision).zip(&rows.lengths).zip(&self.seen);
        // Every row is written down and kept or not: a branch here would be guessed wrongly too often.
        let mut near = vec![0; theta.len() + 1];
        let mut count = 0;
        for (i, (((theta, decision), length), &seen)) in known.enumerate() {
            near[count] = i;
            count += usize::from((theta * decision - 1.0).abs() <= length * reach[seen]);
        }
        near.truncate(count);
        near
    }

    /// Looks at the rows that could have crossed the margin when columns went; gives those that have.
    fn catch_up(&mut self, rows: &Rows) -> Vec<usize> {
        self.marks.push(self.moved.clone());
        let near = self.near(rows, 0.0);
        self.see(rows, &near);
        self.cross(rows, &near)
    }

    /// Brings the decision values of some rows up to date.
    fn see(&mut self, rows: &Rows, some: &[usize]) {
        let now = self.marks.len() - 1;
        let stale: Vec<usize> = some.iter().copied().filter(|&i| self.seen[i] != now).collect();
        for (&i, decision) in stale.iter().zip(rows.times(&stale, &rows.spread(&self.w))) {
            self.margin.decision[i] = decision;
            self.seen[i] = now;
        }
    }

    /// The rows among these, which are up to date, that have crossed the margin; the gradient is brought to them.
    fn cross(&mut self, rows: &Rows, some: &[usize]) -> Vec<usize> {
        let crossed = |&i: &usize| self.margin.inside(i) != self.support[i];
        let changed: Vec<usize> = some.iter().copied().filter(crossed).collect();
        for &i in &changed {
            let pull = self.margin.cost[i] * (self.margin.theta[i] - self.margin.decision[i]);
            let factor = if self.support[i] { pull } else { -pull };
            if let Some(gradient) = &mut self.gradient {
                axpy(factor, &rows.gather(rows.row(i)), gradient);
            }
        }
        changed
    }

    /// One step along the Newton direction, to the minimum or to its full length; gives the rows that cross the margin.
    fn step(&mut self, rows: &Rows) -> Vec<usize> {
        let Some(gradient) = &self.gradient else { return Vec::new() };
        let mut direction = self.inverse.times(gradient);
        direction.iter_mut().for_each(|d| *d = -*d);
        let (slope, square) = (dot(gradient, &direction), dot(&direction, &direction));
        let by_slot = rows.spread(&direction);
        let near = self.near(rows, square.sqrt());
        self.see(rows, &near);
        let changes = rows.times(&near, &by_slot);
        let step = self.line_search(&near, &changes, slope, square);
        axpy(step, &direction, &mut self.w);
        axpy(step, &by_slot, &mut self.moved);
        if let Some(gradient) = &mut self.gradient {
            gradient.iter_mut().for_each(|g| *g *= 1.0 - step);
        }
        self.marks.push(self.moved.clone());
        for (&i, change) in near.iter().zip(&changes) {
            self.margin.decision[i] += step * change;
            self.seen[i] = self.marks.len() - 1;
        }
        self.cross(rows, &near)
    }

    /// The minimum of the objective along a Newton direction, at most 1. With the rows of `support` its derivative is
    /// (1 − s)·slope; rows that cross the margin on the way change it.
    fn line_search(&self, near: &[usize], changes: &[f64], slope: f64, square: f64) -> f64 {
        let mut crossings = Vec::new();
        for (&i, &change) in near.iter().zip(changes) {
            let is_outwards = self.margin.theta[i] * change > 0.0;
            let s = (self.margin.theta[i] - self.margin.decision[i]) / change;
            if self.support[i] == is_outwards && s < 1.0 {
                let weight = self.margin.cost[i] * change * change;
                crossings.push((s, if is_outwards { -weight } else { weight }));
            }
        }
        crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut here, mut slope, mut curvature) = (0.0, slope, -slope);
        for (s, weight) in crossings {
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

    /// Takes rows into A or out of it.
    fn update(&mut self, problem: &Problem<'_>, columns: &[usize], rows: &Rows, changed: &[usize]) {
        if changed.is_empty() && self.inverse.size() == columns.len() + 1 {
            return;
        }
        for &i in changed {
            self.support[i] = !self.support[i];
        }
        let inside = self.support.iter().filter(|&&s| s).count();
        let size = columns.len() + 1;
        if self.inverse.size() != size || changed.len() > (inside + 2 * size) / 4 {
            return self.rebuild(problem, columns);
        }
        let mut row = vec![0.0; size];
        for batch in changed.chunks(BATCH) {
            let (mut factors, mut images) = (Vec::with_capacity(batch.len()), vec![0.0; batch.len() * size]);
            for (at, &i) in batch.iter().enumerate() {
                rows.gather_into(rows.row(i), &mut row);
                let (before, image) = images.split_at_mut(at * size);
                let image = &mut image[..size];
                self.inverse.times_into(&row, image);
                for (factor, before) in factors.iter().zip(before.chunks_exact(size)) {
                    axpy(factor * dot(before, &row), before, image);
                }
                let weight = if self.support[i] { self.margin.cost[i] } else { -self.margin.cost[i] };
                let pivot = 1.0 + weight * dot(&row, image);
                // A leaving row leaves H ⪰ I, so the pivot is positive; near zero only rounding is left of it.
                if pivot < 1e-8 {
                    return self.rebuild(problem, columns);
                }
                factors.push(-weight / pivot);
            }
            self.inverse.add_outers(&factors, &images);
        }
    }

    /// A from scratch, by Cholesky.
    fn rebuild(&mut self, problem: &Problem<'_>, columns: &[usize]) {
        let rows: Vec<usize> = (0..self.support.len()).filter(|&i| self.support[i]).collect();
        let size = columns.len() + 1;
        let mut hessian = Square::zeros(size);
        let mut scaled = Vec::new();
        // Block by block, so that a block of all columns stays in the cache and the copy stays small.
        for rows in rows.chunks(BLOCK) {
            let roots: Vec<f64> = rows.iter().map(|&i| self.margin.cost[i].sqrt()).collect();
            scaled.clear();
            scaled.extend_from_slice(&roots);
            for &j in columns {
                let column = feature(problem, j);
                scaled.extend(rows.iter().zip(&roots).map(|(&i, root)| column[i] * root));
            }
            add_products(&mut hessian, &scaled, rows.len());
        }
        for i in 0..size {
            hessian.row_mut(i)[i] += 1.0;
        }
        // H ⪰ I; a factor fails only on values too large for the sum, and the zero matrix then makes the fit stall openly.
        self.inverse = hessian.cholesky().map_or_else(|| Square::zeros(size), |factor| factor.inverse());
    }

    /// Lets a position go with the supporting rows fixed: w −= (w_j/A_jj) A_j, A −= A_j A_jᵀ/A_jj. The gradient changes in
    /// that position alone.
    fn remove(&mut self, position: usize, rows: &Rows) {
        let pivot =
            if self.inverse.size() == self.w.len() { self.inverse.row(position)[position] } else { 0.0 };
        if pivot > 0.0 {
            let row = self.inverse.row(position).to_vec();
            let factor = -self.w[position] / pivot;
            axpy(factor, &row, &mut self.w);
            axpy(factor, &rows.spread(&row), &mut self.moved);
            self.inverse.add_outer(-pivot.recip(), &row);
            self.inverse.shrink(position);
        } else {
            self.inverse = Square::default();
            self.gradient = None;
        }
        self.w.remove(position);
        if let Some(gradient) = &mut self.gradient {
            gradient.remove(position);
        }
    }
}

/// All columns, one after the other.
pub(super) fn cells<'b>(problem: &'b Problem<'_>) -> &'b [f64] {
    problem.x.as_slice().expect("Problem::x is feature-major and contiguous, as solver() checks")
}

/// Some columns.
pub(super) fn some_columns<'b>(problem: &'b Problem<'_>, which: &'b [usize]) -> Columns<'b> {
    Columns { cells: cells(problem), length: problem.y.len(), which }
}

/// One feature as a slice.
pub(super) fn feature<'b>(problem: &'b Problem<'_>, column: usize) -> &'b [f64] {
    let rows = problem.x.ncols();
    &cells(problem)[column * rows..(column + 1) * rows]
}

/// Euclidean norm.
pub(super) fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}
