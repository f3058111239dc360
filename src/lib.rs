//! Conformal recursive feature elimination (CRFE): exact, fast, with guaranteed coverage.
//!
//! The layers, from left to right. A layer may use the layers to its left, never those to its right
//! (a test reads the `use` lines):
//!
//! ```text
//! error ─ files ─ format ─ data ─► svm ─► select ─► evaluate ─► model ─► run ═events═► record
//!   ─► analysis ─► report ─► tui ─► commands
//! ```
//!
//! [`data`] turns a file into matrices, [`svm`] fits linear models along a path, [`select`] decides
//! what to remove and when to stop, [`evaluate`] measures how good a subset is, and [`model`] fits
//! and calibrates the machines of a list: these are pure. [`run`] runs tasks on threads and emits
//! one stream of events, [`record`] keeps it in journals and reads it back, [`analysis`] computes
//! every fact about it, and `report` formats the results.
//!
//! # A path on an ndarray
//!
//! ```
//! use crfe::{Path, select::Method};
//! use ndarray::Array2;
//!
//! // 40 rows × 3 features; the first separates the classes, the others are a meaningless pattern.
//! let cell = |(i, j): (usize, usize)| if j == 0 { i % 2 } else { i * (3 + j) % 7 };
//! let x = Array2::from_shape_fn((40, 3), |at| cell(at) as f64);
//! let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "healthy" } else { "ill" }).collect();
//! let path = Path::builder(x.view(), &labels).method(Method::Crfe).run()?;
//! assert_eq!(path.top(1), [0], "the informative feature survives");
//! # Ok::<(), crfe::Error>(())
//! ```
//!
//! # Features
//!
//! `cli` (the commands), `tui` (the dashboard), `report` (tables, figures, report.html), `linfa`
//! (another solver) and `formats` (workbooks and Parquet) are on by default; without them this is a
//! small library that knows neither clap nor ratatui, maud, linfa, calamine or parquet. Off by
//! default: `h5ad` (AnnData) and `print` (figures as PDF and PNG).

// Standard error is written by `say`, standard output by `say::print`: neither may panic.
#![warn(clippy::print_stderr, clippy::print_stdout)]

#[cfg(not(unix))]
compile_error!(
    "crfe-tui is for Unix: it locks, writes and follows runs by means that other systems do not have"
);

pub mod analysis;
#[cfg(feature = "cli")]
pub mod commands;
#[warn(missing_docs)]
pub mod data;
#[warn(missing_docs)]
pub mod error;
#[warn(missing_docs)]
pub mod evaluate;
mod fault;
pub mod files;
mod format;
#[doc(hidden)]
pub mod linalg;
#[warn(missing_docs)]
pub mod model;
mod path;
pub mod record;
#[cfg(feature = "report")]
pub mod report;
pub mod run;
pub mod say;
#[warn(missing_docs)]
pub mod select;
#[warn(missing_docs)]
pub mod svm;
#[cfg(feature = "tui")]
pub mod tui;

pub use error::{Error, Result};
pub use path::{Path, PathBuilder};
