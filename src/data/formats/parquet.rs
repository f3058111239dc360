//! Parquet, as pandas, R and Spark write it: flat columns, row by row as text.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::binary::{Converted, RowText, RowWriter, digest, write_number};
use super::{Provenance, write_cell, write_record};
use crate::data::names::short;
use crate::data::source::unreadable;
use crate::error::{Error, Result};

/// Opens a file.
pub(in crate::data) fn open(path: &Path) -> Result<Converted> {
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| damaged(&error))?;
    let about = reader.metadata().file_metadata();
    let index = pandas_index(
        about.key_value_metadata().into_iter().flatten().find(|pair| pair.key == "pandas"),
    );
    let schema = about.schema_descr();
    let kinds = (0..schema.num_columns())
        .map(|i| ValueKind::of(&schema.column(i)))
        .collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    // The index of pandas is the last column of the file; as row names it belongs in front.
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&i| !index.iter().any(|name| name == names[i]));
    let mut header = Vec::new();
    let name = |i: &usize| if is_unnamed_index(names[*i]) { "" } else { names[*i] };
    write_record(&mut header, order.iter().map(name));
    refuse_compression(&reader)?;
    let rows = ParquetRows {
        kinds,
        order,
        group: 0,
        columns: Vec::new(),
        left: 0,
        row: 0,
        cells: Vec::new(),
        reader,
    };
    Ok(Converted {
        format: "a Parquet file",
        text: Box::new(RowText::new(header, rows)),
        provenance: Provenance {
            sha256: digest(path)?,
            names_are_apart: true,
            ..Provenance::default()
        },
    })
}

fn damaged(error: &ParquetError) -> Error {
    Error::data(format!("the Parquet file cannot be read ({error})"))
        .remedy("copy or write it again, or convert it to CSV")
}

/// The names of the columns that are the index of a pandas table.
fn pandas_index(about: Option<&parquet::file::metadata::KeyValue>) -> Vec<String> {
    let declared = || -> Option<Vec<String>> {
        let declared: serde_json::Value = serde_json::from_str(about?.value.as_deref()?).ok()?;
        let names = declared.get("index_columns")?.as_array()?;
        Some(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    };
    declared().unwrap_or_default()
}

/// Whether pandas made up the name because the index has none.
fn is_unnamed_index(name: &str) -> bool {
    name.strip_prefix("__index_level_").is_some_and(|rest| rest.ends_with("__"))
}

/// Refuses the compressions that need a C library.
fn refuse_compression(reader: &SerializedFileReader<File>) -> Result<()> {
    let mut columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    let unknown = columns.find_map(|column| match column.compression() {
        Compression::ZSTD(_) => Some("zstd"),
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("lzo"),
        _ => None,
    });
    match unknown {
        None => Ok(()),
        Some(name) => Err(Error::data(format!(
            "the columns are compressed with {name}, which cannot be unpacked here"
        ))
        .remedy(
            "write the file with compression='snappy', for example: python -c \"import pandas; \
                 pandas.read_parquet('FILE').to_parquet('data.parquet', compression='snappy')\"",
        )),
    }
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Boolean,
    Integer,
    Unsigned,
    Float,
    Text,
    /// Digits, this many of which are behind the decimal point.
    Decimal(u32),
    /// Days since 1970.
    Date,
    /// Time since 1970, in this many units per second.
    Timestamp(i64),
}

impl ValueKind {
    fn of(column: &ColumnDescriptor) -> Result<Self> {
        let refuse = |what: &str| {
            Error::data(format!("the column holds {what}"))
                .column(column.path().parts().first().map_or("", String::as_str))
                .remedy("write the table without it, or as columns of single values")
        };
        if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
            return Err(refuse("lists or records"));
        }
        let logical = column.logical_type_ref();
        let scale = || {
            u32::try_from(column.type_scale()).map_err(|_| refuse("decimals of a negative scale"))
        };
        let is_decimal = matches!(logical, Some(LogicalType::Decimal(_)))
            || column.converted_type() == ConvertedType::DECIMAL;
        Ok(match (column.physical_type(), logical, column.converted_type()) {
            (Physical::BOOLEAN, ..) => Self::Boolean,
            (Physical::FLOAT | Physical::DOUBLE, ..) => Self::Float,
            (Physical::INT96, ..) => Self::Timestamp(1000),
            (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16), _) => {
                return Err(refuse("numbers of half precision"));
            }
            (
                Physical::INT32
                | Physical::INT64
                | Physical::BYTE_ARRAY
                | Physical::FIXED_LEN_BYTE_ARRAY,
                ..,
            ) if is_decimal => Self::Decimal(scale()?),
            (Physical::INT32, Some(LogicalType::Date), _)
            | (Physical::INT32, _, ConvertedType::DATE) => Self::Date,
            (Physical::INT64, Some(LogicalType::Timestamp(about)), _) => {
                Self::Timestamp(match about.unit {
                    TimeUnit::MILLIS => 1000,
                    TimeUnit::MICROS => 1_000_000,
                    TimeUnit::NANOS => 1_000_000_000,
                })
            }
            (Physical::INT64, _, ConvertedType::TIMESTAMP_MILLIS) => Self::Timestamp(1000),
            (Physical::INT64, _, ConvertedType::TIMESTAMP_MICROS) => Self::Timestamp(1_000_000),
            (
                Physical::INT32 | Physical::INT64,
                _,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Self::Unsigned,
            (Physical::INT32 | Physical::INT64, ..) => Self::Integer,
            (Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY, ..) => Self::Text,
        })
    }
}

/// The rows of all row groups.
struct ParquetRows {
    reader: SerializedFileReader<File>,
    kinds: Vec<ValueKind>,
    /// The columns, as they are written.
    order: Vec<usize>,
    /// The next row group.
    group: usize,
    /// The columns of the current one.
    columns: Vec<ColumnReader>,
    /// Rows of it that were not written yet.
    left: usize,
    /// Rows that were written.
    row: u64,
    cells: Vec<CellText>,
}

/// Some cells of a column, one after the other.
#[derive(Default)]
struct CellText {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl RowWriter for ParquetRows {
    fn write(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        /// Cells that are held at once.
        const CELLS: usize = 1 << 19;
        while self.left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.group).map_err(|error| damaged(&error))?;
            self.left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            let columns = (0..self.kinds.len()).map(|i| group.get_column_reader(i));
            self.columns =
                columns.collect::<std::result::Result<_, _>>().map_err(|error| damaged(&error))?;
            self.group += 1;
        }
        let rows = self.left.min((CELLS / self.kinds.len().max(1)).clamp(1, 1 << 12));
        let schema = self.reader.metadata().file_metadata().schema_descr();
        self.cells.resize_with(self.kinds.len(), CellText::default);
        for (i, (column, cells)) in self.columns.iter_mut().zip(&mut self.cells).enumerate() {
            let at_column = |error: Error| error.column(schema.column(i).name());
            cells.read(column, self.kinds[i], rows, self.row).map_err(at_column)?;
        }
        for row in 0..rows {
            for (place, &i) in self.order.iter().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                text.extend_from_slice(self.cells[i].of(row));
            }
            text.push(b'\n');
        }
        self.left -= rows;
        self.row += rows as u64;
        Ok(true)
    }
}

impl CellText {
    fn of(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }

    /// Reads the next rows of a column, `before` rows from its start.
    fn read(
        &mut self,
        column: &mut ColumnReader,
        kind: ValueKind,
        rows: usize,
        before: u64,
    ) -> Result<()> {
        self.text.clear();
        self.ends.clear();
        match column {
            ColumnReader::BoolColumnReader(column) => self.fill(column, rows, |text, &value| {
                text.extend_from_slice(if value { b"true" } else { b"false" });
                Some(())
            }),
            ColumnReader::Int32ColumnReader(column) => self.fill(column, rows, |text, &value| {
                let unsigned = u64::from(value as u32);
                write_integer(text, kind, i128::from(value), unsigned)
            }),
            ColumnReader::Int64ColumnReader(column) => self.fill(column, rows, |text, &value| {
                write_integer(text, kind, i128::from(value), value as u64)
            }),
            ColumnReader::Int96ColumnReader(column) => self.fill(column, rows, |text, value| {
                write_day(text, value.to_millis().div_euclid(86_400_000));
                Some(())
            }),
            ColumnReader::FloatColumnReader(column) => self.fill(column, rows, |text, &value| {
                write_number(text, value);
                Some(())
            }),
            ColumnReader::DoubleColumnReader(column) => self.fill(column, rows, |text, &value| {
                write_number(text, value);
                Some(())
            }),
            ColumnReader::ByteArrayColumnReader(column) => {
                self.fill(column, rows, |text, value| write_bytes(text, kind, value.data()))
            }
            ColumnReader::FixedLenByteArrayColumnReader(column) => {
                self.fill(column, rows, |text, value| write_bytes(text, kind, value.data()))
            }
        }
        .map_err(|fault| match fault {
            ColumnFault::Unreadable(error) => damaged(&error),
            ColumnFault::Short => Error::data("the column has fewer values than the file has rows")
                .remedy("write the file again, or convert it to CSV"),
            ColumnFault::NotText(row, value) => {
                Error::data(format!("the value '{}' is not text", short(&value)))
                    .line(before + row as u64 + 1)
                    .remedy("write the column as text or as numbers")
            }
        })
    }

    /// Reads rows and writes each with `write`, which returns nothing for a value that has no text.
    fn fill<T: DataType>(
        &mut self,
        column: &mut ColumnReaderImpl<T>,
        rows: usize,
        write: impl Fn(&mut Vec<u8>, &T::T) -> Option<()>,
    ) -> std::result::Result<(), ColumnFault> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let (records, ..) = column
                .read_records(rows - read, Some(&mut levels), None, &mut values)
                .map_err(ColumnFault::Unreadable)?;
            if records == 0 {
                return Err(ColumnFault::Short);
            }
            read += records;
        }
        // A column without missing values has no definition levels.
        let mut present = values.iter();
        for row in 0..rows {
            if levels.get(row).is_none_or(|&level| level > 0) {
                let value = present.next().ok_or(ColumnFault::Short)?;
                write(&mut self.text, value)
                    .ok_or_else(|| ColumnFault::NotText(row, format!("{value:?}")))?;
            }
            self.ends.push(self.text.len());
        }
        Ok(())
    }
}

/// Why a column could not be read.
enum ColumnFault {
    Unreadable(ParquetError),
    Short,
    NotText(usize, String),
}

fn write_integer(text: &mut Vec<u8>, kind: ValueKind, value: i128, unsigned: u64) -> Option<()> {
    match kind {
        ValueKind::Unsigned => write!(text, "{unsigned}").ok()?,
        ValueKind::Decimal(scale) => write_decimal(text, value, scale)?,
        ValueKind::Date => write_day(text, i64::try_from(value).ok()?),
        ValueKind::Timestamp(second) => {
            write_day(text, i64::try_from(value).ok()?.div_euclid(86_400 * second))
        }
        _ => write!(text, "{value}").ok()?,
    }
    Some(())
}

fn write_bytes(text: &mut Vec<u8>, kind: ValueKind, bytes: &[u8]) -> Option<()> {
    match kind {
        ValueKind::Decimal(scale) => {
            // A number in two's complement, the highest byte first.
            let first = *bytes.first()?;
            let mut number = [if first < 0x80 { 0 } else { 0xff }; 16];
            number[16_usize.checked_sub(bytes.len())?..].copy_from_slice(bytes);
            write_decimal(text, i128::from_be_bytes(number), scale)
        }
        _ => {
            write_cell(text, str::from_utf8(bytes).ok()?);
            Some(())
        }
    }
}

fn write_decimal(text: &mut Vec<u8>, value: i128, scale: u32) -> Option<()> {
    let one = 10_u128.checked_pow(scale)?;
    let whole = value.unsigned_abs() / one;
    let rest = value.unsigned_abs() % one;
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 {
        write!(text, "{sign}{whole}").ok()
    } else {
        write!(text, "{sign}{whole}.{rest:0width$}", width = scale as usize).ok()
    }
}

/// Writes the date of a day, counted from 1970-01-01. Days are enough: columns of dates are
/// dropped.
fn write_day(text: &mut Vec<u8>, day: i64) {
    let (year, month, day) = civil(day);
    write!(text, "{year:04}-{month:02}-{day:02}").expect("a vector takes all bytes");
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: eras of 400 years that
/// start on 1 March.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(
            [-1, 0, 59, 11_016, 19_782].map(civil).map(|(y, m, d)| y * 10_000 + m * 100 + d),
            [19_691_231, 19_700_101, 19_700_301, 20_000_229, 20_240_229]
        );
    }

    #[test]
    fn decimals_keep_their_digits() {
        let write = |kind, bytes: &[u8]| {
            let mut text = Vec::new();
            write_bytes(&mut text, kind, bytes).map(|()| String::from_utf8(text).unwrap())
        };
        assert_eq!(write(ValueKind::Decimal(2), &[0xff, 0x85]).as_deref(), Some("-1.23"));
        assert_eq!(write(ValueKind::Decimal(3), &[5]).as_deref(), Some("0.005"));
        assert_eq!(write(ValueKind::Decimal(2), &[1; 17]), None);
        assert_eq!(write(ValueKind::Text, &[0xff, 0xfe]), None);
    }
}
