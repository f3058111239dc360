//! A column while it is read: numbers until the first word, and from then on text.

use std::collections::HashMap;

use super::cells::{CellFormat, Censored};
use super::decimal::plain_number;
use super::lines::RowLines;
use super::memory::{of_text, reserve};
use super::records::Record;
use super::table::Column;
use super::unparsed::{LISTED, UnparsedValues, check_text};
use crate::error::{Error, Result};

/// A column while it is read.
pub(super) struct ColumnBuilder {
    declared_text: bool,
    numbers: usize,
    censored: usize,
    /// Text met by a column of numbers: the first few with their row, and how many in all.
    unparsed: Vec<(usize, String)>,
    unparsed_count: usize,
    /// Bytes of the distinct texts.
    text_bytes: u64,
    values: Values,
}

enum Values {
    Numbers(Vec<f64>),
    Text { codes: Vec<Option<u32>>, known: HashMap<String, u32> },
}

impl ColumnBuilder {
    /// An empty column; `declared_text` columns are text whatever they look like.
    pub(super) fn new(declared_text: bool) -> Self {
        let values = if declared_text {
            Values::Text { codes: Vec::new(), known: HashMap::new() }
        } else {
            Values::Numbers(Vec::new())
        };
        Self {
            declared_text,
            numbers: 0,
            censored: 0,
            unparsed: Vec::new(),
            unparsed_count: 0,
            text_bytes: 0,
            values,
        }
    }

    /// Reserves memory for this many more cells.
    pub(super) fn reserve(&mut self, cells: usize) -> Result<()> {
        match &mut self.values {
            Values::Numbers(values) => reserve(values, cells),
            Values::Text { codes, .. } => reserve(codes, cells),
        }
    }

    /// Bytes reserved for values, and bytes that finishing the column will need.
    pub(super) fn bytes(&self) -> u64 {
        /// Per level: an entry of the map, which is never full, and one of the list of levels.
        const LEVEL: u64 = 40 + 24;
        match &self.values {
            Values::Numbers(values) => 8 * values.capacity() as u64,
            Values::Text { codes, known } => {
                8 * codes.capacity() as u64 + LEVEL * known.capacity() as u64 + self.text_bytes
            }
        }
    }

    /// How many censored values were taken for their bound or for missing.
    pub(super) fn censored(&self) -> usize {
        self.censored
    }

    /// The row of the only word among numbers.
    pub(super) fn lone_word(&self, cells: &CellFormat) -> Option<usize> {
        match &self.values {
            Values::Numbers(_) => {
                self.unparsed.first().filter(|_| self.unparsed_count == 1).map(|(row, _)| *row)
            }
            Values::Text { codes, known } => {
                // The first value is a word, or the column would be one of numbers.
                let words = known.keys().filter(|word| !cells.finite(word)).count();
                let first = codes.iter().filter(|&&code| code == Some(0)).count();
                let alone = !self.declared_text && words == 1 && first == 1 && known.len() > 1;
                codes.iter().position(Option::is_some).filter(|_| alone)
            }
        }
    }

    /// Adds a cell of a record. Most cells of most files are numbers, which take a short path.
    pub(super) fn push_cell(
        &mut self,
        record: &Record,
        place: usize,
        cells: &CellFormat,
    ) -> Result<()> {
        if let Values::Numbers(values) = &mut self.values
            && cells.is_plain()
            && let Some(number) = plain_number(record.bytes_of(place))
        {
            self.numbers += 1;
            values.push(number);
            return Ok(());
        }
        self.push(record.cell(place), cells)
    }

    fn push(&mut self, cell: &str, cells: &CellFormat) -> Result<()> {
        let cell = cell.trim();
        let missing = cells.is_missing(cell);
        match &mut self.values {
            Values::Text { codes, known } => {
                codes.push(if missing {
                    None
                } else {
                    Some(intern(known, &mut self.text_bytes, cell)?)
                });
            }
            Values::Numbers(values) if missing => values.push(f64::NAN),
            Values::Numbers(values) => match cells.number(cell) {
                Some(number) if cells.missing_numbers.contains(&number) => values.push(f64::NAN),
                Some(number) if number.is_finite() => {
                    self.numbers += 1;
                    values.push(number);
                }
                _ => return self.push_word(cell, cells),
            },
        }
        Ok(())
    }

    /// Adds a word to a column that has no words yet.
    fn push_word(&mut self, cell: &str, cells: &CellFormat) -> Result<()> {
        let Values::Numbers(values) = &mut self.values else { return Ok(()) };
        if let (Some(censored), Some(bound)) = (cells.censored, cells.bound(cell)) {
            self.censored += 1;
            self.numbers += 1;
            values.push(if censored == Censored::Bound { bound } else { f64::NAN });
        } else if self.numbers == 0 {
            let mut codes = vec![None; values.len()];
            let mut known = HashMap::new();
            codes.push(Some(intern(&mut known, &mut self.text_bytes, cell)?));
            self.values = Values::Text { codes, known };
        } else {
            if self.unparsed.len() < LISTED {
                self.unparsed.push((values.len(), cell.to_owned()));
            }
            self.unparsed_count += 1;
            values.push(f64::NAN);
        }
        Ok(())
    }

    /// The whole column; a mixture of numbers and text is refused, because either may be a typing
    /// error.
    pub(super) fn finish(self, name: &str, lines: &RowLines, cells: &CellFormat) -> Result<Column> {
        let (codes, known) = match self.values {
            Values::Numbers(_) if self.unparsed_count > 0 => {
                let unparsed = UnparsedValues {
                    numbers: self.numbers,
                    words: self.unparsed_count,
                    listed: self.unparsed,
                };
                return Err(unparsed.refuse(name, lines, cells));
            }
            Values::Numbers(values) => return Ok(Column::Numbers(values)),
            Values::Text { codes, known } => (codes, known),
        };
        let mut levels = vec![String::new(); known.len()];
        for (level, code) in known {
            levels[code as usize] = level;
        }
        if !self.declared_text {
            check_text(name, &levels, &codes, lines, cells)?;
        }
        Ok(Column::Text { levels, codes })
    }
}

fn intern(known: &mut HashMap<String, u32>, bytes: &mut u64, cell: &str) -> Result<u32> {
    if let Some(&code) = known.get(cell) {
        return Ok(code);
    }
    let code = u32::try_from(known.len())
        .map_err(|_| Error::data("the column has too many different values"))?;
    known.insert(cell.to_owned(), code);
    *bytes += of_text(cell.len());
    Ok(code)
}
