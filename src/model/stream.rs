//! A file of new rows through a model, batch by batch in bounded memory.

use std::path::PathBuf;

use super::measured::Measured;
use super::score::{ScoredRow, Scorer};
use crate::data::{NewRows, ReadOptions, RowBatch};
use crate::error::Result;

/// Rows that are predicted at once.
const BATCH: usize = 1024;

/// A file of new rows, and how it is read.
#[derive(Debug, Clone)]
pub struct RowSource {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// How it is read.
    pub options: ReadOptions,
    /// The column that names the rows, if the user said which.
    pub id: Option<String>,
    /// Columns that are absent are missing in every row, instead of refused.
    pub may_be_absent: bool,
}

/// What there is to say about a file of new rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacts {
    /// What was understood, in sentences.
    pub notes: Vec<String>,
    /// Whether it has the class column.
    pub has_classes: bool,
    /// Whether the model was made of it.
    is_own: bool,
}

impl SourceFacts {
    /// Adds a caution if the rows are those that made the model.
    pub fn caution(&self, measured: Option<Measured>) -> Option<Measured> {
        let mut measured = measured?;
        if self.is_own {
            measured.cautions.push(
                "the model was fitted on this file: performance on it is optimistic; the folds of fit say what to expect"
                    .to_owned(),
            );
        }
        Some(measured)
    }
}

impl Scorer<'_> {
    /// Reads a file, predicts its rows and hands over each batch with its predictions.
    pub fn each_batch(
        &self,
        source: &RowSource,
        mut take: impl FnMut(RowBatch, Vec<ScoredRow>) -> Result<()>,
    ) -> Result<SourceFacts> {
        let wanted = self.wanted(source.id.as_deref(), source.may_be_absent);
        let mut rows = NewRows::open(&source.path, &source.options, &wanted)?;
        let mut before = 0;
        while let Some(batch) = rows.next(BATCH)? {
            let scored = self.score(&batch, before).map_err(|error| error.file(&source.path))?;
            before += scored.len();
            take(batch, scored)?;
        }
        let notes = std::mem::take(&mut rows.notes);
        let has_classes = rows.has_classes();
        let is_own = rows.finish()? == self.model().fitted.input_sha256;
        Ok(SourceFacts { notes, has_classes, is_own })
    }

    /// The same, row by row.
    pub fn each_row(
        &self,
        source: &RowSource,
        mut take: impl FnMut(&ScoredRow) -> Result<()>,
    ) -> Result<SourceFacts> {
        self.each_batch(source, |_, rows| rows.iter().try_for_each(&mut take))
    }
}
