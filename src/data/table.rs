//! CSV to typed columns: delimiter, missing markers, line numbers kept for errors. Knows nothing of features or classes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::batch::{Batch, MOST_BATCHES, append_while};
use super::cells::{Cells, Censored, ColumnBuilder};
use super::geo;
use super::header::{self, Header};
use super::lines::Lines;
use super::memory;
use super::names::listed;
use super::records::{Record, Records};
use super::source::{Source, name};
use crate::error::{Error, Result};

/// How to read the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOptions {
    /// The field separator; sniffed among `,` `;` tab `|` when absent.
    pub delimiter: Option<char>,
    /// The decimal sign; when absent `.`, or `,` if the numbers say so and it does not separate.
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Text, interned: an index into the levels (in order of appearance) for each row, `None` is missing.
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
                let level = |level: &String| size_of::<String>() as u64 + memory::of_text(level.len());
                8 * codes.capacity() as u64 + levels.iter().map(level).sum::<u64>()
            }
        }
    }

    /// The distinct values and the code of each row, of a column that was read as text.
    pub(super) fn text(&self) -> Result<(&[String], &[Option<u32>])> {
        match self {
            Self::Text { levels, codes } => Ok((levels, codes)),
            Self::Numbers(_) => Err(Error::internal("a column that was to be read as text is numbers")),
        }
    }

    /// Some rows of it.
    pub(super) fn select(self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(values) => Self::Numbers(rows.iter().map(|&row| values[row]).collect()),
            Self::Text { levels, codes } => {
                // Values that no row has any more are gone.
                let (mut used, mut place) = (Vec::new(), vec![None; levels.len()]);
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
#[derive(Debug, Clone, PartialEq)]
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
    pub lines: Lines,
    /// What was mended, in sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// Reads a file, or standard input if it is called `-`. `as_text` looks at the header and names (by position) the
    /// columns that are text whatever they look like; `progress` is told bytes read and bytes in all.
    pub fn read(
        path: &Path,
        options: &ReadOptions,
        mut as_text: impl FnMut(&Header) -> Result<Vec<usize>>,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        Self::read_with_samples(path, options, |header, _| as_text(header), progress)
    }

    /// The same; `as_text` is also given what the file says of its samples, if it is a series matrix.
    pub(super) fn read_with_samples(
        path: &Path,
        options: &ReadOptions,
        mut as_text: impl FnMut(&Header, Option<Self>) -> Result<Vec<usize>>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let named = || {
            let name = name(path);
            PathBuf::from(if options.transpose { format!("{name} (transposed)") } else { name })
        };
        #[cfg(feature = "formats")]
        if let Some(sheet) = Attempt::of_workbook(path, options, &mut progress)? {
            let (attempt, sha256, mut notes) = sheet;
            let table = attempt.read(options, &mut as_text).map_err(|failure| failure.error.file(named()))?;
            notes.extend(table.notes);
            return Ok(Self { name: name(path), sha256, encoding: "", notes, ..table });
        }
        if options.sheet.is_some() {
            return Err(Error::usage("--sheet is for workbooks, and this is none")
                .file(path)
                .remedy("leave it out"));
        }
        match Attempt::new(path, options, false, &mut progress)?.read(options, &mut as_text) {
            // Bytes that are not UTF-8 may come late in a file: then it is read again.
            Err(Failure { may_be_legacy: true, .. }) => {
                Attempt::new(path, options, true, &mut progress)?.read(options, &mut as_text)
            }
            other => other,
        }
        .map(|table| Self { name: name(path), ..table })
        .map_err(|failure| failure.error.file(named()))
    }
}

/// An error, and whether another encoding may help.
struct Failure {
    error: Error,
    may_be_legacy: bool,
}

/// The file opened, its signs known.
struct Attempt<P> {
    source: Source<P>,
    delimiter: u8,
    cells: Cells,
    limit: u64,
}

impl<P: FnMut(u64, u64)> Attempt<P> {
    /// A sheet of a workbook with the hash of the file and what there is to say; nothing if it is none.
    #[cfg(feature = "formats")]
    fn of_workbook(
        path: &Path,
        options: &ReadOptions,
        progress: P,
    ) -> Result<Option<(Self, String, Vec<String>)>> {
        let limit = memory::limit(options.memory_limit);
        let sheet = super::workbook::read(path, options.sheet.as_deref(), limit);
        let Some(sheet) = sheet.map_err(|error| error.file(name(path)))? else { return Ok(None) };
        let cells = Cells::new('.', &options.missing, options.censored);
        let source = Source::of_text(sheet.text, progress);
        Ok(Some((Self { source, delimiter: b',', cells, limit }, sheet.sha256, sheet.notes)))
    }

    fn new(path: &Path, options: &ReadOptions, legacy: bool, progress: P) -> Result<Self> {
        let told = options.decimal.map(|sign| ascii("decimal", sign)).transpose()?;
        let source = Source::open(path, legacy, progress).map_err(|error| error.file(name(path)))?;
        let delimiter = match options.delimiter {
            Some(delimiter) => ascii("delimiter", delimiter)?,
            None if source.is_series_matrix() => b'\t',
            None => source.separator(told),
        };
        let decimal = if source.is_series_matrix() { b'.' } else { source.decimal(delimiter) };
        let decimal = told.unwrap_or(decimal);
        if delimiter == decimal {
            return Err(Error::usage(format!(
                "'{}' cannot be both --delimiter and --decimal",
                char::from(decimal)
            )));
        }
        let cells = Cells::new(char::from(decimal), &options.missing, options.censored);
        Ok(Self { source, delimiter, cells, limit: memory::limit(options.memory_limit) })
    }

    fn read(
        self,
        options: &ReadOptions,
        as_text: &mut impl FnMut(&Header, Option<Table>) -> Result<Vec<usize>>,
    ) -> std::result::Result<Table, Failure> {
        let Self { source, delimiter, cells, limit } = self;
        let is_series_matrix = source.is_series_matrix();
        let mut records = Records::new(source, delimiter, limit);
        let mut samples = None;
        if is_series_matrix {
            match geo::take_apart(&mut records, limit)
                .and_then(|(text, matrix)| Ok((samples_of(text)?, matrix)))
            {
                Ok((table, matrix)) => {
                    samples = Some(Table { name: "its sample lines".to_owned(), ..table });
                    records = records.restart(matrix);
                }
                Err(error) => return Err(failure(&records, error)),
            }
        }
        if options.transpose || is_series_matrix {
            match transpose(&mut records, delimiter, limit) {
                Ok(text) => records = records.restart(text),
                Err(error) => return Err(failure(&records, error)),
            }
        }
        let mut as_text = |header: &Header| as_text(header, samples.take());
        let mut table = match read(&mut records, options, &cells, limit, &mut as_text) {
            Ok(table) => table,
            Err(error) => return Err(failure(&records, error)),
        };
        let plain = |error| Failure { error, may_be_legacy: false };
        let source = records.into_source();
        let encoding = source.encoding();
        let (mut notes, sha256) = source.finish().map_err(plain)?;
        if options.decimal.is_none() && cells.decimal != '.' {
            notes.push("numbers have a decimal comma".to_owned());
        }
        notes.append(&mut table.notes);
        let (delimiter, decimal) = (char::from(delimiter), cells.decimal);
        Ok(Table { sha256, encoding, delimiter, decimal, notes, ..table })
    }
}

/// What a series matrix says of its samples, as a table of text.
fn samples_of(text: Vec<u8>) -> Result<Table> {
    let mut records = Records::new(Source::of_text(text, |_, _| {}), b',', u64::MAX);
    let (options, cells) = (ReadOptions::default(), Cells::new('.', &[], None));
    let mut as_text = |header: &Header| Ok((0..header.len()).collect());
    read(&mut records, &options, &cells, u64::MAX, &mut as_text)
}

fn failure<P: FnMut(u64, u64)>(records: &Records<P>, error: Error) -> Failure {
    Failure { error, may_be_legacy: records.may_be_legacy() }
}

fn ascii(option: &str, sign: char) -> Result<u8> {
    u8::try_from(sign)
        .ok()
        .filter(|byte| byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r'))
        .ok_or_else(|| {
            Error::usage(format!("--{option} cannot be '{sign}'")).remedy("give one sign such as ',' or ';'")
        })
}

/// All but the name, the hash, the encoding and the signs.
fn read<P: FnMut(u64, u64)>(
    records: &mut Records<P>,
    options: &ReadOptions,
    cells: &Cells,
    limit: u64,
    as_text: &mut impl FnMut(&Header) -> Result<Vec<usize>>,
) -> Result<Table> {
    let mut more = records.advance()?;
    let mut first = records.record.clone();
    if !options.no_header {
        more = records.advance()?;
    }
    let row_names = more && !options.no_header && has_row_names(&first, &records.record);
    if row_names {
        first = first.behind_an_empty_cell();
    }
    let (mut header, mut notes) = header::read(&first, options)?;
    let width = header.len();
    let room = Room { limit, width, taken: memory::PROGRAM + records.held() };
    room.check(0, 0)?;
    let mut told = vec![false; width];
    as_text(&header)?.into_iter().for_each(|position| told[position] = true);
    told[0] |= row_names;
    let mut columns: Vec<_> = told.iter().map(|&text| ColumnBuilder::new(text)).collect();
    let (mut lines, mut longer) = (Lines::default(), 0_usize);
    let (bytes, mut waiting) = (AtomicU64::new(0), 0);
    let read = |append: &mut dyn FnMut(Batch) -> Option<Batch>| {
        let mut batch = Batch::default();
        while more {
            let (record, line) = (&records.record, records.line);
            if record.len() != width {
                if record.len() < width || record.iter().skip(width).any(|cell| !cell.trim().is_empty()) {
                    let first = if options.no_header { "the first line" } else { "the header" };
                    return Err(ragged(record.len(), width, first, lines.is_empty()).line(line));
                }
                longer += 1;
            }
            lines.push(line);
            batch.take(&mut records.record);
            more = records.advance()?;
            if !more || batch.is_full() {
                waiting = batch.memory().max(waiting);
                let columns = bytes.load(Ordering::Relaxed);
                room.check(lines.len(), columns + lines.bytes() + MOST_BATCHES * waiting)?;
                let Some(empty) = append(batch) else { break };
                batch = empty;
            }
        }
        Ok(())
    };
    append_while(&mut columns, cells, &bytes, read).map_err(|(column, error)| {
        if let Some(column) = column { error.column(&header.names[column]) } else { error }
    })?;
    if lines.is_empty() {
        return Err(Error::data("the file has a header but no rows").remedy("add rows below the header"));
    }
    refuse_transposed(&columns, &lines, cells)?;
    let censored: usize = columns.iter().map(ColumnBuilder::censored).sum();
    let mut columns = finish(&header, columns, &lines, cells)?;
    if !options.no_header {
        header::refuse_data(&header, &columns, cells)?;
    }
    if row_names {
        refuse_repeated_names(&columns[0], &lines, width)?;
        notes.push(
            "the header has one name fewer than the lines have fields: the first field names the row"
                .to_owned(),
        );
    }
    // A column that someone asked for stays, or another would take its part.
    let is_waste = |&i: &usize| header.unnamed[i] && columns[i].is_empty() && !told[i];
    let empty = (0..width).rev().take_while(is_waste).count();
    columns.truncate(width - empty);
    header.truncate(width - empty);
    notes.extend(
        (empty > 0).then(|| {
            counted(empty, "empty column at the end was", "empty columns at the end were", "left out")
        }),
    );
    notes.extend(
        (longer > 0)
            .then(|| counted(longer, "line ends", "lines end", "with empty fields beyond the last column")),
    );
    notes.extend((censored > 0).then(|| match cells.censored {
        Some(Censored::Na) => counted(censored, "censored value is", "censored values are", "missing"),
        _ => counted(censored, "censored value stands for its", "censored values stand for their", "bound"),
    }));
    let (name, sha256, encoding) = (String::new(), String::new(), "");
    let (delimiter, decimal) = (',', '.');
    Ok(Table { name, sha256, encoding, delimiter, decimal, header, columns, lines, notes })
}

/// Whether a line has one field more than the header, as R writes a table with row names.
fn has_row_names(header: &Record, line: &Record) -> bool {
    let filled = |cell: Option<&str>| cell.is_some_and(|cell| !cell.trim().is_empty());
    line.len() == header.len() + 1 && filled(line.iter().next()) && filled(line.iter().next_back())
}

/// Refuses names of rows that are none because one comes twice or is missing: then a name is missing in the header.
fn refuse_repeated_names(names: &Column, lines: &Lines, width: usize) -> Result<()> {
    match names {
        Column::Text { levels, codes } if levels.len() == codes.len() => Ok(()),
        _ => Err(ragged(width, width - 1, "the header", true).line(lines.of(0))),
    }
}

/// The columns, or what is wrong with the first that is at fault and which others are.
fn finish(
    header: &Header,
    builders: Vec<ColumnBuilder>,
    lines: &Lines,
    cells: &Cells,
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
fn refuse_transposed(columns: &[ColumnBuilder], lines: &Lines, cells: &Cells) -> Result<()> {
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
struct Room {
    limit: u64,
    width: usize,
    /// What is taken besides the table.
    taken: u64,
}

impl Room {
    /// Refuses so many rows if they, in so many bytes, need more than is allowed.
    fn check(&self, rows: usize, bytes: u64) -> Result<()> {
        /// Of a column before its first value.
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
        .remedy("leave columns or rows out of the file, or allow more with --memory-limit"))
    }
}

fn ragged(found: usize, expected: usize, first: &str, at_once: bool) -> Error {
    let fields = if found == 1 { "field" } else { "fields" };
    let error = Error::data(format!("the line has {found} {fields}, but {first} has {expected}"));
    if at_once && found == expected + 1 {
        return error.remedy("name every column, the first too if it names the rows");
    }
    error.remedy("correct the line (a stray quote or delimiter?), or set the separator with --delimiter")
}

/// The table on its side: its columns as lines.
fn transpose<P: FnMut(u64, u64)>(records: &mut Records<P>, delimiter: u8, limit: u64) -> Result<Vec<u8>> {
    let (mut cells, mut ends, mut width) = (Vec::new(), vec![0], 0);
    while records.advance()? {
        if ends.len() == 1 {
            width = records.record.len();
        } else if ends.len() == width + 1 && records.record.len() == width + 1 {
            // R leaves the corner out.
            ends.insert(0, 0);
            width += 1;
        } else if records.record.len() != width {
            return Err(ragged(records.record.len(), width, "the first line", false).line(records.line));
        }
        memory::make_room(&mut cells, records.record.bytes())?;
        memory::make_room(&mut ends, width)?;
        for cell in records.record.iter() {
            cells.extend_from_slice(cell.as_bytes());
            ends.push(cells.len());
        }
        // The text that is written has a separator for each cell, and perhaps some quotes.
        let written = cells.len() + cells.len() / 16 + ends.len();
        if memory::PROGRAM + (cells.capacity() + 8 * ends.capacity() + written) as u64 > limit {
            let limit = memory::spoken(limit);
            return Err(Error::data(format!("the table is too large to transpose in {limit}"))
                .remedy("transpose the file beforehand, or allow more with --memory-limit"));
        }
    }
    let lines = (ends.len() - 1) / width.max(1);
    let written = Vec::with_capacity(cells.len() + ends.len());
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(written);
    let fault = |error: csv::Error| Error::internal(format!("the table cannot be transposed ({error})"));
    for column in 0..width {
        let cell = |line: usize| &cells[ends[line * width + column]..ends[line * width + column + 1]];
        writer.write_record((0..lines).map(cell)).map_err(fault)?;
    }
    writer.into_inner().map_err(|error| fault(error.into_error().into()))
}

#[cfg(test)]
mod tests;
