//! Which unit goes next, and when to stop. Knows models and matrices, not files, threads or screens.

mod elimination;
mod method;
mod nonconformity;
mod stopping;

pub use elimination::{Elimination, Removal, Settings, StepSize};
pub use method::Method;
pub use nonconformity::{ClassSums, Nonconformity, Score};
pub use stopping::{BetaRule, StopRule, Stopping, beta_rule, knee_rule, one_standard_error};
