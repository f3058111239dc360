//! A sheet of a workbook (xlsx, xls, ods) as the text of a table. Lines of the text are rows
//! of the sheet.

use std::io::Cursor;
use std::path::Path;

use calamine::{Data, Reader, Sheets, open_workbook_auto_from_rs};
use sha2::{Digest, Sha256};

use super::binary::Converted;
use super::write_record;
use crate::data::memory;
use crate::data::names::{listed, unknown};
use crate::data::source::{hexadecimal, unreadable};
use crate::error::{Error, Result, RowKind};

/// The sheet with this name, or the first; nothing if the file is not a workbook.
pub(in crate::data) fn open(
    path: &Path,
    sheet: Option<&str>,
    limit: u64,
) -> Result<Option<Converted>> {
    let length = std::fs::metadata(path).map_or(0, |about| about.len());
    if memory::PROGRAM + 2 * length > limit {
        return Err(Error::data("the workbook is too large for the memory that is allowed")
            .remedy("save the sheet as CSV, or allow more with --memory-limit")
            .option("--memory-limit"));
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(&error))?;
    // Other archives are refused by name later on.
    let Ok(mut book) = open_workbook_auto_from_rs(Cursor::new(&bytes[..])) else { return Ok(None) };
    if matches!(book, Sheets::Xlsb(_)) {
        return Err(Error::data("this is a binary Excel workbook (xlsb), which is not read")
            .remedy("convert it, for example: soffice --convert-to xlsx FILE"));
    }
    let names = book.sheet_names();
    let name = match sheet {
        Some(chosen) => names
            .iter()
            .find(|name| *name == chosen)
            .ok_or_else(|| unknown("sheet", chosen, "--sheet", &names))?,
        None => names.first().ok_or_else(|| Error::data("the workbook has no sheets"))?,
    };
    let all = listed(names.iter().map(String::as_str));
    let has_choice = sheet.is_none() && names.len() > 1;
    let other_sheets =
        has_choice.then(|| format!("or choose another of the sheets with --sheet: {all}"));
    let count = names.len();
    let note = format!(
        "the workbook has {count} sheets, and '{name}' is read; choose another with --sheet: {all}"
    );
    let notes = has_choice.then_some(note).into_iter().collect();
    let cells = book.worksheet_range(name).map_err(|error| {
        Error::data(format!("the sheet cannot be read ({error})"))
            .sheet(name)
            .remedy("save it again, or as CSV (UTF-8)")
            .option("--sheet")
    })?;
    if cells.is_empty() {
        return Err(Error::data("the sheet is empty")
            .sheet(name)
            .remedy(format!("choose another with --sheet: {all}")));
    }
    let size = (cells.height() * cells.width()) as u64 * size_of::<Data>() as u64;
    if memory::PROGRAM + 2 * size > limit {
        return Err(Error::data(format!("the sheet needs {} of memory", memory::spoken(2 * size)))
            .sheet(name)
            .remedy("save it as CSV, or allow more with --memory-limit")
            .option("--memory-limit"));
    }
    let text = write(&cells).map_err(|error| error.sheet(name).rows_are(RowKind::Row))?;
    Ok(Some(Converted {
        format: "a workbook",
        text: Box::new(Cursor::new(text)),
        samples: None,
        sha256: hexadecimal(&Sha256::digest(&bytes)),
        notes,
        sheet: Some(name.clone()),
        other_sheets,
        first_line: 1,
    }))
}

/// Every row as a line. Rows above the first that holds something are empty lines, so that lines
/// have the numbers of rows; columns to its left are left out.
fn write(cells: &calamine::Range<Data>) -> Result<Vec<u8>> {
    let (above, left) = cells.start().unwrap_or_default();
    let mut text = vec![b'\n'; above as usize];
    for (row, values) in (u64::from(above) + 1..).zip(cells.rows()) {
        // A line of nothing but separators would be a row without values.
        if values.iter().all(|value| matches!(value, Data::Empty)) {
            text.push(b'\n');
            continue;
        }
        let spelled = (left..).zip(values).map(|(column, value)| {
            spelled(value).map_err(|fault| {
                Error::data(fault)
                    .line(row)
                    .column(letters(column))
                    .remedy("correct the formula, or clear the cell")
            })
        });
        let spelled = spelled.collect::<Result<Vec<_>>>()?;
        write_record(&mut text, spelled.iter().map(String::as_str));
    }
    Ok(text)
}

/// A cell as it would be in a file of text.
fn spelled(value: &Data) -> std::result::Result<String, String> {
    Ok(match value {
        Data::Empty => String::new(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(answer) => answer.to_string(),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
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
        assert_eq!(
            [0, 25, 26, 51, 52, 701, 702].map(letters),
            ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]
        );
    }
}
