//! The names of the columns: what to call those without a name, and errors for names that occur
//! twice or are data.

use std::collections::{HashMap, HashSet};

use super::cells::CellFormat;
use super::names::short;
use super::records::{Record, RecordReader};
use super::table::{Column, ReadOptions};
use super::target::is_usual;
use crate::error::{Error, Result, RowKind};

/// Column names, unique, in file order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// The names.
    pub names: Vec<String>,
    /// For each column whether the file gave it no name: then it is called `c` and its number.
    pub unnamed: Vec<bool>,
}

impl Header {
    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no columns.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How many columns there are up to the last that has a name; all, if none has.
    pub(super) fn named(&self) -> usize {
        self.unnamed.iter().rposition(|unnamed| !unnamed).map_or(self.len(), |last| last + 1)
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.names.truncate(len);
        self.unnamed.truncate(len);
    }
}

/// What the first lines of a file reveal.
#[derive(Clone)]
pub(super) struct Heading {
    pub(super) header: Header,
    /// Notes on what was corrected.
    pub(super) notes: Vec<String>,
    pub(super) first_line: u64,
    /// Whether the first cell of each row names it, and the header has no name for that column.
    pub(super) row_names: bool,
    /// Whether another row follows: then it has been read already.
    pub(super) more: bool,
}

impl Heading {
    /// Reads the header and the first row.
    pub(super) fn read<P: FnMut(u64, u64)>(
        records: &mut RecordReader<P>,
        options: &ReadOptions,
        rows: RowKind,
    ) -> Result<Self> {
        let mut more = records.advance()?;
        let first_line = records.line;
        let mut first = records.record.clone();
        if !options.no_header {
            more = records.advance()?;
        }
        let row_names = more && !options.no_header && has_row_names(&first, &records.record);
        if row_names {
            first = first.behind_an_empty_cell();
        }
        let (header, notes) = read(&first, options, rows)?;
        Ok(Self { header, notes, first_line, row_names, more })
    }
}

/// Whether a line has one field more than the header, as R writes a table with row names.
fn has_row_names(header: &Record, line: &Record) -> bool {
    let filled = |cell: Option<&str>| cell.is_some_and(|cell| !cell.trim().is_empty());
    line.len() == header.len() + 1 && filled(line.iter().next()) && filled(line.iter().next_back())
}

/// Names from the first record, and notes on what was corrected.
fn read(record: &Record, options: &ReadOptions, rows: RowKind) -> Result<(Header, Vec<String>)> {
    let unnamed: Vec<bool> =
        record.iter().map(|cell| !options.no_header && cell.trim().is_empty()).collect();
    let name = |(i, cell): (usize, &str)| match cell.trim() {
        cell if options.no_header || cell.is_empty() => format!("c{}", i + 1),
        cell => cell.to_owned(),
    };
    let mut names: Vec<_> = record.iter().enumerate().map(name).collect();
    let notes = if options.dedup_names { number_twins(&mut names) } else { Vec::new() };
    refuse_twins(&names, rows)?;
    Ok((Header { names, unnamed }, notes))
}

/// `a`, `a` becomes `a`, `a.1`, as pandas has it.
fn number_twins(names: &mut [String]) -> Vec<String> {
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    // The next number to try for each name seen: a file may repeat one name a million times.
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut notes = Vec::new();
    for name in names {
        let Some(number) = next.get_mut(name) else {
            next.insert(name.clone(), 1);
            continue;
        };
        let fresh = loop {
            let fresh = format!("{name}.{number}");
            *number += 1;
            if taken.insert(fresh.clone()) {
                break fresh;
            }
        };
        notes.push(format!("another column '{}' is called '{}'", short(name), short(&fresh)));
        *name = fresh;
    }
    const SHOWN: usize = 5;
    if notes.len() > SHOWN {
        let more = notes.len() - SHOWN;
        notes.truncate(SHOWN);
        notes.push(format!("{more} more columns were renamed (--dedup-names)"));
    }
    notes
}

fn refuse_twins(names: &[String], rows: RowKind) -> Result<()> {
    let mut seen = HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, i + 1) {
            let again = i + 1;
            let what =
                format!("{}s {first} and {again} are both called '{}'", rows.across(), short(name));
            let numbers = names.iter().filter(|name| name.parse::<f64>().is_ok()).count();
            let remedy = if 2 * numbers >= names.len() {
                "if the first line is data, add --no-header; otherwise rename one, or number them with --dedup-names"
            } else {
                "rename one of them, or number them with --dedup-names"
            };
            return Err(Error::data(what).remedy(remedy).option("--no-header"));
        }
    }
    Ok(())
}

/// Refuses a header that looks like one more row: numbers above numbers, and values of its column
/// above words.
pub(super) fn refuse_data(header: &Header, columns: &[Column], cells: &CellFormat) -> Result<()> {
    let mut alike = 0;
    for ((name, unnamed), column) in header.names.iter().zip(&header.unnamed).zip(columns) {
        match (column, cells.finite(name)) {
            _ if *unnamed => {}
            _ if is_usual(name) => return Ok(()),
            (Column::Numbers(_), true) => alike += 1,
            (Column::Numbers(values), false) if values.iter().all(|value| value.is_nan()) => {}
            (Column::Numbers(_), false) => return Ok(()),
            // Text that differs in every row is no evidence.
            (Column::Text { levels, codes }, false) if levels.len() == codes.len() => {}
            (Column::Text { levels, .. }, _) if levels.iter().any(|level| level == name) => {
                alike += 1
            }
            (Column::Text { .. }, _) => return Ok(()),
        }
    }
    if alike == 0 || is_axis(&header.names) {
        return Ok(());
    }
    let first: Vec<String> = header.names.iter().take(3).map(|name| short(name)).collect();
    let dots = if header.len() > 3 { ", …" } else { "" };
    Err(Error::data(format!(
        "the first line looks like data, not like names: {}{dots}",
        first.join(", ")
    ))
    .line(1)
    .remedy("add --no-header, or put a line with the names of the columns above it"))
}

/// Numbers that grow from left to right are names: 0, 1, 2, … or the axis of a spectrum.
fn is_axis(names: &[String]) -> bool {
    const LONG: usize = 10;
    let numbers: Vec<f64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let grows = |by: &dyn Fn(f64) -> bool| numbers.windows(2).all(|pair| by(pair[1] - pair[0]));
    numbers.len() > 1
        && (grows(&|by| by == 1.0) || (numbers.len() >= LONG && grows(&|by| by > 0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str], options: &ReadOptions) -> Result<(Header, Vec<String>)> {
        read(&Record::of(names), options, RowKind::Line)
    }

    #[test]
    fn twins_are_numbered_without_making_new_ones() {
        let options = ReadOptions { dedup_names: true, ..ReadOptions::default() };
        let (header, notes) = names(&["a", "a", "a.1", "a", "", ""], &options).unwrap();
        assert_eq!(header.names, ["a", "a.2", "a.1", "a.3", "c5", "c6"]);
        assert_eq!(header.named(), 4);
        assert_eq!(
            notes,
            ["another column 'a' is called 'a.2'", "another column 'a' is called 'a.3'"]
        );
        assert!(names(&["a", "a"], &ReadOptions::default()).is_err());
    }

    #[test]
    fn growing_numbers_are_an_axis() {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_axis(&owned(&["0", "1", "2", "class"])));
        assert!(!is_axis(&owned(&["5.1", "3.5", "1.4"])));
        assert!(!is_axis(&owned(&["1.4", "3.5", "5.1"])));
    }
}
