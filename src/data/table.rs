//! CSV to typed columns: delimiter, missing markers, line numbers kept for errors. Knows nothing of features or classes.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::batch::{Batch, pour_while};
use super::cells::{Cells, Censored, Growing};
use super::header::{self, Header};
use super::memory;
use super::names::listed;
use super::records::Records;
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
    /// The field separator in use.
    pub delimiter: char,
    /// Column names, unique, in file order.
    pub header: Header,
    /// Columns, in file order.
    pub columns: Vec<Column>,
    /// The line of the file (from 1) on which each row starts.
    pub lines: Vec<u64>,
    /// What was mended, in sentences.
    pub notes: Vec<String>,
}

impl Table {
    /// Reads a file, or standard input if it is called `-`. `as_text` looks at the header and names (by position) the
    /// columns that are text whatever they look like; `progress` is told bytes read and bytes in all.
    pub fn read(
        path: &Path,
        options: &ReadOptions,
        as_text: impl Fn(&Header) -> Result<Vec<usize>>,
        mut progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let named = || {
            let name = name(path);
            PathBuf::from(if options.transpose { format!("{name} (transposed)") } else { name })
        };
        match Attempt::new(path, options, false, &mut progress)?.read(options, &as_text) {
            // Bytes that are not UTF-8 may come late in a file: then it is read again.
            Err(Failure { may_be_legacy: true, .. }) => {
                Attempt::new(path, options, true, &mut progress)?.read(options, &as_text)
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
    fn new(path: &Path, options: &ReadOptions, legacy: bool, progress: P) -> Result<Self> {
        let told = options.decimal.map(|sign| ascii("decimal", sign)).transpose()?;
        let source = Source::open(path, legacy, progress).map_err(|error| error.file(name(path)))?;
        let delimiter = match options.delimiter {
            Some(delimiter) => ascii("delimiter", delimiter)?,
            None => source.separator(told),
        };
        let decimal = told.unwrap_or_else(|| source.decimal(delimiter));
        if delimiter == decimal {
            return Err(Error::usage(format!(
                "'{}' cannot be both --delimiter and --decimal",
                char::from(decimal)
            )));
        }
        let missing = options.missing.iter().map(|word| word.trim().to_owned()).collect();
        let cells = Cells { decimal: char::from(decimal), missing, censored: options.censored };
        Ok(Self { source, delimiter, cells, limit: memory::limit(options.memory_limit) })
    }

    fn read(
        self,
        options: &ReadOptions,
        as_text: &impl Fn(&Header) -> Result<Vec<usize>>,
    ) -> std::result::Result<Table, Failure> {
        let Self { source, delimiter, cells, limit } = self;
        let mut records = Records::new(source, delimiter, limit);
        if options.transpose {
            match turn(&mut records, delimiter, limit) {
                Ok(text) => records = records.restart(text),
                Err(error) => return Err(failure(&records, error)),
            }
        }
        let mut table = match read(&mut records, options, &cells, limit, as_text) {
            Ok(table) => table,
            Err(error) => return Err(failure(&records, error)),
        };
        let plain = |error| Failure { error, may_be_legacy: false };
        let (mut notes, sha256) = records.into_source().finish().map_err(plain)?;
        if options.decimal.is_none() && cells.decimal != '.' {
            notes.push("numbers have a decimal comma".to_owned());
        }
        notes.append(&mut table.notes);
        Ok(Table { sha256, delimiter: char::from(delimiter), notes, ..table })
    }
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

/// All but the name, the hash and the separator.
fn read<P: FnMut(u64, u64)>(
    records: &mut Records<P>,
    options: &ReadOptions,
    cells: &Cells,
    limit: u64,
    as_text: &impl Fn(&Header) -> Result<Vec<usize>>,
) -> Result<Table> {
    let mut more = records.advance()?;
    let first = records.record.clone();
    let (mut header, mut notes) = header::read(&first, options)?;
    let width = header.len();
    let room = Room { limit, width };
    room.check(0)?;
    let mut told = vec![false; width];
    as_text(&header)?.into_iter().for_each(|position| told[position] = true);
    let mut columns: Vec<_> = told.iter().map(|&text| Growing::new(text)).collect();
    if !options.no_header {
        more = records.advance()?;
    }
    let (mut lines, mut longer) = (Vec::new(), 0_usize);
    let read = |pour: &mut dyn FnMut(Batch) -> Option<Batch>| {
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
            if lines.len() % 1024 == 0 {
                room.check(lines.len())?;
            }
            batch.take(&mut records.record);
            more = records.advance()?;
            if !more || batch.is_full() {
                let Some(empty) = pour(batch) else { break };
                batch = empty;
            }
        }
        Ok(())
    };
    pour_while(&mut columns, cells, read).map_err(|(column, error)| {
        if let Some(column) = column { error.column(&header.names[column]) } else { error }
    })?;
    if lines.is_empty() {
        return Err(Error::data("the file has a header but no rows").remedy("add rows below the header"));
    }
    refuse_turned(&columns, &lines, cells)?;
    let censored: usize = columns.iter().map(Growing::censored).sum();
    let mut columns = finish(&header, columns, &lines, cells)?;
    if !options.no_header {
        header::refuse_data(&header, &columns, cells)?;
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
    let (name, sha256, delimiter) = (String::new(), String::new(), ',');
    Ok(Table { name, sha256, delimiter, header, columns, lines, notes })
}

/// The columns, or what is wrong with the first that is at fault and which others are.
fn finish(header: &Header, growing: Vec<Growing>, lines: &[u64], cells: &Cells) -> Result<Vec<Column>> {
    let (mut columns, mut faults) = (Vec::new(), Vec::new());
    for (name, column) in header.names.iter().zip(growing) {
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
fn refuse_turned(columns: &[Growing], lines: &[u64], cells: &Cells) -> Result<()> {
    let mut rows = columns.iter().filter_map(|column| column.lone_word(cells));
    let Some(row) = rows.next() else { return Ok(()) };
    let others = rows.filter(|&other| other == row).count();
    if others < 2 || 2 * (others + 1) < columns.len() {
        return Ok(());
    }
    Err(Error::data(format!("the line has words in {} columns that have numbers elsewhere", others + 1))
        .line(lines[row])
        .remedy(
            "if columns are patients and lines are features, add --transpose; otherwise correct the line",
        ))
}

/// The memory for a table of this width.
struct Room {
    limit: u64,
    width: usize,
}

impl Room {
    fn check(&self, rows: usize) -> Result<()> {
        /// Of a column before its first value.
        const COLUMN: u64 = 256;
        let needed = self.width as u64 * (COLUMN + 8 * rows as u64);
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
        return error
            .remedy("name the first column too; in R, write with row.names = FALSE or col.names = NA");
    }
    error.remedy("correct the line (a stray quote or delimiter?), or set the separator with --delimiter")
}

/// The table on its side: its columns as lines.
fn turn<P: FnMut(u64, u64)>(records: &mut Records<P>, delimiter: u8, limit: u64) -> Result<Vec<u8>> {
    let (mut cells, mut ends, mut width) = (String::new(), vec![0], 0);
    while records.advance()? {
        if ends.len() == 1 {
            width = records.record.len();
        } else if records.record.len() != width {
            return Err(ragged(records.record.len(), width, "the first line", false).line(records.line));
        }
        for cell in records.record.iter() {
            cells.push_str(cell);
            ends.push(cells.len());
        }
        if (3 * cells.len() + 16 * ends.len()) as u64 > limit {
            let limit = memory::spoken(limit);
            return Err(Error::data(format!("the table is too large to transpose in {limit}"))
                .remedy("transpose the file beforehand, or allow more with --memory-limit"));
        }
    }
    let lines = (ends.len() - 1) / width.max(1);
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    let fault = |error: csv::Error| Error::internal(format!("the table cannot be transposed ({error})"));
    for column in 0..width {
        let cell = |line: usize| &cells[ends[line * width + column]..ends[line * width + column + 1]];
        writer.write_record((0..lines).map(cell)).map_err(fault)?;
    }
    writer.into_inner().map_err(|error| fault(error.into_error().into()))
}

#[cfg(test)]
mod tests;
