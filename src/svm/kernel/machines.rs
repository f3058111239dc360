//! One-vs-rest machines with a kernel: squared distances follow the removal of a column; kernels
//! are made of them for each fit, since γ depends on the columns present.

use ndarray::{Array2, CowArray, Ix2};

use super::Gamma;
use super::binary_machine::Machine;
use super::support_factor::SupportFactor;
use crate::linalg::simd::kernel;
use crate::linalg::{PackedSymmetric, add_all_rows, decay};
use crate::svm::solver::by_row;
use crate::svm::{Convergence, Present, Problem, Watched};

/// One model per class on the columns still present.
pub struct KernelMachines<'a> {
    problem: Problem<'a>,
    gamma: Gamma,
    columns: Present,
    watched: Watched<'a>,
    /// Squared distances of training rows with training rows, and with watched rows,
    /// row by row.
    own: PackedSymmetric,
    cross: Vec<f64>,
    /// Columns present when they were last computed from the data: differences drift.
    computed_at: usize,
    /// The kernels of the training rows, with the bias.
    own_kernel: PackedSymmetric,
    machines: Vec<Machine>,
    /// Of the last machine that was fitted; kept for its memory.
    factor: SupportFactor,
}

impl<'a> KernelMachines<'a> {
    /// Starts from the zero model with all columns.
    pub fn new(problem: Problem<'a>, gamma: Gamma) -> Self {
        let machines =
            (0..problem.machines()).map(|machine| Machine::new(&problem, machine)).collect();
        Self {
            gamma,
            columns: Present::all(problem.columns()),
            watched: Watched::default(),
            own: PackedSymmetric::default(),
            cross: Vec::new(),
            computed_at: 0,
            own_kernel: PackedSymmetric::zeros(problem.rows()),
            machines,
            factor: SupportFactor::default(),
            problem,
        }
    }

    /// Takes rows (feature-major) whose decision values will be read after every fit; before the
    /// first fit.
    pub fn watch(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.watched.push(rows);
    }

    /// The problem that is solved.
    pub fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    /// γ with the columns present.
    pub fn gamma(&self) -> f64 {
        self.gamma.value(self.columns.count())
    }

    /// Fits all machines on the columns present.
    pub fn fit(&mut self) -> Convergence {
        if self.computed_at == 0 {
            self.compute();
        }
        let mut own_kernel = std::mem::take(&mut self.own_kernel);
        (0..self.problem.rows())
            .for_each(|i| self.with_bias(self.own.kept(i), own_kernel.kept_mut(i)));
        self.own_kernel = own_kernel;
        let kernel = &self.own_kernel;
        let factor = &mut self.factor;
        self.machines
            .iter_mut()
            .map(|machine| machine.fit(kernel, factor))
            .fold(Convergence::NONE, Convergence::and)
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
        for (i, own) in x.iter().enumerate() {
            let row = self.own.kept_mut(i);
            add_squared_differences(row, sign, std::slice::from_ref(own), &x[..row.len()]);
        }
        add_squared_differences(&mut self.cross, sign, x, &watched);
    }

    /// Kernels with the bias, of squared distances.
    fn with_bias(&self, distances: &[f64], kernels: &mut [f64]) {
        decay(distances, self.gamma(), 1.0, kernels);
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
        let watched = self.watched.rows();
        // Made when they are asked for: not every part is at every size.
        let mut kernels = vec![0.0; self.problem.rows() * range.len()];
        let rows = kernels
            .chunks_exact_mut(range.len().max(1))
            .zip(self.cross.chunks_exact(watched.max(1)));
        rows.for_each(|(kernels, cells)| self.with_bias(&cells[range.clone()], kernels));
        let of_machine = |machine: &Machine| {
            let mut decisions = vec![0.0; range.len()];
            add_all_rows(&kernels, range.len(), 0..range.len(), &machine.c, &mut decisions);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// At the optimum c_i = 2C_i θ_i max(0, 1 − θ_i f_i).
    #[test]
    fn fits_meet_the_optimality_condition() {
        let x = Array2::from_shape_fn((4, 60), |(j, i)| {
            ((i * (13 + 4 * j) + j) % 29) as f64 / 10.0 - 1.4
        });
        let y: Vec<usize> = (0..60).map(|i| (i * i + i / 7) % 3).collect();
        use crate::svm::ClassWeight::{Balanced, None as Same};
        for (cost, weight) in
            [0.1, 1.0, 100.0, 1e5].into_iter().flat_map(|cost| [(cost, Same), (cost, Balanced)])
        {
            let problem = Problem::new(x.view(), &y, 3).unwrap().with_cost(cost, weight);
            let mut machines = KernelMachines::new(problem, Gamma::Scale);
            machines.watch(CowArray::from(x.view()));
            for removed in [None, Some(2), Some(0)] {
                machines.remove(&removed.into_iter().collect::<Vec<_>>());
                assert!(machines.fit().converged);
                let f = machines.decisions(0);
                for machine in 0..3 {
                    let (theta, (positive, negative)) =
                        (problem.labels(machine), problem.costs(machine));
                    for i in 0..60 {
                        let cost = if theta[i] > 0.0 { positive } else { negative };
                        let expected =
                            2.0 * cost * theta[i] * (1.0 - theta[i] * f[[i, machine]]).max(0.0);
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
