//! A CSV file row by row, in bounded memory: a table that grows large is compressed while it is
//! written.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Result};
use crate::files::{Directory, NewFile, unwritable};

/// Tables of more bytes are packed with gzip, which pandas, R and DuckDB read as they are.
const LARGE: usize = 16 << 20;

pub enum Cell<'a> {
    Text(&'a str),
    /// Text made for this cell.
    Owned(String),
    /// A whole number.
    Int(usize),
    /// A number; empty when absent or not finite.
    Real(Option<f64>),
    /// true or false.
    Flag(bool),
}

/// A CSV file that is being written.
pub struct Table<'a> {
    writer: csv::Writer<Sink<'a>>,
    directory: &'a Directory,
    name: &'a str,
}

impl<'a> Table<'a> {
    /// Begins a table.
    pub fn create(directory: &'a Directory, name: &'a str) -> Self {
        let packed = Packed { directory, name: format!("{name}.gz"), limit: LARGE };
        Self { writer: csv::Writer::from_writer(Sink::new(packed)), directory, name }
    }

    /// Writes the names of the columns.
    pub fn header(&mut self, names: &[&str]) -> Result<()> {
        let written = self.writer.write_record(names);
        written.map_err(|error| self.failed(error))
    }

    /// Writes a row.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        for cell in cells {
            let text = match cell {
                Cell::Text(text) => std::borrow::Cow::Borrowed(*text),
                Cell::Owned(text) => text.as_str().into(),
                Cell::Int(value) => value.to_string().into(),
                Cell::Real(Some(value)) if value.is_finite() => value.to_string().into(),
                Cell::Real(_) => "".into(),
                Cell::Flag(true) => "true".into(),
                Cell::Flag(false) => "false".into(),
            };
            let written = self.writer.write_field(text.as_bytes());
            written.map_err(|error| self.failed(error))?;
        }
        let written = self.writer.write_record(None::<&[u8]>);
        written.map_err(|error| self.failed(error))
    }

    /// Puts the table in its place, and removes the one of an earlier report in the form that it no
    /// longer has.
    pub fn finish(self) -> Result<()> {
        let Self { writer, directory, name } = self;
        let failed = |error: io::Error| unwritable(&directory.path().join(name), &error);
        let sink = writer.into_inner().map_err(|error| failed(error.into_error()))?;
        let packed = format!("{name}.gz");
        let other = match sink.packing {
            None => {
                directory.write(name, &sink.plain)?;
                packed.as_str()
            }
            Some(encoder) => {
                encoder.finish().and_then(NewFile::commit).map_err(failed)?;
                name
            }
        };
        // Ignore: it may not exist.
        let _ = directory.remove(other);
        Ok(())
    }

    fn failed(&self, error: csv::Error) -> Error {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => unwritable(&self.directory.path().join(self.name), &error),
            other => Error::internal(format!("a row could not be put together: {other:?}")),
        }
    }
}

/// The compressed file that a large table is written to.
struct Packed<'a> {
    directory: &'a Directory,
    name: String,
    limit: usize,
}

/// Holds a table in memory while it is small, and packs it into its file from then on.
struct Sink<'a> {
    plain: Vec<u8>,
    packed: Packed<'a>,
    packing: Option<GzEncoder<NewFile<'a>>>,
}

impl<'a> Sink<'a> {
    fn new(packed: Packed<'a>) -> Self {
        Self { plain: Vec::new(), packed, packing: None }
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(packing) = &mut self.packing {
            return packing.write(bytes);
        }
        self.plain.extend_from_slice(bytes);
        if self.plain.len() > self.packed.limit {
            let file = self.packed.directory.new_file(&self.packed.name)?;
            let mut packing = GzEncoder::new(file, Compression::fast());
            packing.write_all(&std::mem::take(&mut self.plain))?;
            self.packing = Some(packing);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packing.as_mut().map_or(Ok(()), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn table(directory: &std::path::Path, rows: usize) -> Vec<u8> {
        let mut expected = b"number,text\n".to_vec();
        let directory = Directory::open(directory).unwrap();
        let mut table = Table::create(&directory, "t.csv");
        table.header(&["number", "text"]).unwrap();
        for i in 0..rows {
            table
                .row(&[Cell::Int(i), Cell::Text("a text that takes its place, with a comma")])
                .unwrap();
            expected.extend(
                format!("{i},\"a text that takes its place, with a comma\"\n").into_bytes(),
            );
            assert!(
                table.writer.get_ref().plain.capacity() <= 2 * LARGE,
                "memory grows with the table"
            );
        }
        table.finish().unwrap();
        expected
    }

    #[test]
    fn a_large_table_is_packed_while_it_is_written_and_replaces_the_small_one() {
        let desk = tempfile::tempdir().unwrap();
        let plain = desk.path().join("t.csv");
        let packed = desk.path().join("t.csv.gz");
        let small = table(desk.path(), 10);
        assert_eq!(std::fs::read(&plain).unwrap(), small);
        let large = table(desk.path(), 900_000);
        assert!(large.len() > 2 * LARGE && !plain.exists());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(std::fs::File::open(&packed).unwrap())
            .read_to_end(&mut unpacked)
            .unwrap();
        assert!(unpacked == large);
        table(desk.path(), 10);
        assert!(plain.exists() && !packed.exists());
        assert_eq!(
            std::fs::read_dir(desk.path()).unwrap().count(),
            1,
            "nothing half-written stays"
        );
    }

    #[test]
    fn a_table_that_is_given_up_leaves_no_file() {
        let desk = tempfile::tempdir().unwrap();
        let directory = Directory::open(desk.path()).unwrap();
        let mut table = Table::create(&directory, "t.csv");
        let text = "x".repeat(LARGE);
        table.row(&[Cell::Text(&text), Cell::Text(&text)]).unwrap();
        assert!(table.writer.get_ref().packing.is_some());
        drop(table);
        assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
    }
}
