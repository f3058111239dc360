//! The exact solver: which Newton formulation fits the problem, and when to change to another.
//!
//! Fewer columns than rows: the primal. Otherwise Gram space. Both stop on the true gradient of the
//! same problem.

use std::borrow::Cow;
use std::sync::OnceLock;

use ndarray::{Array2, CowArray, Ix2};

use super::solver::{LazySolver, by_row, decisions};
use super::{Convergence, Dual, PathSolver, Present, Primal, Problem, Watched};

/// Exact Newton along a path.
pub struct AutoSolver<'a> {
    problem: Problem<'a>,
    watched: Watched<'a>,
    formulation: Formulation,
    /// Until the first fit.
    first: Option<&'a SharedInitialFit>,
}

#[derive(Clone)]
enum Formulation {
    /// These columns are present; nothing is fitted yet.
    Start(Present),
    Dual(Box<Dual>),
    Primal(Box<Primal>),
}

/// The first fit, to be shared by solvers of the same problem that watch the same rows.
#[derive(Default)]
pub struct SharedInitialFit(OnceLock<(Formulation, Convergence)>);

impl<'a> AutoSolver<'a> {
    /// Starts with all columns.
    pub fn new(problem: Problem<'a>, first: Option<&'a SharedInitialFit>) -> Self {
        let formulation = Formulation::Start(Present::all(problem.columns()));
        Self { problem, watched: Watched::default(), formulation, first }
    }

    /// Chooses the formulation that fits the problem, from zero.
    fn choose(&mut self) {
        if let Formulation::Start(columns) = &self.formulation {
            self.formulation = if columns.count() < self.problem.rows() {
                Formulation::Primal(Box::new(Primal::new(&self.problem, columns.list())))
            } else {
                Formulation::Dual(Box::new(Dual::new(&self.problem, columns.clone())))
            };
        }
    }

    /// Switches to the primal once fewer columns than rows are left.
    fn switch_to_primal(&mut self) {
        let (columns, models) = match &self.formulation {
            Formulation::Dual(dual) if dual.columns().count() < self.problem.rows() => {
                (dual.columns().list(), dual.models(&self.problem))
            }
            _ => return,
        };
        self.formulation =
            Formulation::Primal(Box::new(Primal::warm(&self.problem, columns, models)));
    }

    /// Fits on the columns present.
    fn fit_formulation(&mut self) -> Convergence {
        self.choose();
        match &mut self.formulation {
            Formulation::Start(_) => Convergence::NONE,
            Formulation::Primal(primal) => primal.fit(),
            Formulation::Dual(dual) => dual.fit(&self.problem, &self.watched),
        }
    }
}

impl<'a> PathSolver<'a> for AutoSolver<'a> {
    fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    fn watch(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.watched.push(rows);
    }

    fn fit(&mut self) -> Convergence {
        let Some(shared) = self.first.take() else { return self.fit_formulation() };
        // Do not wait for another thread's fit: computing it here takes as long and gives identical
        // bits.
        if let Some((formulation, convergence)) = shared.0.get() {
            self.formulation = formulation.clone();
            return *convergence;
        }
        let convergence = self.fit_formulation();
        let _ = shared.0.set((self.formulation.clone(), convergence));
        convergence
    }

    fn columns(&self) -> Cow<'_, [usize]> {
        match &self.formulation {
            Formulation::Start(columns) => columns.list().into(),
            Formulation::Dual(formulation) => formulation.columns().list().into(),
            Formulation::Primal(formulation) => formulation.columns().into(),
        }
    }

    fn weights(&self, machine: usize, columns: &[usize], weights: &mut [f64]) {
        let each = |weight: &dyn Fn(usize) -> f64, weights: &mut [f64]| {
            weights.iter_mut().zip(columns).for_each(|(own, &column)| *own = weight(column));
        };
        match &self.formulation {
            Formulation::Start(_) => weights.fill(0.0),
            Formulation::Dual(dual) => dual.weights(&self.problem, machine, columns, weights),
            Formulation::Primal(primal) => each(&|column| primal.weight(machine, column), weights),
        }
    }

    fn biases(&self) -> Vec<f64> {
        self.problem.by_class(|machine| match &self.formulation {
            Formulation::Start(_) => 0.0,
            Formulation::Dual(dual) => dual.bias(machine),
            Formulation::Primal(primal) => primal.bias(machine),
        })
    }

    fn decisions(&self, part: usize) -> Array2<f64> {
        let Formulation::Dual(dual) = &self.formulation else {
            return decisions(self, self.watched.part(part));
        };
        let machine = |machine| dual.decisions(machine, &self.watched, self.watched.range(part));
        let by_machine: Vec<Vec<f64>> = (0..self.problem.machines()).map(machine).collect();
        by_row(&by_machine, self.problem.classes())
    }

    fn lazy(&self) -> Option<&dyn LazySolver> {
        if let Formulation::Dual(dual) = &self.formulation { Some(&**dual) } else { None }
    }

    fn lazy_mut(&mut self) -> Option<&mut dyn LazySolver> {
        if let Formulation::Dual(dual) = &mut self.formulation { Some(&mut **dual) } else { None }
    }

    fn remove(&mut self, columns: &[usize]) {
        match &mut self.formulation {
            Formulation::Start(present) => columns.iter().for_each(|&column| {
                present.remove(column);
            }),
            Formulation::Dual(dual) => dual.remove(&self.problem, columns, &self.watched),
            Formulation::Primal(formulation) => formulation.remove(columns),
        }
        self.switch_to_primal();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::linalg::simd::limited;
    use crate::svm::{ClassWeight, class_weights};

    /// The bits of all weights along a path that removes every third column.
    fn bits_of_a_path(rows: usize, classes: usize, widest: usize) -> Vec<u64> {
        let mut rng = Rng::new(6, rows as u64, Purpose::Split);
        let x = Array2::from_shape_fn((45, rows), |_| rng.uniform() - 0.5);
        let y: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let problem = Problem::new(x.view(), &y, classes).unwrap();
        limited::to(widest, || {
            let mut solver = AutoSolver::new(problem, None);
            let mut bits = Vec::new();
            for gone in (0..45).step_by(3) {
                assert!(solver.fit().converged);
                (0..classes).for_each(|class| {
                    bits.extend(class_weights(&solver, class).iter().map(|w| w.to_bits()))
                });
                solver.remove(&[gone]);
            }
            bits
        })
    }

    #[test]
    fn vectors_of_any_width_give_the_same_bits() {
        // More columns than rows at first, and then fewer; fewer from the start; many rows, of
        // which some are tried first.
        for (rows, classes) in [(40, 2), (40, 3), (90, 2), (90, 4), (500, 3)] {
            let plain = bits_of_a_path(rows, classes, 128);
            for widest in [256, 512] {
                assert!(
                    bits_of_a_path(rows, classes, widest) == plain,
                    "{rows} {classes} {widest}"
                );
            }
        }
    }

    #[test]
    fn converges_with_about_as_many_columns_as_rows_and_large_costs() {
        for seed in 0..10 {
            let mut rng = Rng::new(7, seed, Purpose::Split);
            let mut normal = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
            let x = Array2::from_shape_fn((96, 87), |_| normal());
            let y: Vec<usize> = (0..87).map(|i| i % 3).collect();
            for cost in [10.0, 1e5] {
                let problem =
                    Problem::new(x.view(), &y, 3).unwrap().with_cost(cost, ClassWeight::None);
                let mut solver = AutoSolver::new(problem, None);
                for gone in [5, 40, 77, 12, 3, 50, 60, 61, 62, 63, 64, 65] {
                    let fit = solver.fit();
                    assert!(
                        fit.converged && fit.residual < 1e-10 / cost + 1e-13,
                        "{seed} {cost}: {fit:?}"
                    );
                    solver.remove(&[gone]);
                }
            }
        }
    }
}
