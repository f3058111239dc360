//! What every solver can do: fit all classes on the columns present, and let columns go.

use std::str::FromStr;

use ndarray::{Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use super::lanes::axpy;
use super::{Gram, Linfa, Newton};
use crate::error::{Error, Result};

/// Whether the rows of a rare class cost more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeight {
    /// All rows cost C.
    #[default]
    None,
    /// As LIBLINEAR: in the problem of class k its rows cost C·n/(m·n_k), all others C; for two classes both are weighted.
    Balanced,
}

/// Which solver fits the models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolverKind {
    /// Exact Newton on the squared hinge: in the primal or, for more columns than rows, in Gram space.
    #[default]
    Newton,
    /// linfa-svm: plain hinge, free bias.
    Linfa,
}

impl FromStr for SolverKind {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "newton" => Ok(Self::Newton),
            "linfa" => Ok(Self::Linfa),
            _ => Err("write newton or linfa".into()),
        }
    }
}

/// The training rows and what a mistake on them costs.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Feature-major (columns × rows).
    pub x: ArrayView2<'a, f64>,
    /// The class of each row; every class 0..classes occurs.
    pub y: &'a [usize],
    /// How many classes, at least two.
    pub classes: usize,
    /// C.
    pub cost: f64,
    /// Whether C differs by class.
    pub weight: ClassWeight,
}

impl Problem<'_> {
    /// How many one-vs-all problems there are: two classes need one, the other is its mirror image.
    pub fn machines(&self) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    /// The class that is positive in a machine: the last one for two classes.
    pub fn positive(&self, machine: usize) -> usize {
        if self.classes == 2 { 1 } else { machine }
    }

    /// θ = ±1 for each row.
    pub fn labels(&self, machine: usize) -> Vec<f64> {
        let positive = self.positive(machine);
        self.y.iter().map(|&class| if class == positive { 1.0 } else { -1.0 }).collect()
    }

    /// What a mistake costs on the positive and on the negative rows of a machine.
    pub fn costs(&self, machine: usize) -> (f64, f64) {
        let balanced = |class: usize| {
            let members = self.y.iter().filter(|&&y| y == class).count();
            self.cost * self.y.len() as f64 / (self.classes as f64 * members as f64)
        };
        match self.weight {
            ClassWeight::None => (self.cost, self.cost),
            ClassWeight::Balanced if self.classes == 2 => (balanced(1), balanced(0)),
            ClassWeight::Balanced => (balanced(self.positive(machine)), self.cost),
        }
    }
}

/// How a fit ended, over all classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Whether every class met its tolerance.
    pub converged: bool,
    /// The worst residual: relative gradient norm (newton); NaN where the solver does not tell.
    pub residual: f64,
    /// Iterations, summed over classes.
    pub iterations: usize,
}

/// One model per class on the columns still present.
pub trait PathSolver: Send {
    /// Fits all classes on the columns present.
    fn fit(&mut self) -> Convergence;

    /// The columns present, ascending.
    fn columns(&self) -> &[usize];

    /// The weights of a class, indexed by column of the problem; zero for a column that is gone.
    fn weights(&self, class: usize) -> ArrayView1<'_, f64>;

    /// The bias of a class.
    fn bias(&self, class: usize) -> f64;

    /// Lets columns go; `fit` must follow before weights are read.
    fn remove(&mut self, columns: &[usize]);
}

/// The solver for a problem; refuses what the chosen one cannot solve.
pub fn solver<'a>(kind: SolverKind, problem: Problem<'a>) -> Result<Box<dyn PathSolver + 'a>> {
    let (columns, rows) = problem.x.dim();
    if columns == 0 || rows == 0 {
        return Err(Error::data("there are no features or no rows to train on"));
    }
    if !problem.x.is_standard_layout() {
        return Err(Error::internal("the training matrix is not contiguous by feature"));
    }
    Ok(match kind {
        SolverKind::Newton if columns < rows => Box::new(Newton::new(problem)),
        SolverKind::Newton => Box::new(Gram::new(problem)),
        SolverKind::Linfa => Box::new(Linfa::new(problem)?),
    })
}

/// f_r(x) = w_r·x + b_r for the rows of a feature-major matrix: rows × classes.
pub fn decisions(model: &dyn PathSolver, classes: usize, x: ArrayView2<'_, f64>) -> Array2<f64> {
    let rows = x.ncols();
    let mut decisions = Array2::zeros((rows, classes));
    let mut of_class = vec![0.0; rows];
    // For two classes the first is the mirror image of the last.
    for class in if classes == 2 { 1..2 } else { 0..classes } {
        of_class.fill(model.bias(class));
        let weights = model.weights(class);
        for &j in model.columns() {
            match x.row(j).to_slice() {
                Some(feature) => axpy(weights[j], feature, &mut of_class),
                None => of_class.iter_mut().zip(x.row(j)).for_each(|(f, value)| *f += weights[j] * value),
            }
        }
        for (mut row, &value) in decisions.rows_mut().into_iter().zip(&of_class) {
            row[class] = value;
            if classes == 2 {
                row[0] = -value;
            }
        }
    }
    decisions
}
