//! Which columns are features, of what type, in which units: decided once, on all rows, without looking at the target.

use std::path::{Path, PathBuf};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Audit, ReadOptions};
use crate::error::Result;

/// What the user says about the columns. Columns are named, or given as a 0-based index… see the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchemaOptions {
    /// How to read the file.
    pub read: ReadOptions,
    /// The class column, by name or by 1-based position.
    pub target: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns (or units) that are never removed.
    pub keep: Vec<String>,
    /// Columns that are categories although they look like numbers.
    pub categorical: Vec<String>,
    /// A CSV with columns `feature,group`: features of one group are removed together.
    pub groups: Option<PathBuf>,
    /// Rows with the same value here (one patient) never cross a partition border.
    pub group_col: Option<String>,
    /// Names the rows in predictions.csv.
    pub id_col: Option<String>,
    /// A column with a larger share of missing values is dropped.
    pub max_missing: f64,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            target: None,
            drop: Vec::new(),
            keep: Vec::new(),
            categorical: Vec::new(),
            groups: None,
            group_col: None,
            id_col: None,
            max_missing: 0.25,
        }
    }
}

/// What is removed at once: a column, or a group of columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The name of the column, variable or group.
    pub name: String,
    /// Its columns, as indices into [`Dataset::columns`], ascending.
    pub columns: Vec<usize>,
    /// In every model, never removed.
    pub kept: bool,
}

impl Unit {
    /// A unit of one column.
    pub fn single(name: impl Into<String>, column: usize) -> Self {
        Self { name: name.into(), columns: vec![column], kept: false }
    }
}

/// A column that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedColumn {
    /// The column.
    pub name: String,
    /// Why, as the end of the sentence "dropped: …".
    pub reason: String,
}

/// A table understood: numbers, units and classes. Rows without a class are gone.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// The file's name as the user gave it.
    pub name: String,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub sha256: String,
    /// Feature-major (columns × rows), unscaled; NaN is missing.
    pub x: Array2<f64>,
    /// Names of the encoded columns: `age`, or `chest pain=asymptomatic` for a level.
    pub columns: Vec<String>,
    /// The units, in file order of their first column.
    pub units: Vec<Unit>,
    /// The class column's name.
    pub target: String,
    /// Class labels, sorted (as numbers if all are numbers).
    pub classes: Vec<String>,
    /// For each row the index of its class.
    pub y: Vec<usize>,
    /// For each row its 0-based position among the data rows of the file.
    pub rows: Vec<usize>,
    /// For each row its name, when there is an id column.
    pub ids: Option<Vec<String>>,
    /// For each row the index of its group, when there is a group column.
    pub groups: Option<Vec<usize>>,
    /// Columns of the file that are not used.
    pub dropped: Vec<DroppedColumn>,
    /// What there is to say about the table.
    pub audit: Audit,
}

impl Dataset {
    /// Reads and understands a file; `progress` is told bytes read and bytes in all.
    pub fn load(path: &Path, options: &SchemaOptions, progress: impl FnMut(u64, u64)) -> Result<Self> {
        let _ = (path, options, progress);
        todo!()
    }
}
