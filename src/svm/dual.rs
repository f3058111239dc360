//! The dual: exact Newton in Gram space, for at least as many columns as rows (docs/method.md
//! section 10).
//!
//! The model is w = Σ a_i x_i, so fits see only K = X Xᵀ + 1 (rows × rows; the 1 is the bias), and
//! decision values of other rows only the kernel between them and the training rows. Removing a
//! column is a rank-1 downdate of both.

use std::sync::Arc;

use super::active_set::HingeRows;
use super::f32_columns::{F32Coefficients, F32Columns};
use super::newton::{Descent, MAX_STEPS, System, minimise, tolerance};
use super::solver::{LazySolver, MAX_SNAPSHOTS};
use super::support_inverse::SupportInverse;
use super::{Convergence, DriftBound, Present, Problem, Watched};
use crate::linalg::DelayedUpdates;
use crate::linalg::{PackedSymmetric, UPDATES_PER_PASS};
use crate::linalg::{add_all_rows, axpy, dot, rank_one_update, row_dots};

/// Warm-started Newton in Gram space. It does not hold the problem, so that it can be shared; every
/// call must pass the same one.
#[derive(Clone)]
pub struct Dual {
    columns: Present,
    kernels: Kernels,
    /// Columns when the kernels were last computed from the data: downdates drift, so they are
    /// rebuilt at a quarter of them.
    rebuilt_at: usize,
    machines: Vec<Machine>,
    /// All columns in single precision, if their magnitudes allow it.
    f32_columns: Option<Arc<F32Columns>>,
}

/// The kernels that fits and decision values are computed from.
#[derive(Clone, Default)]
struct Kernels {
    /// Training rows × training rows, with the bias.
    own: DelayedUpdates,
    /// Training rows × watched rows, with the bias, row by row.
    cross: Vec<f64>,
    /// One column on the watched rows.
    feature: Vec<f64>,
}

/// One one-vs-all model, w = Σ a_i x_i.
#[derive(Clone)]
struct Machine {
    hinge: HingeRows,
    a: Vec<f64>,
    /// The coefficients at the newest snapshot, in single precision.
    a_f32: F32Coefficients,
    /// The coefficients at the snapshots, one after the other, and the square of their length.
    snapshots: Vec<f64>,
    squares: [f64; MAX_SNAPSHOTS],
    inverse: SupportInverse,
    /// 2C_i θ_i: the gradient at the zero model is −Σ of these times x_i.
    start: Vec<f64>,
    /// Its squared norm.
    scale: f64,
    direction: Vec<f64>,
    change: Vec<f64>,
}

impl Dual {
    /// Starts from the zero model with the columns that are present.
    pub fn new(problem: &Problem<'_>, columns: Present) -> Self {
        let machines =
            (0..problem.machines()).map(|machine| Machine::new(problem, machine)).collect();
        let f32_columns = F32Columns::new(problem).map(Arc::new);
        Self { columns, kernels: Kernels::default(), rebuilt_at: 0, machines, f32_columns }
    }

    /// Fits all machines.
    pub fn fit(&mut self, problem: &Problem<'_>, watched: &Watched<'_>) -> Convergence {
        if self.rebuilt_at == 0 {
            self.rebuild_kernels(problem, watched);
        }
        let mut total = self.fit_machines();
        if !total.converged && self.rebuilt_at > self.columns.count() {
            self.rebuild_kernels(problem, watched);
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

    /// The weights of some columns.
    pub fn weights(
        &self,
        problem: &Problem<'_>,
        machine: usize,
        columns: &[usize],
        weights: &mut [f64],
    ) {
        row_dots(problem.cells(), columns, &self.machines[machine].a, weights);
    }

    /// The bias of a machine.
    pub fn bias(&self, machine: usize) -> f64 {
        self.machines[machine].a.iter().sum()
    }

    /// The decision values of a machine on some of the watched rows.
    pub fn decisions(
        &self,
        machine: usize,
        watched: &Watched<'_>,
        rows: std::ops::Range<usize>,
    ) -> Vec<f64> {
        let mut decisions = vec![0.0; rows.len()];
        let a = &self.machines[machine].a;
        add_all_rows(&self.kernels.cross, watched.rows(), rows, a, &mut decisions);
        decisions
    }

    /// Removes columns.
    pub fn remove(&mut self, problem: &Problem<'_>, columns: &[usize], watched: &Watched<'_>) {
        let before = self.columns.count();
        for column in columns {
            if !self.columns.remove(*column) || self.rebuilt_at == 0 {
                continue;
            }
            let x = problem.feature(*column);
            self.kernels.downdate(x, *column, watched);
            self.machines.iter_mut().for_each(|machine| machine.downdate(x));
        }
        if self.rebuilt_at == 0 || self.columns.count() == before {
            return;
        }
        if self.columns.count() <= self.rebuilt_at / 4 {
            self.rebuild_kernels(problem, watched);
        } else {
            self.machines
                .iter_mut()
                .for_each(|machine| machine.update_decisions(&self.kernels.own));
        }
    }

    /// The kernels from the data.
    fn rebuild_kernels(&mut self, problem: &Problem<'_>, watched: &Watched<'_>) {
        self.kernels = Kernels::new(problem, &self.columns.list(), watched);
        self.rebuilt_at = self.columns.count();
        for machine in &mut self.machines {
            self.kernels.own.multiply(&machine.start, &mut machine.change);
            machine.scale = dot(&machine.start, &machine.change);
            machine.update_decisions(&self.kernels.own);
        }
    }

    /// The models, bias first: a starting point for another formulation.
    pub fn models(&self, problem: &Problem<'_>) -> Vec<Vec<f64>> {
        let columns = self.columns.list();
        let model = |machine| {
            let mut model = vec![self.bias(machine); columns.len() + 1];
            self.weights(problem, machine, &columns, &mut model[1..]);
            model
        };
        (0..self.machines.len()).map(model).collect()
    }
}

impl LazySolver for Dual {
    fn snapshot(&mut self, snapshot: usize) {
        for machine in &mut self.machines {
            let rows = machine.a.len();
            machine.snapshots[snapshot * rows..(snapshot + 1) * rows].copy_from_slice(&machine.a);
            machine.squares[snapshot] = dot(&machine.a, &machine.a);
            machine.a_f32.set(&machine.a);
        }
    }

    /// w_j = a·x_j, so the part of a that is not a multiple of the coefficients at the snapshot
    /// moves the weight by at most ‖x_j‖ times its length, by Cauchy–Schwarz.
    fn drift_bounds(&self, problem: &Problem<'_>, snapshots: usize) -> [DriftBound; MAX_SNAPSHOTS] {
        let mut square = 0.0;
        let mut then = [0.0; MAX_SNAPSHOTS];
        let mut common = [0.0; MAX_SNAPSHOTS];
        let mut products = [0.0; MAX_SNAPSHOTS];
        let numbers: [usize; MAX_SNAPSHOTS] = std::array::from_fn(|snapshot| snapshot);
        for machine in &self.machines {
            row_dots(
                &machine.snapshots,
                &numbers[..snapshots],
                &machine.a,
                &mut products[..snapshots],
            );
            square += dot(&machine.a, &machine.a);
            for snapshot in 0..snapshots {
                common[snapshot] += products[snapshot];
                then[snapshot] += machine.squares[snapshot];
            }
        }
        // What rounding can add when a weight, or a criterion made of weights, is computed, now and
        // at the snapshot: each is a sum of at most rows + classes + columns products.
        let terms = problem.rows() + problem.classes() + problem.columns();
        let rounding = 16.0 * terms as f64 * f64::EPSILON;
        let f32_columns = self.f32_columns.as_ref().map_or(0.0, |f32_columns| f32_columns.error());
        let mut drift_bounds = [DriftBound::UNKNOWN; MAX_SNAPSHOTS];
        for (snapshot, drift) in drift_bounds[..snapshots].iter_mut().enumerate() {
            // Never zero: it may be multiplied by infinity.
            let scale = if then[snapshot] > 0.0 { common[snapshot] / then[snapshot] } else { 0.0 }
                .max(f64::MIN_POSITIVE);
            let apart = square - 2.0 * scale * common[snapshot] + scale * scale * then[snapshot];
            let slack = rounding * (square.sqrt() + scale * then[snapshot].sqrt()).powi(2);
            // At the snapshot it may have been computed in single precision.
            let off = f32_columns * scale * then[snapshot].sqrt();
            *drift = DriftBound { scale, radius: (apart.max(0.0) + slack).sqrt() + off };
        }
        drift_bounds
    }

    fn approximate_weights(
        &self,
        problem: &Problem<'_>,
        machine: usize,
        columns: &[usize],
        weights: &mut [f64],
    ) {
        match &self.f32_columns {
            Some(rounded) => rounded.weights_into(columns, &self.machines[machine].a_f32, weights),
            None => self.weights(problem, machine, columns, weights),
        }
    }
}

/// K = X Xᵀ + 1 over the training rows, with some of the columns.
pub(super) fn kernel(problem: &Problem<'_>, columns: &[usize]) -> PackedSymmetric {
    let mut kernel = PackedSymmetric::new(problem.rows(), |_, _| 1.0);
    let width = kernel.width();
    let mut features = vec![0.0; UPDATES_PER_PASS * width];
    for some in columns.chunks(UPDATES_PER_PASS) {
        for (padded, &column) in features.chunks_exact_mut(width).zip(some) {
            padded[..problem.rows()].copy_from_slice(problem.feature(column));
        }
        kernel
            .rank_k_update(&[1.0; UPDATES_PER_PASS][..some.len()], &features[..some.len() * width]);
    }
    kernel
}

impl Kernels {
    fn new(problem: &Problem<'_>, columns: &[usize], watched: &Watched<'_>) -> Self {
        let (rows, width) = (problem.rows(), watched.rows());
        let own = DelayedUpdates::new(kernel(problem, columns));
        let mut kernels = Self { own, cross: vec![1.0; rows * width], feature: vec![0.0; width] };
        for &column in columns {
            kernels.add_cross(1.0, problem.feature(column), column, watched);
        }
        kernels
    }

    fn downdate(&mut self, x: &[f64], column: usize, watched: &Watched<'_>) {
        self.own.update(-1.0, x);
        self.add_cross(-1.0, x, column, watched);
    }

    fn add_cross(&mut self, factor: f64, x: &[f64], column: usize, watched: &Watched<'_>) {
        if watched.rows() > 0 {
            watched.feature(column, &mut self.feature);
            rank_one_update(&mut self.cross, factor, x, &self.feature);
        }
    }
}

impl Machine {
    fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let hinge = HingeRows::new(problem, machine);
        let rows = problem.rows();
        let start = hinge.theta.iter().zip(&hinge.cost).map(|(t, c)| t * c).collect();
        let zeros = || vec![0.0; rows];
        Self {
            hinge,
            a: zeros(),
            a_f32: F32Coefficients::default(),
            snapshots: vec![0.0; MAX_SNAPSHOTS * rows],
            squares: [0.0; MAX_SNAPSHOTS],
            inverse: SupportInverse::new(rows),
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
    fn update_decisions(&mut self, kernel: &DelayedUpdates) {
        kernel.multiply(&self.a, &mut self.hinge.decision);
    }

    /// Fits from the current coefficients.
    fn fit(&mut self, kernel: &mut DelayedUpdates) -> Convergence {
        let scale = self.scale.max(f64::MIN_POSITIVE);
        let tolerance = tolerance(&self.hinge.cost);
        minimise(
            &mut Fit { machine: self, kernel, scale, tolerance, descent: Descent::new() },
            tolerance,
            MAX_STEPS,
        )
    }

    /// The squared norm of the gradient, or an upper bound on it if that is at most `enough`: no
    /// eigenvalue of K exceeds its trace.
    fn gap(&mut self, kernel: &DelayedUpdates, enough: f64) -> f64 {
        let gap = &mut self.direction;
        self.hinge.negative_loss_gradient(gap);
        gap.iter_mut().zip(&self.a).for_each(|(gap, a)| *gap = a - *gap);
        let bound = dot(gap, gap) * kernel.trace();
        if bound <= enough {
            return bound;
        }
        kernel.multiply(gap, &mut self.change);
        dot(gap, &self.change).max(0.0)
    }

    /// The step to the minimiser with the supporting rows fixed: (K_SS + diag(1/2C_i)) a = θ on
    /// them, zero elsewhere. It is computed as a correction of the current coefficients, so
    /// rounding errors of the inverse only slow convergence.
    fn newton_direction(&mut self, kernel: &DelayedUpdates) {
        let Self { hinge, a, inverse, direction, change, .. } = self;
        change.copy_from_slice(&hinge.decision);
        for i in (0..a.len()).filter(|&i| !inverse.contains(i) && a[i] != 0.0) {
            kernel.row_into(i, direction);
            axpy(-a[i], direction, change);
        }
        for i in 0..a.len() {
            let rest = hinge.theta[i] - change[i] - a[i] / hinge.cost[i];
            change[i] = if inverse.contains(i) { rest } else { 0.0 };
        }
        inverse.multiply(change, direction);
        for i in (0..a.len()).filter(|&i| !inverse.contains(i)) {
            direction[i] = -a[i];
        }
    }
}

/// One fit of a machine. The gradient is Σ (a_i − g_i) x_i, where g is minus the gradient of the
/// loss.
struct Fit<'f> {
    machine: &'f mut Machine,
    kernel: &'f mut DelayedUpdates,
    /// The squared norm of the gradient at the zero model.
    scale: f64,
    tolerance: f64,
    descent: Descent,
}

impl System for Fit<'_> {
    const MAX_STALLS: usize = 8;

    fn gradient(&mut self) -> f64 {
        self.machine.inverse.change_rows(&self.machine.hinge, self.kernel);
        (self.machine.gap(self.kernel, self.tolerance * self.tolerance * self.scale) / self.scale)
            .sqrt()
    }

    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
        if after <= self.tolerance {
            return Some(false);
        }
        let Machine { a, hinge, .. } = &*self.machine;
        Some(self.descent.has_stalled(0.5 * dot(a, &hinge.decision) + hinge.loss(), before, after))
    }

    fn rebuild(&mut self) {
        self.machine.inverse.rebuild(&self.machine.hinge, self.kernel);
    }

    fn direction(&mut self) {
        self.machine.newton_direction(self.kernel);
        self.kernel.multiply(&self.machine.direction, &mut self.machine.change);
    }

    fn line_search(&mut self) -> f64 {
        let Machine { a, hinge, direction, change, .. } = &*self.machine;
        hinge.line_search(change, dot(a, change), dot(direction, change))
    }

    fn accept(&mut self, step: f64) {
        let Machine { a, hinge, direction, change, .. } = &mut *self.machine;
        axpy(step, direction, a);
        axpy(step, change, &mut hinge.decision);
    }
}
