//! Files that are not tables of separated text. Each becomes such a text, so that all files pass
//! the same checks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

#[cfg(feature = "formats")]
mod archive;
#[cfg(feature = "formats")]
pub(super) mod binary;
pub(super) mod geo;
#[cfg(feature = "formats")]
mod guard;
#[cfg(feature = "h5ad")]
mod h5ad;
#[cfg(feature = "formats")]
mod ods;
#[cfg(feature = "formats")]
mod parquet;
#[cfg(feature = "formats")]
mod sheet;
#[cfg(feature = "formats")]
mod workbook;
#[cfg(feature = "formats")]
mod xls;

/// The formats that are read from binary files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Workbook,
    Parquet,
    Hdf5,
}

impl Binary {
    /// Recognises a file by its first bytes; nothing if it cannot be opened or is text.
    fn of(path: &Path) -> Option<Self> {
        // Only regular files: opening a pipe waits for its writer.
        std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let mut first = [0; 4];
        File::open(path).ok()?.read_exact(&mut first).ok()?;
        match &first {
            b"PK\x03\x04" | b"\xd0\xcf\x11\xe0" => Some(Self::Workbook),
            b"PAR1" => Some(Self::Parquet),
            b"\x89HDF" => Some(Self::Hdf5),
            _ => None,
        }
    }
}

/// Endings of the names of files that hold tables: of texts, and of what else this program can
/// read.
const ENDINGS: &[&[&str]] = &[
    &[".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt.gz"],
    #[cfg(feature = "formats")]
    &[".xlsx", ".xls", ".ods", ".parquet"],
    #[cfg(feature = "h5ad")]
    &[".h5ad"],
];

/// Whether a file is a table by its name.
pub fn has_table_ending(name: &str) -> bool {
    let name = name.to_lowercase();
    ENDINGS.iter().copied().flatten().any(|ending| name.ends_with(ending))
}

/// Whether a file may be a workbook.
pub(super) fn is_workbook(path: &Path) -> bool {
    Binary::of(path) == Some(Binary::Workbook)
}

/// What a file says about its samples: a table of text, separated by commas, with the ids in the
/// first column.
pub(super) struct Samples {
    /// What the table is called in sentences.
    pub(super) name: &'static str,
    pub(super) text: Vec<u8>,
}

/// What is known about text that was written from another format.
#[derive(Default)]
pub(super) struct Provenance {
    /// SHA-256 of the file's bytes, hexadecimal.
    pub(super) sha256: String,
    pub(super) samples: Option<Samples>,
    pub(super) notes: Vec<String>,
    /// The sheet of a workbook.
    pub(super) sheet: Option<String>,
    /// The remedy for a sheet that cannot be used, if the user chose none.
    pub(super) other_sheets: Option<String>,
    /// Whether the names of the columns are not among the rows of the file. Then the first line of
    /// the text has the number 0.
    pub(super) names_are_apart: bool,
}

/// Appends a record to a text.
fn write_record<'c>(text: &mut Vec<u8>, cells: impl IntoIterator<Item = &'c str>) {
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        write_cell(text, cell);
    }
    text.push(b'\n');
}

/// Appends a cell to a text. Line breaks become spaces: in a cell they would shift the numbers of
/// the lines.
fn write_cell(text: &mut Vec<u8>, cell: &str) {
    let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
    if !cell.bytes().any(|byte| matches!(byte, b',' | b'"') || is_break(byte)) {
        return text.extend_from_slice(cell.as_bytes());
    }
    text.push(b'"');
    for byte in cell.bytes() {
        match byte {
            b'"' => text.extend_from_slice(b"\"\""),
            byte if is_break(byte) => text.push(b' '),
            byte => text.push(byte),
        }
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut text = Vec::new();
        write_record(&mut text, ["a b", "c,d", "say \"e\"", "f\ng", ""]);
        assert_eq!(String::from_utf8(text).unwrap(), "a b,\"c,d\",\"say \"\"e\"\"\",\"f g\",\n");
    }
}
