//! The training rows, stored by row: screening evaluates single rows.
//!
//! Slot 0 of a row is the bias, then come the columns, then zeros up to a whole number of vectors.
//! A removed column leaves its slot behind, where everything stored by slot is zero; once many
//! slots are unused, rows are compacted.

use std::sync::Arc;

use super::Problem;
use crate::linalg::{self, Aligned, norm};

/// Slots come in multiples of this.
const PADDING: usize = 8;
/// Rows that are written together.
const BLOCK: usize = 64;

/// Rows by slot.
#[derive(Clone)]
pub struct TrainingRows {
    /// Shared with copies until one of them is compacted.
    cells: Arc<Aligned>,
    width: usize,
    /// Where the bias and the columns present are.
    slots: Vec<usize>,
    /// Where removed columns were.
    removed: Vec<usize>,
    /// 1/‖x_i‖, over all slots.
    inverse_lengths: Vec<f64>,
}

impl TrainingRows {
    /// The rows of a problem with some of its columns.
    pub fn new(problem: &Problem<'_>, columns: &[usize]) -> Self {
        let count = problem.rows();
        let used = columns.len() + 1;
        let width = used.next_multiple_of(PADDING);
        let mut cells = Aligned::zeros(count * width);
        // Block by block, so that the rows that are written stay in the cache while the columns
        // pass by.
        for (block, rows) in cells.chunks_mut(BLOCK * width).enumerate() {
            rows.chunks_exact_mut(width).for_each(|row| row[0] = 1.0);
            for (slot, &j) in (1..).zip(columns) {
                let column = &problem.feature(j)[block * BLOCK..];
                rows.chunks_exact_mut(width)
                    .zip(column)
                    .for_each(|(row, &value)| row[slot] = value);
            }
        }
        let inverse_lengths = cells.chunks_exact(width).map(|row| norm(row).recip()).collect();
        Self {
            cells: Arc::new(cells),
            width,
            slots: (0..used).collect(),
            removed: Vec::new(),
            inverse_lengths,
        }
    }

    /// Slots of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where the bias and the columns present are, in this order.
    pub fn slots(&self) -> &[usize] {
        &self.slots
    }

    /// All cells.
    pub fn cells(&self) -> &[f64] {
        &self.cells
    }

    /// Row i, by slot. The slots of removed columns are meaningless.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.width..(i + 1) * self.width]
    }

    /// A lower bound on 1/‖x_i‖ for every row.
    pub fn inverse_lengths(&self) -> &[f64] {
        &self.inverse_lengths
    }

    /// The products of some rows with a vector by slot.
    pub fn row_dots(&self, rows: &[usize], by_slot: &[f64], products: &mut Vec<f64>) {
        products.resize(rows.len(), 0.0);
        linalg::row_dots(&self.cells, rows, by_slot, products);
    }

    /// Sets the slots of removed columns to zero.
    pub fn clear_removed(&self, by_slot: &mut [f64]) {
        self.removed.iter().for_each(|&slot| by_slot[slot] = 0.0);
    }

    /// Removes the column at a position, the bias being at 0; returns its slot.
    pub fn remove(&mut self, position: usize) -> usize {
        let slot = self.slots.remove(position);
        self.removed.push(slot);
        slot
    }

    /// Compacts the rows once enough columns are removed; returns the slots kept and the new width.
    pub fn compact(&mut self) -> Option<(Vec<usize>, usize)> {
        let width = self.slots.len().next_multiple_of(PADDING);
        if 16 * width > 15 * self.width {
            return None;
        }
        let cells = Arc::make_mut(&mut self.cells);
        let runs: Vec<&[usize]> = self.slots.chunk_by(|slot, next| slot + 1 == *next).collect();
        for (i, inverse_length) in self.inverse_lengths.iter_mut().enumerate() {
            let before = i * self.width;
            let row = i * width..(i + 1) * width;
            let mut at = row.start;
            for run in &runs {
                cells.copy_within(before + run[0]..before + run[0] + run.len(), at);
                at += run.len();
            }
            cells[at..row.end].fill(0.0);
            *inverse_length = norm(&cells[row]).recip();
        }
        cells.truncate(self.inverse_lengths.len() * width);
        self.width = width;
        self.removed.clear();
        let kept = std::mem::take(&mut self.slots);
        self.slots = (0..kept.len()).collect();
        Some((kept, width))
    }
}

/// The values at the given indices of a vector, and zeros up to a width.
pub fn gather(vector: &[f64], which: &[usize], width: usize) -> Vec<f64> {
    let mut some = vec![0.0; width];
    some.iter_mut().zip(which).for_each(|(value, &place)| *value = vector[place]);
    some
}
