//! What a path costs, from the shape of the table alone, and how many permutations a run affords. Machine-independent: the same
//! command makes the same choice everywhere.

use super::RunSpec;
use crate::data::{DONOR_LIMIT, Dataset, Impute, Knots};
use crate::svm::SolverKind;

/// Permutations by default may cost this many nominal seconds of one core.
const PERMUTATION_BUDGET: f64 = 60.0;

/// Nominal seconds on one core of an ordinary server; a run may take half or twice of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathCost {
    /// Models and predictions of one path.
    pub path: f64,
    /// Filling the gaps of one split.
    pub gaps: f64,
    /// Models of one path.
    pub models: f64,
}

const PER_PRODUCT: f64 = 2e-10;
const PER_CRITERION: f64 = 1.5e-9;
const PER_PREDICTION: f64 = 2e-8;
const PER_DISTANCE: f64 = 1e-9;
/// linfa-svm: seconds for each training row in each iteration, iterations for each row and unit of C, and its cap.
const PER_LINFA_ROW: f64 = 1.7e-9;
const LINFA_ITERATIONS: f64 = 1000.0;
const LINFA_CAP: f64 = 1e7;

impl PathCost {
    /// The sum over all models of a path.
    pub fn new(spec: &RunSpec, data: &Dataset) -> Self {
        let (rows, units) = (data.y.len() as f64, data.units.len());
        // At most: a column with few values has one term.
        let terms = spec.estimator.knots().map_or(1, Knots::terms);
        let columns = (data.columns.len() * terms) as f64;
        let classes = data.classes.len() as f64;
        let machines = if data.classes.len() == 2 { 1.0 } else { classes };
        let training = rows * (1.0 - spec.split.test_size) * (1.0 - spec.split.cal_size);
        let (mut models, mut fits) = (0.0, 0.0);
        let kept = data.units.iter().filter(|unit| unit.kept).count();
        let (mut left, last) = (units - kept, usize::from(kept == 0));
        loop {
            let removed = spec.step.of(left).min(left.saturating_sub(last));
            let present = (left + kept) as f64;
            models += 1.0;
            fits += match spec.solver {
                SolverKind::Newton => {
                    let products =
                        newton_products(training, present * columns / units as f64, removed as f64);
                    PER_PRODUCT * products + PER_CRITERION * present
                }
                SolverKind::Linfa => {
                    let iterations = LINFA_CAP.min(LINFA_ITERATIONS * training * spec.cost.max(0.1));
                    PER_LINFA_ROW * iterations * training
                }
            };
            if removed == 0 {
                break;
            }
            left -= removed;
        }
        let with_gaps = (data.missing_cells() as f64).min(rows);
        let gaps = match spec.impute {
            Impute::Knn(_) => {
                PER_DISTANCE * with_gaps * training.min(DONOR_LIMIT as f64) * data.columns.len() as f64
            }
            _ => 0.0,
        };
        Self { path: machines * fits + PER_PREDICTION * rows * classes * models, gaps, models }
    }
}

/// Products for a model of so many columns, after which `removed` go: about ten looks at the rows and sixty rows in and out of the
/// inverse while there are fewer columns than rows, and a dozen passes over rows × rows above; each column that goes is one more
/// change of the inverse, or of rows × rows.
fn newton_products(rows: f64, columns: f64, removed: f64) -> f64 {
    if columns < rows {
        10.0 * rows * columns + (59.0 + removed.max(1.0)) * columns.powi(2)
    } else {
        (12.0 + removed.max(1.0)) * rows.powi(2)
    }
}

/// 99 permutations where they cost at most [`PERMUTATION_BUDGET`], else 19, else none.
pub(super) fn default_permutations(cost: &PathCost, spec: &RunSpec) -> usize {
    let one = (spec.split.splits * spec.methods.len()) as f64 * (cost.path + cost.gaps);
    [99, 19].into_iter().find(|&count| count as f64 * one <= PERMUTATION_BUDGET).unwrap_or(0)
}
