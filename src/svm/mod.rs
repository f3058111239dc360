//! Linear one-vs-all support vector machines along an elimination path. Knows nothing of features' meaning or of files.

mod gram;
mod lanes;
mod linfa;
mod newton;
mod solver;

pub use gram::Gram;
pub use linfa::Linfa;
pub use newton::Newton;
pub use solver::{ClassWeight, Convergence, PathSolver, Problem, SolverKind, solver};
