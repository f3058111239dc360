//! The exact solver: which Newton route fits the problem, and when to change to another.
//!
//! Fewer columns than rows: the primal. Otherwise Gram space, or, where K is too ill-conditioned to hold the model, w with
//! solves in Gram space. All three stop on the true gradient of the same problem.

use std::borrow::Cow;
use std::sync::OnceLock;

use ndarray::{Array2, CowArray, Ix2};

use super::solver::{MARKS, by_row, decisions};
use super::{Convergence, Drift, Gram, Newton, PathSolver, Precision, Present, Problem, Watched, Woodbury};

/// Exact Newton along a path.
pub struct Exact<'a> {
    problem: Problem<'a>,
    watched: Watched<'a>,
    route: Route,
}

#[derive(Clone)]
enum Route {
    /// Nothing is fitted yet of these columns.
    Start(Present),
    Gram(Gram),
    Woodbury(Woodbury),
    Primal(Box<Newton>),
}

/// The first fit, for all that solve the same problem and watch the same rows: kernels, models and what they are made of.
#[derive(Default)]
pub struct FirstFit(OnceLock<(Route, Convergence)>);

impl<'a> Exact<'a> {
    /// Starts with all columns.
    pub fn new(problem: Problem<'a>) -> Self {
        let route = Route::Start(Present::all(problem.x.nrows()));
        Self { problem, watched: Watched::default(), route }
    }

    /// The route that fits the problem, from zero.
    fn set_out(&mut self) {
        if let Route::Start(columns) = &self.route {
            self.route = if columns.count() < self.problem.y.len() {
                Route::Primal(Box::new(Newton::new(&self.problem, columns.list())))
            } else {
                Route::Gram(Gram::new(&self.problem, columns.clone()))
            };
        }
    }

    /// The primal, once fewer columns than rows are left.
    fn hand_over(&mut self) {
        let (columns, models) = match &self.route {
            Route::Gram(gram) if gram.columns().count() < self.problem.y.len() => {
                (gram.columns().list(), gram.models(&self.problem))
            }
            Route::Woodbury(route) if route.columns().len() < self.problem.y.len() => {
                (route.columns().to_vec(), route.models())
            }
            _ => return,
        };
        self.route = Route::Primal(Box::new(Newton::warm(&self.problem, columns, models)));
    }

    /// The weights of some columns under one machine.
    fn weights_into(&self, machine: usize, columns: &[usize], how: Precision, weights: &mut Vec<f64>) {
        weights.resize(columns.len(), 0.0);
        match &self.route {
            Route::Gram(route) => route.weights_into(&self.problem, machine, columns, how, weights),
            _ => weights
                .iter_mut()
                .zip(columns)
                .for_each(|(weight, &column)| *weight = self.of_machine(machine, column)),
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
    fn of_machine(&self, machine: usize, column: usize) -> f64 {
        match &self.route {
            Route::Start(_) => 0.0,
            Route::Gram(route) => route.weight(&self.problem, machine, column),
            Route::Woodbury(route) => route.weight(machine, column),
            Route::Primal(route) => route.weight(machine, column),
        }
    }
}

impl<'a> PathSolver<'a> for Exact<'a> {
    fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    fn watch(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.watched.push(rows);
    }

    fn fit(&mut self) -> Convergence {
        self.set_out();
        match &mut self.route {
            Route::Start(_) => Convergence::NONE,
            Route::Primal(route) => route.fit(),
            Route::Woodbury(route) => route.fit(&self.problem),
            Route::Gram(gram) => {
                let convergence = gram.fit(&self.problem, &self.watched);
                if convergence.converged {
                    return convergence;
                }
                let zero = vec![0.0; gram.columns().count() + 1];
                let models = vec![zero; self.problem.machines()];
                let mut route = Woodbury::warm(&self.problem, gram.columns().list(), models);
                let convergence = route.fit(&self.problem);
                self.route = Route::Woodbury(route);
                convergence
            }
        }
    }

    fn fit_first(&mut self, shared: &FirstFit) -> Convergence {
        // Nobody waits for another's fit: it would take as long as one's own, which has the same bits.
        if let Some((route, convergence)) = shared.0.get() {
            self.route = route.clone();
            return *convergence;
        }
        let convergence = self.fit();
        let _ = shared.0.set((self.route.clone(), convergence));
        convergence
    }

    fn columns(&self) -> Cow<'_, [usize]> {
        match &self.route {
            Route::Start(columns) => columns.list().into(),
            Route::Gram(route) => route.columns().list().into(),
            Route::Woodbury(route) => route.columns().into(),
            Route::Primal(route) => route.columns().into(),
        }
    }

    fn weights_of(&self, column: usize, by_class: &mut [f64]) {
        if let [mirror, own] = by_class {
            *own = self.of_machine(0, column);
            *mirror = -*own;
        } else {
            by_class.iter_mut().enumerate().for_each(|(class, w)| *w = self.of_machine(class, column));
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
        let of_machine = |machine| match &self.route {
            Route::Start(_) => 0.0,
            Route::Gram(route) => route.bias(machine),
            Route::Woodbury(route) => route.bias(machine),
            Route::Primal(route) => route.bias(machine),
        };
        match (self.problem.classes, class) {
            (2, 0) => -of_machine(0),
            (2, _) => of_machine(0),
            _ => of_machine(class),
        }
    }

    fn decisions(&self, part: usize) -> Array2<f64> {
        let Route::Gram(gram) = &self.route else { return decisions(self, self.watched.part(part)) };
        let machine = |machine| gram.decisions(machine, &self.watched, self.watched.range(part));
        let by_machine: Vec<Vec<f64>> = (0..self.problem.machines()).map(machine).collect();
        by_row(&by_machine, self.problem.classes)
    }

    fn mark(&mut self, mark: usize) {
        if let Route::Gram(gram) = &mut self.route {
            gram.mark(mark);
        }
    }

    fn is_lazy(&self) -> bool {
        matches!(self.route, Route::Gram(_))
    }

    fn drifts(&self, marks: usize) -> [Drift; MARKS] {
        match &self.route {
            Route::Gram(gram) => gram.drifts(&self.problem, marks),
            Route::Start(_) | Route::Woodbury(_) | Route::Primal(_) => [Drift::UNKNOWN; MARKS],
        }
    }

    fn remove(&mut self, columns: &[usize]) {
        match &mut self.route {
            Route::Start(present) => columns.iter().for_each(|&column| {
                present.remove(column);
            }),
            Route::Gram(gram) => gram.remove(&self.problem, columns, &self.watched),
            Route::Woodbury(route) => route.remove(columns),
            Route::Primal(route) => route.remove(columns),
        }
        self.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Stream};
    use crate::svm::ClassWeight;
    use crate::svm::vectors::narrowed;

    /// The bits of all weights along a path that removes every third column.
    fn bits_of_a_path(rows: usize, classes: usize, widest: usize) -> Vec<u64> {
        let mut stream = Stream::new(6, rows as u64, Purpose::Split);
        let x = Array2::from_shape_fn((45, rows), |_| stream.uniform() - 0.5);
        let y: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let problem = Problem { x: x.view(), y: &y, classes, cost: 1.0, weight: ClassWeight::None };
        narrowed::to(widest, || {
            let mut solver = Exact::new(problem);
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
            let mut stream = Stream::new(7, seed, Purpose::Split);
            let mut normal = || (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0;
            let x = Array2::from_shape_fn((96, 87), |_| normal());
            let y: Vec<usize> = (0..87).map(|i| i % 3).collect();
            for cost in [10.0, 1e5] {
                let problem = Problem { x: x.view(), y: &y, classes: 3, cost, weight: ClassWeight::None };
                let mut solver = Exact::new(problem);
                for gone in [5, 40, 77, 12, 3, 50, 60, 61, 62, 63, 64, 65] {
                    let fit = solver.fit();
                    assert!(fit.converged && fit.residual < 1e-10 / cost + 1e-13, "{seed} {cost}: {fit:?}");
                    solver.remove(&[gone]);
                }
            }
        }
    }
}
