//! A file as typed columns, with the lines of its rows for errors. Knows nothing of features or
//! classes.

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::cells::{CellFormat, Censored};
use super::column_builder::ColumnBuilder;
#[cfg(feature = "formats")]
use super::formats::binary;
use super::formats::{Provenance, Samples, geo};
use super::header::{self, Header, Heading};
use super::lines::RowLines;
use super::memory;
use super::names::listed;
use super::records::RecordReader;
use super::source::{TextSource, name};
use super::transpose::transpose;
use crate::error::{Error, Result, RowKind};

/// How to read the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadOptions {
    /// The field separator; sniffed among `,` `;` tab `|` when absent.
    pub delimiter: Option<char>,
    /// The decimal sign; when absent `.`, or `,` if the numbers suggest it and it is not the
    /// separator.
    pub decimal: Option<char>,
    /// More words that mean "missing", besides the usual ones.
    pub missing: Vec<String>,
    /// The first line is data; columns are called `c1`, `c2`, ….
    pub no_header: bool,
    /// Columns of the same name are numbered instead of refused.
    pub dedup_names: bool,
    /// What `<0.5` stands for; refused when absent.
    pub censored: Option<Censored>,
    /// The sheet of a workbook; the first when absent.
    pub sheet: Option<String>,
    /// Lines are columns and columns are rows.
    pub transpose: bool,
    /// Megabytes the table may take; what is free when absent. Changes no result.
    #[serde(skip)]
    pub memory_limit: Option<u64>,
}

/// The values of one column, in row order.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Text, interned: an index into the levels (in order of appearance) for each row, `None` is
    /// missing.
    Text {
        /// The distinct values, in order of appearance.
        levels: Vec<String>,
        /// For each row the index of its value.
        codes: Vec<Option<u32>>,
    },
}

impl Column {
    /// Bytes of the values.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Numbers(values) => 8 * values.capacity() as u64,
            Self::Text { levels, codes } => {
                let level =
                    |level: &String| size_of::<String>() as u64 + memory::of_text(level.len());
                8 * codes.capacity() as u64 + levels.iter().map(level).sum::<u64>()
            }
        }
    }

    /// The distinct values and the code of each row, of a column that was read as text.
    pub(super) fn text(&self) -> Result<(&[String], &[Option<u32>])> {
        match self {
            Self::Text { levels, codes } => Ok((levels, codes)),
            Self::Numbers(_) => {
                Err(Error::internal("a column that was to be read as text is numbers"))
            }
        }
    }

    /// Some rows of it.
    pub(super) fn select(self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(values) => Self::Numbers(rows.iter().map(|&row| values[row]).collect()),
            Self::Text { levels, codes } => {
                // Drop values that no row has any more.
                let mut used = Vec::new();
                let mut place = vec![None; levels.len()];
                let mut code = |&row: &usize| {
                    let level = codes[row]? as usize;
                    Some(*place[level].get_or_insert_with(|| {
                        used.push(levels[level].clone());
                        used.len() as u32 - 1
                    }))
                };
                let codes = rows.iter().map(&mut code).collect();
                Self::Text { levels: used, codes }
            }
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Numbers(values) => values.iter().all(|value| value.is_nan()),
            Self::Text { levels, .. } => levels.is_empty(),
        }
    }
}

/// A file as typed columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The file's name as the user gave it.
    pub name: String,
    /// SHA-256 of its bytes as they are (compressed, if they are), hexadecimal.
    pub sha256: String,
    /// The encoding of its text, by its usual name; empty if it is no text.
    pub encoding: &'static str,
    /// The field separator in use.
    pub delimiter: char,
    /// The decimal sign in use.
    pub decimal: char,
    /// Column names, unique, in file order.
    pub header: Header,
    /// Columns, in file order.
    pub columns: Vec<Column>,
    /// The line of the file (from 1) on which each row starts.
    pub lines: RowLines,
    /// Notes on what was corrected, in sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// Reads a file, or standard input if it is called `-`. `as_text` looks at the header and names
    /// (by position) the columns that are text whatever they look like; `progress` receives the
    /// bytes read and the total.
    pub fn read(
        path: &Path,
        options: &ReadOptions,
        mut as_text: impl FnMut(&Header) -> Result<Vec<usize>>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        Self::read_part(path, options, FilePart::Matrix, |header, _| as_text(header), progress)
    }

    /// What a file says about its samples, as a table.
    pub(super) fn of_samples(
        samples: Samples,
        options: &ReadOptions,
        mut as_text: impl FnMut(&Header) -> Result<Vec<usize>>,
    ) -> Result<Self> {
        let text = Box::new(Cursor::new(samples.text));
        let provenance = Provenance { names_are_apart: true, ..Provenance::default() };
        let table = Attempt::of_text(text, provenance, options, u64::MAX, |_, _| {})
            .read(&ReadOptions::default(), FilePart::Samples, &mut |header, _| as_text(header))
            .map_err(|failure| failure.error)?;
        Ok(Self { name: samples.name.to_owned(), ..table })
    }

    /// Reads the matrix, or a table about samples: a file of its own, or what a series matrix or
    /// AnnData says about its samples. `as_text` also receives the annotations of the samples, if a
    /// matrix comes with them.
    pub(super) fn read_part(
        path: &Path,
        options: &ReadOptions,
        part: FilePart,
        mut as_text: impl FnMut(&Header, Option<Samples>) -> Result<Vec<usize>>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let named = |error: Error| error.file(PathBuf::from(name(path)));
        #[cfg(feature = "formats")]
        {
            let limit = memory::limit(options.memory_limit);
            if let Some(converted) = binary::open(path, options, limit).map_err(named)? {
                if options.sheet.is_some() && converted.provenance.sheet.is_none() {
                    return Err(named(no_sheets()));
                }
                let attempt = Attempt::of_converted(converted, options, part, limit, &mut progress)
                    .map_err(named)?;
                let table = attempt
                    .read(options, part, &mut as_text)
                    .map_err(|failure| named(failure.error))?;
                return Ok(Self { name: name(path), ..table });
            }
        }
        if options.sheet.is_some() {
            return Err(named(no_sheets()));
        }
        match Attempt::new(path, options, false, &mut progress)?.read(options, part, &mut as_text) {
            // Bytes that are not UTF-8 may come late in a file: then it is read again.
            Err(ReadFailure { may_be_legacy: true, .. }) => {
                Attempt::new(path, options, true, &mut progress)?.read(options, part, &mut as_text)
            }
            other => other,
        }
        .map(|table| Self { name: name(path), ..table })
        .map_err(|failure| named(failure.error))
    }
}

/// Which part to read of a file that has a matrix and a table about its samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilePart {
    Matrix,
    Samples,
}

/// What a file of the Gene Expression Omnibus is called in sentences.
const SERIES_MATRIX: &str = "a GEO series matrix";

/// An error, and whether another encoding may help.
struct ReadFailure {
    error: Error,
    may_be_legacy: bool,
}

/// A file that is open, with its separator and decimal sign.
struct Attempt<P> {
    records: RecordReader<P>,
    is_series_matrix: bool,
    delimiter: u8,
    cells: CellFormat,
    limit: u64,
    provenance: Option<Provenance>,
}

impl<P: FnMut(u64, u64)> Attempt<P> {
    /// A file that is not text.
    #[cfg(feature = "formats")]
    fn of_converted(
        converted: binary::Converted,
        options: &ReadOptions,
        part: FilePart,
        limit: u64,
        progress: P,
    ) -> Result<Self> {
        let binary::Converted { format, mut text, mut provenance } = converted;
        if options.no_header && provenance.names_are_apart {
            return Err(has_names(format));
        }
        if let Some(option) = sign_option(options) {
            provenance.notes.push(format!("{option} is not used: this is {format}"));
        }
        if part == FilePart::Samples
            && let Some(samples) = provenance.samples.take()
        {
            text = Box::new(Cursor::new(samples.text));
        }
        Ok(Self::of_text(text, provenance, options, limit, progress))
    }

    /// Text that was written from another format.
    fn of_text(
        text: Box<dyn Read + Send>,
        provenance: Provenance,
        options: &ReadOptions,
        limit: u64,
        progress: P,
    ) -> Self {
        let cells = CellFormat::new('.', &options.missing, options.censored);
        let first_line = u64::from(!provenance.names_are_apart);
        let source = TextSource::of_text(text, progress);
        let records = RecordReader::new(source, b',', limit).numbered_from(first_line);
        let provenance = Some(provenance);
        Self { records, is_series_matrix: false, delimiter: b',', cells, limit, provenance }
    }

    fn new(path: &Path, options: &ReadOptions, legacy: bool, progress: P) -> Result<Self> {
        let decimal_sign = options.decimal.map(|sign| sign_of("decimal", sign)).transpose()?;
        let source =
            TextSource::open(path, legacy, progress).map_err(|error| error.file(name(path)))?;
        let is_series_matrix = source.is_series_matrix();
        if is_series_matrix && options.no_header {
            return Err(has_names(SERIES_MATRIX).file(name(path)));
        }
        let (delimiter, decimal) =
            if is_series_matrix { (b'\t', b'.') } else { signs(&source, options, decimal_sign)? };
        if delimiter == decimal {
            return Err(Error::usage(format!(
                "'{}' cannot be both --delimiter and --decimal",
                char::from(decimal)
            ))
            .option("--delimiter"));
        }
        let cells = CellFormat::new(char::from(decimal), &options.missing, options.censored);
        let limit = memory::limit(options.memory_limit);
        let records = RecordReader::new(source, delimiter, limit);
        Ok(Self { records, is_series_matrix, delimiter, cells, limit, provenance: None })
    }

    fn read(
        mut self,
        options: &ReadOptions,
        part: FilePart,
        as_text: &mut impl FnMut(&Header, Option<Samples>) -> Result<Vec<usize>>,
    ) -> std::result::Result<Table, ReadFailure> {
        let table = self.parse(options, part, as_text);
        let may_be_legacy = self.records.may_be_legacy();
        table
            .and_then(|table| self.finish(table, options))
            .map_err(|error| ReadFailure { error, may_be_legacy })
    }

    /// The columns, and the notes on them.
    fn parse(
        &mut self,
        options: &ReadOptions,
        part: FilePart,
        as_text: &mut impl FnMut(&Header, Option<Samples>) -> Result<Vec<usize>>,
    ) -> Result<Table> {
        let Self { records, is_series_matrix, delimiter, cells, limit, provenance } = self;
        let mut rows = if provenance.is_some() { RowKind::Row } else { RowKind::Line };
        let mut samples = provenance.as_mut().and_then(|known| known.samples.take());
        let is_on_its_side = *is_series_matrix && part == FilePart::Matrix;
        if *is_series_matrix {
            let parts = geo::take_apart(records, *limit)?;
            if is_on_its_side {
                samples = Some(Samples { name: "its sample lines", text: parts.samples.clone() });
                let (matrix, line) = parts.matrix()?;
                records.restart(matrix, line);
            } else {
                *delimiter = b',';
                rows = RowKind::Row;
                records.separate_by(*delimiter);
                records.restart(parts.samples, 0);
            }
        }
        let placed = |error: Error, rows: RowKind| {
            let error = error.rows_are(rows);
            let Some(Provenance { sheet, other_sheets, .. }) = &*provenance else { return error };
            let error = if let Some(sheet) = sheet { error.sheet(sheet) } else { error };
            if let Some(others) = other_sheets { error.also(others) } else { error }
        };
        if options.transpose || is_on_its_side {
            let text =
                transpose(records, *delimiter, *limit).map_err(|error| placed(error, rows))?;
            records.restart(text, 1);
            rows = RowKind::Column;
        }
        let mut as_text = |header: &Header| as_text(header, samples.take());
        let reading = ColumnParser { options, cells, limit: *limit, rows };
        reading.read(records, &mut as_text).map_err(|error| placed(error, rows))
    }

    /// Adds what is known when all is read.
    fn finish(self, mut table: Table, options: &ReadOptions) -> Result<Table> {
        let Self { records, is_series_matrix, delimiter, cells, provenance, .. } = self;
        let source = records.into_source();
        if provenance.is_none() && !is_series_matrix {
            table.encoding = source.encoding();
        }
        let (of_source, hashed) = source.finish()?;
        let (sha256, mut notes) =
            provenance.map_or((hashed, Vec::new()), |known| (known.sha256, known.notes));
        notes.extend(of_source);
        if let Some(option) = sign_option(options).filter(|_| is_series_matrix) {
            notes.push(format!("{option} is not used: this is {SERIES_MATRIX}"));
        }
        if options.decimal.is_none() && cells.decimal != '.' {
            notes.push("numbers have a decimal comma".to_owned());
        }
        notes.append(&mut table.notes);
        let delimiter = char::from(delimiter);
        Ok(Table { sha256, delimiter, decimal: cells.decimal, notes, ..table })
    }
}

/// The option for a separator or a decimal sign, which only text has.
fn sign_option(options: &ReadOptions) -> Option<&'static str> {
    let delimiter = options.delimiter.map(|_| "--delimiter");
    delimiter.or(options.decimal.map(|_| "--decimal"))
}

fn no_sheets() -> Error {
    Error::usage("--sheet is for workbooks, and this file is not one")
        .remedy("leave it out")
        .option("--sheet")
}

fn has_names(format: &str) -> Error {
    Error::usage(format!("--no-header cannot be used: this is {format}, which names its columns"))
        .remedy("leave it out")
        .option("--no-header")
}

/// The separator and the decimal sign of a text.
pub(super) fn signs<P: FnMut(u64, u64)>(
    source: &TextSource<P>,
    options: &ReadOptions,
    decimal_sign: Option<u8>,
) -> Result<(u8, u8)> {
    let delimiter = match options.delimiter {
        Some(delimiter) => sign_of("delimiter", delimiter)?,
        None => source.separator(decimal_sign),
    };
    Ok((delimiter, decimal_sign.unwrap_or_else(|| source.decimal(delimiter))))
}

pub(super) fn sign_of(option: &'static str, sign: char) -> Result<u8> {
    u8::try_from(sign)
        .ok()
        .filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r'))
        .ok_or_else(|| {
            Error::usage(format!("--{option} cannot be '{sign}'"))
                .remedy("give one sign such as ',' or ';'")
                .option(option)
        })
}

/// How records become columns.
struct ColumnParser<'a> {
    options: &'a ReadOptions,
    cells: &'a CellFormat,
    limit: u64,
    rows: RowKind,
}

impl ColumnParser<'_> {
    /// Everything except the name, the hash, the encoding and the signs.
    fn read<P: FnMut(u64, u64)>(
        &self,
        records: &mut RecordReader<P>,
        as_text: &mut impl FnMut(&Header) -> Result<Vec<usize>>,
    ) -> Result<Table> {
        let Self { options, cells, limit, rows } = *self;
        let Heading { mut header, mut notes, first_line, row_names, mut more } =
            Heading::read(records, options, rows)?;
        let width = header.len();
        let budget = MemoryBudget { limit, width, taken: memory::PROGRAM + records.held() };
        budget.check(0, 0)?;
        let mut declared_text = vec![false; width];
        as_text(&header)?.into_iter().for_each(|position| declared_text[position] = true);
        declared_text[0] |= row_names;
        let mut columns: Vec<_> =
            declared_text.iter().map(|&text| ColumnBuilder::new(text)).collect();
        let mut lines = RowLines::new(rows);
        let mut longer = 0_usize;
        let (mut batch, mut largest, mut bytes) = (Batch::default(), 0, 0);
        while more {
            let record = &records.record;
            let line = records.line;
            if !record.fits(width) {
                let first = if options.no_header { "the first line" } else { "the header" };
                return Err(ragged(record.len(), width, first, lines.is_empty()).line(line));
            }
            longer += usize::from(record.len() > width);
            lines.push(line);
            batch.take(&mut records.record);
            more = records.advance()?;
            if !more || batch.is_full() {
                largest = batch.memory().max(largest);
                budget.check(lines.len(), bytes + lines.bytes() + largest)?;
                bytes = batch
                    .append(&mut columns, cells)
                    .map_err(|(column, error)| error.column(&header.names[column]))?;
            }
        }
        if lines.is_empty() {
            return Err(Error::data("the file has a header but no rows")
                .remedy("add rows below the header"));
        }
        refuse_transposed(&columns, &lines, cells)?;
        let censored: usize = columns.iter().map(ColumnBuilder::censored).sum();
        let mut columns = finish(&header, columns, &lines, cells)?;
        // Names that the format keeps apart from its rows are not data.
        if !options.no_header && first_line > 0 {
            header::refuse_data(&header, &columns, cells)?;
        }
        if row_names {
            refuse_repeated_names(&columns[0], &lines, width)?;
            notes.push(
                "the header has one name fewer than the lines have fields: the first field names the row"
                    .to_owned(),
            );
        }
        // A column that the user named stays; otherwise another would be taken for it.
        let is_waste = |&i: &usize| header.unnamed[i] && columns[i].is_empty() && !declared_text[i];
        let empty = (0..width).rev().take_while(is_waste).count();
        columns.truncate(width - empty);
        header.truncate(width - empty);
        notes.extend((empty > 0).then(|| {
            counted(
                empty,
                "empty column at the end was",
                "empty columns at the end were",
                "left out",
            )
        }));
        notes.extend((longer > 0).then(|| {
            counted(longer, "line ends", "lines end", "with empty fields beyond the last column")
        }));
        notes.extend((censored > 0).then(|| match cells.censored {
            Some(Censored::Na) => {
                counted(censored, "censored value is", "censored values are", "missing")
            }
            _ => counted(
                censored,
                "censored value stands for its",
                "censored values stand for their",
                "bound",
            ),
        }));
        Ok(Table { header, columns, lines, notes, ..Table::default() })
    }
}

/// Refuses row names if one occurs twice or is missing: then it is the header that lacks a name.
fn refuse_repeated_names(names: &Column, lines: &RowLines, width: usize) -> Result<()> {
    match names {
        Column::Text { levels, codes } if levels.len() == codes.len() => Ok(()),
        _ => Err(ragged(width, width - 1, "the header", true).line(lines.of(0))),
    }
}

/// The columns, or an error about the first bad one that also names the others.
fn finish(
    header: &Header,
    builders: Vec<ColumnBuilder>,
    lines: &RowLines,
    cells: &CellFormat,
) -> Result<Vec<Column>> {
    let (mut columns, mut faults) = (Vec::new(), Vec::new());
    for (name, column) in header.names.iter().zip(builders) {
        match column.finish(name, lines, cells) {
            Ok(column) => columns.push(column),
            Err(error) => faults.push((name.as_str(), error)),
        }
    }
    let others = faults.len().saturating_sub(1);
    let names = listed(faults.iter().skip(1).map(|(name, _)| *name));
    match faults.into_iter().next() {
        None => Ok(columns),
        Some((_, error)) if others == 0 => Err(error),
        Some((_, error)) => Err(error.also(format!(
            "{} be read either: {names}",
            if others == 1 {
                "1 more column cannot".to_owned()
            } else {
                format!("{others} more columns cannot")
            }
        ))),
    }
}

fn counted(n: usize, one: &str, many: &str, end: &str) -> String {
    format!("{n} {} {end}", if n == 1 { one } else { many })
}

/// Refuses a table in which one line has words where all others have numbers: a line of classes.
fn refuse_transposed(
    columns: &[ColumnBuilder],
    lines: &RowLines,
    cells: &CellFormat,
) -> Result<()> {
    let mut rows = columns.iter().filter_map(|column| column.lone_word(cells));
    let Some(row) = rows.next() else { return Ok(()) };
    let others = rows.filter(|&other| other == row).count();
    if others < 2 || 2 * (others + 1) < columns.len() {
        return Ok(());
    }
    Err(Error::data(format!("the line has words in {} columns that have numbers elsewhere", others + 1))
        .line(lines.of(row))
        .remedy(
            "if columns are patients and lines are features, add --transpose; otherwise correct the line",
        ))
}

/// The memory for a table of this width.
struct MemoryBudget {
    limit: u64,
    width: usize,
    /// Memory used besides the table.
    taken: u64,
}

impl MemoryBudget {
    /// Refuses to go on if this many rows, in this many bytes, exceed the limit.
    fn check(&self, rows: usize, bytes: u64) -> Result<()> {
        /// Per column, before its first value.
        const COLUMN: u64 = 256;
        let needed = self.taken + self.width as u64 * COLUMN + bytes;
        if needed <= self.limit {
            return Ok(());
        }
        let so_far = if rows == 0 { String::new() } else { format!(" and the first {rows} rows") };
        Err(Error::data(format!(
            "{} columns{so_far} need {} of memory, and {} are allowed",
            self.width,
            memory::spoken(needed),
            memory::spoken(self.limit)
        ))
        .remedy("leave columns or rows out of the file, or allow more with --memory-limit")
        .option("--memory-limit"))
    }
}

pub(super) fn ragged(found: usize, expected: usize, first: &str, at_once: bool) -> Error {
    let fields = if found == 1 { "field" } else { "fields" };
    let error = Error::data(format!("the line has {found} {fields}, but {first} has {expected}"));
    if at_once && found == expected + 1 {
        return error.remedy("name every column, the first too if it names the rows");
    }
    error.remedy(
        "correct the line (a stray quote or delimiter?), or set the separator with --delimiter",
    )
}

#[cfg(test)]
mod tests;
