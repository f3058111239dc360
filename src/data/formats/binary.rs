//! Files that are not text, and what their readers share.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::guard::guarded;
use super::{Binary, Provenance};
use crate::data::ReadOptions;
use crate::data::source::{hexadecimal, unreadable};
use crate::error::Result;

/// A file as text, separated by commas.
pub(in crate::data) struct Converted {
    /// The format, in sentences: "a workbook".
    pub(in crate::data) format: &'static str,
    pub(in crate::data) text: Box<dyn Read + Send>,
    pub(in crate::data) provenance: Provenance,
}

/// The file as text; nothing if it is text already, or of a format that is not compiled in.
pub(in crate::data) fn open(
    path: &Path,
    options: &ReadOptions,
    limit: u64,
) -> Result<Option<Converted>> {
    guarded(|| match Binary::of(path) {
        Some(Binary::Workbook) => super::workbook::open(path, options.sheet.as_deref(), limit),
        Some(Binary::Parquet) => super::parquet::open(path).map(Some),
        #[cfg(feature = "h5ad")]
        Some(Binary::Hdf5) => super::h5ad::open(path, limit).map(Some),
        _ => Ok(None),
    })
}

/// SHA-256 of a file's bytes, hexadecimal.
pub(super) fn digest(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let copied = File::open(path).and_then(|mut file| {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                n => hash.update(&buffer[..n]),
            }
        }
    });
    copied.map_err(|error: io::Error| unreadable(&error))?;
    Ok(hexadecimal(&hash.finalize()))
}

/// Rows that are written as text a few at a time, so that no file is in memory as a whole.
pub(super) trait RowWriter: Send {
    /// Appends some rows to the text; false after the last.
    fn write(&mut self, text: &mut Vec<u8>) -> Result<bool>;
}

/// The text of rows.
pub(super) struct RowText<R> {
    rows: R,
    text: Vec<u8>,
    given: usize,
}

impl<R: RowWriter> RowText<R> {
    /// The text of a header and rows.
    pub(super) fn new(header: Vec<u8>, rows: R) -> Self {
        Self { rows, text: header, given: 0 }
    }
}

impl<R: RowWriter> Read for RowText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            self.text.clear();
            self.given = 0;
            if !guarded(|| self.rows.write(&mut self.text)).map_err(io::Error::other)? {
                return Ok(0);
            }
        }
        let n = (self.text.len() - self.given).min(buffer.len());
        buffer[..n].copy_from_slice(&self.text[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

/// Appends a number as the shortest digits that give it back. NaN is an empty cell.
pub(super) fn write_number<F: std::fmt::Display + std::fmt::LowerExp + Into<f64> + Copy>(
    text: &mut Vec<u8>,
    number: F,
) {
    let size = number.into().abs();
    let written = match size {
        _ if size.is_nan() => Ok(()),
        // Without an exponent the largest numbers have 300 digits.
        _ if size == 0.0 || (1e-5..1e16).contains(&size) || size.is_infinite() => {
            write!(text, "{number}")
        }
        _ => write!(text, "{number:e}"),
    };
    written.expect("a vector takes all bytes");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number<F: std::fmt::Display + std::fmt::LowerExp + Into<f64> + Copy>(number: F) -> String {
        let mut text = Vec::new();
        write_number(&mut text, number);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_come_back() {
        for value in
            [0.0, -0.0, 0.1, 1.0, 1e-300, -2.5e17, 123_456_789.123, f64::MAX, f64::MIN_POSITIVE]
        {
            assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), value.to_bits(), "{value}");
        }
        assert_eq!((number(f64::NAN), number(f64::INFINITY)), (String::new(), "inf".to_owned()));
        assert_eq!(number(0.1_f32), "0.1", "as many digits as single precision has");
    }
}
