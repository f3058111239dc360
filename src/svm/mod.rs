//! One-vs-rest support vector machines, linear and with kernels, along an elimination path. Knows
//! nothing of features' meaning or of files.

mod active_set;
mod auto;
mod dual;
mod estimator;
mod f32_columns;
mod hessian;
mod kernel;
#[cfg(feature = "linfa")]
mod linfa;

mod newton;
mod present;
mod primal;
mod problem;
mod solver;
mod support_inverse;
mod support_machines;
mod training_rows;

use auto::AutoSolver;
pub use auto::SharedInitialFit;
use dual::Dual;
pub use estimator::Estimator;
pub use kernel::{Gamma, KernelMachines};
#[cfg(feature = "linfa")]
use linfa::Linfa;
pub(crate) use present::Present;
use primal::Primal;
pub use problem::{ClassWeight, Problem};
pub use solver::{
    Convergence, DriftBound, LazySolver, MAX_SNAPSHOTS, PathSolver, SolverKind, Watched,
    class_weights, decisions, linear_decisions, solver, solver_sharing,
};
pub use support_machines::SupportMachines;
