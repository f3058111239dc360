//! Batches of records on their way to the columns: split into cells by one thread, parsed by
//! others.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, available_parallelism, scope};

use super::cells::CellFormat;
use super::column_builder::ColumnBuilder;
use super::records::Record;
use crate::error::{Error, Result};

/// Batches that may wait for a thread.
const AHEAD: usize = 2;
/// The most batches at any time: those waiting, one being appended and one being filled.
pub(super) const MOST_BATCHES: u64 = AHEAD as u64 + 2;
/// More threads than this would be idle, waiting for the reader.
const MOST_THREADS: usize = 3;

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
        /// Less is not worth waking another thread.
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

    /// Appends the cells of some columns, the first of which is at `start`, and returns by how many
    /// bytes they grew; an error comes with the column it is about.
    fn append(
        &self,
        start: usize,
        columns: &mut [ColumnBuilder],
        cells: &CellFormat,
    ) -> std::result::Result<u64, AtColumn> {
        let mut grown = 0_u64;
        for (place, column) in (start..).zip(columns) {
            let before = column.bytes();
            let at_column = |error| (Some(place), error);
            column.reserve(self.waiting).map_err(at_column)?;
            for record in &self.records[..self.waiting] {
                column.push_cell(record, place, cells).map_err(at_column)?;
            }
            // A column of gaps that becomes text may shrink.
            grown = grown.wrapping_add(column.bytes().wrapping_sub(before));
        }
        Ok(grown)
    }

    /// Frees the records for reuse.
    fn emptied(mut self) -> Self {
        (self.waiting, self.bytes) = (0, 0);
        self
    }
}

/// An error and the column it is about, if it is about one.
pub(super) type AtColumn = (Option<usize>, Error);

/// Runs `read`, which exchanges full batches for empty ones, or gets `None` when it should stop.
/// Meanwhile several threads append the batches, each to its share of the columns; if no thread can
/// be started, this one does. `bytes` is what all columns take so far.
pub(super) fn append_while(
    columns: &mut [ColumnBuilder],
    cells: &CellFormat,
    bytes: &AtomicU64,
    read: impl FnOnce(&mut dyn FnMut(Batch) -> Option<Batch>) -> Result<()>,
) -> std::result::Result<(), AtColumn> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let share = columns.len().div_ceil(threads).max(1);
    scope(|scope| {
        let (back, empty) = channel();
        let mut appenders = Vec::new();
        let mut here = Vec::new();
        for (part, columns) in columns.chunks_mut(share).enumerate() {
            let (give, full) = sync_channel(AHEAD);
            let start = part * share;
            let back = back.clone();
            // Columns are sent through a channel, so that they are not lost if a thread cannot be
            // started.
            let (hand, take) = channel();
            let work = move || {
                take.recv().map_or(Ok(()), |columns| {
                    append_all(&full, &back, start, columns, cells, bytes)
                })
            };
            match Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => {
                    let _ = hand.send(columns);
                    appenders.push((give, thread));
                }
                Err(_) => here.push((start, columns)),
            }
        }
        let mut outcome = Ok(());
        let mut append = |batch: Batch| {
            for (start, columns) in &mut here {
                match batch.append(*start, columns, cells) {
                    Ok(grown) => bytes.fetch_add(grown, Ordering::Relaxed),
                    Err(error) => {
                        outcome = Err(error);
                        return None;
                    }
                };
            }
            let batch = Arc::new(batch);
            if appenders.iter().any(|(give, _)| give.send(batch.clone()).is_err()) {
                return None;
            }
            give_back(batch, &back);
            Some(empty.try_recv().unwrap_or_default())
        };
        let read = read(&mut append).map_err(|error| (None, error));
        for (give, thread) in appenders {
            drop(give);
            let appended = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(appended);
        }
        outcome.and(read)
    })
}

fn append_all(
    full: &Receiver<Arc<Batch>>,
    back: &Sender<Batch>,
    start: usize,
    columns: &mut [ColumnBuilder],
    cells: &CellFormat,
    bytes: &AtomicU64,
) -> std::result::Result<(), AtColumn> {
    for batch in full {
        bytes.fetch_add(batch.append(start, columns, cells)?, Ordering::Relaxed);
        give_back(batch, back);
    }
    Ok(())
}

/// Returns a batch to the reader when its last holder drops it.
fn give_back(batch: Arc<Batch>, back: &Sender<Batch>) {
    if let Some(batch) = Arc::into_inner(batch) {
        // The reader may have ended.
        let _ = back.send(batch.emptied());
    }
}
