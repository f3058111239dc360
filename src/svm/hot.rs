//! The hottest loops, for the benches.

pub use super::lanes::some_rows_times;
pub use super::symmetric::Symmetric;
