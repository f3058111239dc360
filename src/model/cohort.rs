//! New rows that were predicted, kept to be looked at one by one, in bounded memory; all of them
//! are counted.

use super::counts::RowCounts;
use super::score::{ScoredRow, Scorer, Shares};
use crate::data::RowBatch;

/// So many rows are kept; more are counted only.
pub const MOST_KEPT: usize = 250_000;

/// Rows with their predictions.
#[derive(Debug, Clone)]
pub struct Cohort<'a> {
    scorer: &'a Scorer<'a>,
    rows: Vec<ScoredRow>,
    /// Their cells, with the number of rows before each batch.
    batches: Vec<(usize, RowBatch)>,
    counts: RowCounts,
    has_classes: bool,
}

impl<'a> Cohort<'a> {
    /// No rows yet.
    pub fn new(scorer: &'a Scorer<'a>) -> Self {
        let (rows, batches, counts) = Default::default();
        Self { scorer, rows, batches, counts, has_classes: false }
    }

    /// Takes the next rows.
    pub fn add(&mut self, batch: RowBatch, rows: Vec<ScoredRow>) {
        rows.iter().for_each(|row| self.counts.add(row));
        self.has_classes |= rows.iter().any(|row| row.class.is_some());
        if self.rows.len() + rows.len() <= MOST_KEPT {
            self.batches.push((self.rows.len(), batch));
            self.rows.extend(rows);
        }
    }

    /// What predicts.
    pub fn scorer(&self) -> &'a Scorer<'a> {
        self.scorer
    }

    /// The rows that are kept, in the order of the file.
    pub fn rows(&self) -> &[ScoredRow] {
        &self.rows
    }

    /// What was counted over all rows.
    pub fn counts(&self) -> &RowCounts {
        &self.counts
    }

    /// Whether some row has a class.
    pub fn has_classes(&self) -> bool {
        self.has_classes
    }

    /// What each feature adds to the scores of a row.
    pub fn shares(&self, row: usize) -> Option<Shares> {
        let (batch, at) = self.place(row)?;
        Some(self.scorer.shares(batch, at))
    }

    /// What the file says of each feature of a row: one cell per variable of the feature, none
    /// where it is missing.
    pub fn cells(&self, row: usize) -> Vec<Vec<Option<String>>> {
        let model = self.scorer.model();
        let mut cells = vec![Vec::new(); model.features.len()];
        let Some((batch, at)) = self.place(row) else { return cells };
        let mut start = 0;
        for (variable, encoding) in model.variables.iter().enumerate() {
            let end = start + encoding.width();
            let numbers: Vec<f64> = (start..end).map(|column| batch.x[[column, at]]).collect();
            start = end;
            let of_feature = model.columns.iter().find(|column| column.variable == variable);
            if let Some(column) = of_feature {
                cells[column.feature].push(encoding.text(&numbers));
            }
        }
        cells
    }

    fn place(&self, row: usize) -> Option<(&RowBatch, usize)> {
        let after = self.batches.partition_point(|(start, _)| *start <= row);
        let (start, batch) = self.batches.get(after.checked_sub(1)?)?;
        (row - start < batch.ids.len()).then_some((batch, row - start))
    }
}
