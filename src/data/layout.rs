//! Where in the file the numbers of a dataset come from, so that another program can read it the
//! same way.

use super::features::are_answers;
use super::table::{Column, Table};

/// How a file was read, and which of its columns became which of the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayout {
    /// The encoding of the text, by its usual name: `UTF-8`, `UTF-16LE`, `UTF-16BE` or
    /// `windows-1252`.
    pub encoding: &'static str,
    /// The field separator.
    pub delimiter: char,
    /// The decimal sign.
    pub decimal: char,
    /// The position of the class column, from 0.
    pub target: usize,
    /// For each encoded column where it comes from.
    pub columns: Vec<Origin>,
}

/// Where an encoded column comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The position of the column in the file, from 0.
    pub position: usize,
    /// The level of a category that it marks; a column of numbers has none.
    pub level: Option<String>,
    /// Whether upper and lower case of the levels are the same.
    pub any_case: bool,
}

impl FileLayout {
    pub(super) fn new(table: &Table, target: usize) -> Self {
        let Table { encoding, delimiter, decimal, .. } = *table;
        Self { encoding, delimiter, decimal, target, columns: Vec::new() }
    }

    /// Adds the encoded columns of a column of the file, called `name` or `name=level`.
    pub(super) fn add(&mut self, position: usize, name: &str, column: &Column, encoded: &[String]) {
        let any_case = matches!(column, Column::Text { levels, .. } if are_answers(levels));
        let origin = |encoded: &String| {
            let level = match column {
                Column::Numbers(_) => None,
                Column::Text { .. } => encoded.get(name.len() + 1..).map(str::to_owned),
            };
            Origin { position, level, any_case }
        };
        self.columns.extend(encoded.iter().map(origin));
    }
}
