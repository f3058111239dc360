//! Conformal recursive feature elimination.

pub mod data;
pub mod error;
pub mod svm;

pub use error::{Error, Result};
