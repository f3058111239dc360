//! Linear one-vs-all support vector machines along an elimination path. Knows nothing of features' meaning or of files.

mod exact;
mod gram;
mod inverse;
mod lanes;
mod linfa;
mod margin;
mod newton;
mod solver;
mod woodbury;

use exact::Exact;
use gram::Gram;
use linfa::Linfa;
use newton::Newton;
pub use solver::{
    ClassWeight, Convergence, Drift, MARKS, PathSolver, Problem, SolverKind, Watched, decisions, solver,
};
use woodbury::Woodbury;
