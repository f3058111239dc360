//! AnnData (.h5ad): X as the matrix, var for the names of its columns, obs as the table about the
//! samples.

use std::io::Write;
use std::path::Path;

use hdf5_reader::group::Group;
use hdf5_reader::messages::datatype::Datatype;
use hdf5_reader::{Dataset, Hdf5File, OpenOptions};

use super::binary::{Converted, RowText, RowWriter, digest, write_number};
use super::{Provenance, Samples, write_cell, write_record};
use crate::data::memory;
use crate::data::source::unreadable;
use crate::error::{Error, Result};

/// The remedy for files of other kinds or versions.
const WRITE_AGAIN: &str = "write it again with a current anndata (adata.write_h5ad('data.h5ad')), or as CSV with adata.to_df() and adata.obs";

/// Opens a file.
pub(in crate::data) fn open(path: &Path, limit: u64) -> Result<Converted> {
    let length = std::fs::metadata(path).map_or(0, |about| about.len());
    if memory::PROGRAM.saturating_add(2 * length) > limit {
        return Err(too_large());
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
    let options = OpenOptions::default()
        .with_max_read_bytes(usize::try_from(limit / 2).unwrap_or(usize::MAX));
    let file = Hdf5File::from_vec_with_options(bytes, options).map_err(damaged)?;
    let root = file.root_group().map_err(damaged)?;
    let (groups, datasets) = root.member_names().map_err(damaged)?;
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    if !has(&groups, "obs") || !has(&groups, "var") {
        let old = has(&datasets, "obs") && has(&datasets, "var");
        let what = if old {
            "the AnnData file was written by an old version"
        } else {
            "this HDF5 file is not AnnData: it has no obs and var"
        };
        return Err(Error::data(what).remedy(WRITE_AGAIN));
    }
    let obs = Frame::read(&root.group("obs").map_err(damaged)?, "obs")?;
    // Of var only the names are needed.
    let names = index(&root.group("var").map_err(damaged)?, "var")?;
    let shape = (obs.index.len(), names.len());
    let matrix = if has(&datasets, "X") {
        Matrix::dense(&root.dataset("X").map_err(damaged)?, shape)?
    } else if has(&groups, "X") {
        Matrix::sparse(&root.group("X").map_err(damaged)?, shape)?
    } else {
        return Err(Error::data("the AnnData file has no X")
            .remedy("put the values that are to be used into X"));
    };
    let mut notes = Vec::new();
    if let Ok(layers) = root.group("layers").and_then(|layers| layers.member_names()) {
        let layers = [layers.0, layers.1].concat();
        if !layers.is_empty() {
            notes.push(format!("X is read; the file also has the layers {}", layers.join(", ")));
        }
    }
    let mut header = Vec::new();
    write_record(&mut header, std::iter::once("").chain(names.iter().map(String::as_str)));
    let mut samples = Vec::new();
    obs.write(&mut samples);
    let rows = MatrixRows { ids: obs.index, matrix, row: 0 };
    Ok(Converted {
        format: "an AnnData file",
        text: Box::new(RowText::new(header, rows)),
        provenance: Provenance {
            sha256: digest(path)?,
            samples: Some(Samples { name: "obs", text: samples }),
            notes,
            names_are_apart: true,
            ..Provenance::default()
        },
    })
}

fn damaged(error: hdf5_reader::error::Error) -> Error {
    Error::data(format!("the HDF5 file cannot be read ({error})")).remedy(WRITE_AGAIN)
}

fn too_large() -> Error {
    Error::data("the AnnData file is too large for the memory that is allowed")
        .remedy("write only the variables that vary most, or allow more with --memory-limit")
        .option("--memory-limit")
}

fn unexpected(part: &str, what: impl std::fmt::Display) -> Error {
    Error::data(format!("{part} of the AnnData file {what}")).remedy(WRITE_AGAIN)
}

/// Numbers as the file stores them.
enum Numbers {
    Single(Vec<f32>),
    Double(Vec<f64>),
    Integer(Vec<i64>),
    Boolean(Vec<bool>),
}

impl Numbers {
    /// All numbers of a dataset.
    fn read(dataset: &Dataset, part: &str) -> Result<Self> {
        let read = || dataset.read_native_bytes().map_err(damaged);
        let other = || {
            unexpected(
                part,
                format!("holds values of a type that is not read ({:?})", dataset.dtype()),
            )
        };
        Ok(match dataset.dtype() {
            Datatype::FloatingPoint { size: 4, .. } => {
                Self::Single(decode(&read()?, f32::from_ne_bytes))
            }
            Datatype::FloatingPoint { size: 8, .. } => {
                Self::Double(decode(&read()?, f64::from_ne_bytes))
            }
            Datatype::FixedPoint { size, signed, .. } => Self::Integer(match (size, signed) {
                (1, true) => decode(&read()?, |byte| i64::from(i8::from_ne_bytes(byte))),
                (1, false) => decode(&read()?, |[byte]| i64::from(byte)),
                (2, true) => decode(&read()?, |bytes| i64::from(i16::from_ne_bytes(bytes))),
                (2, false) => decode(&read()?, |bytes| i64::from(u16::from_ne_bytes(bytes))),
                (4, true) => decode(&read()?, |bytes| i64::from(i32::from_ne_bytes(bytes))),
                (4, false) => decode(&read()?, |bytes| i64::from(u32::from_ne_bytes(bytes))),
                (8, true) => decode(&read()?, i64::from_ne_bytes),
                (8, false) => {
                    let numbers =
                        decode(&read()?, u64::from_ne_bytes).into_iter().map(i64::try_from);
                    numbers.collect::<std::result::Result<_, _>>().map_err(|_| other())?
                }
                _ => return Err(other()),
            }),
            // True and false, as h5py stores them.
            Datatype::Enum { base, .. }
                if matches!(**base, Datatype::FixedPoint { size: 1, .. }) =>
            {
                Self::Boolean(decode(&read()?, |[byte]| byte != 0))
            }
            _ => return Err(other()),
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Single(values) => values.len(),
            Self::Double(values) => values.len(),
            Self::Integer(values) => values.len(),
            Self::Boolean(values) => values.len(),
        }
    }

    fn write(&self, text: &mut Vec<u8>, place: usize) {
        match self {
            Self::Single(values) => write_number(text, values[place]),
            Self::Double(values) => write_number(text, values[place]),
            Self::Integer(values) => {
                write!(text, "{}", values[place]).expect("a vector takes all bytes")
            }
            Self::Boolean(values) => {
                text.extend_from_slice(if values[place] { b"true" } else { b"false" })
            }
        }
    }

    /// Positions: codes of categories, indices and pointers of sparse matrices. Negative numbers
    /// mean that there is none.
    fn positions(self, part: &str) -> Result<Vec<Option<usize>>> {
        match self {
            Self::Integer(values) => {
                Ok(values.into_iter().map(|value| usize::try_from(value).ok()).collect())
            }
            Self::Boolean(values) => {
                Ok(values.into_iter().map(|value| Some(usize::from(value))).collect())
            }
            Self::Single(_) | Self::Double(_) => {
                Err(unexpected(part, "has fractions where it should count"))
            }
        }
    }
}

fn decode<const N: usize, T>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|bytes| from(*bytes)).collect()
}

/// A column of obs.
enum ObsColumn {
    Numbers(Numbers),
    Text(Vec<String>),
    /// Values by their codes; no code is a missing value.
    Categories {
        levels: Box<ObsColumn>,
        codes: Vec<Option<usize>>,
    },
}

impl ObsColumn {
    fn of_dataset(dataset: &Dataset, part: &str) -> Result<Self> {
        match dataset.dtype() {
            Datatype::String { .. } | Datatype::VarLen { .. } => {
                Ok(Self::Text(dataset.read_strings().map_err(damaged)?))
            }
            _ => Ok(Self::Numbers(Numbers::read(dataset, part)?)),
        }
    }

    /// A column that is a group: categories, or values with a mask. Nothing for kinds that are not
    /// known.
    fn of_group(group: &Group, part: &str) -> Result<Option<Self>> {
        let dataset = |name: &str| group.dataset(name).map_err(damaged);
        let kind = group
            .attribute("encoding-type")
            .and_then(|kind| kind.read_string())
            .unwrap_or_default();
        Ok(match kind.as_str() {
            "categorical" => {
                let levels = Box::new(Self::of_dataset(&dataset("categories")?, part)?);
                let codes = Numbers::read(&dataset("codes")?, part)?.positions(part)?;
                Some(Self::Categories { levels, codes })
            }
            "nullable-integer" | "nullable-boolean" | "nullable-string-array" => {
                let values = Box::new(Self::of_dataset(&dataset("values")?, part)?);
                let mask = Numbers::read(&dataset("mask")?, part)?.positions(part)?;
                let codes = mask
                    .iter()
                    .enumerate()
                    .map(|(row, masked)| (*masked == Some(0)).then_some(row));
                Some(Self::Categories { levels: values, codes: codes.collect() })
            }
            _ => None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Text(values) => values.len(),
            Self::Categories { codes, .. } => codes.len(),
        }
    }

    fn write(&self, text: &mut Vec<u8>, row: usize) {
        match self {
            Self::Numbers(numbers) => numbers.write(text, row),
            Self::Text(values) => write_cell(text, &values[row]),
            Self::Categories { levels, codes } => {
                if let Some(code) = codes[row].filter(|&code| code < levels.len()) {
                    levels.write(text, code);
                }
            }
        }
    }
}

/// The names of the rows of obs or var.
fn index(group: &Group, part: &str) -> Result<Vec<String>> {
    let name = group.attribute("_index").and_then(|name| name.read_string());
    let name = name.map_err(|_| unexpected(part, "does not say which column names its rows"))?;
    match group.dataset(&name) {
        Ok(dataset) => dataset.read_strings().map_err(damaged),
        // Names that occur often are stored as categories.
        Err(_) => {
            let column = ObsColumn::of_group(&group.group(&name).map_err(damaged)?, part)?;
            let column = column.ok_or_else(|| unexpected(part, "has no names for its rows"))?;
            let name = |row: usize| {
                let mut text = Vec::new();
                column.write(&mut text, row);
                String::from_utf8_lossy(&text).into_owned()
            };
            Ok((0..column.len()).map(name).collect())
        }
    }
}

/// A table of obs.
struct Frame {
    index: Vec<String>,
    columns: Vec<(String, ObsColumn)>,
}

impl Frame {
    fn read(group: &Group, part: &str) -> Result<Self> {
        let index = index(group, part)?;
        let (groups, datasets) = group.member_names().map_err(damaged)?;
        let order = group
            .attribute("column-order")
            .and_then(|names| names.read_strings())
            .unwrap_or_default();
        let mut columns = Vec::new();
        for name in order {
            let column = if datasets.contains(&name) {
                Some(ObsColumn::of_dataset(&group.dataset(&name).map_err(damaged)?, part)?)
            } else if groups.contains(&name) {
                ObsColumn::of_group(&group.group(&name).map_err(damaged)?, part)?
            } else {
                None
            };
            if let Some(column) = column {
                if column.len() != index.len() {
                    return Err(unexpected(
                        part,
                        format!("has {} values in '{name}' for {} rows", column.len(), index.len()),
                    ));
                }
                columns.push((name, column));
            }
        }
        Ok(Self { index, columns })
    }

    fn write(&self, text: &mut Vec<u8>) {
        write_record(
            text,
            std::iter::once("").chain(self.columns.iter().map(|(name, _)| name.as_str())),
        );
        for (row, id) in self.index.iter().enumerate() {
            write_cell(text, id);
            for (_, column) in &self.columns {
                text.push(b',');
                column.write(text, row);
            }
            text.push(b'\n');
        }
    }
}

/// X.
enum Matrix {
    /// Row by row.
    Dense { values: Numbers, width: usize },
    /// For each row where its values start, with the column of each value, ascending; all others
    /// are zero.
    Sparse {
        values: Numbers,
        order: Vec<usize>,
        columns: Vec<usize>,
        starts: Vec<usize>,
        width: usize,
    },
}

impl Matrix {
    fn dense(dataset: &Dataset, (rows, width): (usize, usize)) -> Result<Self> {
        let shape = dataset.shape();
        if shape != [rows as u64, width as u64] {
            return Err(unexpected(
                "X",
                format!("is {shape:?}, but obs and var have {rows} and {width} rows"),
            ));
        }
        Ok(Self::Dense { values: Numbers::read(dataset, "X")?, width })
    }

    fn sparse(group: &Group, (rows, width): (usize, usize)) -> Result<Self> {
        let kind = group
            .attribute("encoding-type")
            .and_then(|kind| kind.read_string())
            .unwrap_or_default();
        let by_row = match kind.as_str() {
            "csr_matrix" => true,
            "csc_matrix" => false,
            other => {
                return Err(unexpected("X", format!("is stored as '{other}', which is not known")));
            }
        };
        let read = |name: &str| Numbers::read(&group.dataset(name).map_err(damaged)?, "X");
        let present = |name: &str| -> Result<Vec<usize>> {
            let positions: Option<Vec<usize>> = read(name)?.positions("X")?.into_iter().collect();
            positions.ok_or_else(|| unexpected("X", format!("has negative numbers in {name}")))
        };
        let (values, indices, starts) = (read("data")?, present("indices")?, present("indptr")?);
        let (lines, across) = if by_row { (rows, width) } else { (width, rows) };
        let fits = starts.len() == lines + 1
            && starts.first() == Some(&0)
            && starts.windows(2).all(|pair| pair[0] <= pair[1])
            && starts.last() == Some(&values.len())
            && indices.len() == values.len()
            && indices.iter().all(|&index| index < across);
        if !fits {
            return Err(unexpected(
                "X",
                format!("does not fit the {rows} rows of obs and {width} of var"),
            ));
        }
        // The places of the values, sorted by row and then by column.
        let line_of =
            (0..lines).flat_map(|line| std::iter::repeat_n(line, starts[line + 1] - starts[line]));
        let mut cells: Vec<(usize, usize, usize)> = line_of
            .zip(indices)
            .enumerate()
            .map(
                |(place, (line, index))| {
                    if by_row { (line, index, place) } else { (index, line, place) }
                },
            )
            .collect();
        cells.sort_unstable();
        if cells.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            return Err(unexpected("X", "has two values for one cell"));
        }
        let mut starts = vec![0; rows + 1];
        cells.iter().for_each(|&(row, ..)| starts[row + 1] += 1);
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        let columns = cells.iter().map(|&(_, column, _)| column).collect();
        let order = cells.iter().map(|&(.., place)| place).collect();
        Ok(Self::Sparse { values, order, columns, starts, width })
    }

    /// Writes the cells of a row, each behind a comma.
    fn write(&self, text: &mut Vec<u8>, row: usize) {
        match self {
            Self::Dense { values, width } => {
                for column in 0..*width {
                    text.push(b',');
                    values.write(text, row * width + column);
                }
            }
            Self::Sparse { values, order, columns, starts, width } => {
                let mut next = 0;
                for place in starts[row]..starts[row + 1] {
                    (next..columns[place]).for_each(|_| text.extend_from_slice(b",0"));
                    text.push(b',');
                    values.write(text, order[place]);
                    next = columns[place] + 1;
                }
                (next..*width).for_each(|_| text.extend_from_slice(b",0"));
            }
        }
    }
}

/// The rows of X with their names.
struct MatrixRows {
    ids: Vec<String>,
    matrix: Matrix,
    row: usize,
}

impl RowWriter for MatrixRows {
    fn write(&mut self, text: &mut Vec<u8>) -> Result<bool> {
        let Some(id) = self.ids.get(self.row) else { return Ok(false) };
        write_cell(text, id);
        self.matrix.write(text, self.row);
        text.push(b'\n');
        self.row += 1;
        Ok(true)
    }
}
