//! Linear one-vs-all support vector machines along an elimination path. Knows nothing of features' meaning or of files.

mod aligned;
mod curvature;
mod exact;
mod factor;
mod gram;
#[doc(hidden)]
pub mod hot;
mod inverse;
mod lagging;
mod lanes;
mod linfa;
mod margin;
mod nearly;
mod newton;
mod present;
mod rows;
mod sight;
mod solver;
mod symmetric;
mod vectors;
mod within;
mod woodbury;

use exact::Exact;
pub use exact::FirstFit;
use gram::Gram;
pub(crate) use lanes::find_not_below;
use linfa::Linfa;
use newton::Newton;
pub(crate) use present::Present;
pub use solver::{
    ClassWeight, Convergence, Drift, MARKS, PathSolver, Precision, Problem, SolverKind, Watched, decisions,
    solver,
};
use woodbury::Woodbury;
