//! A file becomes matrices: read, understand, split, scale and impute. Knows nothing of models.
//!
//! Matrices are **feature-major**: shape (columns, rows), so that one feature is one contiguous slice. That is what
//! elimination walks over; `matrix.t()` is the usual rows × columns view.

mod arrays;
mod audit;
mod batch;
mod cells;
mod doubts;
mod features;
mod guess;
mod header;
mod kinds;
mod memory;
mod names;
mod prepare;
mod records;
mod schema;
pub mod seed;
mod sniff;
mod source;
mod split;
mod table;
mod target;
mod units;

pub use audit::{Audit, Level, Note};
pub use cells::Censored;
pub use header::Header;
pub use prepare::{DONOR_LIMIT, Impute, Part, Prepared, Scale, prepare, refuse_missing};
pub use schema::{Dataset, DroppedColumn, SchemaOptions, Unit};
pub use split::{Calibration, Split, SplitOptions, Splits};
pub use table::{Column, ReadOptions, Table};
