//! Exact Newton on the squared hinge in the primal, for fewer columns than rows (METHOD.md section 10).
//!
//! Per machine it keeps A = H⁻¹, H = I + 2 Σ C_i x_i x_iᵀ over the rows with positive loss, the bias being a column of
//! ones. Removing a column with these rows fixed is closed form; rows that enter or leave are rank-1 updates.

use super::lanes::{Square, add_columns, add_products, axpy, columns_times, dot};
use super::margin::{ACCEPTABLE, MOST_STEPS, Margin, TOLERANCE};
use super::{Convergence, Problem};

/// Rows of which products are taken together.
const BLOCK: usize = 256;

/// Warm-started Newton with closed-form removal.
pub struct Newton<'a> {
    problem: Problem<'a>,
    columns: Vec<usize>,
    machines: Vec<Machine>,
}

/// One one-vs-all model. Position 0 is the bias, position 1 + i the i-th column present.
struct Machine {
    margin: Margin,
    w: Vec<f64>,
    /// The gradient at the zero model, for scale: −Σ 2C_i θ_i x_i.
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
        let machines = models
            .into_iter()
            .enumerate()
            .map(|(machine, w)| {
                let margin = Margin::new(&problem, machine);
                let pull: Vec<f64> = margin.theta.iter().zip(&margin.cost).map(|(t, c)| t * c).collect();
                let start = against(&problem, &columns, &pull);
                let support = vec![false; problem.y.len()];
                let mut machine = Machine { margin, w, start, inverse: Square::default(), support };
                machine.margin.decision = decisions(&problem, &columns, &machine.w);
                machine
            })
            .collect();
        Self { problem, columns, machines }
    }

    /// Fits all machines.
    pub fn fit(&mut self) -> Convergence {
        let Self { problem, columns, machines } = self;
        machines
            .iter_mut()
            .map(|machine| machine.fit(problem, columns))
            .fold(Convergence::NONE, Convergence::and)
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of the column at a position.
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
                self.machines.iter_mut().for_each(|machine| machine.remove(position + 1));
            }
        }
        for machine in &mut self.machines {
            machine.margin.decision = decisions(&self.problem, &self.columns, &machine.w);
        }
    }
}

impl Machine {
    /// Newton steps until the true gradient vanishes.
    fn fit(&mut self, problem: &Problem<'_>, columns: &[usize]) -> Convergence {
        let scale = norm(&self.start);
        let mut residual = f64::INFINITY;
        let mut stalls = 0;
        for iterations in 0..MOST_STEPS {
            let same_rows = self.follow_support(problem, columns, stalls == 2);
            let pull = self.margin.pull();
            let mut gradient = against(problem, columns, &pull);
            axpy(1.0, &self.w, &mut gradient);
            let now = norm(&gradient) / scale;
            // With the rows fixed one step is exact; no progress then means that rounding has the word.
            stalls = if same_rows && now >= 0.5 * residual { stalls + 1 } else { 0 };
            residual = now;
            if now <= TOLERANCE || stalls > 4 {
                return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
            }
            let mut direction = self.inverse.times(&gradient);
            direction.iter_mut().for_each(|d| *d = -*d);
            let change = decisions(problem, columns, &direction);
            let step =
                self.margin.line_search(&change, dot(&self.w, &direction), dot(&direction, &direction));
            axpy(step, &direction, &mut self.w);
            axpy(step, &change, &mut self.margin.decision);
        }
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// Brings A to the rows that have positive loss now; true if they are the same as before.
    fn follow_support(&mut self, problem: &Problem<'_>, columns: &[usize], afresh: bool) -> bool {
        let n = self.support.len();
        let changed: Vec<usize> = (0..n).filter(|&i| self.margin.inside(i) != self.support[i]).collect();
        for &i in &changed {
            self.support[i] = !self.support[i];
        }
        let inside = self.support.iter().filter(|&&s| s).count();
        let size = columns.len() + 1;
        if afresh || self.inverse.size() != size || changed.len() > (inside + 2 * size) / 4 {
            self.rebuild(problem, columns);
            return changed.is_empty();
        }
        for &i in &changed {
            let mut row = Vec::with_capacity(size);
            row.push(1.0);
            row.extend(columns.iter().map(|&j| problem.x[[j, i]]));
            let image = self.inverse.times(&row);
            let weight = if self.support[i] { self.margin.cost[i] } else { -self.margin.cost[i] };
            let pivot = 1.0 + weight * dot(&row, &image);
            // A leaving row leaves H ⪰ I, so the pivot is positive; near zero only rounding is left of it.
            if pivot < 1e-8 {
                self.rebuild(problem, columns);
                return false;
            }
            self.inverse.add_outer(-weight / pivot, &image);
        }
        changed.is_empty()
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

    /// Lets a position go with the supporting rows fixed: w −= (w_j/A_jj) A_j, A −= A_j A_jᵀ/A_jj.
    fn remove(&mut self, position: usize) {
        if self.inverse.size() == self.w.len() {
            let row = self.inverse.row(position).to_vec();
            let pivot = row[position];
            if pivot > 0.0 {
                axpy(-self.w[position] / pivot, &row, &mut self.w);
                self.inverse.add_outer(-pivot.recip(), &row);
                self.inverse.shrink(position);
            } else {
                self.inverse = Square::default();
            }
        }
        self.w.remove(position);
        self.start.remove(position);
    }
}

/// −Σ_i v_i x_i, bias first.
pub(super) fn against(problem: &Problem<'_>, columns: &[usize], v: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; columns.len() + 1];
    sums[0] = v.iter().sum();
    columns_times(cells(problem), columns, v, &mut sums[1..]);
    sums.iter_mut().for_each(|sum| *sum = -*sum);
    sums
}

/// w·x_i + b for every row, bias first in w.
pub(super) fn decisions(problem: &Problem<'_>, columns: &[usize], w: &[f64]) -> Vec<f64> {
    let mut decisions = vec![w[0]; problem.y.len()];
    add_columns(cells(problem), columns, &w[1..], &mut decisions);
    decisions
}

/// All columns, one after the other.
pub(super) fn cells<'b>(problem: &'b Problem<'_>) -> &'b [f64] {
    problem.x.as_slice().expect("Problem::x is feature-major and contiguous, as solver() checks")
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
