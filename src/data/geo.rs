//! A series matrix file of the Gene Expression Omnibus: what is said of each sample, and a matrix with samples in columns.

use std::collections::HashMap;

use super::memory;
use super::records::{Record, Records};
use crate::error::{Error, Result};

/// Whether a file begins like a series matrix.
pub(super) fn is_series_matrix(head: &[u8]) -> bool {
    head.starts_with(b"!Series_") || head.starts_with(b"!Sample_")
}

/// What is said of the samples, one row per sample.
#[derive(Default)]
struct Samples {
    accessions: Vec<String>,
    names: Vec<String>,
    /// For each name a value for each sample.
    values: Vec<Vec<String>>,
}

impl Samples {
    /// Takes a line `!Sample_title "a" "b" …`, or one of characteristics, `"sex: f" "sex: m" …`, whose cells name themselves.
    fn take(&mut self, record: &Record) {
        let field = record.cell(0).trim_start_matches("!Sample_");
        let cells: Vec<&str> = record.iter().skip(1).map(str::trim).collect();
        match field {
            "geo_accession" => self.accessions = cells.iter().map(|&cell| cell.to_owned()).collect(),
            _ if field.starts_with("characteristics") => {
                for (sample, cell) in cells.iter().enumerate() {
                    if let Some((name, value)) = cell.split_once(':') {
                        self.set(name.trim(), sample, value.trim());
                    }
                }
            }
            "title" | "source_name_ch1" | "description" => {
                cells.iter().enumerate().for_each(|(sample, cell)| self.set(field, sample, cell));
            }
            // Protocols, dates and addresses.
            _ => {}
        }
    }

    fn set(&mut self, name: &str, sample: usize, value: &str) {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.values.push(Vec::new());
            self.names.len() - 1
        });
        let values = &mut self.values[place];
        if values.len() <= sample {
            values.resize(sample + 1, String::new());
        }
        value.clone_into(&mut values[sample]);
    }

    /// A table of text, the accessions in front.
    fn write(&self) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let fault = |error: csv::Error| Error::internal(format!("the samples cannot be written ({error})"));
        let header = std::iter::once("geo_accession").chain(self.names.iter().map(String::as_str));
        writer.write_record(header).map_err(fault)?;
        for (sample, accession) in self.accessions.iter().enumerate() {
            let values = self.values.iter().map(|values| values.get(sample).map_or("", String::as_str));
            writer.write_record(std::iter::once(accession.as_str()).chain(values)).map_err(fault)?;
        }
        writer.into_inner().map_err(|error| fault(error.into_error().into()))
    }
}

/// The text of the samples (separated by commas) and that of the matrix (by tabs), one line per probe.
pub(super) fn take_apart<P: FnMut(u64, u64)>(
    records: &mut Records<P>,
    limit: u64,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut samples = Samples::default();
    let mut text = Vec::new();
    let mut inside = false;
    let mut seen = HashMap::new();
    while records.advance()? {
        let record = &records.record;
        match record.cell(0) {
            "!series_matrix_table_begin" => inside = true,
            "!series_matrix_table_end" => break,
            first if !inside => {
                if first.starts_with("!Sample_") {
                    samples.take(record);
                }
            }
            _ => {
                if let Some(before) = seen.insert(record.cell(0).to_owned(), records.line) {
                    return Err(Error::data(format!(
                        "the probe '{}' is also on line {before}",
                        record.cell(0)
                    ))
                    .line(records.line)
                    .remedy("leave one of the two lines out"));
                }
                memory::make_room(&mut text, record.bytes() + 1)?;
                for (place, cell) in record.iter().enumerate() {
                    if place > 0 {
                        text.push(b'\t');
                    }
                    // Cells of a series matrix are accessions and numbers: neither has quotes, tabs or line feeds.
                    text.extend(cell.bytes().filter(|byte| !matches!(byte, b'"' | b'\t' | b'\n' | b'\r')));
                }
                text.push(b'\n');
                if memory::PROGRAM + text.capacity() as u64 > limit {
                    return Err(Error::data("the series matrix is too large for the memory that is allowed")
                        .remedy("allow more with --memory-limit"));
                }
            }
        }
    }
    if text.is_empty() {
        return Err(Error::data("the series matrix holds no table of values")
            .remedy("download the values (a supplementary file), and give this file as --pheno"));
    }
    if samples.accessions.is_empty() {
        return Err(
            Error::data("the series matrix has no line !Sample_geo_accession").remedy("download it again")
        );
    }
    Ok((samples.write()?, text))
}
