//! What a path costs, from the shape of the table alone, and how many permutations a run affords.
//! Machine-independent: the same command makes the same choice everywhere.

use super::path_sizes::path_sizes;
use super::{RunInfo, RunSpec};
use crate::data::{Calibration, DONOR_LIMIT, Dataset, Impute, Knots};
use crate::select::StepSize;
use crate::svm::{Estimator, SolverKind};

/// Permutations by default may cost this many nominal seconds of one core.
pub const PERMUTATION_BUDGET: f64 = 60.0;

/// Nominal seconds on one core of an ordinary server; a run may take half or twice of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathCost {
    /// Fitting each model of one path.
    pub fits: Vec<f64>,
    /// Evaluating one model on the conformal and the test rows.
    pub evaluation: f64,
    /// Preparing one split: mostly filling its gaps.
    pub preparation: f64,
}

const PER_PRODUCT: f64 = 6e-11;
const PER_FIT: f64 = 5e-6;
const PER_CRITERION: f64 = 1.5e-9;
const PER_PREDICTION: f64 = 2e-8;
const PER_PREPARED_CELL: f64 = 1.5e-8;
const PER_DISTANCE: f64 = 1e-9;
/// linfa-svm: seconds for each training row in each iteration, iterations for each row and unit of
/// C, and its cap.
const PER_LINFA_ROW: f64 = 1.7e-9;
const LINFA_ITERATIONS: f64 = 1000.0;
const LINFA_CAP: f64 = 1e7;
/// Kernel machines: seconds of a fit for each triple of training rows, for each pair of rows, unit
/// and node of a quadrature, for each exponential, and the nodes of most pairs.
const PER_TRIPLE: f64 = 2e-11;
const PER_NODE: f64 = 1.2e-10;
const PER_EXPONENTIAL: f64 = 1e-9;
const NODES: f64 = 7.0;

/// What of a table determines the cost of a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableShape {
    pub(super) rows: usize,
    pub(super) units: usize,
    columns: usize,
    kept: usize,
    classes: usize,
    missing: usize,
}

impl From<&Dataset> for TableShape {
    fn from(data: &Dataset) -> Self {
        Self {
            rows: data.y.len(),
            units: data.units.len(),
            columns: data.columns.len(),
            kept: data.units.iter().filter(|unit| unit.kept).count(),
            classes: data.classes.len(),
            missing: data.missing_cells(),
        }
    }
}

/// A run does not record how many cells are missing, so its gaps cost nothing.
impl From<&RunInfo> for TableShape {
    fn from(info: &RunInfo) -> Self {
        Self {
            rows: info.rows,
            units: info.units.len(),
            columns: info.columns.len(),
            kept: info.kept(),
            classes: info.classes.len(),
            missing: 0,
        }
    }
}

impl PathCost {
    /// The sum over all models of a path.
    pub fn new(spec: &RunSpec, data: &Dataset) -> Self {
        Self::of_shape(spec, &TableShape::from(data), spec.step)
    }

    pub(super) fn of_shape(spec: &RunSpec, shape: &TableShape, step: StepSize) -> Self {
        let rows = shape.rows as f64;
        let units = shape.units;
        // At most: a column with few values has one term.
        let terms = spec.estimator.knots().map_or(1, Knots::terms);
        let columns = (shape.columns * terms) as f64;
        let classes = shape.classes as f64;
        let machines = if shape.classes == 2 { 1.0 } else { classes };
        let training = rows * (1.0 - spec.split.test_size) * (1.0 - spec.split.cal_size);
        let strict = if spec.split.calibration == Calibration::Strict { 0.5 } else { 1.0 };
        let selection = rows * (1.0 - spec.split.test_size) * spec.split.cal_size * strict;
        let sizes = path_sizes(spec, spec.methods[0], step, units, shape.kept);
        // The first model is fitted from nothing.
        let mut removed = f64::INFINITY;
        let mut fits = Vec::with_capacity(sizes.len());
        for (i, &size) in sizes.iter().enumerate() {
            let present = size as f64;
            let fit = match spec.solver {
                SolverKind::Newton if spec.estimator == Estimator::Rbf => {
                    // Two or three Cholesky factors.
                    machines * PER_TRIPLE * training.powi(3)
                        + kernel_shares(training, selection, present)
                }
                SolverKind::Newton => {
                    let columns = present * columns / units as f64;
                    let products = newton_products(training, columns, removed);
                    machines * (PER_FIT + PER_PRODUCT * products + PER_CRITERION * present)
                }
                SolverKind::Linfa => {
                    let iterations =
                        LINFA_CAP.min(LINFA_ITERATIONS * training * spec.cost.max(0.1));
                    machines * PER_LINFA_ROW * iterations * training
                }
            };
            fits.push(fit);
            removed = (size - sizes.get(i + 1).copied().unwrap_or(size)) as f64;
        }
        let with_gaps = (shape.missing as f64).min(rows);
        let gaps = match spec.impute {
            Impute::Knn(_) => {
                PER_DISTANCE * with_gaps * training.min(DONOR_LIMIT as f64) * shape.columns as f64
            }
            _ => 0.0,
        };
        let preparation = gaps + PER_PREPARED_CELL * rows * columns;
        Self { fits, evaluation: PER_PREDICTION * rows * classes, preparation }
    }

    /// All models of one path, without evaluating them.
    pub fn models(&self) -> f64 {
        self.fits.iter().sum()
    }

    /// All models of one path, and their predictions.
    pub fn path(&self) -> f64 {
        self.models() + self.evaluation * self.fits.len() as f64
    }
}

/// Shapley shares of the units of a kernel model: every pair of a training and a selection row, at
/// every node. Between distant rows more nodes are needed, but never more than half the units.
fn kernel_shares(training: f64, selection: f64, units: f64) -> f64 {
    let nodes = NODES.min(0.5 * units + 0.5);
    let pairs = training * selection * units;
    pairs * (PER_NODE * nodes + PER_EXPONENTIAL)
        + PER_EXPONENTIAL * training * (training + selection)
}

/// Products for a model of this many columns, `removed` fewer than the model before had: about ten
/// looks at the rows and sixty rows in and out of the inverse while there are fewer columns than
/// rows, and a dozen passes over rows × rows above. Each removed column is one more change of the
/// inverse, or of rows × rows; many of them cost as much as a fit from nothing.
fn newton_products(rows: f64, columns: f64, removed: f64) -> f64 {
    let order = rows.min(columns);
    let looks = if columns < rows {
        10.0 * rows * columns + 59.0 * columns.powi(2)
    } else {
        12.0 * rows.powi(2)
    };
    let anew = 12.0 * order.powi(3) + 0.5 * rows * columns * order;
    looks + (removed.max(1.0) * order.powi(2)).min(anew)
}

/// How often the labels are permuted by default: 99 times where that costs at most
/// [`PERMUTATION_BUDGET`], else 19, else not at all.
pub(super) struct DefaultPermutations {
    pub count: usize,
    /// Nominal seconds of one core that [`MOST`] permutations would take.
    pub seconds: f64,
}

/// The most permutations by default; with them an adjusted p can be as small as 0.01.
pub(super) const MOST: usize = 99;
/// The fewest that can give a p of 0.05.
const FEWEST: usize = 19;
/// The numbers of permutations by default, the most first.
pub const DEFAULT_PERMUTATIONS: [usize; 2] = [MOST, FEWEST];

/// Paths are counted as if features were removed one by one, so that a larger --step never makes a
/// run longer by permutations.
pub(super) fn default_permutations(spec: &RunSpec, data: &Dataset) -> DefaultPermutations {
    let cost = PathCost::of_shape(spec, &TableShape::from(data), StepSize::default());
    let one = (spec.split.splits * spec.methods.len()) as f64 * (cost.models() + cost.preparation);
    let is_affordable = |&count: &usize| count as f64 * one <= PERMUTATION_BUDGET;
    let count = DEFAULT_PERMUTATIONS.into_iter().find(is_affordable).unwrap_or(0);
    DefaultPermutations { count, seconds: MOST as f64 * one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;
    use ndarray::Array2;

    /// The choice for a table of noise with two classes.
    fn chosen(rows: usize, columns: usize) -> usize {
        let x = Array2::from_shape_fn((rows, columns), |(i, j)| ((7 * i + 3 * j) % 11) as f64);
        let labels: Vec<&str> = (0..rows).map(|i| ["a", "b"][i % 2]).collect();
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let spec = RunOptions::default().check().unwrap();
        default_permutations(&spec, &data).count
    }

    #[test]
    fn small_tables_are_permuted_often_and_large_ones_not_at_all() {
        assert_eq!([chosen(300, 20), chosen(200, 2000), chosen(100, 12_000)], [99, 19, 0]);
    }
}
