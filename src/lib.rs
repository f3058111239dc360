//! Conformal recursive feature elimination.

pub mod data;
pub mod error;
pub mod select;
pub mod svm;

pub use error::{Error, Result};
