//! A table on its side: reads all cells and writes them as text again, columns as lines.

use super::memory;
use super::records::RecordReader;
use super::table::ragged;
use crate::error::{Error, Result};

/// The transposed table: its columns as lines.
pub(super) fn transpose<P: FnMut(u64, u64)>(
    records: &mut RecordReader<P>,
    delimiter: u8,
    limit: u64,
) -> Result<Vec<u8>> {
    let mut cells = Vec::new();
    let mut ends = vec![0];
    let mut width = 0;
    while records.advance()? {
        if ends.len() == 1 {
            width = records.record.len();
        } else if ends.len() == width + 1 && records.record.len() == width + 1 {
            // R leaves the corner out.
            ends.insert(0, 0);
            width += 1;
        } else if records.record.len() != width {
            return Err(
                ragged(records.record.len(), width, "the first line", false).line(records.line)
            );
        }
        memory::reserve(&mut cells, records.record.bytes())?;
        memory::reserve(&mut ends, width)?;
        for cell in records.record.iter() {
            cells.extend_from_slice(cell.as_bytes());
            ends.push(cells.len());
        }
        // The text that is written has a separator for each cell, and perhaps some quotes.
        let written = cells.len() + cells.len() / 16 + ends.len();
        if memory::PROGRAM + (cells.capacity() + 8 * ends.capacity() + written) as u64 > limit {
            let limit = memory::spoken(limit);
            return Err(Error::data(format!("the table is too large to transpose in {limit}"))
                .remedy("transpose the file beforehand, or allow more with --memory-limit")
                .option("--memory-limit"));
        }
    }
    let lines = (ends.len() - 1) / width.max(1);
    let written = Vec::with_capacity(cells.len() + ends.len());
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(written);
    let fault =
        |error: csv::Error| Error::internal(format!("the table cannot be transposed ({error})"));
    for column in 0..width {
        let cell =
            |line: usize| &cells[ends[line * width + column]..ends[line * width + column + 1]];
        writer.write_record((0..lines).map(cell)).map_err(fault)?;
    }
    writer.into_inner().map_err(|error| fault(error.into_error().into()))
}
