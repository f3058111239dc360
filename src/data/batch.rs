//! Batches of records on their way to the columns.

use super::cells::CellFormat;
use super::column_builder::ColumnBuilder;
use super::records::Record;
use crate::error::Error;

/// Some records. Appending cell by cell would miss the cache at the end of every column of a wide
/// table; several cells per column cost little more than one.
#[derive(Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    /// How many of the records are waiting; the others are spare buffers.
    waiting: usize,
    bytes: usize,
}

impl Batch {
    /// Takes a record and leaves a spare one in its place.
    pub(super) fn take(&mut self, record: &mut Record) {
        if self.waiting == self.records.len() {
            self.records.push(Record::default());
        }
        self.bytes += record.bytes();
        std::mem::swap(&mut self.records[self.waiting], record);
        self.waiting += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        const ROWS: usize = 32;
        /// Of narrow tables, more rows fit into the cache.
        const BYTES: usize = 1 << 17;
        const MOST_BYTES: usize = 4 << 20;
        (self.waiting >= ROWS && self.bytes >= BYTES) || self.bytes >= MOST_BYTES
    }

    /// Bytes of the records.
    pub(super) fn memory(&self) -> u64 {
        /// Overhead per record: two vectors and the slack of their allocations.
        const RECORD: usize = 112;
        let cells = self.records.first().map_or(0, Record::len);
        (self.bytes + self.waiting * (RECORD + 4 * cells)) as u64
    }

    /// Appends the cells to the columns, and returns what all columns take then; an error comes
    /// with the column it is about. The records are kept for reuse.
    pub(super) fn append(
        &mut self,
        columns: &mut [ColumnBuilder],
        cells: &CellFormat,
    ) -> Result<u64, (usize, Error)> {
        let mut bytes = 0;
        for (place, column) in columns.iter_mut().enumerate() {
            let at_column = |error| (place, error);
            column.reserve(self.waiting).map_err(at_column)?;
            for record in &self.records[..self.waiting] {
                column.push_cell(record, place, cells).map_err(at_column)?;
            }
            bytes += column.bytes();
        }
        (self.waiting, self.bytes) = (0, 0);
        Ok(bytes)
    }
}
