//! Joins a matrix of measurements and a table of phenotypes by the ids of their rows.
//!
//! The columns of the phenotypes come first, so that the class column is looked for among them.

use std::collections::HashMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::formats::{Samples, is_workbook};
use super::header::Header;
use super::lines::RowLines;
use super::names::{find, listed, short};
use super::source::hexadecimal;
use super::table::{Column, FilePart, Table};
use super::{ReadOptions, SchemaOptions};
use crate::error::{Error, Result, RowKind};

/// Phenotypes, one row per sample.
pub(super) struct Phenotypes {
    table: Table,
    /// The column of ids.
    id: usize,
    /// The row of each id.
    rows: HashMap<String, usize>,
}

/// Where the matrix has its ids.
pub(super) enum Orientation {
    /// Samples are rows, and this column names them.
    Rows(usize),
    /// Samples are columns.
    Columns,
}

impl Phenotypes {
    /// Reads the file of phenotypes. Only columns to be kept may be numbers: the others are ids,
    /// classes and groups.
    pub(super) fn read(path: &Path, options: &SchemaOptions) -> Result<Self> {
        let mut read = ReadOptions { transpose: false, no_header: false, ..options.read.clone() };
        // --sheet may refer to the matrix only.
        read.sheet =
            options.pheno_sheet.clone().or_else(|| read.sheet.filter(|_| is_workbook(path)));
        let look = |header: &Header, _| Ok(as_text(header, options));
        let table = Table::read_part(path, &read, FilePart::Samples, look, |_, _| {})?;
        Self::new(table, options)
    }

    /// Takes the sample annotations in the file of the matrix.
    pub(super) fn of_samples(samples: Samples, options: &SchemaOptions) -> Result<Self> {
        let table =
            Table::of_samples(samples, &options.read, |header| Ok(as_text(header, options)))?;
        Self::new(table, options)
    }

    fn new(table: Table, options: &SchemaOptions) -> Result<Self> {
        let file = Path::new(&table.name).to_path_buf();
        let id = match &options.id_col {
            Some(name) => {
                find(&table.header.names, name, "--id-col").map_err(|error| error.file(&file))?
            }
            None => 0,
        };
        let rows =
            positions(&table.columns[id], &table.lines).map_err(|error| error.file(&file))?;
        Ok(Self { table, id, rows })
    }

    /// The orientation of the matrix, from its header.
    pub(super) fn orientation(&self, header: &Header, options: &SchemaOptions) -> Orientation {
        let hits = header.names.iter().filter(|name| self.rows.contains_key(name.as_str())).count();
        if !options.read.transpose && hits > 1 && 2 * hits > self.rows.len().min(header.len() - 1) {
            return Orientation::Columns;
        }
        // The ids of the matrix are in the column that has the same name as that of the phenotypes,
        // or in the first.
        let name = &self.table.header.names[self.id];
        let named = options
            .id_col
            .as_ref()
            .and_then(|_| header.names.iter().position(|column| column == name));
        Orientation::Rows(named.unwrap_or(0))
    }

    /// The header of the joined table, and how many of its columns are phenotypes.
    pub(super) fn header(&self, matrix: &Header, id: usize) -> Result<(Header, usize)> {
        let mut header = self.table.header.clone();
        let count = header.len();
        for (position, (name, unnamed)) in matrix.names.iter().zip(&matrix.unnamed).enumerate() {
            if position != id {
                header.names.push(name.clone());
                header.unnamed.push(*unnamed);
            }
        }
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (position, name) in header.names.iter().enumerate() {
            if seen.insert(name, position).is_some() {
                return Err(Error::data(format!(
                    "the matrix and the phenotypes both have a column '{}'",
                    short(name)
                ))
                .remedy("rename one of them"));
            }
        }
        Ok((header, count))
    }

    /// The position of the ids in the joined table.
    pub(super) fn id(&self) -> usize {
        self.id
    }

    /// One table of the samples that are in both, in the order of the matrix.
    pub(super) fn join(self, matrix: Table, id: usize) -> Result<Table> {
        let (header, _) = self.header(&matrix.header, id)?;
        let Self { table, rows: known, .. } = self;
        let ids = positions(&matrix.columns[id], &matrix.lines)?;
        let (levels, codes) = matrix.columns[id].text()?;
        let name = |row: usize| codes[row].map(|code| levels[code as usize].as_str());
        let both: Vec<(usize, usize)> =
            (0..codes.len()).filter_map(|row| Some((row, *known.get(name(row)?)?))).collect();
        if both.is_empty() {
            let example = |names: Vec<&str>| listed(names.into_iter().take(2));
            let ours = example((0..codes.len()).filter_map(name).collect());
            let (theirs, _) = table.columns[self.id].text()?;
            let theirs = example(theirs.iter().map(String::as_str).collect());
            return Err(Error::data(format!(
                "no id of the matrix is in {} (in the matrix: {ours}, …; there: {theirs}, …)",
                table.name
            ))
            .remedy(
                "name the column of ids with --id-col, and write the ids alike in both files",
            ));
        }
        let mut notes = matrix.notes;
        let only_here: Vec<&str> =
            (0..codes.len()).filter_map(name).filter(|id| !known.contains_key(*id)).collect();
        let mut only_there: Vec<(usize, &str)> = known
            .iter()
            .filter(|(id, _)| !ids.contains_key(*id))
            .map(|(id, &row)| (row, id.as_str()))
            .collect();
        only_there.sort_unstable();
        let file = &table.name;
        notes.push(format!("{} samples are in both the matrix and {file}", both.len()));
        let left_out = |count: usize, here: &str, there: &str, ids: String| {
            let (samples, are) = if count == 1 { ("sample", "is") } else { ("samples", "are") };
            format!("{count} {samples} of {here} {are} not in {there} and {are} left out: {ids}")
        };
        if !only_here.is_empty() {
            let ids = listed(only_here.iter().copied());
            notes.push(left_out(only_here.len(), "the matrix", file, ids));
        }
        if !only_there.is_empty() {
            let ids = listed(only_there.iter().map(|(_, id)| *id));
            notes.push(left_out(only_there.len(), file, "the matrix", ids));
        }
        let lines = matrix.lines.select(both.iter().map(|&(row, _)| row));
        let (here, there): (Vec<usize>, Vec<usize>) = both.into_iter().unzip();
        let mut columns: Vec<Column> =
            table.columns.into_iter().map(|column| column.select(&there)).collect();
        let all = here.len() == matrix.lines.len();
        let features =
            matrix.columns.into_iter().enumerate().filter(|(position, _)| *position != id);
        columns.extend(features.map(|(_, column)| if all { column } else { column.select(&here) }));
        let sha256 = hexadecimal(&Sha256::digest(format!("{}{}", matrix.sha256, table.sha256)));
        let Table { name, encoding, delimiter, decimal, .. } = matrix;
        Ok(Table { name, sha256, encoding, delimiter, decimal, header, columns, lines, notes })
    }
}

/// All columns except those that are to be in every model.
fn as_text(header: &Header, options: &SchemaOptions) -> Vec<usize> {
    let kept = kept_among(&header.names, options);
    (0..header.len()).filter(|column| !kept.contains(column)).collect()
}

/// The columns of phenotypes that are to be in every model. Other names of `--keep` are features of
/// the matrix.
pub(super) fn kept_among(phenotypes: &[String], options: &SchemaOptions) -> Vec<usize> {
    options.keep.iter().filter_map(|kept| find(phenotypes, kept, "--keep").ok()).collect()
}

/// The row of each id; refuses an id that occurs twice.
fn positions(column: &Column, lines: &RowLines) -> Result<HashMap<String, usize>> {
    let (levels, codes) = column.text()?;
    let mut rows = HashMap::new();
    for (row, code) in codes.iter().enumerate() {
        let Some(code) = code else { continue };
        let id = &levels[*code as usize];
        if let Some(first) = rows.insert(id.clone(), row) {
            let word = lines.kind().word();
            let on = if lines.kind() == RowKind::Line { "on" } else { "in" };
            return Err(Error::data(format!(
                "the id '{}' is also {on} {word} {}",
                short(id),
                lines.of(first)
            ))
            .line(lines.of(row))
            .rows_are(lines.kind())
            .remedy(format!(
                "remove one of the two {word}s, or name the column of ids with --id-col"
            )));
        }
    }
    Ok(rows)
}
