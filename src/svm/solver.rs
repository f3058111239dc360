//! What every solver can do: fit one model per class on the columns present, and remove columns.

use std::borrow::Cow;
use std::str::FromStr;

use ndarray::{Array2, ArrayView2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

#[cfg(feature = "linfa")]
use super::Linfa;
use super::{AutoSolver, Problem, SharedInitialFit};
#[cfg(not(feature = "linfa"))]
use crate::error::Error;
use crate::error::Result;
use crate::linalg::{Columns, add_columns};

/// Which solver fits the models.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SolverKind {
    /// Exact Newton on the squared hinge: in the primal or, for more columns than rows, in Gram
    /// space.
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

/// How a fit ended, over all classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Whether every class met its tolerance.
    pub converged: bool,
    /// The worst residual: relative gradient norm (newton); NaN if the solver does not report it.
    pub residual: f64,
    /// Iterations, summed over classes.
    pub iterations: usize,
}

impl Convergence {
    /// The neutral element: no fit.
    pub const NONE: Self = Self { converged: true, residual: 0.0, iterations: 0 };

    /// Combines two fits.
    pub fn and(self, other: Self) -> Self {
        Self {
            converged: self.converged && other.converged,
            residual: self.residual.max(other.residual),
            iterations: self.iterations + other.iterations,
        }
    }
}

/// How many snapshots of its models a solver keeps at once.
pub const MAX_SNAPSHOTS: usize = 32;

/// How models have moved since a snapshot: the weights of column j, as a vector over the machines,
/// are `scale` times those at the snapshot, within ‖x_j‖ times `radius`, rounding included, even
/// where they were [approximate](LazySolver::approximate_weights).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriftBound {
    /// Positive.
    pub scale: f64,
    /// At least zero.
    pub radius: f64,
}

impl DriftBound {
    /// Models that do not move.
    pub const NONE: Self = Self { scale: 1.0, radius: 0.0 };

    /// Models that could be anywhere.
    pub const UNKNOWN: Self = Self { scale: 1.0, radius: f64::INFINITY };
}

/// Feature-major parts whose decision values are read after every fit.
#[derive(Debug, Default)]
pub struct Watched<'a> {
    parts: Vec<CowArray<'a, f64, Ix2>>,
}

impl<'a> Watched<'a> {
    /// Adds a part.
    pub fn push(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.parts.push(rows);
    }

    /// One part.
    pub fn part(&self, part: usize) -> ArrayView2<'_, f64> {
        self.parts[part].view()
    }

    /// Rows of all parts.
    pub fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.ncols()).sum()
    }

    /// Where a part lies among all rows.
    pub fn range(&self, part: usize) -> std::ops::Range<usize> {
        let start = self.parts[..part].iter().map(|part| part.ncols()).sum();
        start..start + self.parts[part].ncols()
    }

    /// One column on all rows.
    pub fn feature(&self, column: usize, values: &mut [f64]) {
        let cells = self.parts.iter().flat_map(|part| part.row(column).into_iter());
        values.iter_mut().zip(cells).for_each(|(value, cell)| *value = *cell);
    }
}

/// One model per class on the columns still present, refitted as columns are removed.
pub trait PathSolver<'a>: Send {
    /// The problem that is solved.
    fn problem(&self) -> &Problem<'a>;

    /// Registers rows (feature-major) whose decision values will be read after every fit. To be
    /// called before the first fit.
    fn watch(&mut self, rows: CowArray<'a, f64, Ix2>);

    /// Fits all machines on the columns present.
    fn fit(&mut self) -> Convergence;

    /// Removes columns; `fit` must follow before anything else is read.
    fn remove(&mut self, columns: &[usize]);

    /// The columns present, ascending.
    fn columns(&self) -> Cow<'_, [usize]>;

    /// The weights of some of the columns present under one machine.
    fn weights(&self, machine: usize, columns: &[usize], weights: &mut [f64]);

    /// The bias of each class.
    fn biases(&self) -> Vec<f64>;

    /// f_r(x) = w_r·x + b_r on the rows that were given to the n-th `watch`: rows × classes.
    fn decisions(&self, part: usize) -> Array2<f64>;

    /// The lazy interface, if computing a single weight is cheaper than computing all, and decision
    /// values are cheaper still.
    fn lazy(&self) -> Option<&dyn LazySolver> {
        None
    }

    /// The same, to take a snapshot.
    fn lazy_mut(&mut self) -> Option<&mut dyn LazySolver> {
        None
    }
}

/// What bounded top-k search needs of a solver: snapshots of its models, bounds on their drift, and
/// approximate weights.
pub trait LazySolver {
    /// Remembers the models of the last fit under a number below [`MAX_SNAPSHOTS`].
    fn snapshot(&mut self, snapshot: usize);

    /// How the models have moved since each of the first `snapshots` snapshots; the other entries
    /// are meaningless.
    fn drift_bounds(&self, problem: &Problem<'_>, snapshots: usize) -> [DriftBound; MAX_SNAPSHOTS];

    /// The weights of some of the columns present under one machine at the newest snapshot, which
    /// must be of the current models; within the error that [`LazySolver::drift_bounds`] states.
    fn approximate_weights(
        &self,
        problem: &Problem<'_>,
        machine: usize,
        columns: &[usize],
        weights: &mut [f64],
    );
}

/// The solver for a problem; refuses what the chosen one cannot solve.
pub fn solver<'a>(kind: SolverKind, problem: Problem<'a>) -> Result<Box<dyn PathSolver<'a> + 'a>> {
    solver_sharing(kind, problem, None)
}

/// The same, sharing its first fit with other solvers of the same problem that watch the same rows.
pub fn solver_sharing<'a>(
    kind: SolverKind,
    problem: Problem<'a>,
    first: Option<&'a SharedInitialFit>,
) -> Result<Box<dyn PathSolver<'a> + 'a>> {
    Ok(match kind {
        SolverKind::Newton => Box::new(AutoSolver::new(problem, first)),
        #[cfg(feature = "linfa")]
        SolverKind::Linfa => Box::new(Linfa::new(problem)?),
        #[cfg(not(feature = "linfa"))]
        SolverKind::Linfa => {
            return Err(Error::usage("this build has no linfa-svm")
                .remedy("use the solver newton, or the feature linfa"));
        }
    })
}

/// The weights of a class, indexed by column of the problem; zero for removed columns.
pub fn class_weights<'a>(model: &(dyn PathSolver<'a> + 'a), class: usize) -> Vec<f64> {
    let (problem, columns) = (model.problem(), model.columns());
    let (machine, sign) =
        if problem.classes() == 2 { (0, [-1.0, 1.0][class]) } else { (class, 1.0) };
    let (mut of_present, mut weights) = (vec![0.0; columns.len()], vec![0.0; problem.columns()]);
    model.weights(machine, &columns, &mut of_present);
    columns.iter().zip(of_present).for_each(|(&column, weight)| weights[column] = sign * weight);
    weights
}

/// f_r(x) = w_r·x + b_r for the rows of a feature-major matrix: rows × classes.
pub fn decisions<'a>(model: &(dyn PathSolver<'a> + 'a), x: ArrayView2<'_, f64>) -> Array2<f64> {
    let problem = model.problem();
    let columns = model.columns();
    let x = x.as_standard_layout();
    let cells = x.as_slice().expect("a standard layout is contiguous");
    let biases = model.biases();
    let mut weights = vec![0.0; columns.len()];
    let decisions = |machine| {
        model.weights(machine, &columns, &mut weights);
        let columns = Columns { cells, length: x.ncols(), which: &columns };
        of_machine(biases[problem.positive(machine)], columns, &weights)
    };
    let by_machine: Vec<Vec<f64>> = (0..problem.machines()).map(decisions).collect();
    by_row(&by_machine, problem.classes())
}

/// The same from weights and biases by class, one weight for each row of the matrix.
pub fn linear_decisions(
    weights: &[Vec<f64>],
    biases: &[f64],
    x: ArrayView2<'_, f64>,
) -> Array2<f64> {
    let classes = biases.len();
    let columns = (0..x.nrows()).collect::<Vec<_>>();
    let x = x.as_standard_layout();
    let cells = x.as_slice().expect("a standard layout is contiguous");
    let of_class = |class: usize| {
        let columns = Columns { cells, length: x.ncols(), which: &columns };
        of_machine(biases[class], columns, &weights[class])
    };
    // For two classes the first is the mirror image of the last.
    let first = if classes == 2 { 1 } else { 0 };
    by_row(&(first..classes).map(of_class).collect::<Vec<_>>(), classes)
}

/// Decision values of one machine.
fn of_machine(bias: f64, columns: Columns<'_>, weights: &[f64]) -> Vec<f64> {
    let mut decisions = vec![bias; columns.length];
    add_columns(columns, weights, &mut decisions);
    decisions
}

/// Decision values by machine as rows × classes; a single machine is that of the second of two
/// classes.
pub fn by_row(by_machine: &[Vec<f64>], classes: usize) -> Array2<f64> {
    let rows = by_machine[0].len();
    let mut cells = vec![0.0; rows * classes];
    for (machine, of_machine) in by_machine.iter().enumerate() {
        if classes == 2 {
            for (row, &value) in cells.as_chunks_mut::<2>().0.iter_mut().zip(of_machine) {
                *row = [-value, value];
            }
        } else {
            cells
                .chunks_exact_mut(classes)
                .zip(of_machine)
                .for_each(|(row, &value)| row[machine] = value);
        }
    }
    Array2::from_shape_vec((rows, classes), cells).expect("rows × classes cells")
}
