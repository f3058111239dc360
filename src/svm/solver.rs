//! What every solver can do: fit all classes on the columns present, and let columns go.

use std::borrow::Cow;
use std::str::FromStr;

use ndarray::{Array2, ArrayView2, CowArray, Ix2};
use serde::{Deserialize, Serialize};

#[cfg(feature = "linfa")]
use super::Linfa;
use super::{AutoSolver, SharedInitialFit};
use crate::error::{Error, Result};
use crate::linalg::{Columns, add_columns};

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
    /// AutoSolver Newton on the squared hinge: in the primal or, for more columns than rows, in Gram space.
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
    /// All columns, one after the other.
    pub(super) fn cells(&self) -> &[f64] {
        self.x.as_slice().expect("Problem::x is feature-major and contiguous, as solver() checks")
    }

    /// One column.
    pub(super) fn feature(&self, column: usize) -> &[f64] {
        let rows = self.x.ncols();
        &self.cells()[column * rows..(column + 1) * rows]
    }

    /// Some columns.
    pub(super) fn some_columns<'b>(&'b self, which: &'b [usize]) -> Columns<'b> {
        Columns { cells: self.cells(), length: self.y.len(), which }
    }

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

impl Convergence {
    /// Of no fit at all.
    pub const NONE: Self = Self { converged: true, residual: 0.0, iterations: 0 };

    /// Two fits as one.
    pub fn and(self, other: Self) -> Self {
        Self {
            converged: self.converged && other.converged,
            residual: self.residual.max(other.residual),
            iterations: self.iterations + other.iterations,
        }
    }
}

/// How right a weight has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Up to rounding.
    Full,
    /// As [`LazySolver::drift_bounds`] says of the newest snapshot, at which the models must be.
    Approximate,
}

/// How many models of the past a solver remembers at once.
pub const MAX_SNAPSHOTS: usize = 32;

/// How models have moved since a snapshot: the weights of column j, as a vector over the machines, are `scale` times those of then, up
/// to at most ‖x_j‖ times `radius`, rounding included, also where weights were computed with [`Precision::Approximate`].
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

/// One model per class on the columns still present.
pub trait PathSolver<'a>: Send {
    /// The problem that is solved.
    fn problem(&self) -> &Problem<'a>;

    /// Takes rows (feature-major) whose decision values will be read after every fit; before the first fit.
    fn watch(&mut self, rows: CowArray<'a, f64, Ix2>);

    /// Fits all classes on the columns present.
    fn fit(&mut self) -> Convergence;

    /// The first fit of all columns, or that of another solver that was given the same `shared` and is done with it; they must have
    /// the same problem and watch the same rows.
    fn fit_first(&mut self, _shared: &SharedInitialFit) -> Convergence {
        self.fit()
    }

    /// The columns present, ascending.
    fn columns(&self) -> Cow<'_, [usize]>;

    /// The weights of a column that is present, by class.
    fn weights_of(&self, column: usize, by_class: &mut [f64]);

    /// Σ factor_k · w_k over the weights of each of some columns that are present; the factors are those of all columns of the
    /// problem, class by class, column by column.
    fn combined(&self, columns: &[usize], factors: &[f64], _how: Precision, sums: &mut Vec<f64>) {
        let mut weights = vec![0.0; self.problem().classes];
        let combined = |&column: &usize| {
            self.weights_of(column, &mut weights);
            let factors = &factors[column * weights.len()..];
            weights.iter().zip(factors).map(|(weight, factor)| weight * factor).sum::<f64>()
        };
        sums.clear();
        sums.extend(columns.iter().map(combined));
    }

    /// Σ w_k² over the weights of each of some columns that are present.
    fn squares(&self, columns: &[usize], _how: Precision, sums: &mut Vec<f64>) {
        let mut weights = vec![0.0; self.problem().classes];
        let square = |&column: &usize| {
            self.weights_of(column, &mut weights);
            weights.iter().map(|weight| weight * weight).sum::<f64>()
        };
        sums.clear();
        sums.extend(columns.iter().map(square));
    }

    /// The bias of a class.
    fn bias(&self, class: usize) -> f64;

    /// f_r(x) = w_r·x + b_r on the rows that were given to the n-th `watch`: rows × classes.
    fn decisions(&self, part: usize) -> Array2<f64>;

    /// What a solver can do whose single weights cost less than all, and decision values less than either; `None` if it cannot.
    fn lazy(&mut self) -> Option<&mut dyn LazySolver> {
        None
    }

    /// Whether [`PathSolver::lazy`] is there.
    fn is_lazy(&self) -> bool {
        false
    }

    /// Removes columns; `fit` must follow before weights are read.
    fn remove(&mut self, columns: &[usize]);

    /// The weights of a class, indexed by column of the problem; zero for a column that is gone.
    fn weights(&self, class: usize) -> Vec<f64> {
        let mut weights = vec![0.0; self.problem().x.nrows()];
        let mut by_class = vec![0.0; self.problem().classes];
        for &column in self.columns().iter() {
            self.weights_of(column, &mut by_class);
            weights[column] = by_class[class];
        }
        weights
    }
}

/// What bounded top-k search needs of a solver: snapshots of its models, and how far they have moved since.
pub trait LazySolver {
    /// Remembers the models of the last fit under a number below [`MAX_SNAPSHOTS`].
    fn snapshot(&mut self, snapshot: usize);

    /// How the models have moved since each of the first snapshots; of the others it says nothing.
    fn drift_bounds(&self, snapshots: usize) -> [DriftBound; MAX_SNAPSHOTS];
}

/// The solver for a problem; refuses what the chosen one cannot solve.
pub fn solver<'a>(kind: SolverKind, problem: Problem<'a>) -> Result<Box<dyn PathSolver<'a> + 'a>> {
    let (columns, rows) = problem.x.dim();
    if columns == 0 || rows == 0 {
        return Err(Error::data("there are no features or no rows to train on"));
    }
    if !problem.x.is_standard_layout() {
        return Err(Error::internal("the training matrix is not contiguous by feature"));
    }
    Ok(match kind {
        SolverKind::Newton => Box::new(AutoSolver::new(problem)),
        #[cfg(feature = "linfa")]
        SolverKind::Linfa => Box::new(Linfa::new(problem)?),
        #[cfg(not(feature = "linfa"))]
        SolverKind::Linfa => {
            return Err(Error::usage("this build has no linfa-svm")
                .remedy("use the solver newton, or the feature linfa"));
        }
    })
}

/// f_r(x) = w_r·x + b_r for the rows of a feature-major matrix: rows × classes.
pub fn decisions<'a>(model: &(dyn PathSolver<'a> + 'a), x: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, classes) = (x.ncols(), model.problem().classes);
    // For two classes the first is the mirror image of the last.
    let own = if classes == 2 { 1..2 } else { 0..classes };
    let mut by_class: Vec<Vec<f64>> = own.clone().map(|class| vec![model.bias(class); rows]).collect();
    let (columns, x) = (model.columns(), x.as_standard_layout());
    let cells = x.as_slice().expect("a standard layout is contiguous");
    let mut weights = vec![Vec::with_capacity(columns.len()); by_class.len()];
    let mut of_column = vec![0.0; classes];
    for &j in columns.iter() {
        model.weights_of(j, &mut of_column);
        weights.iter_mut().zip(&of_column[own.clone()]).for_each(|(of_class, &weight)| of_class.push(weight));
    }
    for (decisions, weights) in by_class.iter_mut().zip(&weights) {
        let columns = Columns { cells, length: rows, which: &columns };
        add_columns(columns, weights, decisions);
    }
    by_row(&by_class, classes)
}

/// Decision values of machines as rows × classes; one machine is that of the last of two classes.
pub fn by_row<V: AsRef<[f64]>>(by_machine: &[V], classes: usize) -> Array2<f64> {
    let rows = by_machine.first().map_or(0, |of_machine| of_machine.as_ref().len());
    let mut cells = vec![0.0; rows * classes];
    for (machine, of_machine) in by_machine.iter().enumerate() {
        if classes == 2 {
            for (row, &value) in cells.as_chunks_mut::<2>().0.iter_mut().zip(of_machine.as_ref()) {
                *row = [-value, value];
            }
        } else {
            let of_machine = of_machine.as_ref();
            cells.chunks_exact_mut(classes).zip(of_machine).for_each(|(row, &value)| row[machine] = value);
        }
    }
    Array2::from_shape_vec((rows, classes), cells).expect("rows × classes cells")
}
