//! stub

use ndarray::ArrayView1;

use super::{Convergence, PathSolver, Problem};

/// A cold linfa-svm fit for every class and step.
pub struct Newton<'a> {
    problem: Problem<'a>,
}

impl<'a> Newton<'a> {
    /// Refuses what linfa-svm solves badly: more than 2000 rows, columns of very different scale, values that are not finite.
    pub fn new(problem: Problem<'a>) -> Self {
        Self { problem }
    }
}

impl PathSolver for Newton<'_> {
    fn fit(&mut self) -> Convergence {
        todo!("{:?}", self.problem)
    }
    fn columns(&self) -> &[usize] {
        todo!()
    }
    fn weights(&self, _class: usize) -> ArrayView1<'_, f64> {
        todo!()
    }
    fn bias(&self, _class: usize) -> f64 {
        todo!()
    }
    fn remove(&mut self, _columns: &[usize]) {
        todo!()
    }
}
