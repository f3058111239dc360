//! The exact solver: which Newton route fits the problem, and when to change to another.
//!
//! Fewer columns than rows: the primal. Otherwise Gram space, or, where K is too ill-conditioned to hold the model, w with
//! solves in Gram space. All three stop on the true gradient of the same problem.

use ndarray::{Array2, CowArray, Ix2};

use super::solver::{MARKS, by_row, decisions};
use super::{Convergence, Drift, Gram, Newton, PathSolver, Problem, Watched, Woodbury};

/// Exact Newton along a path.
pub struct Exact<'a> {
    problem: Problem<'a>,
    watched: Watched<'a>,
    route: Route<'a>,
}

enum Route<'a> {
    Gram(Gram<'a>),
    Woodbury(Woodbury<'a>),
    Primal(Box<Newton>),
}

impl<'a> Exact<'a> {
    /// Starts from the zero model with all columns.
    pub fn new(problem: Problem<'a>) -> Self {
        let route = if problem.x.nrows() < problem.y.len() {
            Route::Primal(Box::new(Newton::new(problem)))
        } else {
            Route::Gram(Gram::new(problem))
        };
        Self { problem, watched: Watched::default(), route }
    }

    /// The primal, once fewer columns than rows are left.
    fn hand_over(&mut self) {
        let (columns, models) = match &self.route {
            Route::Gram(gram) if gram.columns().len() < self.problem.y.len() => {
                (gram.columns(), gram.models())
            }
            Route::Woodbury(route) if route.columns().len() < self.problem.y.len() => {
                (route.columns(), route.models())
            }
            _ => return,
        };
        self.route = Route::Primal(Box::new(Newton::warm(self.problem, columns.to_vec(), models)));
    }

    fn of_machine(&self, machine: usize, column: usize) -> f64 {
        match &self.route {
            Route::Gram(route) => route.weight(machine, column),
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
        match &mut self.route {
            Route::Primal(route) => route.fit(),
            Route::Woodbury(route) => route.fit(),
            Route::Gram(gram) => {
                let convergence = gram.fit(&self.watched);
                if convergence.converged {
                    return convergence;
                }
                let zero = vec![0.0; gram.columns().len() + 1];
                let models = vec![zero; self.problem.machines()];
                let mut route = Woodbury::warm(self.problem, gram.columns().to_vec(), models);
                let convergence = route.fit();
                self.route = Route::Woodbury(route);
                convergence
            }
        }
    }

    fn columns(&self) -> &[usize] {
        match &self.route {
            Route::Gram(route) => route.columns(),
            Route::Woodbury(route) => route.columns(),
            Route::Primal(route) => route.columns(),
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

    fn weights_of_each(&self, columns: &[usize]) -> Vec<f64> {
        let of_machine = |machine: usize| match &self.route {
            Route::Gram(route) => route.weights(machine, columns),
            _ => columns.iter().map(|&column| self.of_machine(machine, column)).collect(),
        };
        let by_machine: Vec<Vec<f64>> = (0..self.problem.machines()).map(of_machine).collect();
        by_row(&by_machine, self.problem.classes).into_raw_vec_and_offset().0
    }

    fn bias(&self, class: usize) -> f64 {
        let of_machine = |machine| match &self.route {
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

    fn drifts(&self) -> Option<[Drift; MARKS]> {
        match &self.route {
            Route::Gram(gram) => Some(gram.drifts()),
            Route::Woodbury(_) | Route::Primal(_) => None,
        }
    }

    fn remove(&mut self, columns: &[usize]) {
        match &mut self.route {
            Route::Gram(gram) => gram.remove(columns, &self.watched),
            Route::Woodbury(route) => route.remove(columns),
            Route::Primal(route) => route.remove(columns),
        }
        self.hand_over();
    }
}
