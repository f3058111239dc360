//! A CSV file row by row, in bounded memory: a table that grows large is compressed while it is
//! written.

use std::borrow::Cow;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::{Error, Result};
use crate::files::{Directory, NewFile, unwritable};

/// Tables of more bytes are packed with gzip, which pandas, R and DuckDB read as they are.
const LARGE: usize = 16 << 20;

/// A number as the cell of a table: the shortest text that reads back equal; empty unless finite.
pub fn number(value: impl Into<Option<f64>>) -> String {
    let finite = value.into().filter(|value| value.is_finite());
    finite.map_or_else(String::new, |value| value.to_string())
}

/// The text of a cell.
type CellOf<R> = dyn Fn(&R) -> Cow<'_, str>;

/// A column of a table whose rows are made from `R`.
pub struct Column<R> {
    name: String,
    /// What its cells mean, as docs/formats.md says it; nothing if several tables share the column.
    meaning: &'static str,
    cell: Box<CellOf<R>>,
}

impl<R> Column<R> {
    pub fn new(
        name: String,
        meaning: &'static str,
        cell: impl Fn(&R) -> Cow<'_, str> + 'static,
    ) -> Self {
        Self { name, meaning: meaning.trim(), cell: Box::new(cell) }
    }
}

/// The columns of a table.
pub struct Columns<R> {
    /// Its name.
    pub table: &'static str,
    pub list: Vec<Column<R>>,
}

impl<R> Columns<R> {
    /// The name of the table, and the name and meaning of each column.
    pub fn described(self) -> (&'static str, Vec<(String, &'static str)>) {
        let described = self.list.into_iter().map(|column| (column.name, column.meaning));
        (self.table, described.collect())
    }
}

/// A CSV file that is being written.
pub struct Table<'a, R> {
    writer: csv::Writer<Sink<'a>>,
    directory: &'a Directory,
    columns: Columns<R>,
}

impl<'a, R> Table<'a, R> {
    /// Begins a table with the names of its columns.
    pub fn create(directory: &'a Directory, columns: Columns<R>) -> Result<Self> {
        let packed = Packed { directory, name: format!("{}.gz", columns.table), limit: LARGE };
        let mut table =
            Self { writer: csv::Writer::from_writer(Sink::new(packed)), directory, columns };
        let written =
            table.writer.write_record(table.columns.list.iter().map(|column| &column.name));
        written.map_err(|error| table.failed(error))?;
        Ok(table)
    }

    /// Writes a row.
    pub fn row(&mut self, row: &R) -> Result<()> {
        for column in &self.columns.list {
            let written = self.writer.write_field((column.cell)(row).as_bytes());
            written.map_err(|error| self.failed(error))?;
        }
        let written = self.writer.write_record(None::<&[u8]>);
        written.map_err(|error| self.failed(error))
    }

    /// Puts the table in its place, and removes the one of an earlier report in the form that it no
    /// longer has.
    pub fn finish(self) -> Result<()> {
        let Self { writer, directory, columns } = self;
        let name = columns.table;
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
            csv::ErrorKind::Io(error) => {
                unwritable(&self.directory.path().join(self.columns.table), &error)
            }
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

    fn columns<'a>() -> Columns<(usize, &'a str)> {
        let list = vec![
            Column::new("number".to_owned(), "", |row: &(usize, &str)| row.0.to_string().into()),
            Column::new("text".to_owned(), "", |row: &(usize, &str)| row.1.into()),
        ];
        Columns { table: "t.csv", list }
    }

    fn table(directory: &std::path::Path, rows: usize) -> Vec<u8> {
        let mut expected = b"number,text\n".to_vec();
        let directory = Directory::open(directory).unwrap();
        let mut table = Table::create(&directory, columns()).unwrap();
        for i in 0..rows {
            table.row(&(i, "a text that takes its place, with a comma")).unwrap();
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
    fn a_number_that_is_not_there_or_not_finite_is_an_empty_cell() {
        assert_eq!(number(0.1), "0.1");
        assert_eq!(number(None), "");
        assert_eq!(number(f64::NAN), "");
        assert_eq!(number(Some(f64::INFINITY)), "");
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
        let text = "x".repeat(2 * LARGE);
        let mut table = Table::create(&directory, columns()).unwrap();
        table.row(&(0, &text)).unwrap();
        assert!(table.writer.get_ref().packing.is_some());
        drop(table);
        assert_eq!(std::fs::read_dir(desk.path()).unwrap().count(), 0);
    }
}
