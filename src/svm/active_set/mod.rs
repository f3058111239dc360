//! The active set: which training rows have positive loss, and which of them may have changed.

mod rows;
mod screening;
mod select;

pub use rows::{HingeRows, RowState};
pub use screening::Screening;
