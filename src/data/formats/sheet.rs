//! The text of a sheet, built cell by cell, so that a sheet takes the memory of what it holds and
//! not that of the rectangle around it.

use super::write_cell;
use crate::data::memory;
use crate::error::{Error, Result};

/// The rows and columns that a sheet of today's spreadsheet programs has.
const MOST_ROWS: u32 = 1 << 20;
const MOST_COLUMNS: u32 = 1 << 14;

/// The rows that hold something.
pub(super) struct Rows {
    /// All cells from the first column to the last that a row has, row after row.
    text: Vec<u8>,
    rows: Vec<Row>,
    /// The first column that holds something, and the number of columns up to the last.
    left: u32,
    width: u32,
    /// Bytes that the text may have when every row has all columns.
    limit: u64,
}

/// A row, counted from 0, with the number of cells written and the place where its text starts.
struct Row {
    number: u32,
    cells: u32,
    start: usize,
}

impl Rows {
    /// No rows yet, in memory of at most `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        // While rows are aligned, the text exists twice.
        Self { text: Vec::new(), rows: Vec::new(), left: u32::MAX, width: 0, limit: limit / 2 }
    }

    /// Whether no cell holds anything.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a cell behind all others; both places are counted from 0.
    pub(super) fn push(&mut self, number: u32, column: u32, cell: &str) -> Result<()> {
        if number >= MOST_ROWS || column >= MOST_COLUMNS {
            return Err(beyond());
        }
        if self.rows.last().is_none_or(|last| last.number < number) {
            self.rows.push(Row { number, cells: 0, start: self.text.len() });
        }
        let Some(row) =
            self.rows.last_mut().filter(|row| row.number == number && row.cells <= column)
        else {
            return Err(Error::data("the sheet holds this cell twice, or not in order")
                .line(u64::from(number) + 1)
                .column(letters(column))
                .remedy("save the workbook again, or the sheet as CSV (UTF-8)"));
        };
        let commas = (column - row.cells + u32::from(row.cells > 0)) as usize;
        // Quotes at most double a cell.
        memory::reserve(&mut self.text, commas + 2 * cell.len() + 2)?;
        self.text.resize(self.text.len() + commas, b',');
        write_cell(&mut self.text, cell);
        row.cells = column + 1;
        self.left = self.left.min(column);
        self.width = self.width.max(column + 1);
        self.check(number, 0)
    }

    /// Repeats a row in the rows below it, if it holds something.
    pub(super) fn repeat(&mut self, number: u32, times: u32) -> Result<()> {
        let Some(&Row { cells, start, .. }) = self.rows.last().filter(|row| row.number == number)
        else {
            return Ok(());
        };
        if times > MOST_ROWS {
            return Err(beyond());
        }
        let text = self.text[start..].to_vec();
        self.check(number, u64::from(times) * text.len() as u64)?;
        for number in (number + 1..).take(times as usize) {
            memory::reserve(&mut self.text, text.len())?;
            self.rows.push(Row { number, cells, start: self.text.len() });
            self.text.extend_from_slice(&text);
            self.check(number, 0)?;
        }
        Ok(())
    }

    /// Refuses to go on if the text up to this row, with so many more bytes, is too large.
    fn check(&self, number: u32, more: u64) -> Result<()> {
        let aligned = self.rows.len() as u64 * (u64::from(self.width) + size_of::<Row>() as u64);
        let needed = self.text.len() as u64 + more + aligned + u64::from(number);
        if needed <= self.limit {
            return Ok(());
        }
        Err(Error::data(format!(
            "the sheet up to row {} and column {} needs {} of memory",
            u64::from(number) + 1,
            letters(self.width - 1),
            memory::spoken(2 * needed)
        ))
        .remedy("clear stray cells, save it as CSV (UTF-8), or allow more with --memory-limit"))
    }

    /// Every row as a line. Rows that hold nothing are empty lines, so that lines have the numbers
    /// of rows; columns to the left of the first that holds something are left out.
    pub(super) fn into_text(self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = 0;
        let ends = self.rows.iter().skip(1).map(|row| row.start).chain([self.text.len()]);
        for (row, end) in self.rows.iter().zip(ends) {
            text.resize(text.len() + (row.number - line) as usize, b'\n');
            text.extend_from_slice(&self.text[row.start + self.left as usize..end]);
            text.resize(text.len() + (self.width - row.cells) as usize, b',');
            text.push(b'\n');
            line = row.number + 1;
        }
        text
    }
}

fn beyond() -> Error {
    Error::data(format!(
        "the sheet has a cell beyond column {} or row {MOST_ROWS}, where sheets end",
        letters(MOST_COLUMNS - 1)
    ))
    .remedy("clear stray cells, or save the table as CSV (UTF-8)")
}

/// The letters of a column, counted from 0: A, B, …, Z, AA.
pub(super) fn letters(column: u32) -> String {
    let last = char::from(b'A' + (column % 26) as u8).to_string();
    if column < 26 { last } else { letters(column / 26 - 1) + &last }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        assert_eq!(
            [0, 25, 26, 51, 52, 701, 702].map(letters),
            ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
        );
    }

    #[test]
    fn rows_are_aligned_and_keep_their_numbers() {
        let mut rows = Rows::new(1000);
        for (row, column, cell) in [(1, 2, "a,b"), (1, 4, "c"), (3, 1, "d")] {
            rows.push(row, column, cell).unwrap();
        }
        rows.repeat(3, 1).unwrap();
        rows.repeat(4, 0).unwrap();
        assert_eq!(rows.into_text(), b"\n,\"a,b\",,c\n\nd,,,\nd,,,\n");
    }

    #[test]
    fn what_is_too_large_or_not_in_order_is_refused() {
        let say = |cells: &[(u32, u32)]| {
            let mut rows = Rows::new(1000);
            let each = cells.iter().try_for_each(|&(row, column)| rows.push(row, column, "x"));
            each.and_then(|()| rows.repeat(0, 1000)).unwrap_err().to_string()
        };
        assert!(
            say(&[(1, 0), (0, 0)]).contains("line 1, column 'A': the sheet holds this cell twice")
        );
        assert!(say(&[(0, 1), (0, 1)]).contains("twice, or not in order"));
        assert!(
            say(&[(0, 1 << 14)])
                .starts_with("the sheet has a cell beyond column XFD or row 1048576")
        );
        assert!(
            say(&[(0, 400)])
                .starts_with("the sheet up to row 1 and column OK needs 2 kB of memory")
        );
        assert!(say(&[(900, 0)]).contains("up to row 901 and column A"));
        assert!(say(&[(0, 0)]).contains("and column A needs 3 kB of memory"));
    }
}
