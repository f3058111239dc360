//! CSV to typed columns: delimiter, missing markers, line numbers kept for errors. Knows nothing of features or classes.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cells::{Cells, Growing, quoted, short};
use super::source::{Source, unreadable};
use crate::error::{Error, Result};

/// How to read the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// The field separator; sniffed among `,` `;` tab `|` when absent.
    pub delimiter: Option<char>,
    /// The decimal sign, `.` unless told.
    pub decimal: Option<char>,
    /// More words that mean "missing", besides the usual ones.
    pub missing: Vec<String>,
    /// The first line is data; columns are called `c1`, `c2`, ….
    pub no_header: bool,
}

/// The values of one column, in row order.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Text, interned: an index into the levels (in order of appearance) for each row, `None` is missing.
    Text {
        /// The distinct values, in order of appearance.
        levels: Vec<String>,
        /// For each row the index of its value.
        codes: Vec<Option<u32>>,
    },
}

/// A file as typed columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The file's name as the user gave it.
    pub name: String,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// The field separator in use.
    pub delimiter: char,
    /// Column names, unique, in file order.
    pub header: Vec<String>,
    /// Columns, in file order.
    pub columns: Vec<Column>,
    /// The line of the file (from 1) on which each row starts.
    pub lines: Vec<u64>,
}

impl Table {
    /// Reads a file. `as_text` looks at the header and names (by position) the columns that are text whatever they look
    /// like; `progress` is told bytes read and bytes in all.
    pub fn read(
        path: &Path,
        options: &ReadOptions,
        as_text: impl FnOnce(&[String]) -> Result<Vec<usize>>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let decimal = ascii("decimal", options.decimal.unwrap_or('.'))?;
        let source = Source::open(path, progress)?;
        let delimiter = match options.delimiter {
            Some(delimiter) => ascii("delimiter", delimiter)?,
            None => source.sniff(decimal),
        };
        if delimiter == decimal {
            return Err(Error::usage(format!(
                "'{}' cannot be both --delimiter and --decimal",
                char::from(decimal)
            )));
        }
        let mut records = Records::new(source, delimiter);
        read(&mut records, options, char::from(decimal), as_text)
            .map(|(header, columns, lines)| {
                let name = path.to_string_lossy().into_owned();
                let (sha256, delimiter) = (records.finish(), char::from(delimiter));
                Self { name, sha256, delimiter, header, columns, lines }
            })
            .map_err(|error| error.file(path))
    }
}

fn ascii(option: &str, sign: char) -> Result<u8> {
    u8::try_from(sign)
        .ok()
        .filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r'))
        .ok_or_else(|| {
            Error::usage(format!("--{option} cannot be '{sign}'")).remedy("give one sign such as ',' or ';'")
        })
}

fn read<P: FnMut(u64, u64)>(
    records: &mut Records<P>,
    options: &ReadOptions,
    decimal: char,
    as_text: impl FnOnce(&[String]) -> Result<Vec<usize>>,
) -> Result<(Vec<String>, Vec<Column>, Vec<u64>)> {
    let cells =
        Cells { decimal, missing: options.missing.iter().map(|word| word.trim().to_owned()).collect() };
    let mut more = records.advance()?;
    let header = header(&records.record, options.no_header)?;
    let mut columns: Vec<_> = header.iter().map(|_| Growing::new(false)).collect();
    for position in as_text(&header)? {
        columns[position] = Growing::new(true);
    }
    if !options.no_header {
        more = records.advance()?;
    }
    let mut lines = Vec::new();
    while more {
        let (record, line) = (&records.record, records.line);
        if record.len() != header.len() {
            let first = if options.no_header { "the first line" } else { "the header" };
            return Err(ragged(record.len(), header.len(), first, lines.is_empty()).line(line));
        }
        for ((cell, column), name) in record.iter().zip(&mut columns).zip(&header) {
            column.push(cell, &cells).map_err(|error| {
                error.line(line).column(name).remedy(format!(
                    "correct it, declare it missing with --na, or read the column as text with --categorical {}",
                    quoted(name)
                ))
            })?;
        }
        lines.push(line);
        more = records.advance()?;
    }
    if lines.is_empty() {
        return Err(Error::data("the file has a header but no rows").remedy("add rows below the header"));
    }
    let columns = header.iter().zip(columns).map(|(name, column)| column.finish(name, &lines, &cells));
    Ok((header.clone(), columns.collect::<Result<_>>()?, lines))
}

fn header(record: &csv::StringRecord, no_header: bool) -> Result<Vec<String>> {
    let name = |(i, cell): (usize, &str)| match cell.trim() {
        cell if no_header || cell.is_empty() => format!("c{}", i + 1),
        cell => cell.to_owned(),
    };
    let header: Vec<_> = record.iter().enumerate().map(name).collect();
    let mut seen = HashMap::new();
    for (i, name) in header.iter().enumerate() {
        if let Some(first) = seen.insert(name, i + 1) {
            let again = i + 1;
            return Err(Error::data(format!(
                "columns {first} and {again} are both called '{}'",
                short(name)
            ))
            .remedy("rename one of them"));
        }
    }
    Ok(header)
}

fn ragged(found: usize, expected: usize, first: &str, at_once: bool) -> Error {
    let fields = if found == 1 { "field" } else { "fields" };
    let error = Error::data(format!("the line has {found} {fields}, but {first} has {expected}"));
    if at_once && found == expected + 1 {
        return error
            .remedy("name the first column too; in R, write with row.names = FALSE or col.names = NA");
    }
    error.remedy("correct the line (a stray quote or delimiter?), or set the separator with --delimiter")
}

/// The records of a file, one at a time, each with the line it starts on. Blank lines are skipped.
struct Records<P> {
    reader: csv::Reader<Source<P>>,
    record: csv::StringRecord,
    line: u64,
}

impl<P: FnMut(u64, u64)> Records<P> {
    fn new(source: Source<P>, delimiter: u8) -> Self {
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(delimiter).has_headers(false).flexible(true).buffer_capacity(1 << 16);
        Self { reader: builder.from_reader(source), record: csv::StringRecord::new(), line: 1 }
    }

    /// Reads the next record; false at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        loop {
            let result = self.reader.read_record(&mut self.record);
            self.line = self.last_line();
            if !result.map_err(|error| self.explain(&error))? {
                return Ok(false);
            }
            if self.record.len() == 1 && self.record[0].trim().is_empty() {
                continue;
            }
            self.check_closed()?;
            self.line -= self.line_feeds();
            return Ok(true);
        }
    }

    /// The line on which the record ends. The parser counts the line feeds it has consumed, which include the
    /// record's own, but not always: after `\r` the line feed is still to come, and the last line may lack it.
    fn last_line(&self) -> u64 {
        let position = self.reader.position();
        let consumed = self.reader.get_ref().byte_before(position.byte()) == Some(b'\n');
        position.line() - u64::from(consumed)
    }

    /// Refuses a record whose last field runs into the end of the file, swallowing its last line feed.
    fn check_closed(&self) -> Result<()> {
        let field = self.record.iter().next_back().unwrap_or_default();
        let end = self.reader.position().byte();
        let before = |n| self.reader.get_ref().byte_before(end - n);
        if field.ends_with('\n') && before(0) == Some(b'\n') && !matches!(before(1), Some(b'"') | None) {
            let start = self.line + 1 - self.line_feeds();
            return Err(Error::data("a quote is opened but never closed")
                .line(start)
                .remedy("close it, or double it if it is meant as a character"));
        }
        Ok(())
    }

    fn line_feeds(&self) -> u64 {
        self.record.as_byte_record().as_slice().iter().filter(|&&byte| byte == b'\n').count() as u64
    }

    fn explain(&self, error: &csv::Error) -> Error {
        match error.kind() {
            csv::ErrorKind::Io(error) => unreadable(error),
            csv::ErrorKind::Utf8 { .. } => Error::data("the text is not UTF-8")
                .line(self.line)
                .remedy("convert the file with iconv -f WINDOWS-1252 -t UTF-8"),
            _ => Error::data(format!("the line cannot be read ({error})")).line(self.line),
        }
    }

    fn finish(self) -> String {
        self.reader.into_inner().finish()
    }
}

#[cfg(test)]
mod tests;
