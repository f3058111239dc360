//! A series matrix file of the Gene Expression Omnibus: lines about the samples, and a matrix with
//! samples in columns.

use std::collections::HashMap;

use super::write_record;
use crate::data::memory;
use crate::data::records::{Record, RecordReader};
use crate::error::{Error, Result};

/// Whether a file begins like a series matrix.
pub(in crate::data) fn is_series_matrix(head: &[u8]) -> bool {
    head.starts_with(b"!Series_") || head.starts_with(b"!Sample_")
}

/// What the file says about the samples, one value per sample and field.
#[derive(Default)]
struct GeoFields {
    accessions: Vec<String>,
    names: Vec<String>,
    /// For each name a value for each sample.
    values: Vec<Vec<String>>,
}

impl GeoFields {
    /// Takes a line `!Sample_title "a" "b" …`, or one of characteristics, `"sex: f" "sex: m" …`, in
    /// which every cell names its field.
    fn take(&mut self, record: &Record) {
        let field = record.cell(0).trim_start_matches("!Sample_");
        let cells: Vec<&str> = record.iter().skip(1).map(str::trim).collect();
        match field {
            "geo_accession" => {
                self.accessions = cells.iter().map(|&cell| cell.to_owned()).collect()
            }
            _ if field.starts_with("characteristics") => {
                // The second channel of an array measures another sample, often a reference.
                let channel =
                    field.strip_prefix("characteristics_").filter(|&channel| channel != "ch1");
                for (sample, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty())
                {
                    let (name, value) = cell.split_once(':').unwrap_or((field, cell));
                    let name = match channel {
                        Some(channel) if cell.contains(':') => {
                            format!("{} ({channel})", name.trim())
                        }
                        _ => name.trim().to_owned(),
                    };
                    self.set(&name, sample, value.trim());
                }
            }
            "title" | "source_name_ch1" | "organism_ch1" | "platform_id" | "description" => {
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

    /// A table of text with the accessions in the first column.
    fn write(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let names = self.names.iter().map(String::as_str);
        write_record(&mut text, std::iter::once("geo_accession").chain(names));
        for (sample, accession) in self.accessions.iter().enumerate() {
            let values =
                self.values.iter().map(|values| values.get(sample).map_or("", String::as_str));
            write_record(&mut text, std::iter::once(accession.as_str()).chain(values));
        }
        text
    }
}

/// A series matrix in its two parts.
pub(in crate::data) struct Parts {
    /// The samples, separated by commas.
    pub(in crate::data) samples: Vec<u8>,
    /// The matrix, separated by tabs, one line per probe.
    matrix: Vec<u8>,
    /// The line of the file on which the matrix starts.
    line: u64,
    /// Lines of the matrix, with its header.
    lines: u64,
}

impl Parts {
    /// The matrix, and the line of the file on which it starts.
    pub(in crate::data) fn matrix(self) -> Result<(Vec<u8>, u64)> {
        // Series of sequencing experiments have no values, or only a header.
        if self.lines < 2 {
            return Err(Error::data("the series matrix holds no table of values").remedy(
                "download the values (a supplementary file) and give this file as --pheno",
            ));
        }
        Ok((self.matrix, self.line))
    }
}

/// Takes the file apart.
pub(in crate::data) fn take_apart<P: FnMut(u64, u64)>(
    records: &mut RecordReader<P>,
    limit: u64,
) -> Result<Parts> {
    let mut samples = GeoFields::default();
    let mut text = Vec::new();
    let mut line = 0;
    let mut lines = 0;
    let mut inside = false;
    let mut ended = false;
    let mut seen = HashMap::new();
    while records.advance()? {
        let record = &records.record;
        match record.cell(0) {
            "!series_matrix_table_begin" => inside = true,
            "!series_matrix_table_end" => {
                ended = true;
                break;
            }
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
                if text.is_empty() {
                    line = records.line;
                }
                memory::reserve(&mut text, record.bytes() + 1)?;
                for (place, cell) in record.iter().enumerate() {
                    if place > 0 {
                        text.push(b'\t');
                    }
                    // Cells of a series matrix are accessions and numbers: neither has quotes, tabs
                    // or line feeds.
                    text.extend(
                        cell.bytes().filter(|byte| !matches!(byte, b'"' | b'\t' | b'\n' | b'\r')),
                    );
                }
                text.push(b'\n');
                lines += 1;
                if memory::PROGRAM + text.capacity() as u64 > limit {
                    return Err(Error::data(
                        "the series matrix is too large for the memory that is allowed",
                    )
                    .remedy("allow more with --memory-limit")
                    .option("--memory-limit"));
                }
            }
        }
    }
    if samples.accessions.is_empty() {
        return Err(Error::data("the series matrix has no line !Sample_geo_accession")
            .remedy("download it again"));
    }
    if !ended {
        return Err(Error::data(
            "the file was cut off: a series matrix ends with !series_matrix_table_end",
        )
        .remedy("download it again"));
    }
    Ok(Parts { samples: samples.write(), matrix: text, line, lines })
}
