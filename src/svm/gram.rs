//! Exact Newton on the squared hinge in Gram space, for at least as many columns as rows (METHOD.md section 10).
//!
//! The model is w = Σ a_i x_i, so fits see only K = X Xᵀ + 1 (rows × rows; the 1 is the bias). Removing a column is a
//! rank-1 downdate of K. When fewer columns than rows are left, the primal route takes over.

use ndarray::{Array2, ArrayView1};

use super::lanes::{Square, axpy, dot};
use super::margin::{ACCEPTABLE, MOST_STEPS, Margin, TOLERANCE};
use super::newton::feature;
use super::{Convergence, Newton, PathSolver, Problem};

/// Warm-started Newton in Gram space, then in the primal.
pub struct Gram<'a> {
    problem: Problem<'a>,
    columns: Vec<usize>,
    kernel: Square,
    /// Columns at the last computation of the kernel from the data: downdates drift, so it is renewed at half of them.
    fresh_at: usize,
    machines: Vec<Machine>,
    weights: Array2<f64>,
    bias: Vec<f64>,
    primal: Option<Newton<'a>>,
}

/// One one-vs-all model, w = Σ a_i x_i.
struct Machine {
    margin: Margin,
    a: Vec<f64>,
}

impl<'a> Gram<'a> {
    /// Starts from the zero model with all columns.
    pub fn new(problem: Problem<'a>) -> Self {
        let columns: Vec<usize> = (0..problem.x.nrows()).collect();
        let machines = (0..problem.machines())
            .map(|machine| Machine { margin: Margin::new(&problem, machine), a: vec![0.0; problem.y.len()] })
            .collect();
        let kernel = kernel(&problem, &columns);
        let weights = Array2::zeros((problem.classes, columns.len()));
        let (fresh_at, bias) = (columns.len(), vec![0.0; problem.classes]);
        Self { problem, columns, kernel, fresh_at, machines, weights, bias, primal: None }
    }

    /// w and b by class, from the coefficients.
    fn publish(&mut self) {
        for (m, machine) in self.machines.iter().enumerate() {
            let class = self.problem.positive(m);
            self.bias[class] = machine.a.iter().sum();
            for &column in &self.columns {
                self.weights[[class, column]] = dot(feature(&self.problem, column), &machine.a);
            }
        }
        if self.problem.classes == 2 {
            self.bias[0] = -self.bias[1];
            let mirror = -&self.weights.row(1);
            self.weights.row_mut(0).assign(&mirror);
        }
    }

    /// The primal route, from where this one is.
    fn hand_over(&self) -> Newton<'a> {
        let models: Vec<Vec<f64>> = self
            .machines
            .iter()
            .map(|machine| {
                let weight = |&column: &usize| dot(feature(&self.problem, column), &machine.a);
                std::iter::once(machine.a.iter().sum()).chain(self.columns.iter().map(weight)).collect()
            })
            .collect();
        Newton::warm(self.problem, self.columns.clone(), &models)
    }
}

impl PathSolver for Gram<'_> {
    fn fit(&mut self) -> Convergence {
        if let Some(primal) = &mut self.primal {
            return primal.fit();
        }
        let mut total = Convergence { converged: true, residual: 0.0, iterations: 0 };
        for machine in &mut self.machines {
            let one = machine.fit(&self.kernel);
            total.converged &= one.converged;
            total.residual = total.residual.max(one.residual);
            total.iterations += one.iterations;
        }
        self.publish();
        total
    }

    fn columns(&self) -> &[usize] {
        self.primal.as_ref().map_or(&self.columns, |primal| primal.columns())
    }

    fn weights(&self, class: usize) -> ArrayView1<'_, f64> {
        self.primal.as_ref().map_or(self.weights.row(class), |primal| primal.weights(class))
    }

    fn bias(&self, class: usize) -> f64 {
        self.primal.as_ref().map_or(self.bias[class], |primal| primal.bias(class))
    }

    fn remove(&mut self, columns: &[usize]) {
        if let Some(primal) = &mut self.primal {
            return primal.remove(columns);
        }
        for column in columns {
            if let Ok(position) = self.columns.binary_search(column) {
                self.columns.remove(position);
                self.weights.column_mut(*column).fill(0.0);
                self.kernel.add_outer(-1.0, feature(&self.problem, *column));
            }
        }
        if self.columns.len() < self.problem.y.len() {
            self.primal = Some(self.hand_over());
            return;
        }
        if self.columns.len() <= self.fresh_at / 2 {
            self.kernel = kernel(&self.problem, &self.columns);
            self.fresh_at = self.columns.len();
        }
        for machine in &mut self.machines {
            machine.margin.decision = self.kernel.times(&machine.a);
        }
    }
}

impl Machine {
    /// Newton steps until the true gradient, Σ (a_i − pull_i) x_i, vanishes.
    fn fit(&mut self, kernel: &Square) -> Convergence {
        let start: Vec<f64> = self.margin.theta.iter().zip(&self.margin.cost).map(|(t, c)| t * c).collect();
        let scale = dot(&start, &kernel.times(&start)).max(f64::MIN_POSITIVE).sqrt();
        let mut residual = f64::INFINITY;
        let mut stalls = 0;
        for iterations in 0..MOST_STEPS {
            let mut gap = self.margin.pull();
            gap.iter_mut().zip(&self.a).for_each(|(pull, a)| *pull = a - *pull);
            let now = dot(&gap, &kernel.times(&gap)).max(0.0).sqrt() / scale;
            stalls = if now >= 0.5 * residual { stalls + 1 } else { 0 };
            residual = now;
            if now <= TOLERANCE || stalls > 8 {
                return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
            }
            let Some(mut direction) = self.solve(kernel) else {
                return Convergence { converged: false, residual, iterations };
            };
            axpy(-1.0, &self.a, &mut direction);
            let change = kernel.times(&direction);
            let step = self.margin.line_search(&change, dot(&self.a, &change), dot(&direction, &change));
            axpy(step, &direction, &mut self.a);
            axpy(step, &change, &mut self.margin.decision);
        }
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }

    /// The minimiser with the supporting rows fixed: (K_SS + diag(1/2C_i)) a = θ on them, zero elsewhere.
    fn solve(&self, kernel: &Square) -> Option<Vec<f64>> {
        let rows: Vec<usize> = (0..self.a.len()).filter(|&i| self.margin.inside(i)).collect();
        let mut system = Square::zeros(rows.len());
        for (s, &i) in rows.iter().enumerate() {
            let source = kernel.row(i);
            let target = system.row_mut(s);
            target.iter_mut().zip(&rows).for_each(|(cell, &j)| *cell = source[j]);
            target[s] += self.margin.cost[i].recip();
        }
        let mut solution: Vec<f64> = rows.iter().map(|&i| self.margin.theta[i]).collect();
        system.cholesky()?.solve(&mut solution);
        let mut a = vec![0.0; self.a.len()];
        rows.iter().zip(solution).for_each(|(&i, value)| a[i] = value);
        Some(a)
    }
}

/// X Xᵀ + 1 over the given columns.
fn kernel(problem: &Problem<'_>, columns: &[usize]) -> Square {
    let rows = problem.y.len();
    let mut kernel = Square::zeros(rows);
    kernel.add_outer(1.0, &vec![1.0; rows]);
    for &column in columns {
        kernel.add_outer(1.0, feature(problem, column));
    }
    kernel
}
