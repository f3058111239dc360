//! Linear one-vs-all support vector machines along an elimination path. Knows nothing of features' meaning or of files.

mod gram;
mod lanes;
mod linfa;
mod margin;
mod newton;
mod solver;

use gram::Gram;
use linfa::Linfa;
use newton::Newton;
pub use solver::{ClassWeight, Convergence, PathSolver, Problem, SolverKind, decisions, solver};
