//! Files that are not tables of separated text. Each becomes such a text, so that all files pass
//! the same checks.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::source::unreadable;
use crate::error::{Error, Result};

#[cfg(feature = "formats")]
mod archive;
pub(super) mod arff;
#[cfg(feature = "formats")]
pub(super) mod binary;
pub(super) mod geo;
#[cfg(feature = "formats")]
mod guard;
#[cfg(feature = "h5ad")]
mod h5ad;
pub(super) mod libsvm;
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

/// A text that is not a table of separated values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    SeriesMatrix,
    Arff,
    Libsvm,
}

impl Dialect {
    /// Recognises a text by its first bytes.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match () {
            () if geo::is_series_matrix(head) => Some(Self::SeriesMatrix),
            () if arff::is_arff(head) => Some(Self::Arff),
            () if libsvm::is_libsvm(head) => Some(Self::Libsvm),
            () => None,
        }
    }

    /// Its name in sentences.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SeriesMatrix => "a GEO series matrix",
            Self::Arff => "an ARFF file",
            Self::Libsvm => "a LIBSVM file",
        }
    }
}

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

/// Reads a text to its end.
pub(super) fn read_all(from: &mut impl Read, limit: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let most = limit / 4;
    from.take(most).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 == most {
        return Err(Error::data("the file is too large for the memory that is allowed")
            .remedy("save it as CSV, or allow more with --memory-limit"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        Error::data("some of the text is UTF-8, but this line is not")
            .line(line as u64)
            .remedy("save the file as UTF-8")
    })
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
