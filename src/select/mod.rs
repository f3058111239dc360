//! Which unit to remove next, and when to stop. Knows models and matrices, not files, threads or
//! screens.

mod acm;
mod candidates;
mod elimination;
mod feature_path;
mod kernel_elimination;
mod method;
mod nonconformity;
mod shapley;
mod step_size;
mod stopping;
mod top_k;

pub use acm::{MOST_UNITS as MOST_ACM_UNITS, order_of_adding};
pub use elimination::{Common, Elimination, Labelled, Removal, Settings};
pub use feature_path::FeaturePath;
pub use kernel_elimination::KernelElimination;
pub use method::{Method, MethodWords};
pub use nonconformity::{ClassSums, Nonconformity, Score};
pub use shapley::{Coalitions, Levels, Pairs, ShareBuffers};
pub use step_size::StepSize;
pub use stopping::{
    BetaRule, Chooses, CurveBySplit, OneSe, PathEnd, PathPoints, Proximity, ProximityRule, RULES,
    Rule, RunSizes, StopRule, Stopping, gradient, one_se_size, one_se_sizes_without_each,
};

#[cfg(test)]
pub mod fixtures;
