//! Conformal recursive feature elimination (CRFE): exact, fast, with guaranteed coverage.
//!
//! The rooms, left to right; a room may use any room to its left, never one to its right (a test reads the `use` lines):
//!
//! ```text
//! error ─ data ─► svm ─► select ─► evaluate ─► run ═events═► history ─► report ─► tui, cli, headless
//! ```
//!
//! [`data`] turns a file into matrices, [`svm`] fits linear models along a path, [`select`] decides what goes and when to
//! stop, [`evaluate`] says how good a subset is: these are pure. [`run`] puts tasks on threads and tells one stream of
//! events, [`history`] remembers it, and [`report`] writes what stays.
//!
//! # A path on an ndarray
//!
//! ```
//! use crfe::data::{Dataset, Split, prepare, Impute, Scale};
//! use crfe::select::{Elimination, Method, Settings};
//! use ndarray::Array2;
//!
//! // 40 rows × 3 features; the first separates the classes, the others are a pattern without meaning.
//! let x = Array2::from_shape_fn((40, 3), |(i, j)| if j == 0 { (i % 2) as f64 } else { ((i * (3 + j)) % 7) as f64 });
//! let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "healthy" } else { "ill" }).collect();
//! let data = Dataset::from_arrays(x.view(), &labels, None)?;
//!
//! let rows = |part: usize| (0..40).filter(|i| (i / 2) % 4 == part).collect::<Vec<usize>>();
//! let split = Split { train: rows(0), selection: rows(1), conformal: rows(2), test: rows(3) };
//! let ready = prepare(&data, &split, Scale::Standard, Impute::Knn(5), 0, 0);
//!
//! let (train, selection) = (&ready.train, &ready.selection);
//! let path = Elimination::new(
//!     Settings::new(Method::Crfe, data.classes.len()),
//!     &data.units,
//!     (train.x.view(), &train.y),
//!     (selection.x.view(), &selection.y),
//!     &ready.constant,
//! )?;
//! let removed: Vec<usize> = path.flat_map(|step| step.removed).collect();
//! assert_eq!(removed.len(), 2);
//! assert!(!removed.contains(&0), "the informative feature survives");
//! # Ok::<(), crfe::Error>(())
//! ```

// Standard error is for `say`, standard output for `headless::print`: neither may panic.
#![warn(clippy::print_stderr, clippy::print_stdout)]

pub mod check;
pub mod cli;
pub mod config;
pub mod dashboard;
pub mod data;
pub mod error;
pub mod evaluate;
mod fault;
pub mod headless;
pub mod history;
pub mod report;
pub mod run;
pub mod say;
pub mod select;
pub mod shell;
mod signals;
pub mod slurm;
pub mod svm;
pub mod tui;

pub use error::{Error, Result};
