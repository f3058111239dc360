//! An OpenDocument spreadsheet, cell by cell.

use std::io::Read;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};

use super::archive::{Archive, LONGEST, Part, too_long};
use super::sheet::Rows;
use super::workbook::{Sheet, cannot_be_read, uncalculated};
use crate::error::Result;

/// Whether an archive is such a spreadsheet.
pub(super) fn is_ods(archive: &mut Archive) -> bool {
    let mut kind = String::new();
    archive.by_name("mimetype").is_ok_and(|part| part.take(100).read_to_string(&mut kind).is_ok())
        && kind.starts_with("application/vnd.oasis.opendocument.spreadsheet")
}

/// A cell while it is read.
#[derive(Default)]
struct Cell {
    /// How often it is there.
    times: u32,
    value: Option<String>,
    /// The text that is shown, which is the value of a cell of text or of a failed formula.
    text: String,
    shows_value: bool,
    is_error: bool,
    is_formula: bool,
    paragraphs: usize,
}

impl Cell {
    fn new(tag: &BytesStart) -> Result<Self> {
        let mut cell =
            Self { times: times(tag, "table:number-columns-repeated")?, ..Self::default() };
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(cannot_be_read)?;
            let value =
                attribute.normalized_value(XmlVersion::Implicit1_0).map_err(cannot_be_read)?;
            match attribute.key.as_ref() {
                "office:value" => {
                    let number = value.parse::<f64>();
                    cell.value =
                        Some(number.map_or(value.into_owned(), |number| number.to_string()));
                }
                "office:string-value"
                | "office:date-value"
                | "office:time-value"
                | "office:boolean-value" => cell.value = Some(value.into_owned()),
                "office:value-type" => cell.shows_value = value == "string",
                "calcext:value-type" => cell.is_error = value == "error",
                "table:formula" => cell.is_formula = true,
                _ => {}
            }
        }
        Ok(cell)
    }

    /// What it holds.
    fn into_value(self) -> Option<String> {
        let shown = self.shows_value.then_some(self.text);
        match self.value {
            Some(value) if !(self.is_error && value.is_empty()) => Some(value),
            _ => shown,
        }
    }
}

/// How often a tag says that it is repeated.
fn times(tag: &BytesStart, name: &str) -> Result<u32> {
    let times = tag.try_get_attribute(name).map_err(cannot_be_read)?;
    let Some(times) = times else { return Ok(1) };
    let fault = |_| cannot_be_read(format!("{name}=\"{}\"", times.value));
    times.value.parse().map_err(fault)
}

/// The sheet with this name, or the first.
pub(super) fn read(archive: &mut Archive, sheet: Option<&str>, rows: Rows) -> Result<Sheet> {
    let part = archive.by_name("content.xml").map_err(cannot_be_read)?;
    let mut read = Sheet { names: Vec::new(), rows };
    match read_into(&mut read, &mut Part::new(part), sheet) {
        Ok(()) => Ok(read),
        Err(error) => Err(read.names.pop().map_or(error.clone(), |name| error.sheet(name))),
    }
}

/// Reads all names, and the rows of one sheet.
fn read_into(read: &mut Sheet, part: &mut Part, sheet: Option<&str>) -> Result<()> {
    let mut inside = false;
    let (mut row, mut column, mut rows) = (0_u32, 0_u32, 1);
    let mut cell: Option<Cell> = None;
    let mut in_comment = false;
    loop {
        match part.next()?.map_err(cannot_be_read)? {
            Event::Eof => return Ok(()),
            Event::Start(tag) => match (tag.name().as_ref(), &mut cell) {
                ("table:table", _) => {
                    let name = tag.try_get_attribute("table:name").ok().flatten();
                    let name = name.map(|name| name.normalized_value(XmlVersion::Implicit1_0));
                    let name = name.transpose().map_err(cannot_be_read)?;
                    let name = name.unwrap_or_default().into_owned();
                    inside = sheet.map_or(read.names.is_empty(), |sheet| {
                        sheet == name && !read.names.contains(&name)
                    });
                    (row, column) = (0, 0);
                    read.names.push(name);
                }
                ("table:table-row", _) if inside => {
                    rows = times(&tag, "table:number-rows-repeated")?;
                }
                ("table:table-cell" | "table:covered-table-cell", _) if inside => {
                    cell = Some(Cell::new(&tag)?);
                }
                ("office:annotation", _) => in_comment = true,
                (_, Some(_)) if in_comment => {}
                ("text:p", Some(cell)) => {
                    cell.paragraphs += 1;
                    if cell.paragraphs > 1 {
                        cell.text.push('\n');
                    }
                }
                ("text:s", Some(cell)) => {
                    let spaces = times(&tag, "text:c")?;
                    let spaces = (spaces as usize).min(LONGEST as usize);
                    cell.text.extend(std::iter::repeat_n(' ', spaces));
                }
                ("text:tab", Some(cell)) => cell.text.push('\t'),
                ("text:line-break", Some(cell)) => cell.text.push('\n'),
                _ => {}
            },
            Event::Text(text) if !in_comment => {
                if let Some(cell) = &mut cell {
                    cell.text.push_str(&text.xml10_content());
                }
            }
            Event::GeneralRef(entity) if !in_comment => {
                if let Some(cell) = &mut cell {
                    let letter = entity.resolve_char_ref().map_err(cannot_be_read)?;
                    cell.text.extend(letter);
                    cell.text.push_str(resolve_xml_entity(&entity).unwrap_or_default());
                }
            }
            Event::End(tag) => match tag.name().as_ref() {
                "office:annotation" => in_comment = false,
                "table:table" => inside = false,
                "table:table-row" if inside => {
                    read.rows.repeat(row, rows.saturating_sub(1))?;
                    (row, column) = (row.saturating_add(rows), 0);
                }
                "table:table-cell" | "table:covered-table-cell" => {
                    let Some(cell) = cell.take() else { continue };
                    let (times, is_formula) = (cell.times, cell.is_formula);
                    match cell.into_value() {
                        Some(value) => {
                            for column in (column..).take(times as usize) {
                                read.rows.push(row, column, &value)?;
                            }
                        }
                        None if is_formula => return Err(uncalculated(row, column)),
                        None => {}
                    }
                    column = column.saturating_add(times);
                }
                _ => {}
            },
            _ => {}
        }
        if cell.as_ref().is_some_and(|cell| cell.text.len() as u64 > LONGEST) {
            return Err(too_long());
        }
    }
}
