//! A sheet of a workbook (xlsx, xls, ods) as the text of a table. Lines of the text are rows
//! of the sheet.

use std::fmt::Display;
use std::io::Cursor;
use std::path::Path;

use calamine::{Data, Reader, Sheets, open_workbook_auto_from_rs};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::binary::Converted;
use super::sheet::{Rows, letters};
use super::{Provenance, archive, ods, xls};
use crate::data::memory;
use crate::data::names::{listed, unknown};
use crate::data::source::{hexadecimal, unreadable};
use crate::error::{Error, Result, RowKind};

/// The names of all sheets of a workbook, and the rows of one.
pub(super) struct Sheet {
    pub(super) names: Vec<String>,
    pub(super) rows: Rows,
}

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
    let Some(Sheet { names, rows }) =
        read(&bytes, sheet, limit).map_err(|error| error.rows_are(RowKind::Row))?
    else {
        return Ok(None);
    };
    let name = chosen(&names, sheet)?;
    let all = listed(names.iter().map(String::as_str));
    let has_choice = sheet.is_none() && names.len() > 1;
    let other_sheets =
        has_choice.then(|| format!("or choose another of the sheets with --sheet: {all}"));
    let count = names.len();
    let note = format!(
        "the workbook has {count} sheets, and '{name}' is read; choose another with --sheet: {all}"
    );
    let notes = has_choice.then_some(note).into_iter().collect();
    if rows.is_empty() {
        return Err(Error::data("the sheet is empty")
            .sheet(name)
            .remedy(format!("choose another with --sheet: {all}"))
            .option("--sheet"));
    }
    Ok(Some(Converted {
        format: "a workbook",
        text: Box::new(Cursor::new(rows.into_text())),
        provenance: Provenance {
            sha256: hexadecimal(&Sha256::digest(&bytes)),
            notes,
            sheet: Some(name.clone()),
            other_sheets,
            ..Provenance::default()
        },
    }))
}

/// The sheet with this name, or the first.
fn chosen<'n>(names: &'n [String], sheet: Option<&str>) -> Result<&'n String> {
    match sheet {
        Some(chosen) => names
            .iter()
            .find(|name| *name == chosen)
            .ok_or_else(|| unknown("sheet", chosen, "--sheet", names)),
        None => names.first().ok_or_else(|| Error::data("the workbook has no sheets")),
    }
}

/// A workbook in memory.
fn read(bytes: &[u8], sheet: Option<&str>, limit: u64) -> Result<Option<Sheet>> {
    let left = limit.saturating_sub(memory::PROGRAM + 2 * bytes.len() as u64);
    if let Ok(mut archive) = ZipArchive::new(Cursor::new(bytes)) {
        if ods::is_ods(&mut archive) {
            return ods::read(&mut archive, sheet, Rows::new(left)).map(Some);
        }
        archive::check(&mut archive, limit)?;
    }
    xls::check(bytes, limit)?;
    // Other archives are refused by name later on.
    let Ok(mut book) = open_workbook_auto_from_rs(Cursor::new(bytes)) else { return Ok(None) };
    if matches!(book, Sheets::Xlsb(_)) {
        return Err(Error::data("this is a binary Excel workbook (xlsb), which is not read")
            .remedy("convert it, for example: soffice --convert-to xlsx FILE"));
    }
    let names = book.sheet_names();
    let name = chosen(&names, sheet)?;
    let rows = rows(&mut book, name, Rows::new(left)).map_err(|error| error.sheet(name))?;
    Ok(Some(Sheet { names, rows }))
}

/// The rows of a sheet.
fn rows(book: &mut Sheets<Cursor<&[u8]>>, name: &str, mut rows: Rows) -> Result<Rows> {
    let mut push = |row, column, value: &Data| {
        let place = |error: Error| error.line(u64::from(row) + 1).column(letters(column));
        let spelled = spelled(value).map_err(|fault| {
            place(Error::data(fault).remedy("correct the formula, or clear the cell"))
        })?;
        rows.push(row, column, &spelled)
    };
    match book {
        Sheets::Xlsx(book) => {
            let mut cells = book.worksheet_cells_reader(name).map_err(cannot_be_read)?;
            while let Some(cell) =
                cells.next_cell_with_formula_metadata().map_err(cannot_be_read)?
            {
                let (row, column) = cell.pos;
                match (Data::from(cell.value), cell.formula) {
                    (Data::Empty, None) => {}
                    (Data::Empty, Some(_)) => return Err(uncalculated(row, column)),
                    (value, _) => push(row, column, &value)?,
                }
            }
        }
        other => {
            let cells = other.worksheet_range(name).map_err(cannot_be_read)?;
            let (above, left) = cells.start().unwrap_or_default();
            for (row, column, value) in cells.used_cells() {
                push(above + row as u32, left + column as u32, value)?;
            }
        }
    }
    Ok(rows)
}

/// The error of a part that is not what it should be.
pub(super) fn cannot_be_read(error: impl Display) -> Error {
    Error::data(format!("the sheet cannot be read ({error})"))
        .remedy("save it again, or as CSV (UTF-8)")
}

/// The error of a formula whose result was never stored.
pub(super) fn uncalculated(row: u32, column: u32) -> Error {
    Error::data("the cell holds a formula without its result")
        .line(u64::from(row) + 1)
        .column(letters(column))
        .remedy("open the workbook in a spreadsheet program, which calculates it, and save it")
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
