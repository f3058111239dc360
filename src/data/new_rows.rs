//! New rows for a model, batch by batch in bounded memory: columns are found by name, cells encoded
//! as in training.

use std::path::{Path, PathBuf};

use ndarray::Array2;

use super::cells::CellFormat;
use super::guess::is_index_name;
use super::header::{Header, Heading};
use super::memory;
use super::names::{listed, short};
use super::records::{Record, RecordReader};
use super::source::{STANDARD, TextSource, name};
use super::table::{Column, Table, ragged, sign_of, signs};
use super::{Encoding, ReadOptions};
use crate::error::{Error, Result, RowKind};

/// The columns to look for in the file.
#[derive(Debug, Clone, Copy)]
pub struct RequiredColumns<'a> {
    /// The columns that are needed.
    pub variables: &'a [Encoding],
    /// The class column, which may be absent.
    pub target: &'a str,
    /// The column that names the rows, which must exist if the user named it.
    pub id: Option<&'a str>,
    /// Whether the user named the id column.
    pub id_is_named: bool,
    /// Columns that are absent are missing in every row, instead of refused.
    pub may_be_absent: bool,
    /// Whether the first column names the rows, unless another one does or it is wanted itself.
    pub first_names_rows: bool,
}

/// Some rows.
#[derive(Debug, Clone)]
pub struct RowBatch {
    /// The encoded columns of all variables × rows; NaN is missing.
    pub x: Array2<f64>,
    /// The name of each row: its cell in the id column, or its number from 1.
    pub ids: Vec<String>,
    /// The class of each row as the file spells it; none where it is missing, or without a class
    /// column.
    pub classes: Vec<Option<String>>,
    /// For each row the variables with a category that training did not have: they are missing in
    /// `x`.
    pub unseen: Vec<Vec<usize>>,
    /// The line of the file on which each row starts.
    pub lines: Vec<u64>,
}

impl RowBatch {
    fn new(columns: usize, rows: usize) -> Self {
        let (ids, classes, unseen, lines) = Default::default();
        Self { x: Array2::from_elem((columns, rows), f64::NAN), ids, classes, unseen, lines }
    }

    /// Returns unused columns.
    fn cut(&mut self) {
        let rows = self.ids.len();
        if rows < self.x.ncols() {
            self.x = self.x.slice(ndarray::s![.., ..rows]).as_standard_layout().into_owned();
        }
    }
}

/// A file of new rows.
pub struct NewRows {
    name: PathBuf,
    encodings: Vec<Encoding>,
    places: ColumnPositions,
    /// How many columns all variables have together.
    width: usize,
    /// Rows so far.
    count: usize,
    from: From,
    /// Notes on how the file was read, in sentences.
    pub notes: Vec<String>,
}

/// Where in the file things are, by position.
struct ColumnPositions {
    variables: Vec<Option<usize>>,
    target: Option<usize>,
    id: Option<usize>,
}

enum From {
    /// Text, read as a stream.
    Text(Box<Text>),
    /// A format that can only be read whole.
    Table(Box<Table>),
}

struct Text {
    path: PathBuf,
    options: ReadOptions,
    records: RecordReader<fn(u64, u64)>,
    cells: CellFormat,
    heading: Heading,
}

/// The cells of one row.
#[derive(Clone, Copy)]
enum Row<'a> {
    Record(&'a Record, &'a CellFormat),
    /// By its position in a table.
    OfTable(&'a Table, usize),
}

impl<'a> Row<'a> {
    /// A word, trimmed; none if it is missing.
    fn word(self, place: usize) -> Option<&'a str> {
        match self {
            Row::Record(record, cells) => {
                Some(record.cell(place).trim()).filter(|cell| !cells.is_missing(cell))
            }
            Row::OfTable(table, row) => {
                let (levels, codes) = table.columns[place].text().ok()?;
                codes[row].map(|code| levels[code as usize].as_str())
            }
        }
    }

    /// A number, NaN if it is missing; or the word that is not a number.
    fn number(self, place: usize) -> std::result::Result<f64, &'a str> {
        match self {
            Row::Record(record, cells) => {
                let cell = record.cell(place).trim();
                cells.numeric(cell).ok_or(cell)
            }
            Row::OfTable(table, row) => match &table.columns[place] {
                Column::Numbers(values) => Ok(values[row]),
                Column::Text { .. } => self.word(place).map_or(Ok(f64::NAN), Err),
            },
        }
    }

    /// The name of the row, whatever it looks like.
    fn id(self, place: usize) -> &'a str {
        match self {
            Row::Record(record, _) => record.cell(place).trim(),
            Row::OfTable(..) => self.word(place).unwrap_or_default(),
        }
    }
}

impl NewRows {
    /// Opens a file, or standard input if it is called `-`, and finds the columns.
    pub fn open(path: &Path, options: &ReadOptions, wanted: &RequiredColumns<'_>) -> Result<Self> {
        let at = |error: Error| error.file(name(path));
        let whole = options.transpose || options.sheet.is_some();
        // What were the names of columns are those of rows now.
        let wanted = &RequiredColumns { first_names_rows: options.transpose, ..*wanted };
        match (!whole).then(|| Text::open(path, options)) {
            Some(Ok(Some(text))) => {
                let Heading { header, notes, .. } = text.heading.clone();
                Self::new(path, &header, wanted, From::Text(Box::new(text)), notes).map_err(at)
            }
            Some(Err(error)) if path.as_os_str() == STANDARD => Err(at(error)),
            // Not plain text: the table reader reads it, or states why it cannot.
            _ => {
                let mut seen = None;
                let look = |header: &Header| {
                    seen = Some(header.clone());
                    Ok(ColumnPositions::new(header, wanted)?.as_text(wanted.variables))
                };
                let table = Table::read(path, options, look, |_, _| {})?;
                let header = seen.ok_or_else(|| Error::internal("the header was not looked at"))?;
                let notes = table.notes.clone();
                Self::new(path, &header, wanted, From::Table(Box::new(table)), notes).map_err(at)
            }
        }
    }

    fn new(
        path: &Path,
        header: &Header,
        wanted: &RequiredColumns<'_>,
        from: From,
        mut notes: Vec<String>,
    ) -> Result<Self> {
        let places = ColumnPositions::new(header, wanted)?;
        let used = |position: &usize| {
            places.variables.contains(&Some(*position))
                || places.target == Some(*position)
                || places.id == Some(*position)
        };
        let extra: Vec<&str> = (0..header.len())
            .filter(|position| !used(position))
            .map(|i| header.names[i].as_str())
            .collect();
        if !extra.is_empty() {
            let are = match extra.len() {
                1 => "column is not in the model and is ignored",
                _ => "columns are not in the model and are ignored",
            };
            notes.push(format!("{} {are}: {}", extra.len(), listed(extra.iter().copied())));
        }
        let absent = absent(wanted.variables, &places.variables);
        if !absent.is_empty() {
            notes.push(format!("absent, and filled in every row: {}", listed(absent)));
        }
        let width = wanted.variables.iter().map(Encoding::width).sum();
        let encodings = wanted.variables.to_vec();
        let name = PathBuf::from(name(path));
        Ok(Self { name, encodings, places, width, count: 0, from, notes })
    }

    /// SHA-256 of the file's bytes, once all rows are read. Refuses a file that has changed
    /// meanwhile.
    pub fn finish(self) -> Result<String> {
        match self.from {
            From::Table(table) => Ok(table.sha256),
            From::Text(text) => {
                let finished = text.records.into_source().finish();
                finished.map(|(_, sha256)| sha256).map_err(|error| error.file(self.name))
            }
        }
    }

    /// Whether the class column is there.
    pub fn has_classes(&self) -> bool {
        self.places.target.is_some()
    }

    /// The next rows, at most `most`; none at the end.
    pub fn next(&mut self, most: usize) -> Result<Option<RowBatch>> {
        let rows = match (self.read(most), &self.from) {
            // Bytes that are not UTF-8 may come late: then the table reader reads it again.
            (Err(_), From::Text(text)) if text.records.may_be_legacy() => {
                let look = |_: &Header| Ok(self.places.as_text(&self.encodings));
                let table = Table::read(&text.path, &text.options, look, |_, _| {})?;
                let new = table.notes.iter().filter(|note| !self.notes.contains(note));
                let new: Vec<String> = new.cloned().collect();
                self.notes.extend(new);
                self.from = From::Table(Box::new(table));
                self.read(most)
            }
            (rows, _) => rows,
        };
        let rows = rows.map_err(|error| error.file(&self.name))?;
        self.count += rows.ids.len();
        if rows.ids.is_empty() {
            if self.count == 0 {
                return Err(Error::data("the file has a header but no rows")
                    .file(&self.name)
                    .remedy("add rows below the header"));
            }
            return Ok(None);
        }
        Ok(Some(rows))
    }

    /// The next rows, at most `most`; it is empty at the end.
    fn read(&mut self, most: usize) -> Result<RowBatch> {
        let mut rows = RowBatch::new(self.width, most);
        while rows.ids.len() < most {
            let number = self.count + rows.ids.len();
            let (row, line) = match &self.from {
                From::Text(text) if text.heading.more => {
                    let line = text.records.line;
                    (text.row(number == 0).map_err(|error| error.line(line))?, line)
                }
                From::Table(table) if number < table.lines.len() => {
                    (Row::OfTable(table, number), table.lines.of(number))
                }
                _ => break,
            };
            let unseen = self.encode(row, &mut rows).map_err(|error| error.line(line))?;
            rows.unseen.push(unseen);
            let class = self.places.target.and_then(|place| row.word(place));
            rows.classes.push(class.map(str::to_owned));
            let id = self.places.id.map(|place| row.id(place).to_owned());
            rows.ids.push(id.unwrap_or_else(|| (number + 1).to_string()));
            rows.lines.push(line);
            if let From::Text(text) = &mut self.from {
                text.heading.more = text.records.advance()?;
            }
        }
        rows.cut();
        Ok(rows)
    }

    /// Writes the numbers of the next row, and returns the variables with a category that training
    /// did not have.
    fn encode(&self, row: Row<'_>, rows: &mut RowBatch) -> Result<Vec<usize>> {
        let at = rows.ids.len();
        let mut column = 0;
        let mut unseen = Vec::new();
        let places = self.places.variables.iter();
        for (variable, (encoding, place)) in self.encodings.iter().zip(places).enumerate() {
            if encoding.is_category() {
                let word = place.and_then(|place| row.word(place));
                let level = word.and_then(|word| encoding.level(word));
                unseen.extend((word.is_some() && level.is_none()).then_some(variable));
                for number in encoding.numbers(level) {
                    rows.x[[column, at]] = number;
                    column += 1;
                }
            } else {
                let number = place.map_or(Ok(f64::NAN), |place| row.number(place));
                rows.x[[column, at]] = number.map_err(|word| not_a_number(word, encoding))?;
                column += 1;
            }
        }
        Ok(unseen)
    }
}

impl ColumnPositions {
    fn new(header: &Header, wanted: &RequiredColumns<'_>) -> Result<Self> {
        let find = |name: &str| header.names.iter().position(|column| column == name);
        let variables: Vec<Option<usize>> =
            wanted.variables.iter().map(|variable| find(&variable.name)).collect();
        if !wanted.may_be_absent {
            refuse_absent(header, wanted, &variables)?;
        }
        let target = find(wanted.target).filter(|position| !variables.contains(&Some(*position)));
        let id = match wanted.id {
            Some(id) if wanted.id_is_named => {
                Some(super::names::find(&header.names, id, "--id-col")?)
            }
            id => id.and_then(find),
        };
        let names_rows = || {
            let unnamed =
                header.unnamed.first() == Some(&true) || is_index_name(header.names.first()?);
            ((unnamed || wanted.first_names_rows)
                && !variables.contains(&Some(0))
                && target != Some(0))
            .then_some(0)
        };
        Ok(Self { id: id.or_else(names_rows), variables, target })
    }

    /// The columns whose values are words, whatever they look like.
    fn as_text(&self, encodings: &[Encoding]) -> Vec<usize> {
        let categories =
            encodings.iter().zip(&self.variables).filter(|(encoding, _)| encoding.is_category());
        categories.filter_map(|(_, place)| *place).chain(self.target).chain(self.id).collect()
    }
}

/// The variables without a column in the file.
fn absent<'e>(encodings: &'e [Encoding], places: &[Option<usize>]) -> Vec<&'e str> {
    let absent = encodings.iter().zip(places).filter(|(_, place)| place.is_none());
    absent.map(|(encoding, _)| encoding.name.as_str()).collect()
}

/// Refuses a file that lacks columns of the model, by their names.
fn refuse_absent(
    header: &Header,
    wanted: &RequiredColumns<'_>,
    variables: &[Option<usize>],
) -> Result<()> {
    let absent = absent(wanted.variables, variables);
    if absent.is_empty() {
        return Ok(());
    }
    // All of them may be names of rows.
    let may_lie = if absent.len() == variables.len() {
        ", or add --transpose if lines are features and columns are patients"
    } else {
        ""
    };
    let (column, is, it) =
        if absent.len() == 1 { ("column", "is", "it") } else { ("columns", "are", "them") };
    Err(Error::data(format!(
        "{} {column} of the model {is} not in the file: {} (the file has {})",
        absent.len(),
        listed(absent),
        listed(header.names.iter().map(String::as_str))
    ))
    .remedy(format!(
        "add {it}, or fill {it} from the training rows with --impute-missing{may_lie}"
    )))
}

impl Text {
    /// The text below its header; `None` if the file can only be read whole.
    fn open(path: &Path, options: &ReadOptions) -> Result<Option<Self>> {
        let decimal_sign = options.decimal.map(|sign| sign_of("decimal", sign)).transpose()?;
        let source = TextSource::open(path, false, (|_, _| {}) as fn(u64, u64))?;
        if source.is_series_matrix() {
            return Ok(None);
        }
        let (delimiter, decimal) = signs(&source, options, decimal_sign)?;
        let cells = CellFormat::new(char::from(decimal), &options.missing, options.censored);
        let mut records = RecordReader::new(source, delimiter, memory::limit(options.memory_limit));
        let heading = Heading::read(&mut records, options, RowKind::Line)?;
        let (path, options) = (path.to_owned(), options.clone());
        Ok(Some(Self { path, options, records, cells, heading }))
    }

    /// The row that was read last.
    fn row(&self, is_first: bool) -> Result<Row<'_>> {
        let (record, width) = (&self.records.record, self.heading.header.len());
        if !record.fits(width) {
            return Err(ragged(record.len(), width, "the header", is_first));
        }
        Ok(Row::Record(record, &self.cells))
    }
}

fn not_a_number(cell: &str, encoding: &Encoding) -> Error {
    Error::data(format!("'{}' is not a number, and the model was made of numbers", short(cell)))
        .column(&encoding.name)
        .remedy("correct the value, or leave the cell empty")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encodings() -> Vec<Encoding> {
        let stage = Encoding {
            name: "stage".into(),
            levels: ["I", "II", "III"].map(String::from).to_vec(),
            any_case: false,
        };
        vec![Encoding::number("age"), stage, Encoding::number("crp")]
    }

    fn read(
        text: &str,
        change: impl Fn(&mut RequiredColumns<'_>),
    ) -> Result<(Vec<RowBatch>, Vec<String>)> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("new.csv");
        std::fs::write(&file, text).unwrap();
        let variables = encodings();
        let mut wanted = RequiredColumns {
            variables: &variables,
            target: "class",
            id: None,
            id_is_named: false,
            may_be_absent: false,
            first_names_rows: false,
        };
        change(&mut wanted);
        let mut rows = NewRows::open(&file, &ReadOptions::default(), &wanted)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.next(2)? {
            batches.push(batch);
        }
        Ok((batches, rows.notes))
    }

    #[test]
    fn columns_are_found_by_name_in_any_order() {
        let text = "id,crp,extra,stage,age\np1,1.5,x,II,60\np2,,y,IV,50\np3,2.5,z,,40\n";
        let (batches, notes) = read(text, |wanted| wanted.id = Some("id")).unwrap();
        assert_eq!(notes, ["1 column is not in the model and is ignored: extra"]);
        assert_eq!(batches.len(), 2);
        assert_eq!(batches[0].ids, ["p1", "p2"]);
        assert_eq!(batches[0].x.column(0).to_vec(), [60.0, 0.0, 1.0, 0.0, 1.5]);
        assert!(batches[0].x.column(1).iter().skip(1).all(|value| value.is_nan()));
        assert_eq!(batches[0].unseen, [vec![], vec![1]]);
        assert_eq!(
            (batches[1].x.ncols(), &*batches[1].unseen[0], batches[1].lines[0]),
            (1, &[][..], 4)
        );
        assert_eq!(batches[0].classes, [None, None]);
    }

    #[test]
    fn the_class_and_row_names_are_found() {
        let text = ",age,stage,crp,class\na,1,I,2,well\nb,2,II,3,\n";
        let (batches, _) = read(text, |_| {}).unwrap();
        assert_eq!(batches[0].ids, ["a", "b"]);
        assert_eq!(batches[0].classes, [Some("well".to_owned()), None]);
        let as_r_writes = "age stage crp\nrow1 1 I 2\n".replace(' ', "\t");
        assert_eq!(read(&as_r_writes, |_| {}).unwrap().0[0].ids, ["row1"]);
        let without = "age;stage;crp\n1,5;I;2\n";
        let (batches, _) = read(without, |_| {}).unwrap();
        assert_eq!((batches[0].ids[0].as_str(), batches[0].x[[0, 0]]), ("1", 1.5));
    }

    #[test]
    fn another_encoding_that_shows_late_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("new.csv");
        let long = format!("1,I,2,{}\n", "x".repeat(1000)).repeat(1200);
        let header = b"age,stage,crp,note\n".as_slice();
        let bytes = [header, long.as_bytes(), b"7,II,3,caf\xe9\n"].concat();
        std::fs::write(&file, bytes).unwrap();
        let variables = encodings();
        let wanted = RequiredColumns {
            variables: &variables,
            target: "class",
            id: Some("note"),
            id_is_named: false,
            may_be_absent: false,
            first_names_rows: false,
        };
        let mut rows = NewRows::open(&file, &ReadOptions::default(), &wanted).unwrap();
        let mut ages = Vec::new();
        let mut last = String::new();
        while let Some(batch) = rows.next(1000).unwrap() {
            ages.extend(batch.x.row(0).to_vec());
            last.clone_from(batch.ids.last().unwrap());
        }
        assert_eq!((ages.len(), ages[1199], ages[1200], last.as_str()), (1201, 1.0, 7.0, "café"));
        assert!(rows.notes.iter().any(|note| note.contains("Windows-1252")), "{:?}", rows.notes);
    }

    #[test]
    fn what_is_absent_or_wrong_is_named() {
        let error = read("age,stag\n1,I\n", |_| {}).err().unwrap().to_string();
        assert!(
            error.contains("2 columns of the model are not in the file: stage, crp"),
            "{error}"
        );
        let (batches, notes) = read("age\n1\n", |wanted| wanted.may_be_absent = true).unwrap();
        assert_eq!(notes, ["absent, and filled in every row: stage, crp"]);
        assert_eq!(batches[0].x.iter().filter(|value| value.is_nan()).count(), 4);
        let error = read("age,stage,crp\n1,I,2\nold,I,2\n", |_| {}).err().unwrap().to_string();
        assert!(error.contains("line 3, column 'age': 'old' is not a number"), "{error}");
        let error = read("age,stage,crp\n1,I\n", |_| {}).err().unwrap().to_string();
        assert!(error.contains("line 2: the line has 2 fields, but the header has 3"), "{error}");
        let error = read("age,stage,crp\n", |_| {}).err().unwrap().to_string();
        assert!(error.contains("the file has a header but no rows"), "{error}");
    }
}
