//! Which unit goes next, and when to stop. Knows models and matrices, not files, threads or screens.

mod elimination;
mod front;
mod method;
mod nonconformity;
mod stopping;

pub use elimination::{Common, Elimination, Labelled, Removal, Settings, StepSize};
pub use method::Method;
pub use nonconformity::{ClassSums, Nonconformity, Score};
pub use stopping::{BetaRule, StopRule, Stopping, gradient, knee_rule, one_standard_error};
