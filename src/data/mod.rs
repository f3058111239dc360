//! A file becomes matrices: read, understand, split, scale and impute. Knows nothing of models.
//!
//! Matrices are **feature-major**: shape (columns, rows), so that one feature is one contiguous
//! slice. That is what elimination walks over; `matrix.t()` is the usual rows × columns view.

mod arrays;
mod audit;
mod batch;
mod cells;
mod column_builder;
mod decimal;
mod design;
mod encoding;
mod features;
mod formats;
mod guess;
mod header;
mod imputing;
mod join;
mod labels;
mod layout;
mod lines;
mod memory;
mod names;
mod new_rows;
mod preparation;
mod prepare;
mod records;
mod scaling;
mod schema;
pub mod seed;
mod sniff;
mod source;
mod spline;
mod split;
mod table;
mod target;
mod transpose;
mod units;
mod unparsed;
pub mod word_list;

pub use audit::{Audit, Level, Note};
pub use cells::Censored;
pub use design::{Design, Factor, Times};
pub use encoding::Encoding;
pub use features::DropReason;
pub use formats::has_table_ending;
pub use header::Header;
pub use imputing::{DONOR_LIMIT, Impute};
pub use layout::{FileLayout, Origin};
pub use lines::RowLines;
pub use new_rows::{NewRows, RequiredColumns, RowBatch};
pub use preparation::FittedPreparation;
pub use prepare::{Part, Preparation, Prepared, check_preprocessing, prepare};
pub use scaling::Scale;
pub use schema::{Dataset, DroppedColumn, SchemaOptions, Unit};
pub use source::{STANDARD, STANDARD_INPUT};
pub use spline::Knots;
pub(crate) use spline::quantile;
pub use split::{
    Calibration, MOST_SPLITS, OuterFold, RESERVE, Split, SplitOptions, Splits, outer_folds,
    site_fold, stratified_folds,
};
pub use table::{Column, ReadOptions, Table};
pub use target::{LONGEST_LABEL, Rare};
