//! Records on their way to the columns: taken apart by one thread, understood by others.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, available_parallelism, scope};

use super::cells::{Cells, Growing};
use super::records::Record;
use crate::error::{Error, Result};

/// Batches that may wait for a thread.
const AHEAD: usize = 2;
/// More threads than this would wait for the one that reads.
const MOST_THREADS: usize = 3;

/// Some records. Cell by cell, a wide table would have the processor wait for each column's end in turn; a column takes
/// several cells in the time of one.
#[derive(Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    /// How many of the records wait; the others are there to be used again.
    waiting: usize,
    bytes: usize,
}

impl Batch {
    /// Takes a record and leaves an old one.
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

    /// Gives columns, the first of which is at `start`, their cells; an error comes with the column it is about.
    fn pour(
        &self,
        start: usize,
        columns: &mut [Growing],
        cells: &Cells,
    ) -> std::result::Result<(), AtColumn> {
        for (place, column) in (start..).zip(columns) {
            for record in &self.records[..self.waiting] {
                column.push_cell(record, place, cells).map_err(|error| (Some(place), error))?;
            }
        }
        Ok(())
    }

    /// Makes the records ready to be used again.
    fn emptied(mut self) -> Self {
        (self.waiting, self.bytes) = (0, 0);
        self
    }
}

/// An error and the column it is about, if it is about one.
pub(super) type AtColumn = (Option<usize>, Error);

/// Runs `read`, which hands over full batches and gets empty ones for them, or nothing when there is no use in going on. Each
/// of some threads pours the batches into its share of the columns meanwhile; if none can be had, this one does.
pub(super) fn pour_while(
    columns: &mut [Growing],
    cells: &Cells,
    read: impl FnOnce(&mut dyn FnMut(Batch) -> Option<Batch>) -> Result<()>,
) -> std::result::Result<(), AtColumn> {
    let threads = available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let share = columns.len().div_ceil(threads).max(1);
    scope(|scope| {
        let (back, empty) = channel();
        let mut pourers = Vec::new();
        let mut here = Vec::new();
        for (part, columns) in columns.chunks_mut(share).enumerate() {
            let (give, full) = sync_channel(AHEAD);
            let (start, back) = (part * share, back.clone());
            // The columns go to the thread by a channel, so that they are not lost with a thread that cannot be had.
            let (hand, take) = channel();
            let work =
                move || take.recv().map_or(Ok(()), |columns| pour_all(&full, &back, start, columns, cells));
            match Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => {
                    let _ = hand.send(columns);
                    pourers.push((give, thread));
                }
                Err(_) => here.push((start, columns)),
            }
        }
        let mut outcome = Ok(());
        let mut pour = |batch: Batch| {
            for (start, columns) in &mut here {
                if let Err(error) = batch.pour(*start, columns, cells) {
                    outcome = Err(error);
                    return None;
                }
            }
            let batch = Arc::new(batch);
            if pourers.iter().any(|(give, _)| give.send(batch.clone()).is_err()) {
                return None;
            }
            give_back(batch, &back);
            Some(empty.try_recv().unwrap_or_default())
        };
        let read = read(&mut pour).map_err(|error| (None, error));
        for (give, thread) in pourers {
            drop(give);
            let poured = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            outcome = outcome.and(poured);
        }
        outcome.and(read)
    })
}

fn pour_all(
    full: &Receiver<Arc<Batch>>,
    back: &Sender<Batch>,
    start: usize,
    columns: &mut [Growing],
    cells: &Cells,
) -> std::result::Result<(), AtColumn> {
    for batch in full {
        batch.pour(start, columns, cells)?;
        give_back(batch, back);
    }
    Ok(())
}

/// The last to hold a batch gives it back.
fn give_back(batch: Arc<Batch>, back: &Sender<Batch>) {
    if let Some(batch) = Arc::into_inner(batch) {
        // Nobody may want it any more.
        let _ = back.send(batch.emptied());
    }
}
