//! The exact solver: which Newton formulation fits the problem, and when to change to another.
//!
//! Fewer columns than rows: the primal. Otherwise Gram space, or, where K is too ill-conditioned to hold the model, w with
//! solves in Gram space. All three stop on the true gradient of the same problem.

use std::borrow::Cow;
use std::sync::OnceLock;

use ndarray::{Array2, CowArray, Ix2};

use super::solver::{LazySolver, MAX_SNAPSHOTS, by_row, decisions};
use super::{
    Convergence, DriftBound, Dual, PathSolver, Precision, Present, Primal, Problem, Watched, Woodbury,
};

/// Exact Newton along a path.
pub struct AutoSolver<'a> {
    problem: Problem<'a>,
    watched: Watched<'a>,
    formulation: Formulation,
}

#[derive(Clone)]
enum Formulation {
    /// Nothing is fitted yet of these columns.
    Start(Present),
    Dual(Dual),
    Woodbury(Woodbury),
    Primal(Box<Primal>),
}

/// The first fit, to be shared by solvers of the same problem that watch the same rows.
#[derive(Default)]
pub struct SharedInitialFit(OnceLock<(Formulation, Convergence)>);

impl<'a> AutoSolver<'a> {
    /// Starts with all columns.
    pub fn new(problem: Problem<'a>) -> Self {
        let formulation = Formulation::Start(Present::all(problem.x.nrows()));
        Self { problem, watched: Watched::default(), formulation }
    }

    /// Chooses the formulation that fits the problem, from zero.
    fn choose(&mut self) {
        if let Formulation::Start(columns) = &self.formulation {
            self.formulation = if columns.count() < self.problem.y.len() {
                Formulation::Primal(Box::new(Primal::new(&self.problem, columns.list())))
            } else {
                Formulation::Dual(Dual::new(&self.problem, columns.clone()))
            };
        }
    }

    /// Switches to the primal once fewer columns than rows are left.
    fn switch_to_primal(&mut self) {
        let (columns, models) = match &self.formulation {
            Formulation::Dual(dual) if dual.columns().count() < self.problem.y.len() => {
                (dual.columns().list(), dual.models(&self.problem))
            }
            Formulation::Woodbury(formulation) if formulation.columns().len() < self.problem.y.len() => {
                (formulation.columns().to_vec(), formulation.models())
            }
            _ => return,
        };
        self.formulation = Formulation::Primal(Box::new(Primal::warm(&self.problem, columns, models)));
    }

    /// The weights of some columns under one machine.
    fn weights_into(&self, machine: usize, columns: &[usize], how: Precision, weights: &mut Vec<f64>) {
        weights.resize(columns.len(), 0.0);
        match &self.formulation {
            Formulation::Dual(formulation) => {
                formulation.weights_into(&self.problem, machine, columns, how, weights)
            }
            _ => weights
                .iter_mut()
                .zip(columns)
                .for_each(|(weight, &column)| *weight = self.weight(machine, column)),
        }
    }

    /// For each of some columns, the sum over the machines of what is made of its number and its weight. Two classes have one
    /// machine: then it is what is made of that.
    fn sum_up(
        &self,
        columns: &[usize],
        how: Precision,
        sums: &mut Vec<f64>,
        term: impl Fn(usize, usize, f64) -> f64,
    ) {
        self.weights_into(0, columns, how, sums);
        sums.iter_mut().zip(columns).for_each(|(sum, &column)| *sum = term(0, column, *sum));
        let mut weights = Vec::new();
        for machine in 1..self.problem.machines() {
            self.weights_into(machine, columns, how, &mut weights);
            let terms = columns.iter().zip(&weights).map(|(&column, &weight)| term(machine, column, weight));
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }

    #[inline]
    fn weight(&self, machine: usize, column: usize) -> f64 {
        match &self.formulation {
            Formulation::Start(_) => 0.0,
            Formulation::Dual(formulation) => formulation.weight(&self.problem, machine, column),
            Formulation::Woodbury(formulation) => formulation.weight(machine, column),
            Formulation::Primal(formulation) => formulation.weight(machine, column),
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
        self.choose();
        match &mut self.formulation {
            Formulation::Start(_) => Convergence::NONE,
            Formulation::Primal(formulation) => formulation.fit(),
            Formulation::Woodbury(formulation) => formulation.fit(&self.problem),
            Formulation::Dual(dual) => {
                let convergence = dual.fit(&self.problem, &self.watched);
                if convergence.converged {
                    return convergence;
                }
                let zero = vec![0.0; dual.columns().count() + 1];
                let models = vec![zero; self.problem.machines()];
                let mut formulation = Woodbury::warm(&self.problem, dual.columns().list(), models);
                let convergence = formulation.fit(&self.problem);
                self.formulation = Formulation::Woodbury(formulation);
                convergence
            }
        }
    }

    fn fit_first(&mut self, shared: &SharedInitialFit) -> Convergence {
        // Do not wait for another thread's fit: computing it here takes as long and gives identical bits.
        if let Some((formulation, convergence)) = shared.0.get() {
            self.formulation = formulation.clone();
            return *convergence;
        }
        let convergence = self.fit();
        let _ = shared.0.set((self.formulation.clone(), convergence));
        convergence
    }

    fn columns(&self) -> Cow<'_, [usize]> {
        match &self.formulation {
            Formulation::Start(columns) => columns.list().into(),
            Formulation::Dual(formulation) => formulation.columns().list().into(),
            Formulation::Woodbury(formulation) => formulation.columns().into(),
            Formulation::Primal(formulation) => formulation.columns().into(),
        }
    }

    fn weights_of(&self, column: usize, by_class: &mut [f64]) {
        if let [mirror, own] = by_class {
            *own = self.weight(0, column);
            *mirror = -*own;
        } else {
            by_class.iter_mut().enumerate().for_each(|(class, w)| *w = self.weight(class, column));
        }
    }

    fn combined(&self, columns: &[usize], factors: &[f64], how: Precision, sums: &mut Vec<f64>) {
        let classes = self.problem.classes;
        if classes == 2 {
            let (pairs, _) = factors.as_chunks::<2>();
            self.sum_up(columns, how, sums, |_, column, weight| {
                let [mirror, own] = pairs[column];
                -weight * mirror + weight * own
            });
        } else {
            let factor = |machine, column| factors[column * classes + machine];
            self.sum_up(columns, how, sums, |machine, column, weight| weight * factor(machine, column));
        }
    }

    fn squares(&self, columns: &[usize], how: Precision, sums: &mut Vec<f64>) {
        // The mirror image of one of two classes has the same.
        let twice = if self.problem.classes == 2 { 2.0 } else { 1.0 };
        self.sum_up(columns, how, sums, |_, _, weight| twice * (weight * weight));
    }

    fn bias(&self, class: usize) -> f64 {
        let of_machine = |machine| match &self.formulation {
            Formulation::Start(_) => 0.0,
            Formulation::Dual(formulation) => formulation.bias(machine),
            Formulation::Woodbury(formulation) => formulation.bias(machine),
            Formulation::Primal(formulation) => formulation.bias(machine),
        };
        match (self.problem.classes, class) {
            (2, 0) => -of_machine(0),
            (2, _) => of_machine(0),
            _ => of_machine(class),
        }
    }

    fn decisions(&self, part: usize) -> Array2<f64> {
        let Formulation::Dual(dual) = &self.formulation else {
            return decisions(self, self.watched.part(part));
        };
        let machine = |machine| dual.decisions(machine, &self.watched, self.watched.range(part));
        let by_machine: Vec<Vec<f64>> = (0..self.problem.machines()).map(machine).collect();
        by_row(&by_machine, self.problem.classes)
    }

    fn lazy(&mut self) -> Option<&mut dyn LazySolver> {
        self.is_lazy().then_some(self)
    }

    fn is_lazy(&self) -> bool {
        matches!(self.formulation, Formulation::Dual(_))
    }

    fn remove(&mut self, columns: &[usize]) {
        match &mut self.formulation {
            Formulation::Start(present) => columns.iter().for_each(|&column| {
                present.remove(column);
            }),
            Formulation::Dual(dual) => dual.remove(&self.problem, columns, &self.watched),
            Formulation::Woodbury(formulation) => formulation.remove(columns),
            Formulation::Primal(formulation) => formulation.remove(columns),
        }
        self.switch_to_primal();
    }
}

impl LazySolver for AutoSolver<'_> {
    fn snapshot(&mut self, snapshot: usize) {
        if let Formulation::Dual(dual) = &mut self.formulation {
            dual.snapshot(snapshot);
        }
    }

    fn drift_bounds(&self, snapshots: usize) -> [DriftBound; MAX_SNAPSHOTS] {
        match &self.formulation {
            Formulation::Dual(dual) => dual.drift_bounds(&self.problem, snapshots),
            Formulation::Start(_) | Formulation::Woodbury(_) | Formulation::Primal(_) => {
                [DriftBound::UNKNOWN; MAX_SNAPSHOTS]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::linalg::simd::limited;
    use crate::svm::ClassWeight;

    /// The bits of all weights along a path that removes every third column.
    fn bits_of_a_path(rows: usize, classes: usize, widest: usize) -> Vec<u64> {
        let mut rng = Rng::new(6, rows as u64, Purpose::Split);
        let x = Array2::from_shape_fn((45, rows), |_| rng.uniform() - 0.5);
        let y: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let problem = Problem { x: x.view(), y: &y, classes, cost: 1.0, weight: ClassWeight::None };
        limited::to(widest, || {
            let mut solver = AutoSolver::new(problem);
            let mut bits = Vec::new();
            for gone in (0..45).step_by(3) {
                assert!(solver.fit().converged);
                (0..classes).for_each(|class| bits.extend(solver.weights(class).iter().map(|w| w.to_bits())));
                solver.remove(&[gone]);
            }
            bits
        })
    }

    #[test]
    fn vectors_of_any_width_give_the_same_bits() {
        // More columns than rows at first, and then fewer; fewer from the start; many rows, of which some are tried first.
        for (rows, classes) in [(40, 2), (40, 3), (90, 2), (90, 4), (500, 3)] {
            let plain = bits_of_a_path(rows, classes, 128);
            for widest in [256, 512] {
                assert!(bits_of_a_path(rows, classes, widest) == plain, "{rows} {classes} {widest}");
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
                let problem = Problem { x: x.view(), y: &y, classes: 3, cost, weight: ClassWeight::None };
                let mut solver = AutoSolver::new(problem);
                for gone in [5, 40, 77, 12, 3, 50, 60, 61, 62, 63, 64, 65] {
                    let fit = solver.fit();
                    assert!(fit.converged && fit.residual < 1e-10 / cost + 1e-13, "{seed} {cost}: {fit:?}");
                    solver.remove(&[gone]);
                }
            }
        }
    }
}
