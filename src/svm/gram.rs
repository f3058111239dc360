//! Exact Newton on the squared hinge in Gram space, for at least as many columns as rows (METHOD.md section 10).
//!
//! The model is w = Σ a_i x_i, so fits see only K = X Xᵀ + 1 (rows × rows; the 1 is the bias), and decision values of other
//! rows only the kernel between them and the training rows. Removing a column is a rank-1 downdate of both.

use std::sync::Arc;

use super::inverse::Inverse;
use super::lagging::Lagging;
use super::lanes::{axpy, dot, matrix_add_outer, matrix_times, rows_times, some_rows_times};
use super::margin::{ACCEPTABLE, MOST_STALLS, MOST_STEPS, Margin, Progress};
use super::nearly::{Coefficients, Nearly};
use super::solver::MARKS;
use super::symmetric::{Symmetric, TOGETHER};
use super::{Convergence, Drift, Precision, Present, Problem, Watched};

/// Warm-started Newton in Gram space. It does not hold the problem, so that it can be shared; every call is of the same one.
#[derive(Clone)]
pub struct Gram {
    columns: Present,
    kernels: Kernels,
    /// Columns at the last computation of the kernels from the data: downdates drift, so they are renewed at a quarter of them.
    fresh_at: usize,
    machines: Vec<Machine>,
    /// All columns, rounded, if they can be.
    nearly: Option<Arc<Nearly>>,
}

/// What fits and decision values are made of.
#[derive(Clone, Default)]
struct Kernels {
    /// Training rows × training rows, with the bias.
    own: Lagging,
    /// Training rows × watched rows, with the bias, row by row.
    cross: Vec<f64>,
    /// One column on the watched rows.
    feature: Vec<f64>,
}

/// One one-vs-all model, w = Σ a_i x_i.
#[derive(Clone)]
struct Machine {
    margin: Margin,
    a: Vec<f64>,
    /// The coefficients at the newest mark, rounded.
    nearly: Coefficients,
    /// The coefficients at the marks, one after the other, and the square of their length.
    marks: Vec<f64>,
    squares: [f64; MARKS],
    inverse: Inverse,
    /// 2C_i θ_i: the gradient at the zero model is −Σ of these times x_i.
    start: Vec<f64>,
    /// Its squared norm.
    scale: f64,
    direction: Vec<f64>,
    change: Vec<f64>,
}

impl Gram {
    /// Starts from the zero model with the columns that are present.
    pub fn new(problem: &Problem<'_>, columns: Present) -> Self {
        let machines = (0..problem.machines()).map(|machine| Machine::new(problem, machine)).collect();
        let nearly = Nearly::new(problem).map(Arc::new);
        Self { columns, kernels: Kernels::default(), fresh_at: 0, machines, nearly }
    }

    /// Fits all machines.
    pub fn fit(&mut self, problem: &Problem<'_>, watched: &Watched<'_>) -> Convergence {
        if self.fresh_at == 0 {
            self.refresh(problem, watched);
        }
        let mut total = self.fit_machines();
        if !total.converged && self.fresh_at > self.columns.count() {
            self.refresh(problem, watched);
            total = self.fit_machines();
        }
        total
    }

    fn fit_machines(&mut self) -> Convergence {
        let fits = self.machines.iter_mut().map(|machine| machine.fit(&mut self.kernels.own));
        fits.fold(Convergence::NONE, Convergence::and)
    }

    /// The columns present.
    pub fn columns(&self) -> &Present {
        &self.columns
    }

    /// Remembers the models as they are, under a number below [`MARKS`].
    pub fn mark(&mut self, mark: usize) {
        for machine in &mut self.machines {
            let rows = machine.a.len();
            machine.marks[mark * rows..(mark + 1) * rows].copy_from_slice(&machine.a);
            machine.squares[mark] = dot(&machine.a, &machine.a);
            machine.nearly.set(&machine.a);
        }
    }

    /// How the models have moved since each mark: w_j = a·x_j, so what of a is not a multiple of the coefficients at the mark
    /// moves the weight by at most ‖x_j‖ times its length, by Cauchy–Schwarz.
    pub fn drifts(&self, problem: &Problem<'_>, marks: usize) -> [Drift; MARKS] {
        let (mut square, mut then, mut common) = (0.0, [0.0; MARKS], [0.0; MARKS]);
        let mut products = [0.0; MARKS];
        for machine in &self.machines {
            let rows = machine.a.len();
            matrix_times(&machine.marks[..marks * rows], &machine.a, &mut products[..marks]);
            square += dot(&machine.a, &machine.a);
            for mark in 0..marks {
                common[mark] += products[mark];
                then[mark] += machine.squares[mark];
            }
        }
        // What rounding can add when a weight, or a criterion made of weights, is computed, now and at the mark: each is a
        // sum of at most rows + classes + columns products.
        let terms = problem.y.len() + problem.classes + problem.x.nrows();
        let rounding = 16.0 * terms as f64 * f64::EPSILON;
        let nearly = self.nearly.as_ref().map_or(0.0, |nearly| nearly.error());
        let mut drifts = [Drift::UNKNOWN; MARKS];
        for (mark, drift) in drifts[..marks].iter_mut().enumerate() {
            // Never zero: it multiplies what may be infinite.
            let scale = if then[mark] > 0.0 { common[mark] / then[mark] } else { 0.0 }.max(f64::MIN_POSITIVE);
            let apart = square - 2.0 * scale * common[mark] + scale * scale * then[mark];
            let slack = rounding * (square.sqrt() + scale * then[mark].sqrt()).powi(2);
            // What was computed at the mark may have been nearly right only.
            let off = nearly * scale * then[mark].sqrt();
            *drift = Drift { scale, reach: (apart.max(0.0) + slack).sqrt() + off };
        }
        drifts
    }

    /// The weights of a column by machine.
    #[inline]
    pub fn weight(&self, problem: &Problem<'_>, machine: usize, column: usize) -> f64 {
        dot(problem.feature(column), &self.machines[machine].a)
    }

    /// The weights of some columns.
    pub fn weights_into(
        &self,
        problem: &Problem<'_>,
        machine: usize,
        columns: &[usize],
        how: Precision,
        weights: &mut [f64],
    ) {
        let machine = &self.machines[machine];
        match &self.nearly {
            Some(nearly) if how == Precision::Nearly => {
                nearly.weights_into(columns, &machine.nearly, weights);
            }
            _ => some_rows_times(problem.cells(), columns, &machine.a, weights),
        }
    }

    /// The bias of a machine.
    pub fn bias(&self, machine: usize) -> f64 {
        self.machines[machine].a.iter().sum()
    }

    /// The decision values of a machine on some of the watched rows.
    pub fn decisions(&self, machine: usize, watched: &Watched<'_>, rows: std::ops::Range<usize>) -> Vec<f64> {
        let mut decisions = vec![0.0; rows.len()];
        let a = &self.machines[machine].a;
        rows_times(&self.kernels.cross, watched.rows(), rows, a, &mut decisions);
        decisions
    }

    /// Lets columns go.
    pub fn remove(&mut self, problem: &Problem<'_>, columns: &[usize], watched: &Watched<'_>) {
        let before = self.columns.count();
        for column in columns {
            if !self.columns.remove(*column) || self.fresh_at == 0 {
                continue;
            }
            let x = problem.feature(*column);
            self.kernels.downdate(x, *column, watched);
            self.machines.iter_mut().for_each(|machine| machine.downdate(x));
        }
        if self.fresh_at == 0 || self.columns.count() == before {
            return;
        }
        if self.columns.count() <= self.fresh_at / 4 {
            self.refresh(problem, watched);
        } else {
            self.machines.iter_mut().for_each(|machine| machine.see(&self.kernels.own));
        }
    }

    /// The kernels from the data.
    fn refresh(&mut self, problem: &Problem<'_>, watched: &Watched<'_>) {
        self.kernels = Kernels::new(problem, &self.columns.list(), watched);
        self.fresh_at = self.columns.count();
        for machine in &mut self.machines {
            self.kernels.own.times_into(&machine.start, &mut machine.change);
            machine.scale = dot(&machine.start, &machine.change);
            machine.see(&self.kernels.own);
        }
    }

    /// The models, bias first: from where another route can go on.
    pub fn models(&self, problem: &Problem<'_>) -> Vec<Vec<f64>> {
        let columns = self.columns.list();
        let model = |machine| {
            let mut model = vec![self.bias(machine); columns.len() + 1];
            self.weights_into(problem, machine, &columns, Precision::Full, &mut model[1..]);
            model
        };
        (0..self.machines.len()).map(model).collect()
    }
}

/// K = X Xᵀ + 1 over the training rows, with some of the columns.
pub(super) fn kernel(problem: &Problem<'_>, columns: &[usize]) -> Symmetric {
    let mut kernel = Symmetric::new(problem.y.len(), |_, _| 1.0);
    let width = kernel.width();
    let mut features = vec![0.0; TOGETHER * width];
    for some in columns.chunks(TOGETHER) {
        for (padded, &column) in features.chunks_exact_mut(width).zip(some) {
            padded[..problem.y.len()].copy_from_slice(problem.feature(column));
        }
        kernel.add_outers(&[1.0; TOGETHER][..some.len()], &features[..some.len() * width]);
    }
    kernel
}

impl Kernels {
    fn new(problem: &Problem<'_>, columns: &[usize], watched: &Watched<'_>) -> Self {
        let (rows, width) = (problem.y.len(), watched.rows());
        let own = Lagging::new(kernel(problem, columns));
        let mut kernels = Self { own, cross: vec![1.0; rows * width], feature: vec![0.0; width] };
        for &column in columns {
            kernels.add_cross(1.0, problem.feature(column), column, watched);
        }
        kernels
    }

    fn downdate(&mut self, x: &[f64], column: usize, watched: &Watched<'_>) {
        self.own.change(-1.0, x);
        self.add_cross(-1.0, x, column, watched);
    }

    fn add_cross(&mut self, factor: f64, x: &[f64], column: usize, watched: &Watched<'_>) {
        if watched.rows() > 0 {
            watched.feature(column, &mut self.feature);
            matrix_add_outer(&mut self.cross, factor, x, &self.feature);
        }
    }
}

impl Machine {
    fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let (margin, rows) = (Margin::new(problem, machine), problem.y.len());
        let start = margin.theta.iter().zip(&margin.cost).map(|(t, c)| t * c).collect();
        let zeros = || vec![0.0; rows];
        Self {
            margin,
            a: zeros(),
            nearly: Coefficients::default(),
            marks: vec![0.0; MARKS * rows],
            squares: [0.0; MARKS],
            inverse: Inverse::new(rows),
            start,
            scale: 0.0,
            direction: zeros(),
            change: zeros(),
        }
    }

    /// Follows K −= x xᵀ with the supporting rows fixed: a += M x (x·a)/(1 − x·M x).
    fn downdate(&mut self, x: &[f64]) {
        let removed = dot(&self.start, x);
        self.scale -= removed * removed;
        let along = dot(x, &self.a);
        if let Some((image, pivot)) = self.inverse.downdate(x) {
            axpy(along / pivot, image, &mut self.a);
        }
    }

    /// The decision values under the kernel as it is now.
    fn see(&mut self, kernel: &Lagging) {
        kernel.times_into(&self.a, &mut self.margin.decision);
    }

    /// Newton steps until the true gradient, Σ (a_i − pull_i) x_i, vanishes.
    fn fit(&mut self, kernel: &mut Lagging) -> Convergence {
        let (scale, tolerance) = (self.scale.max(f64::MIN_POSITIVE), self.margin.tolerance());
        let mut residual = f64::INFINITY;
        let (mut progress, mut stalls) = (Progress::new(), 0);
        for iterations in 0..MOST_STEPS {
            self.inverse.follow(&self.margin, kernel, stalls == 2);
            let now = (self.gap(kernel, tolerance * tolerance * scale) / scale).sqrt();
            residual = now;
            if now > tolerance {
                stalls = progress.note(now, dot(&self.a, &self.margin.decision), &self.margin);
            }
            if now <= tolerance || stalls > MOST_STALLS {
                return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
            }
            self.aim(kernel);
            kernel.times_into(&self.direction, &mut self.change);
            let (along, square) = (dot(&self.a, &self.change), dot(&self.direction, &self.change));
            let step = self.margin.line_search(&self.change, along, square);
            axpy(step, &self.direction, &mut self.a);
            axpy(step, &self.change, &mut self.margin.decision);
        }
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// The squared norm of the gradient, or an upper bound if that is as small as is `enough`: K has no eigenvalue above its
    /// trace.
    fn gap(&mut self, kernel: &Lagging, enough: f64) -> f64 {
        let gap = &mut self.direction;
        self.margin.pull_into(gap);
        gap.iter_mut().zip(&self.a).for_each(|(pull, a)| *pull = a - *pull);
        let bound = dot(gap, gap) * kernel.trace();
        if bound <= enough {
            return bound;
        }
        kernel.times_into(gap, &mut self.change);
        dot(gap, &self.change).max(0.0)
    }

    /// The way to the minimiser with the supporting rows fixed: (K_SS + diag(1/2C_i)) a = θ on them, zero elsewhere. It is
    /// a correction of the coefficients there are, so what the inverse has lost to rounding only slows it down.
    fn aim(&mut self, kernel: &Lagging) {
        let Self { margin, a, inverse, direction, change, .. } = self;
        change.copy_from_slice(&margin.decision);
        for i in (0..a.len()).filter(|&i| !inverse.holds(i) && a[i] != 0.0) {
            kernel.row_into(i, direction);
            axpy(-a[i], direction, change);
        }
        for i in 0..a.len() {
            let rest = margin.theta[i] - change[i] - a[i] / margin.cost[i];
            change[i] = if inverse.holds(i) { rest } else { 0.0 };
        }
        inverse.times_into(change, direction);
        for i in (0..a.len()).filter(|&i| !inverse.holds(i)) {
            direction[i] = -a[i];
        }
    }
}
