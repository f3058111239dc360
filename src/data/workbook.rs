//! A sheet of a workbook (xlsx, xlsb, xls, ods) as the text of a table. Lines of the text are rows of the sheet.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use calamine::{Data, Reader, open_workbook_auto_from_rs};
use sha2::{Digest, Sha256};

use super::memory;
use super::names::{listed, unknown};
use super::source::{hexadecimal, unreadable};
use crate::error::{Error, Result};

/// What was read of a workbook.
pub(super) struct Sheet {
    /// Cells separated by commas.
    pub(super) text: Vec<u8>,
    pub(super) sha256: String,
    pub(super) notes: Vec<String>,
}

/// The sheet called so, or the first; nothing if the file is no workbook.
pub(super) fn read(path: &Path, sheet: Option<&str>, limit: u64) -> Result<Option<Sheet>> {
    /// How a zip archive and an old Excel file begin.
    const SIGNS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let Some(mut file) = is_file.then(|| File::open(path).ok()).flatten() else { return Ok(None) };
    let mut first = [0; 4];
    if file.read_exact(&mut first).is_err() || !SIGNS.contains(&&first[..]) {
        return Ok(None);
    }
    let mut bytes = first.to_vec();
    file.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    // Other archives are refused by name later on.
    let Ok(mut book) = open_workbook_auto_from_rs(Cursor::new(&bytes[..])) else { return Ok(None) };
    let names = book.sheet_names();
    let name = match sheet {
        Some(told) => names
            .iter()
            .find(|name| *name == told)
            .ok_or_else(|| unknown("sheet", told, "--sheet", &names))?,
        None => names.first().ok_or_else(|| Error::data("the workbook has no sheets"))?,
    };
    let mut notes = Vec::new();
    if sheet.is_none() && names.len() > 1 {
        notes.push(format!(
            "the workbook has {} sheets, of which '{name}' is read; --sheet names another: {}",
            names.len(),
            listed(names.iter().map(String::as_str))
        ));
    }
    let cells = book.worksheet_range(name).map_err(|error| {
        Error::data(format!("sheet '{name}' cannot be read ({error})"))
            .remedy("save it again, or as CSV (UTF-8)")
    })?;
    let size = (cells.height() * cells.width()) as u64 * size_of::<Data>() as u64;
    if memory::PROGRAM + 2 * size > limit {
        return Err(Error::data(format!("sheet '{name}' needs {} of memory", memory::spoken(2 * size)))
            .remedy("save it as CSV, or allow more with --memory-limit"));
    }
    let text = write(name, &cells)?;
    Ok(Some(Sheet { text, sha256: hexadecimal(&Sha256::digest(&bytes)), notes }))
}

/// Every row as a line; those above the first that holds something are empty lines, so that numbers of lines are those of rows.
fn write(name: &str, cells: &calamine::Range<Data>) -> Result<Vec<u8>> {
    let (above, left) = cells.start().unwrap_or_default();
    let mut text = vec![b'\n'; above as usize];
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fault = |error: csv::Error| Error::internal(format!("the sheet cannot be written ({error})"));
    for (row, values) in (u64::from(above) + 1..).zip(cells.rows()) {
        if values.iter().all(|value| matches!(value, Data::Empty)) {
            // A line of nothing but separators would be a row without values.
            let written = std::mem::replace(&mut writer, csv::Writer::from_writer(Vec::new()));
            text.extend(written.into_inner().map_err(|error| fault(error.into_error().into()))?);
            text.push(b'\n');
            continue;
        }
        for (column, value) in (left..).zip(values) {
            let cell = spelled(value).map_err(|fault| {
                Error::data(format!("sheet '{name}', row {row}, column {}: {fault}", letters(column)))
                    .remedy("correct the formula, or clear the cell")
            })?;
            writer.write_field(cell).map_err(fault)?;
        }
        writer.write_record(None::<&[u8]>).map_err(fault)?;
    }
    text.extend(writer.into_inner().map_err(|error| fault(error.into_error().into()))?);
    Ok(text)
}

/// A cell as it would be in a file of text.
fn spelled(value: &Data) -> std::result::Result<String, String> {
    Ok(match value {
        Data::Empty => String::new(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(answer) => answer.to_string(),
        // A line feed within a cell would shift the numbers of the lines.
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => {
            text.replace(['\n', '\r'], " ")
        }
        Data::DateTime(date) => {
            let (year, month, day, ..) = date.to_ymd_hms_milli();
            format!("{year:04}-{month:02}-{day:02}")
        }
        Data::Error(error) => return Err(format!("the cell holds {error}")),
    })
}

/// The letters of a column, counted from 0: A, B, …, Z, AA.
fn letters(column: u32) -> String {
    let last = char::from(b'A' + (column % 26) as u8).to_string();
    if column < 26 { last } else { letters(column / 26 - 1) + &last }
}

#[cfg(test)]
mod tests {
    use super::letters;

    #[test]
    fn columns_have_letters() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }
}
