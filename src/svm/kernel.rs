//! Kernel machines along an elimination path: one-vs-rest, squared hinge, regularised bias, exact Newton (docs/method.md section 15).
//!
//! f_r(x) = Σ_s c_rs (k(x, s) + 1) over the training rows s; the 1 is the bias. Squared distances between rows are kept and follow
//! removals, one column at a time; kernels are made of them for each fit, since γ depends on the columns present.

use std::fmt;
use std::str::FromStr;

use ndarray::{Array2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

use super::active_set::HingeRows;
use super::newton::{Descent, MAX_STEPS, System, minimise, tolerance};
use super::solver::by_row;
use super::{Convergence, Present, Problem, Watched};
use crate::linalg::simd::kernel;
use crate::linalg::{Cholesky, PackedSymmetric, add_all_rows, axpy, decay, dot};

/// γ of exp(−γ ‖x − s‖²).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gamma {
    /// One over the number of columns present.
    #[default]
    Scale,
    /// This.
    Fixed(f64),
}

impl Gamma {
    /// Its value with the given number of columns present.
    pub fn value(self, columns: usize) -> f64 {
        match self {
            Self::Scale => 1.0 / columns as f64,
            Self::Fixed(gamma) => gamma,
        }
    }

    /// Whether it is the default, which is not recorded.
    pub fn is_scale(&self) -> bool {
        *self == Self::Scale
    }
}

impl FromStr for Gamma {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "scale" {
            return Ok(Self::Scale);
        }
        match text.parse::<f64>() {
            Ok(gamma) if gamma > 0.0 && gamma.is_finite() => Ok(Self::Fixed(gamma)),
            _ => Err("write scale or a number above 0".into()),
        }
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale => f.write_str("scale"),
            Self::Fixed(gamma) => write!(f, "{gamma}"),
        }
    }
}

/// Which kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kernel {
    /// exp(−γ ‖x − s‖²).
    Rbf(Gamma),
    /// x·s: the machines of the other solvers, so that they can be compared.
    Linear,
}

/// One model per class on the columns still present.
pub struct KernelMachines<'a> {
    problem: Problem<'a>,
    kernel: Kernel,
    columns: Present,
    watched: Watched<'a>,
    /// Squared distances (or products) of training rows with training rows, and with watched rows, row by row.
    own: PackedSymmetric,
    cross: Vec<f64>,
    /// Columns present when they were last computed from the data: differences drift.
    computed_at: usize,
    /// The kernels with the bias, of the same rows.
    own_kernel: PackedSymmetric,
    cross_kernel: Vec<f64>,
    machines: Vec<KernelMachine>,
}

impl<'a> KernelMachines<'a> {
    /// Starts from the zero model with all columns.
    pub fn new(problem: Problem<'a>, kernel: Kernel) -> Self {
        let machines = (0..problem.machines()).map(|machine| KernelMachine::new(&problem, machine)).collect();
        Self {
            kernel,
            columns: Present::all(problem.columns()),
            watched: Watched::default(),
            own: PackedSymmetric::default(),
            cross: Vec::new(),
            computed_at: 0,
            own_kernel: PackedSymmetric::zeros(problem.rows()),
            cross_kernel: Vec::new(),
            machines,
            problem,
        }
    }

    /// Takes rows (feature-major) whose decision values will be read after every fit; before the first fit.
    pub fn watch(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.watched.push(rows);
    }

    /// The problem that is solved.
    pub fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    /// Which kernel.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// How many columns are present.
    pub fn columns(&self) -> usize {
        self.columns.count()
    }

    /// Fits all machines on the columns present.
    pub fn fit(&mut self) -> Convergence {
        if self.computed_at == 0 {
            self.compute();
        }
        self.cross_kernel.resize(self.cross.len(), 0.0);
        let gamma = match self.kernel {
            Kernel::Rbf(gamma) => Some(gamma.value(self.columns.count())),
            Kernel::Linear => None,
        };
        let with_bias = |cells: &[f64], kernels: &mut [f64]| match gamma {
            Some(gamma) => decay(cells, gamma, 1.0, kernels),
            None => kernels.iter_mut().zip(cells).for_each(|(kernel, cell)| *kernel = cell + 1.0),
        };
        (0..self.problem.rows()).for_each(|i| with_bias(self.own.kept(i), self.own_kernel.kept_mut(i)));
        with_bias(&self.cross, &mut self.cross_kernel);
        let kernel = &self.own_kernel;
        self.machines.iter_mut().map(|machine| machine.fit(kernel)).fold(Convergence::NONE, Convergence::and)
    }

    /// Removes columns; `fit` must follow before anything is read.
    pub fn remove(&mut self, columns: &[usize]) {
        for &column in columns {
            if self.columns.remove(column) && self.computed_at > 0 {
                self.add(column, -1.0);
            }
        }
        if self.columns.count() <= self.computed_at / 4 {
            self.compute();
        }
    }

    /// Distances from the data.
    fn compute(&mut self) {
        let rows = self.problem.rows();
        self.own = PackedSymmetric::zeros(rows);
        self.cross = vec![0.0; rows * self.watched.rows()];
        for column in self.columns.list() {
            self.add(column, 1.0);
        }
        self.computed_at = self.columns.count();
    }

    fn add(&mut self, column: usize, sign: f64) {
        let mut watched = vec![0.0; self.watched.rows()];
        self.watched.feature(column, &mut watched);
        let x = self.problem.feature(column);
        let add = match self.kernel {
            Kernel::Rbf(_) => add_squared_differences,
            Kernel::Linear => add_products,
        };
        for (i, own) in x.iter().enumerate() {
            let row = self.own.kept_mut(i);
            add(row, sign, std::slice::from_ref(own), &x[..row.len()]);
        }
        add(&mut self.cross, sign, x, &watched);
    }

    /// c of every training row, for a machine.
    pub fn coefficients(&self, machine: usize) -> &[f64] {
        &self.machines[machine].c
    }

    /// The training rows that some machine rests on, ascending.
    pub fn support(&self) -> Vec<usize> {
        (0..self.problem.rows())
            .filter(|&row| self.machines.iter().any(|machine| machine.c[row] != 0.0))
            .collect()
    }

    /// The bias of each class.
    pub fn biases(&self) -> Vec<f64> {
        self.problem.by_class(|machine| self.machines[machine].c.iter().sum())
    }

    /// f_r(x) on the rows that were given to the n-th `watch`: rows × classes.
    pub fn decisions(&self, part: usize) -> Array2<f64> {
        let range = self.watched.range(part);
        let of_machine = |machine: &KernelMachine| {
            let mut decisions = vec![0.0; range.len()];
            add_all_rows(&self.cross_kernel, self.watched.rows(), range.clone(), &machine.c, &mut decisions);
            decisions
        };
        let by_machine: Vec<Vec<f64>> = self.machines.iter().map(of_machine).collect();
        by_row(&by_machine, self.problem.classes())
    }
}

kernel! {
    /// cells_ij += sign · (u_i − v_j)², row by row.
    add_squared_differences(_s; cells: &mut [f64], sign: f64, u: &[f64], v: &[f64]) {
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            for (cell, &v) in row.iter_mut().zip(v) {
                *cell += sign * ((u - v) * (u - v));
            }
        }
    }
}

kernel! {
    /// cells_ij += sign · u_i v_j, row by row.
    add_products(_s; cells: &mut [f64], sign: f64, u: &[f64], v: &[f64]) {
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            for (cell, &v) in row.iter_mut().zip(v) {
                *cell += sign * (u * v);
            }
        }
    }
}

/// One one-vs-rest model.
struct KernelMachine {
    hinge: HingeRows,
    c: Vec<f64>,
    /// 2C_i θ_i: minus the gradient at the zero model, in the coordinates of c.
    start: Vec<f64>,
    direction: Vec<f64>,
    change: Vec<f64>,
}

impl KernelMachine {
    fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let hinge = HingeRows::new(problem, machine);
        let start = hinge.theta.iter().zip(&hinge.cost).map(|(theta, cost)| theta * cost).collect();
        let zeros = || vec![0.0; problem.rows()];
        Self { hinge, c: zeros(), start, direction: zeros(), change: zeros() }
    }

    /// Fits from the coefficients that there are.
    fn fit(&mut self, kernel: &PackedSymmetric) -> Convergence {
        kernel.multiply(&self.start, &mut self.change);
        let scale = dot(&self.start, &self.change).max(f64::MIN_POSITIVE);
        kernel.multiply(&self.c, &mut self.hinge.decision);
        let tolerance = tolerance(&self.hinge.cost);
        let mut fit =
            KernelFit { machine: self, kernel, scale, tolerance, is_first: true, descent: Descent::new() };
        let fit = minimise(&mut fit, tolerance, MAX_STEPS);
        // What is left on rows without loss is rounding.
        for i in 0..self.c.len() {
            if !self.hinge.has_loss(i) {
                self.c[i] = 0.0;
            }
        }
        fit
    }
}

/// One fit of a machine, as the dual solver's: the gradient is Σ (c_i − g_i) k(·, i), where g is minus the gradient of the loss.
struct KernelFit<'f> {
    machine: &'f mut KernelMachine,
    kernel: &'f PackedSymmetric,
    /// The squared norm of the gradient at the zero model.
    scale: f64,
    tolerance: f64,
    /// No direction was computed yet.
    is_first: bool,
    descent: Descent,
}

impl System for KernelFit<'_> {
    const MAX_STALLS: usize = 8;

    fn gradient(&mut self) -> f64 {
        let KernelMachine { hinge, c, direction: gap, change, .. } = &mut *self.machine;
        hinge.negative_loss_gradient(gap);
        gap.iter_mut().zip(&*c).for_each(|(gap, c)| *gap = c - *gap);
        self.kernel.multiply(gap, change);
        (dot(gap, change).max(0.0) / self.scale).sqrt()
    }

    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
        if after <= self.tolerance {
            return Some(false);
        }
        let KernelMachine { c, hinge, .. } = &*self.machine;
        Some(self.descent.has_stalled(0.5 * dot(c, &hinge.decision) + hinge.loss(), before, after))
    }

    /// There is nothing to rebuild, but decision values that have drifted are made anew.
    fn rebuild(&mut self) {
        let KernelMachine { c, hinge, .. } = &mut *self.machine;
        self.kernel.multiply(c, &mut hinge.decision);
    }

    /// The way to the minimiser with the supporting rows S fixed: (K_SS + diag(1/2C_i)) c = θ on them, zero elsewhere, as a correction
    /// of the coefficients that there are.
    fn direction(&mut self) {
        let KernelMachine { hinge, c, direction, change, .. } = &mut *self.machine;
        // The rows that supported the last fit are a better guess than those that have loss under its coefficients and another kernel.
        let keeps_support = std::mem::take(&mut self.is_first) && c.iter().any(|&c| c != 0.0);
        let supports = |i: usize| if keeps_support { c[i] != 0.0 } else { hinge.has_loss(i) };
        let support: Vec<usize> = (0..c.len()).filter(|&i| supports(i)).collect();
        direction.iter_mut().zip(&*c).for_each(|(direction, c)| *direction = -c);
        support.iter().for_each(|&i| direction[i] = 0.0);
        let is_moved = direction.iter().any(|&direction| direction != 0.0);
        change.fill(0.0);
        if is_moved {
            self.kernel.multiply(direction, change);
        }
        let mut rest: Vec<f64> = support
            .iter()
            .map(|&i| hinge.theta[i] - hinge.decision[i] - change[i] - c[i] / hinge.cost[i])
            .collect();
        if let Some(factor) = factorise(self.kernel, &hinge.cost, &support) {
            factor.solve(&mut rest);
            support.iter().zip(&rest).for_each(|(&i, &step)| direction[i] = step);
        }
        self.kernel.multiply(direction, change);
    }

    fn line_search(&mut self) -> f64 {
        let KernelMachine { c, hinge, direction, change, .. } = &*self.machine;
        hinge.line_search(change, dot(c, change), dot(direction, change))
    }

    fn accept(&mut self, step: f64) {
        let KernelMachine { c, hinge, direction, change, .. } = &mut *self.machine;
        axpy(step, direction, c);
        axpy(step, change, &mut hinge.decision);
    }
}

/// The factor of K_SS + diag(1/2C_i) for some rows S.
fn factorise(kernel: &PackedSymmetric, cost: &[f64], rows: &[usize]) -> Option<Cholesky> {
    Cholesky::of_rows(rows.len(), |i, cells| {
        let own = kernel.row(rows[i]);
        cells.iter_mut().zip(rows).for_each(|(cell, &row)| *cell = own[row]);
        cells[i] += cost[rows[i]].recip();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_read_as_it_is_written() {
        for text in ["scale", "0.5", "2"] {
            assert_eq!(text.parse::<Gamma>().unwrap().to_string(), text);
        }
        for text in ["", "auto", "0", "-1", "inf", "nan"] {
            assert!(text.parse::<Gamma>().is_err(), "{text}");
        }
        assert_eq!((Gamma::Scale.value(4), Gamma::Fixed(3.0).value(4)), (0.25, 3.0));
    }

    /// At the optimum c_i = 2C_i θ_i max(0, 1 − θ_i f_i).
    #[test]
    fn fits_meet_the_optimality_condition() {
        let x = Array2::from_shape_fn((4, 60), |(j, i)| ((i * (13 + 4 * j) + j) % 29) as f64 / 10.0 - 1.4);
        let y: Vec<usize> = (0..60).map(|i| (i * i + i / 7) % 3).collect();
        use super::super::ClassWeight::{Balanced, None as Same};
        for (cost, weight) in
            [0.1, 1.0, 100.0, 1e5].into_iter().flat_map(|cost| [(cost, Same), (cost, Balanced)])
        {
            let problem = Problem::new(x.view(), &y, 3).unwrap().with_cost(cost, weight);
            let mut machines = KernelMachines::new(problem, Kernel::Rbf(Gamma::Scale));
            machines.watch(CowArray::from(x.view()));
            for removed in [None, Some(2), Some(0)] {
                machines.remove(&removed.into_iter().collect::<Vec<_>>());
                assert!(machines.fit().converged);
                let f = machines.decisions(0);
                for machine in 0..3 {
                    let (theta, (positive, negative)) = (problem.labels(machine), problem.costs(machine));
                    for i in 0..60 {
                        let cost = if theta[i] > 0.0 { positive } else { negative };
                        let expected = 2.0 * cost * theta[i] * (1.0 - theta[i] * f[[i, machine]]).max(0.0);
                        let c = machines.coefficients(machine)[i];
                        assert!(
                            (c - expected).abs() < 1e-7 * cost.max(1.0),
                            "C {cost} {machine} {i}: {c} {expected}"
                        );
                    }
                }
            }
        }
    }
}
